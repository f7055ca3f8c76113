"""A table of images with labelled rows and columns."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Shaped, UInt8
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.image import FigureImage
from matplotlib.textpath import text_to_path
from matplotlib.transforms import IdentityTransform

from dislab.errors import InputError
from dislab.notebook_figure import NotebookFigure
from dislab.plots._arguments import takes_tables

DPI: Final = 100
CELL: Final = 64
"""Approximate length of the longer side of an image in screen pixels."""
GAP: Final = 2
"""Screen pixels between two images."""
BLOCK_GAP: Final = 16
"""Screen pixels between two blocks of columns."""
SMALLEST: Final = 8
"""Least width of an image in screen pixels, in a figure of a given width."""
WIDEST: Final = 50
"""Greatest width of a figure in inches."""
PRINTED: Final = 300
"""Resolution of figures of a given width, in dots per inch."""
MARGIN: Final = 12
LABEL_SIZE: Final = 9.0
TITLE_SIZE: Final = 11.0
_GREY: Final = "#8c8c8c"
"""Colour of the label of a faded row."""
_LINE: Final = 0.98
"""Distance of the two lines of a label, so that it is no higher than a row of a narrow figure."""
_PALE: Final = 200
"""Grey value, of 255, towards which the pixels of a faded row are moved."""
_FADING: Final = 3
"""Divisor of a faded pixel's distance from that grey."""


class ImageGrid(NamedTuple):
    """Images in rows and columns, with their labels; see `image_grid`.

    Attributes:
        images: Pixels in [0, 1]; one or three channels.
        row_labels: One label per row, or none.
        column_labels: One label per column, or none.
        title: Title above the figure.
        blocks: Number of equal blocks of columns.
        faded: For each row, whether it is greyed out; or empty.
        short_labels: Shorter labels of the rows, for narrow figures; or empty.
        axis: The quantity of the columns, written below a figure of a given width; or empty.
    """

    images: Float[np.ndarray, "row column channel height width"]
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    title: str = ""
    blocks: int = 1
    faded: Sequence[bool] = ()
    short_labels: Sequence[str] = ()
    axis: str = ""

    def figure(self, width: float | None = None) -> Figure:
        """The figure, at a size that gives every image whole screen pixels.

        Args:
            width: Total width in inches, if it matters more than whole screen pixels.

        Raises:
            InputError: As for `image_grid`.
        """
        return image_grid(*self[:6], width=width, axis="" if width is None else self.axis)


