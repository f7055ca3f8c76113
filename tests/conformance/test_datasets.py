"""Data sets conform whose images need no file, and the texts about all of them are true."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases

from dislab.datasets import ArrayDataset
from dislab.plugins import available, load_all
from dislab.testing import check_dataset
from dislab.testing.datasets import check_listing


@pytest.mark.parametrize("build", cases.cases("datasets"))
def test_datasets(build: Any) -> None:
    check_dataset(build())


def test_datasets_of_the_users_own() -> None:
    images = torch.arange(48, dtype=torch.uint8).view(3, 1, 4, 4).numpy()
    check_dataset(ArrayDataset(images, [[0, 1], [1, 1], [1, 0]]))


KNOWN_BEFOREHAND = sorted(
    {*cases.own("datasets")}
    - {"ArrayDataset", "CelebA", "FolderDataset", "NumpyDataset", "RobotFingerFiles"}
    - {"HuggingFaceDataset", "TorchDataset"}
)
"""Data sets whose states are known without their files."""


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
def test_what_data_list_says_of_a_data_set_is_true(name: str) -> None:
    """The texts are read from the source, where nothing else compares them with the class."""
    [plugin] = [plugin for plugin in available("datasets") if plugin.name == name]
    dataset = load_all(("datasets",))["datasets"][name]()
    channels, height, width = dataset.image_shape
    factors = ", ".join(f"{factor.name} {len(factor)}" for factor in dataset.factors.factors)
    contents = f"{len(dataset.factors):,} images {height}×{width}×{channels}: {factors}"
    assert plugin.constants["contents"] == contents
    assert plugin.constants["licence"]


def test_every_data_set_has_a_line_in_data_list() -> None:
    for plugin in available("datasets"):
        check_listing(plugin.name, plugin.constants)


@pytest.mark.parametrize("missing", ["contents", "licence"])
def test_a_data_set_without_a_line_is_a_clear_message(missing: str) -> None:
    constants = {"contents": "2 images", "licence": "CC0"}
    check_listing("Mine", constants)
    del constants[missing]
    with pytest.raises(AssertionError, match=rf"class Mine states `{missing}: ClassVar\[str\]"):
        check_listing("Mine", constants)


def test_every_folder_of_data_sets_has_its_place_in_the_import_contract() -> None:
    """Single modules need none, so that a data set of one file costs no line."""
    root = Path(__file__).parents[2]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]
    [layers] = [
        one["layers"]
        for one in contracts["contracts"]
        if one.get("containers") == ["dislab.datasets"]
    ]
    named = {name for layer in layers for name in layer.split(" | ")}
    folders = {path.parent.name for path in root.glob("src/dislab/datasets/*/__init__.py")}
    assert folders <= named, "add the folder to the contract of dislab.datasets in pyproject.toml"
