"""Every entrance for files of NumPy × files of other programs."""

import gzip
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from dislab.cli import main
from dislab.datasets import NumpyDataset
from dislab.errors import InputError

IMAGES = np.random.default_rng(0).integers(256, size=(24, 8, 8), dtype=np.uint8)


def hdf5(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["images"] = IMAGES


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "1,2\n")


def legacy(path: Path) -> None:
    torch.save(torch.from_numpy(IMAGES), path, _use_new_zipfile_serialization=False)


FORMATS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a.h5": (hdf5, "an HDF5 file"),
    "a.mat": (lambda path: savemat(path, {"X": IMAGES}), "a MATLAB file"),
    "a.pt": (lambda path: torch.save(torch.from_numpy(IMAGES), path), "a file of torch.save"),
    "a.pth": (legacy, "a pickle or an old file of torch.save"),
    "a.pkl": (lambda path: path.write_bytes(pickle.dumps(IMAGES)), "a pickle or"),
    "a.csv": (lambda path: path.write_text("größe,x\n1,2\n", encoding="utf-8"), "a text file"),
    "a.npy.gz": (lambda path: path.write_bytes(gzip.compress(b"\x93NUMPY")), "a gzip file"),
    "a.parquet": (lambda path: path.write_bytes(b"PAR1\0\1"), "a Parquet file"),
    "a.zip": (zipped, "a zip archive without arrays"),
    "a.png": (lambda path: Image.fromarray(IMAGES[0]).save(path), "an image"),
    "a.npz": (lambda path: torch.save({"images": torch.zeros(3)}, path), "a file of torch.save"),
}


def images(path: Path) -> None:
    _ = NumpyDataset(str(path)).image_shape


def named_images(path: Path) -> None:
    _ = NumpyDataset(str(path), images="images").image_shape


def factors(path: Path) -> None:
    np.save(path.parent / "images.npy", IMAGES)
    _ = NumpyDataset(str(path.parent / "images.npy"), factors=path.name).factors


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("read", [images, named_images, factors])
def test_data_sets_name_the_format(read: Any, name: str, tmp_path: Path) -> None:
    write, kind = FORMATS[name]
    write(tmp_path / name)
    with pytest.raises(
        InputError, match=f"{name} is {kind}.*; load it in Python, and write its ar"
    ):
        read(tmp_path / name)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "command", [["score"], ["transfer", "--scenarios", "hue.yaml", "--codes"]], ids=lambda c: c[0]
)
def test_commands_name_the_format(
    command: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write, kind = FORMATS[name]
    write(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    Path("hue.yaml").write_text("train: {}\ntest: {hue: 270}\n")
    assert main([*command, str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert f"{name} is {kind}" in error
    assert "load it in Python, and write its arrays by numpy.savez(FILE, codes=codes, f" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["a.NPZ", "a.Npz", "a.bin"])
def test_archives_are_known_by_their_content(name: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES, x=np.arange(24) % 3)
    (tmp_path / "a.npz").rename(tmp_path / name)
    dataset = NumpyDataset(str(tmp_path / name), images="images", factors="x")
    assert dataset.image_shape == (1, 8, 8)
    assert dataset.factors.names == ("x", "instance")


def test_an_archive_is_no_array_of_factors(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.arange(24))
    with pytest.raises(InputError, match=r"x\.npz cannot be used: .*; write it by numpy\.save"):
        factors(tmp_path / "x.npz")
