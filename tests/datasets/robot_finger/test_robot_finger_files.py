import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.datasets import RobotFingerFiles
from dislab.errors import InputError
from dislab.testing import check_dataset

VALUES: dict[str, Any] = {
    "shape": ["cube"],
    "color": [[1.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, 1.0, 0.0]],
    "size": [0.065],
    "joint0": np.linspace(-0.65, 0.65, 30),
    "joint1": np.linspace(-0.5, 0.5, 30),
    "joint2": np.linspace(-0.8, 0.8, 30),
    "x": np.linspace(-0.11, 0.11, 30),
    "y": np.linspace(-0.11, 0.11, 30),
    "angle": np.arange(10) * np.pi / 20,
}
SIZES = [1, 3, 1, 30, 30, 30, 30, 30, 10]
COUNT = 12
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(SIZES, size=(COUNT, 9))
LABELS[7] = LABELS[2]
LEVELS = RANDOM.integers(256, size=(COUNT, 3), dtype=np.uint8)
IMAGES = np.ascontiguousarray(np.broadcast_to(LEVELS[:, None, None], (COUNT, 128, 128, 3)))


class Harmful:
    """Would end the process when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (3,)


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "png", compress_level=1)
    return stream.getvalue()


def images() -> dict[str, bytes]:
    """Names as published: a folder a digit but the last one, padded."""
    files = {}
    for number in RANDOM.permutation(COUNT):
        digits = f"{number:06d}"
        files[f"images/{'/'.join(digits[:-1])}/{digits}.png"] = png(IMAGES[number])
    return files


FILES = images()


def write(root: Path, subset: str = "finger", **changed: Any) -> None:
    folder = root / subset
    folder.mkdir(parents=True)
    values = np.empty((), dtype=object)
    values[()] = changed.get("factor_values", VALUES)
    info: dict[str, Any] = {
        "num_factor_values": np.array(changed.get("num_factor_values", SIZES)),
        "factor_values": values,
        "dataset_size": np.array(changed.get("dataset_size", COUNT)),
    }
    np.savez(folder / f"{subset}_info.npz", **info)
    labels = changed.get("labels", LABELS)
    np.savez(folder / f"{subset}_labels.npz", labels=labels)
    if subset == "finger_real":
        np.savez(folder / f"{subset}_images.npz", images=changed.get("images", IMAGES))
        return
    with tarfile.open(folder / f"{subset}_images.tar", "w") as archive:
        for name, content in changed.get("images", FILES).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_states_are_read_from_the_labels(cache: Path) -> None:
    write(cache / "robot_finger_datasets")
    space = RobotFingerFiles().factors
    names = ("color", "joint0", "joint1", "joint2", "x", "y", "angle", "instance")
    assert space.names == names
    positions = space.positions(np.arange(COUNT))
    assert np.array_equal(positions[:, :-1], LABELS[:, [1, 3, 4, 5, 6, 7, 8]])
    assert positions[:, -1].tolist() == [0] * 7 + [1] + [0] * 4
    assert space["instance"].nuisance
    assert space["color"].values == ("#ff0000", "#ff0080", "#00ff00")
    assert space["joint2"].numbers[29] == 0.8
    assert (space["x"].unit, space["joint0"].unit) == ("m", "rad")
    assert space["angle"].period == pytest.approx(np.pi / 2)


@pytest.mark.parametrize("subset", ["finger", "finger_heldout_colors", "finger_real"])
@pytest.mark.parametrize("given", ["", "robot_finger_datasets", "own"])
def test_images_follow_their_numbers(subset: Any, given: str, cache: Path, tmp_path: Path) -> None:
    root = (tmp_path if given else cache) / "robot_finger_datasets"
    write(root, subset)
    path = {"": None, "robot_finger_datasets": str(root), "own": str(root / subset)}[given]
    dataset = RobotFingerFiles(subset, side=8, path=path)
    check_dataset(dataset)
    found = dataset.images(torch.arange(COUNT))
    expected = torch.from_numpy(LEVELS)[:, :, None, None].expand(-1, 3, 8, 8)
    assert torch.equal(found, expected)
    assert dataset.provenance()["file"] == subset


def test_unpacked_images_and_pickling(cache: Path, tmp_path: Path) -> None:
    write(tmp_path)
    folder = tmp_path / "finger"
    with tarfile.open(folder / "finger_images.tar") as archive:
        # a keyword of `extractall` from Python 3.11.4 on
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    (folder / "finger_images.tar").unlink()
    dataset = RobotFingerFiles(path=str(folder))
    dataset.prepare()
    for path in folder.glob("*.npz"):
        path.unlink()
    content = pickle.dumps(dataset)
    assert len(content) < 2000
    again = pickle.loads(content)
    assert len(again.factors) == COUNT
    assert torch.equal(again.images(torch.tensor([4])), dataset.images(torch.tensor([4])))
    assert again.image_shape == (3, 128, 128)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in VALUES.items() if key != name}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"factor_values": Harmful()}, r"info.npz .* cannot be unpickled safely: .*_exit, which"),
        ({"factor_values": {**VALUES, "x": Harmful()}}, "cannot be unpickled safely"),
        ({"factor_values": without("x")}, "names shape, color, .*, angle instead of shape"),
        ({"factor_values": [1, 2]}, "factor_values names .*list.* instead of shape"),
        ({"factor_values": {**VALUES, "x": ["a"] * 30}}, "the values of x are no numbers"),
        ({"factor_values": {**VALUES, "color": [0.0] * 3}}, r"the values of color have shape \(3,"),
        ({"num_factor_values": [*SIZES[:-1], 11]}, r"values, but num_factor_values says \[1, 3, "),
        ({"num_factor_values": [1.5] * 9}, "num_factor_values is float64 instead of integers"),
        ({"dataset_size": 13}, r"labels is int64 of shape \(12, 9\) instead of .*\(13, 9\)"),
        ({"labels": LABELS.astype(object)}, "labels is pickled objects of shape"),
        ({"labels": LABELS + 0.5}, "labels is float64 of shape"),
        ({"labels": LABELS[:, :7]}, r"labels is int64 of shape \(12, 7\)"),
        ({"labels": LABELS + 10}, "labels holds value numbers beyond the sizes"),
        ({"labels": -LABELS}, "labels holds value numbers beyond the sizes"),
    ],
)
def test_other_labels_are_refused(changed: dict[str, Any], message: str, cache: Path) -> None:
    write(cache / "robot_finger_datasets", **changed)
    with pytest.raises(InputError, match=message):
        RobotFingerFiles().prepare()


def test_labels_in_another_memory_order_are_the_same(cache: Path) -> None:
    write(cache / "robot_finger_datasets", labels=np.asfortranarray(LABELS))
    positions = RobotFingerFiles().factors.positions(np.arange(COUNT))
    assert np.array_equal(positions[:, 1], LABELS[:, 3])


LAST = max(FILES)


@pytest.mark.parametrize(
    ("subset", "pictures", "message"),
    [
        (
            "finger",
            {name: one for name, one in FILES.items() if name != LAST},
            "it holds 11 images instead of 12; image 11 is the first that is missing",
        ),
        ("finger", {**FILES, "images/9/99.png": FILES[LAST]}, "it holds 13 images instead of 12;"),
        ("finger", {**FILES, LAST: FILES[LAST][:-80]}, "000011.png in .* cannot be decoded"),
        ("finger_real", IMAGES[:5], r"images is uint8 of shape \(5, 128, 128, 3\) instead"),
        ("finger_real", IMAGES.astype(float), "images is float64"),
    ],
)
def test_other_images_are_refused(subset: Any, pictures: Any, message: str, cache: Path) -> None:
    write(cache / "robot_finger_datasets", subset, images=pictures)
    with pytest.raises(InputError, match=message):
        RobotFingerFiles(subset).prepare()


def test_cut_files_are_refused(cache: Path) -> None:
    write(cache / "robot_finger_datasets")
    folder = cache / "robot_finger_datasets/finger"
    path = folder / "finger_images.tar"
    path.write_bytes(path.read_bytes()[:-12_000])
    with pytest.raises(InputError, match=r"finger_images\.tar (cannot be read|is not the publ)"):
        RobotFingerFiles().prepare()
    path = folder / "finger_info.npz"
    path.write_bytes(path.read_bytes()[:-100])
    (cache / "robot_finger_files/finger-labels.npz").unlink()
    with pytest.raises(InputError, match=r"finger_info\.npz cannot be read"):
        RobotFingerFiles().prepare()


def test_missing_files_and_an_impossible_side_are_explained(cache: Path) -> None:
    dataset = RobotFingerFiles("finger_real")
    assert not cache.exists()
    with pytest.raises(InputError, match=r"finger_real_info\.npz .*is not in .*2010\.14407"):
        dataset.prepare()
    with pytest.raises(InputError, match="side 256 is not possible"):
        RobotFingerFiles(side=256)
