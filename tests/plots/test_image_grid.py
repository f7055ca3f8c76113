from itertools import pairwise

import numpy as np
import pytest

from dislab.errors import InputError
from dislab.plots import image_grid, pixels
from dislab.plots.image_grid import BLOCK_GAP, GAP, MARGIN

INK = 128


def _only_images(drawn: np.ndarray) -> np.ndarray:
    """The drawing without its margin, of a figure without labels."""
    return drawn[MARGIN:-MARGIN, MARGIN:-MARGIN]


@pytest.mark.parametrize(
    ("shape", "scale"),
    [
        ((2, 3, 1, 8, 8), 8),
        ((1, 1, 3, 28, 28), 2),
        ((3, 2, 3, 64, 64), 1),
        ((1, 2, 1, 7, 16), 4),
        ((1, 2, 3, 128, 128), 1),
    ],
)
def test_every_pixel_covers_a_square_of_its_own_value(
    shape: tuple[int, int, int, int, int], scale: int
) -> None:
    levels = np.random.default_rng(0).integers(0, 256, shape)
    drawn = _only_images(pixels(image_grid(levels / 255)))
    rows, columns, _, height, width = shape
    for row in range(rows):
        for column in range(columns):
            top, left = row * (height * scale + GAP), column * (width * scale + GAP)
            cell = drawn[top : top + height * scale, left : left + width * scale]
            image = np.moveaxis(levels[row, column], 0, -1)
            expected = np.broadcast_to(image, (height, width, 3)).repeat(scale, 0).repeat(scale, 1)
            np.testing.assert_array_equal(cell, expected)
    assert drawn.shape[0] == rows * (height * scale + GAP) - GAP
    assert drawn.shape[1] == columns * (width * scale + GAP) - GAP


@pytest.mark.parametrize("letters", range(1, 60, 3))
def test_labels_leave_the_pixels_in_place_and_are_not_cut_off(letters: int) -> None:
    label, title = "g" * letters, "W$" * letters
    figure = image_grid(np.zeros((2, 3, 1, 8, 8)), [label, label], ["+2"] * 3, title)
    drawn = pixels(figure)
    dark = drawn[..., 0] < INK
    assert not dark[:3].any()
    assert not dark[-3:].any()
    assert not dark[:, :3].any()
    assert not dark[:, -3:].any()
    blocks = dark[-MARGIN - 64 : -MARGIN].all(axis=0)
    edges = np.flatnonzero(np.diff(np.r_[False, blocks, False].astype(int)))
    assert np.diff(edges).tolist() == [64, GAP, 64, GAP, 64]


def test_a_faded_row_has_grey_images_and_a_grey_label() -> None:
    images = np.zeros((2, 1, 1, 64, 64))
    images[..., 32:, :] = 1
    drawn = pixels(image_grid(images, ["▮", "▮"], faded=[False, True]))
    own = drawn[MARGIN:-MARGIN, -MARGIN - 64 : -MARGIN, 0].astype(int)
    kept, faded = own[:64], own[64 + GAP :]
    assert set(kept.flat) == {0, 255}
    assert 100 < faded.min() < faded.max() < 255
    labels = drawn[MARGIN:-MARGIN, : -MARGIN - 64 - GAP]
    assert labels[:64].min() == 0
    assert labels[64 + GAP :].min() > 100
    with pytest.raises(InputError, match="faded names 1 rows, and the grid has 2"):
        image_grid(images, faded=[True])


def test_blocks_are_set_apart() -> None:
    drawn = _only_images(pixels(image_grid(np.zeros((1, 4, 1, 64, 64)), blocks=2)))
    white = np.flatnonzero((drawn == 255).all(axis=(0, 2)))
    gaps = [*range(64, 66), *range(130, 130 + BLOCK_GAP), *range(210, 212)]
    assert white.tolist() == gaps


def test_values_outside_are_cut_off_and_missing_ones_stand_out() -> None:
    image = np.array([[-0.5, 1.5], [np.nan, 0.5]])[None, None, None]
    drawn = _only_images(pixels(image_grid(image)))
    assert drawn[0, 0].tolist() == [0, 0, 0]
    assert drawn[0, -1].tolist() == [255, 255, 255]
    assert drawn[-1, 0].tolist() == [255, 0, 255]
    assert drawn[-1, -1].tolist() == [128, 128, 128]


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "blocks", "message"),
    [
        ((0, 1, 1, 8, 8), (), (), 1, "no grid"),
        ((1, 1, 2, 8, 8), (), (), 1, "one or three channels"),
        ((2, 1, 1, 8, 8), ("a",), (), 1, "1 row labels for 2 rows"),
        ((1, 3, 1, 8, 8), (), ("a", "b"), 1, "2 column labels for 3 columns"),
        ((1, 3, 1, 8, 8), (), (), 2, "3 columns do not part into 2 equal blocks"),
        ((1, 3, 1, 8, 8), (), (), 0, "0 equal blocks"),
    ],
)
def test_what_does_not_fit_is_refused(
    shape: tuple[int, int, int, int, int],
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    blocks: int,
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        image_grid(np.zeros(shape), rows, columns, blocks=blocks)


@pytest.mark.parametrize("rows", [("z0 posX", "z1"), ()])
@pytest.mark.parametrize("width", [3.25, 6.75])
def test_print_keeps_the_size_of_labels_and_loses_none_at_the_edge(
    width: float, rows: tuple[str, ...]
) -> None:
    labels = [f"{step:+d}.25σ" for step in range(-4, 5)]
    figure = image_grid(np.zeros((2, 9, 1, 8, 8)), rows, labels, width=width)
    shown = [text for text in figure.texts if text.get_text()]
    assert min(float(text.get_fontsize()) for text in shown) >= 7
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in shown]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    columns = sorted((box.x0, box.x1) for box in boxes if box.y0 == max(one.y0 for one in boxes))
    assert len(columns) >= 2
    assert all(left[1] < right[0] for left, right in pairwise(columns))


def test_a_width_without_room_for_images_is_refused() -> None:
    with pytest.raises(InputError, match="show fewer columns or shorter labels"):
        image_grid(np.zeros((1, 40, 1, 8, 8)), ("a long label",), width=3.25)
