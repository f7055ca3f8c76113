"""Isaac3D and Falcor3D from small files of the published layout."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.datasets import Falcor3D, Isaac3D
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.testing import check_dataset

TINY = FactorSpace((Factor("first", (0.0, 0.5, 1.0)), Factor("second", (0.0, 1.0))))
PIXELS = np.random.default_rng(0).integers(256, size=(6, 128, 128, 3), dtype=np.uint8)
LABELS = np.array([[0, 0], [0, 1], [0.5, 0], [0.5, 1], [1, 0], [1, 1]])
ROOMS = {
    "isaac": (Isaac3D, "Isaac3D_down128", "labels.npy"),
    "falcor": (Falcor3D, "Falcor3D_down128", "train-rec.labels"),
}
IMAGE = "images/000003.png"


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def array(content: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, content, allow_pickle=True)
    return stream.getvalue()


FILES = {f"images/{number:06}.png": png(one) for number, one in enumerate(PIXELS)}
Writer = Callable[[Path, str, dict[str, bytes]], None]


def folder(top: Path, name: str, contents: dict[str, bytes]) -> None:
    for one, content in contents.items():
        path = top / name / one
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def archive(top: Path, name: str, contents: dict[str, bytes]) -> None:
    top.mkdir(exist_ok=True)
    with zipfile.ZipFile(top / f"{name}.zip", "w") as packed:
        for one, content in reversed(contents.items()):
            packed.writestr(f"{name}/{one}", content)


class Room:
    """One of the two sets with six states, and its files."""

    def __init__(self, key: str, cache: Path) -> None:
        self.make, self.name, labels = ROOMS[key]
        self.cache = cache
        self.labels = labels
        self.files = {**FILES, labels: array(LABELS)}

    def write(self, write: Writer, changes: dict[str, bytes | None]) -> None:
        named = {name.replace("LABELS", self.labels): one for name, one in changes.items()}
        kept = {name: one for name, one in {**self.files, **named}.items() if one is not None}
        write(self.cache, self.name, kept)


@pytest.fixture(params=ROOMS)
def room(request: pytest.FixtureRequest, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr(ROOMS[request.param][0], "space", TINY)
    return Room(request.param, cache)


@pytest.mark.parametrize(
    ("make", "count", "steps"),
    [
        (Isaac3D, 737_280, [245760, 30720, 6144, 1536, 384, 96, 16, 4, 1]),
        (Falcor3D, 233_280, [46656, 7776, 1296, 216, 36, 6, 1]),
    ],
)
def test_states_are_the_published_ones(make: Any, count: int, steps: list[int]) -> None:
    """The steps are those of the number of a picture in the README of the sets."""
    space = make().factors
    assert len(space) == count
    assert space.index(np.eye(len(steps), dtype=int)).tolist() == steps
    assert make.size == count * 3 * 64 * 64
    ends = {one.name: (one.values[0], one.values[-1]) for one in space.factors}
    assert {name for name, pair in ends.items() if pair != (0, 1)} <= {"object_shape"}


@pytest.mark.parametrize("write", [folder, archive])
@pytest.mark.parametrize("labels", [LABELS, (LABELS * 10 + 7).astype(np.float32), None])
def test_pictures_are_in_the_order_of_their_numbers(
    write: Writer, labels: np.ndarray | None, room: Room
) -> None:
    room.write(write, {"LABELS": None if labels is None else array(labels)})
    dataset = room.make(side=128)
    check_dataset(dataset)
    images = dataset.images(torch.arange(6))
    assert torch.equal(images, torch.from_numpy(PIXELS).permute(0, 3, 1, 2))


def test_pictures_are_brought_to_the_side(room: Room) -> None:
    room.write(folder, {})
    dataset = room.make(path=str(room.cache / room.name))
    dataset.prepare()
    image = dataset.images(torch.tensor([5]))[0, :, 10, 20]
    # away from the edge, a triangle of 1/8, 3/8, 3/8, 1/8 in each direction
    weights = np.array([1, 3, 3, 1]) / 8
    expected = np.einsum("yxc,y,x->c", PIXELS[5, 19:23, 39:43], weights, weights)
    assert np.abs(image.numpy() - expected).max() < 1.01


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({IMAGE: None}, "it holds 5 images instead of 6; image 3 is the first that is missing"),
        ({"images/000006.png": FILES[IMAGE]}, "it holds 7 images instead of 6;"),
        ({"LABELS": b"text"}, "is no array of numbers"),
        ({"LABELS": array(np.array([{}], dtype=object))}, "is no array of numbers"),
        (
            {"LABELS": array(LABELS[1:])},
            r"is float64 of shape \(5, 2\) instead of numbers of shape",
        ),
        ({"LABELS": array(LABELS.astype(str))}, r"is <U32 of shape \(6, 2\) instead of numbers"),
        ({"LABELS": array(LABELS[:, ::-1])}, "column 0 of .* does not count first from 0 to 2"),
        ({"LABELS": array(LABELS[::-1])}, "column 0 of .* does not count first from 0 to 2"),
    ],
)
@pytest.mark.parametrize("write", [folder, archive])
def test_other_content_is_refused(
    write: Writer, changes: dict[str, bytes | None], message: str, room: Room
) -> None:
    room.write(write, changes)
    with pytest.raises(InputError, match=f"is not the published file: .*{message}.*NVlabs"):
        room.make().prepare()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (FILES[IMAGE][:-500], r"000003\.png in .* cannot be decoded"),
        (png(PIXELS[3, :64]), r"000003\.png in .* has 128×64 pixels instead of 128×128"),
    ],
)
def test_a_broken_picture_is_named(content: bytes, message: str, room: Room) -> None:
    room.write(folder, {IMAGE: content})
    with pytest.raises(InputError, match=message):
        room.make().prepare()


def test_missing_files_and_an_impossible_side_are_explained(room: Room) -> None:
    with pytest.raises(InputError, match=rf"{room.name} or .*\.zip is not in .*NVlabs"):
        room.make().prepare()
    with pytest.raises(InputError, match="side 129 is not possible"):
        room.make(side=129)