@takes_tables
def image_grid(
    images: Shaped[np.ndarray, "row column channel height width"],
    row_labels: Sequence[str] = (),
    column_labels: Sequence[str] = (),
    title: str = "",
    blocks: int = 1,
    faded: Sequence[bool] = (),
    width: float | None = None,
    axis: str = "",
) -> Figure:
    """A figure in which every image pixel covers a square of whole screen pixels.

    Args:
        images: Pixels in [0, 1], or bytes; one or three channels. Values outside are clipped, and
            NaN pixels are magenta.
        row_labels: One label per row, or none.
        column_labels: One label per column, or none.
        title: Title above the figure; empty for none.
        blocks: Number of equal blocks of columns, separated by wider gaps.
        faded: For each row, whether its images and label are greyed out; or empty.
        width: Total width in inches, for print: images are scaled, labels keep their size, and
            only as many columns are labelled as there is room for. By default, images determine
            the width.
        axis: The quantity of the columns, below the images; empty for none.

    Raises:
        InputError: The grid is empty, the channels are neither one nor three, labels, blocks or
            faded rows do not match the rows and columns, or the width leaves no room for images.
    """
    images = images / 255 if images.dtype == np.uint8 else images
    _check(images.shape, row_labels, column_labels, blocks, faded)
    greyed = list(faded) or [False] * len(images)
    scale = max(1, round(CELL / max(images.shape[-2:])))
    canvas, lefts, tops = _canvas(images, scale, blocks, greyed)
    middle_y, middle_x = (scale * side / 2 for side in images.shape[-2:])

    edge = MARGIN if width is None else MARGIN // 4
    offset = edge + max((_extent(label, LABEL_SIZE) + 8 for label in row_labels), default=0)
    top = edge + (22 if any(column_labels) else 0) + (28 if title else 0)
    zoom = 1.0 if width is None else _zoom(width, offset + edge, canvas.shape[1], len(lefts))
    across, down = (round(zoom * side) for side in (canvas.shape[1], canvas.shape[0]))
    right = max(offset + across, edge + _extent(title, TITLE_SIZE) if width is None else 0)
    bottom = edge + (18 if axis else 0)
    size = right + edge, top + down + bottom
    figure = NotebookFigure(figsize=(size[0] / DPI, size[1] / DPI), dpi=DPI, facecolor="white")
    if width is None:
        figure.images.append(_Exact(figure, canvas, offset, bottom))
    else:
        _add_pixels(figure, canvas, (offset / size[0], bottom / size[1]), (across, down), size)
        column_labels = _thinned(column_labels, zoom * (lefts[-1] + 2 * middle_x) / len(lefts))
    for y, label, grey in zip(tops, row_labels, greyed, strict=False):
        point = offset - 8, top + zoom * (y + middle_y)
        colour = _GREY if grey else "black"
        _write(figure, size, point, label, LABEL_SIZE, "right", "center", colour)
    for x, label in zip(lefts, column_labels, strict=False):
        middle = offset + zoom * (x + middle_x)
        if width is not None:
            half = _extent(label, LABEL_SIZE) / 2
            middle = max(half, min(middle, size[0] - half))
        point = middle, top - 6
        _write(figure, size, point, label, LABEL_SIZE, "center", "bottom")
    _write(figure, size, (edge, edge), title, TITLE_SIZE, "left", "top")
    start = max(edge, min(offset, size[0] - edge - _extent(axis, LABEL_SIZE)))
    _write(figure, size, (start, size[1] - edge), axis, LABEL_SIZE, "left", "bottom")
    return figure


def _zoom(width: float, labels: int, images: int, columns: int) -> float:
    """Factor that gives the figure its width in inches."""
    least = (labels + SMALLEST * columns) / DPI
    if not least <= width <= WIDEST:
        raise InputError(
            f"width is {width:g} inches; with {columns} columns and these labels, it is from "
            f"{np.ceil(10 * least) / 10:g} to {WIDEST}; show fewer columns or shorter labels"
        )
    return (width * DPI - labels) / images


def _add_pixels(
    figure: Figure,
    canvas: UInt8[np.ndarray, "y x 3"],
    corner: tuple[float, float],
    extent: tuple[int, int],
    size: tuple[int, int],
) -> None:
    """Places pixels at a corner, scaled, at a resolution for print."""
    figure.set_dpi(PRINTED)
    axes = figure.add_axes((*corner, extent[0] / size[0], extent[1] / size[1]))
    axes.imshow(canvas, aspect="auto", interpolation="nearest")
    axes.set_axis_off()


def _thinned(labels: Sequence[str], pitch: float) -> list[str]:
    """Every n-th label, such that neighbours do not touch at a distance of columns in pixels."""
    every = ceil(max((_extent(label, LABEL_SIZE) + 2 for label in labels), default=0) / pitch)
    return [label if column % max(every, 1) == 0 else "" for column, label in enumerate(labels)]


class _Exact(FigureImage):
    """Pixels that are copied unchanged into a picture at the figure's resolution.

    Resampling, which matplotlib applies to every image, takes half the time of the picture.
    """

    def __init__(
        self, figure: Figure, canvas: UInt8[np.ndarray, "y x 3"], left: int, bottom: int
    ) -> None:
        super().__init__(figure, offsetx=left, offsety=bottom, origin="upper")
        self.set_data(canvas)

    def make_image(self, renderer: Any, magnification: float = 1.0, unsampled: bool = False) -> Any:
        """RGBA pixels, bottom row first, and their position."""
        if renderer.dpi != DPI or magnification != 1.0:
            return super().make_image(renderer, magnification, unsampled)
        pixels = np.asarray(self.get_array())
        opaque = np.full((*pixels.shape[:2], 4), 255, dtype=np.uint8)
        opaque[..., :3] = pixels[::-1]
        return opaque, float(self.ox), float(self.oy), IdentityTransform()


