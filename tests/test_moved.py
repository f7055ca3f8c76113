import pickle
import subprocess
import sys
import tomllib
from importlib import import_module, reload
from pathlib import Path

import pytest

import dislab
from dislab.base import Dataset
from dislab.base.named_classes import find_class
from dislab.datasets import ColorDSprites, DSprites
from dislab.moved import MOVED

DATASETS = {
    "array_dataset": "ArrayDataset",
    "cars3d": "Cars3D",
    "celeb_a": "CelebA",
    "chairs3d": "Chairs3D",
    "color_dsprites": "ColorDSprites",
    "dsprites": "DSprites",
    "folder_dataset": "FolderDataset",
    "gaussian_blob": "GaussianBlob",
    "mnist": "MNIST",
    "mpi3d": "MPI3D",
    "noisy_dsprites": "NoisyDSprites",
    "parametric_chairs": "ParametricChairs",
    "parametric_heads": "ParametricHeads",
    "robot_finger": "RobotFinger",
    "robot_finger_files": "RobotFingerFiles",
    "robot_finger_pseudo_real": "RobotFingerPseudoReal",
    "scream_dsprites": "ScreamDSprites",
    "shapes3d": "Shapes3D",
    "small_norb": "SmallNORB",
}
"""Public classes of version 0.1.0 by the modules that defined them."""


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_name_gives_the_module_of_the_new_name(old: str, new: str) -> None:
    module = import_module(new)
    assert import_module(old) is module
    assert module.__name__ == new
    assert module.__spec__ is not None
    assert module.__spec__.name == new
    package, _, name = old.rpartition(".")
    assert getattr(import_module(package), name) is module


def test_an_old_name_can_be_the_first_import_of_a_process() -> None:
    code = "from dislab.datasets.color_dsprites import ColorDSprites as cls; print(cls.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "dislab.datasets.dsprites.color_dsprites"


@pytest.mark.parametrize(("module", "name"), DATASETS.items())
def test_the_old_path_of_a_data_set_names_the_class(module: str, name: str) -> None:
    cls = getattr(import_module(f"dislab.datasets.{module}"), name)
    assert cls is getattr(import_module("dislab.datasets"), name)


@pytest.mark.parametrize(
    ("path", "cls"),
    [("color_dsprites.ColorDSprites", ColorDSprites), ("dsprites.DSprites", DSprites)],
)
def test_a_pickle_of_an_old_class_path_loads(path: str, cls: type) -> None:
    module, _, name = path.rpartition(".")
    assert pickle.loads(f"cdislab.datasets.{module}\n{name}\n.".encode()) is cls


@pytest.mark.parametrize(("module", "name"), DATASETS.items())
def test_a_configuration_may_name_a_data_set_by_its_old_path(module: str, name: str) -> None:
    cls = find_class(f"dislab.datasets.{module}.{name}", (Dataset,), "dataset")
    assert cls is getattr(import_module("dislab.datasets"), name)


def test_entry_points_name_the_modules_that_define_the_classes() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)["project"]["entry-points"]["dislab.datasets"]
    for name, value in declared.items():
        module, _, attribute = value.partition(":")
        assert (attribute, getattr(import_module(module), name).__module__) == (name, module)


def test_old_names_are_accepted_once() -> None:
    before = list(sys.meta_path)
    reload(dislab)
    assert sys.meta_path == before
