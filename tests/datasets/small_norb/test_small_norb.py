import gzip
import struct
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from dislab.datasets import SmallNORB
from dislab.datasets.small_norb import small_norb as norb
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import evaluate_fully
from dislab.testing import check_dataset

TINY = FactorSpace(
    (
        Factor("category", ("animal", "human"), "categorical"),
        Factor("instance", (0.0, 1.0), "categorical"),
        Factor("elevation", (30.0,), unit="deg"),
        Factor("azimuth", (0.0, 120.0, 240.0), "circular", "deg", 360.0),
        Factor("lighting", (0.0, 1.0), "categorical"),
    )
)
PAIRS = 12
RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(256, size=(2, PAIRS, 2, 96, 96), dtype=np.uint8)
ORDER = RANDOM.permutation(2 * PAIRS).reshape(2, PAIRS)


def matrix(array: np.ndarray) -> bytes:
    magic = {"u": 0x1E3D4C55, "i": 0x1E3D4C54}[array.dtype.kind]
    lengths = [*array.shape, 1, 1][: max(3, array.ndim)]
    return struct.pack(f"<II{len(lengths)}I", magic, array.ndim, *lengths) + array.tobytes()


def halves() -> list[dict[str, np.ndarray]]:
    """Both halves as they are published: azimuths count in steps of 10 degrees, every other one."""
    result = []
    for images, order in zip(IMAGES, ORDER, strict=True):
        labels = TINY.positions(order).astype(np.int32)
        info = labels[:, 1:] * np.array([1, 1, 2, 1], dtype=np.int32)
        result.append({"dat": images, "cat": labels[:, 0], "info": info})
    return result


def write(folder: Path, contents: list[dict[str, np.ndarray]], packed: bool = True) -> None:
    folder.mkdir(exist_ok=True)
    for sources, half in zip(norb.SOURCES, contents, strict=True):
        for kind, array in half.items():
            content = matrix(array)
            name = sources[kind].names[not packed]
            (folder / name).write_bytes(gzip.compress(content, 1) if packed else content)


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, for a set of 24 pairs of images."""
    monkeypatch.setattr(norb, "STATES", TINY)
    stereo = FactorSpace((*TINY.factors, norb.STEREO["camera"]))
    monkeypatch.setattr(norb, "STEREO", stereo)
    monkeypatch.setattr(norb, "PAIRS", PAIRS)
    return cache


def test_states_are_the_published_ones(cache: Path) -> None:
    space = SmallNORB().factors
    assert space.sizes == (5, 10, 9, 18, 6)
    assert len(space) == 48_600
    assert space["elevation"].values[8] == 70
    assert space["azimuth"].values[17] == 340
    assert len(space.where({"instance": [0, 1, 2, 3, 5]})) == 24_300
    assert SmallNORB("both").factors.sizes == (5, 10, 9, 18, 6, 2)
    assert not cache.exists()


@pytest.mark.parametrize("camera", ["left", "both"])
def test_published_scores_leave_the_instance_out(camera: Literal["left", "both"]) -> None:
    published, labelled = SmallNORB(camera).factors, SmallNORB(camera, instance="factor").factors
    assert [one.name for one in published.factors if one.nuisance] == ["instance"]
    assert not any(one.nuisance for one in labelled.factors)
    assert (published.names, published.sizes) == (labelled.names, labelled.sizes)
    positions = published.positions(np.arange(0, len(published), 7))
    names = published.names
    for space, scored in ((published, (names[0], *names[2:])), (labelled, names)):
        found = evaluate_fully(positions.astype(float), positions, ["MIG"], space=space)
        assert tuple(found.provenance["factors"]) == scored
        assert len(found.parts["mig_per_factor"]) == len(scored)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(("camera", "column"), [("left", 0), ("right", 1)])
def test_each_image_stands_at_its_labels(
    packed: bool, camera: Literal["left", "right"], column: int, tiny: Path, tmp_path: Path
) -> None:
    write(tmp_path / "norb", halves(), packed)
    dataset = SmallNORB(camera, side=96, path=str(tmp_path / "norb"))
    check_dataset(dataset)
    for images, order in zip(IMAGES, ORDER, strict=True):
        found = dataset.images(torch.from_numpy(order))
        assert torch.equal(found[:, 0], torch.from_numpy(images[:, column]))


def test_two_cameras_are_a_factor(tiny: Path) -> None:
    write(tiny, halves())
    dataset = SmallNORB("both")
    check_dataset(dataset)
    left, right = SmallNORB("left"), SmallNORB("right")
    left.prepare()
    right.prepare()
    assert dataset.image_shape == (1, 64, 64)
    for name, alone in {"left": left, "right": right}.items():
        states = torch.from_numpy(dataset.factors.where({"camera": name}))
        assert torch.equal(dataset.images(states), alone.images(torch.arange(24)))


def changed(kind: str, place: tuple[int, ...], value: int) -> list[dict[str, np.ndarray]]:
    contents = halves()
    contents[1][kind] = contents[1][kind].copy()
    contents[1][kind][place] = value
    return contents


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (changed("info", (0, 2), 1), "testing-info.mat.gz .* it holds a label out of range"),
        (changed("info", (0, 0), 7), "it holds a label out of range"),
        (changed("cat", (0,), -1), "it holds a label out of range"),
        (
            [halves()[0], halves()[0]],
            "12 combinations of labels occur more than once in the two halves",
        ),
        (
            [halves()[0], {**halves()[1], "dat": IMAGES[1][:5]}],
            r"testing-dat.* it is uint8 of shape \(5, 2, 96, 96\) instead",
        ),
    ],
)
def test_other_content_is_refused(
    contents: list[dict[str, np.ndarray]], message: str, tiny: Path
) -> None:
    write(tiny, contents)
    with pytest.raises(InputError, match=message):
        SmallNORB().prepare()


def test_a_missing_half_and_an_impossible_side_are_explained(tiny: Path) -> None:
    write(tiny, halves())
    (tiny / norb.SOURCES[1]["cat"].names[0]).unlink()
    with pytest.raises(InputError, match=r"testing-cat\.mat\.gz or .*\.mat is not in .*nyu\.edu"):
        SmallNORB().prepare()
    with pytest.raises(InputError, match="side 100 is not possible"):
        SmallNORB(side=100)
