import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dislab.datasets.files.pictures import Frame, check_side, open_tree, pictures, shrink
from dislab.errors import InputError

PIXELS = np.random.default_rng(0).integers(256, size=(300, 12, 10, 3), dtype=np.uint8)


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "png")
    return stream.getvalue()


def written(folder: Path, pixels: np.ndarray = PIXELS) -> Path:
    folder.mkdir()
    for number, one in enumerate(pixels):
        (folder / f"{number:03d}.png").write_bytes(png(one))
    return folder


def read(folder: Path, names: list[str] | None = None, **settings: Any) -> np.ndarray:
    frame = Frame(**{"size": (10, 12), "side": 8, "box": (1, 2, 9, 10), **settings})
    with open_tree(folder) as tree:
        return np.concatenate(list(pictures(tree, names or list(tree.names), frame)))


def test_pictures_keep_their_order_and_are_cut_to_the_box(tmp_path: Path) -> None:
    rows = read(written(tmp_path / "a"))
    cut = PIXELS[:, 2:10, 1:9].transpose(0, 3, 1, 2)
    assert np.array_equal(rows, cut.reshape(300, -1))
    some = read(tmp_path / "a", ["007.png", "002.png"])
    assert np.array_equal(some, rows[[7, 2]])


def test_grey_is_the_luma_of_the_colours(tmp_path: Path) -> None:
    rows = read(written(tmp_path / "a", PIXELS[:3]), mode="L")
    red, green, blue = np.moveaxis(PIXELS[:3, 2:10, 1:9].astype(float), -1, 0)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    assert np.abs(rows - luma.reshape(3, -1)).max() <= 1


def test_shrinking_to_half_weighs_neighbours_by_a_triangle() -> None:
    line = np.array([0, 0, 80, 0, 0, 0, 0, 0], dtype=np.uint8)
    picture = np.tile(line[:, None], (1, 8))
    # pixel centres at 0.5, 1.5, …; the result's are at 1, 3, 5, 7 with a triangle of half-width 2:
    # weights 1/8, 3/8, 3/8, 1/8 inside; at the edge 3/7, 3/7, 1/7
    expected = np.round(80 * np.array([1 / 7, 3 / 8, 0, 0]))
    small = shrink(picture, 4)
    assert small.shape == (1, 4, 4)
    assert small[0, :, 0].tolist() == expected.tolist()


def test_shrinking_keeps_one_colour_and_a_picture_of_that_size() -> None:
    colour = np.broadcast_to(np.array([3, 99, 250], dtype=np.uint8), (9, 9, 3)).copy()
    assert (shrink(colour, 4) == np.array([3, 99, 250])[:, None, None]).all()
    assert np.array_equal(shrink(PIXELS[0, :10], 10), PIXELS[0, :10].transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (png(PIXELS[0])[:-60], r"005\.png in .*/a cannot be decoded: .*; it may be cut"),
        (b"", "cannot be decoded"),
        (b"not a picture", "cannot be decoded"),
        (png(PIXELS[0, :11]), "has 10×11 pixels instead of 10×12"),
    ],
)
def test_a_broken_picture_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "a", PIXELS[:10])
    (folder / "005.png").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(folder)


@pytest.mark.parametrize("side", [7, 97, -1])
def test_an_impossible_side_is_refused(side: int) -> None:
    check_side(8, 96)
    check_side(96, 96)
    with pytest.raises(InputError, match=f"side {side} is not possible.*choose 8 to 96"):
        check_side(side, 96)