def _check(
    shape: tuple[int, ...],
    rows: Sequence[str],
    columns: Sequence[str],
    blocks: int,
    faded: Sequence[bool],
) -> None:
    if 0 in shape or shape[2] not in (1, 3):
        raise InputError(
            f"images of shape {shape} make no grid; it needs at least one row and column of "
            "images with one or three channels"
        )
    for name, labels, count in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if len(labels) not in (0, count):
            raise InputError(f"{len(labels)} {name} labels for {count} {name}s of images")
    if len(faded) not in (0, shape[0]):
        raise InputError(f"faded names {len(faded)} rows, and the grid has {shape[0]}")
    if blocks < 1 or shape[1] % blocks:
        raise InputError(f"{shape[1]} columns do not part into {blocks} equal blocks")


def _canvas(
    images: Float[np.ndarray, "row column channel height width"],
    scale: int,
    blocks: int,
    faded: Sequence[bool],
) -> tuple[UInt8[np.ndarray, "y x 3"], list[int], list[int]]:
    """The images side by side on white, and the starting positions of their columns and rows."""
    rows, columns, _, height, width = images.shape
    colours = _colours(images)
    grey = np.asarray(faded)
    colours[grey] = _PALE - (_PALE - colours[grey].astype(np.int64)) // _FADING
    enlarged = colours.repeat(scale, axis=2).repeat(scale, axis=3)
    height, width = height * scale, width * scale
    tops = [row * (height + GAP) for row in range(rows)]
    per_block = columns // blocks
    lefts = [
        column * (width + GAP) + (column // per_block) * (BLOCK_GAP - GAP)
        for column in range(columns)
    ]
    canvas = np.full((tops[-1] + height, lefts[-1] + width, 3), 255, dtype=np.uint8)
    for row, y in enumerate(tops):
        for column, x in enumerate(lefts):
            canvas[y : y + height, x : x + width] = enlarged[row, column]
    return canvas, lefts, tops


def _colours(
    images: Float[np.ndarray, "row column channel height width"],
) -> UInt8[np.ndarray, "row column height width 3"]:
    unknown = np.isnan(images).any(axis=2)
    bounded = np.rint(np.clip(np.nan_to_num(images), 0, 1) * 255).astype(np.uint8)
    coloured: npt.NDArray[np.uint8] = np.moveaxis(bounded, 2, -1)
    coloured = np.broadcast_to(coloured, (*coloured.shape[:-1], 3)).copy()
    coloured[unknown] = (255, 0, 255)
    return coloured


def _write(
    figure: Figure,
    size: tuple[int, int],
    point: tuple[float | int, float | int],
    text: str,
    points: float,
    across: Literal["left", "center", "right"],
    up: Literal["top", "center", "bottom"],
    colour: str = "black",
) -> None:
    """Writes text at a position in screen pixels from the upper left corner."""
    x, y = point[0] / size[0], 1 - point[1] / size[1]
    spacing = _LINE if "\n" in text else 1.2  # the default, which also places single lines
    style: dict[str, Any] = {"fontsize": points, "color": colour, "linespacing": spacing}
    figure.text(x, y, text, ha=across, va=up, parse_math=False, **style)


def _extent(text: str, size: float) -> int:
    """Width of the longest line of a text in screen pixels, rounded up."""
    if not text.strip():
        return 0
    font = FontProperties(size=size)
    lines = text.splitlines()
    widths = [text_to_path.get_text_width_height_descent(line, font, False)[0] for line in lines]
    return int(np.ceil(max(widths) * DPI / 72)) + 4
