import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.datamodules import SingleData
from dislab.datasets import NumpyDataset
from dislab.errors import InputError
from dislab.testing import check_dataset

IMAGES = np.random.default_rng(0).integers(256, size=(7, 5, 4, 3), dtype=np.uint8)
LABELS = np.array(list("bacdgfe"))
STATES = np.array([1, 0, 2, 3, 6, 5, 4])


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))


def _savez(path: Path, images: np.ndarray) -> None:
    np.savez(path, images=images, label=LABELS)


def _savez_compressed(path: Path, images: np.ndarray) -> None:
    np.savez_compressed(path, images=images, label=LABELS)


def _save(path: Path, images: np.ndarray) -> None:
    np.save(path, images)
    np.save(path.with_name("label.npy"), LABELS)


@pytest.mark.parametrize(
    ("images", "mapped"),
    [
        (IMAGES, True),
        (np.ascontiguousarray(np.moveaxis(IMAGES, -1, 1)), True),
        (IMAGES / 255, False),
        ((IMAGES / 255).astype(np.float16), False),
        (np.asfortranarray(IMAGES), False),
    ],
)
@pytest.mark.parametrize(
    ("name", "save", "factors"),
    [
        ("a.npy", _save, "label.npy"),
        ("a.npz", _savez, "label"),
        ("a.npz", _savez_compressed, "label"),
    ],
)
def test_files_of_numpy(
    images: np.ndarray,
    mapped: bool,
    name: str,
    save: Callable[[Path, np.ndarray], None],
    factors: str,
    tmp_path: Path,
) -> None:
    save(tmp_path / name, images)
    dataset = NumpyDataset(str(tmp_path / name), factors=factors)
    if images.flags.f_contiguous and name == "a.npz":
        with pytest.raises(InputError, match="images is in column-major order; store"):
            dataset.image_shape  # noqa: B018
        return
    check_dataset(dataset)
    assert dataset.image_shape == (3, 5, 4)
    assert dataset.factors.names == ("label",)
    assert dataset.factors["label"].values == tuple("abcdefg")
    expected = np.moveaxis(IMAGES, -1, 1)
    assert np.array_equal(dataset.images(torch.from_numpy(STATES)).numpy(), expected)
    assert (tmp_path / "cache").exists() is not (mapped and save is not _savez_compressed)
    assert dataset.provenance()["file"] == str(tmp_path / name)
    again = pickle.loads(pickle.dumps(dataset))  # as for a worker process
    assert torch.equal(again.images(torch.arange(7)), dataset.images(torch.arange(7)))


def test_several_arrays_of_factors_have_the_names_that_they_are_stored_under(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.npz"
    np.savez(file, x=IMAGES[..., 0], size=np.arange(7) % 3, shape=LABELS)
    dataset = NumpyDataset(str(file), factors=["size", "shape"], units={"size": "cm"})
    assert dataset.factors.names == ("size", "shape")
    assert dataset.factors["size"].unit == "cm"
    assert dataset.image_shape == (1, 5, 4)


def test_columns_of_one_array_get_names(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    np.savez(file, x=IMAGES, y=np.stack((np.arange(7) % 3, np.arange(7) // 3), axis=1))
    assert NumpyDataset(str(file), factors="y", names=["a", "b"]).factors.names == ("a", "b")


def test_images_without_factors_train(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", IMAGES)
    data = SingleData(NumpyDataset(str(tmp_path / "a.npy")), 2, validation=0.0, test=0.0)
    assert data.factors.names == ("image",)
    assert data.train_size == 7


def test_a_changed_file_is_converted_again(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    for images in (IMAGES, 255 - IMAGES):
        np.save(file, images / 255)
        dataset = NumpyDataset(str(file))
        dataset.prepare()
        expected = np.moveaxis(images, -1, 1)
        assert np.array_equal(dataset.images(torch.arange(7)).numpy(), expected)


@pytest.mark.parametrize(
    ("arrays", "settings", "message"),
    [
        ({}, {"file": "none.npz"}, "none.npz does not exist.* give the npy or npz file"),
        ({"x": IMAGES, "y": IMAGES}, {}, r"has 2 arrays of three or four axes \(x, y\); name"),
        ({"label": LABELS}, {}, r"has 0 arrays of .* \(none among label\)"),
        ({"imgs": IMAGES}, {"images": "img"}, r"no array 'img' \(did you mean imgs\?\); it has"),
        ({"x": IMAGES}, {"factors": "y"}, "has no array 'y'; it has x"),
        ({"x": IMAGES, "y": LABELS[:3]}, {"factors": "y"}, r"shape \(3,\); give one for each of 7"),
        (
            {"x": IMAGES.astype(int)},
            {},
            "npz are int64 from 0 to 255: give pixels .* as uint8",
        ),
        ({"x": IMAGES.astype(float)}, {}, "float64 from 0 to 255"),
        ({"x": IMAGES.astype(object)}, {}, "x holds Python objects, which are not unpickled"),
        ({"x": IMAGES}, {"names": ["a"]}, "describe factors; name their arrays by factors"),
        ({"x": IMAGES, "y": LABELS}, {"factors": "y", "names": ["a"]}, "names are for the colum"),
        ({"x": IMAGES, "y": 1j * STATES}, {"factors": "y"}, "factor y is complex128"),
    ],
)
def test_refuses_files_that_do_not_fit(
    arrays: dict[str, Any], settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    settings = {"file": "a.npz", **settings}
    settings["file"] = str(tmp_path / settings["file"])
    with pytest.raises(InputError, match=message):
        check_dataset(NumpyDataset(**settings))
    assert not list(tmp_path.glob("cache/**/*.npy"))


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_a_file_that_is_cut_is_named(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    (np.save if name == "a.npy" else np.savez)(file, IMAGES)
    file.write_bytes(file.read_bytes()[:-300])
    with pytest.raises(InputError, match=f"{name} cannot be used: .*; write it by numpy.save"):
        _ = NumpyDataset(str(file)).image_shape


def test_a_npy_file_holds_one_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", IMAGES)
    with pytest.raises(InputError, match="is no npz file and holds one array; leave images out"):
        _ = NumpyDataset(str(tmp_path / "a.npy"), images="x").image_shape
