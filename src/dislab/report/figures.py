"""Figures of a page, and figures and images as data URLs, which contain the content itself."""

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from jaxtyping import Float, UInt8
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from dislab.errors import InputError
from dislab.metrics.sheet import parts_of
from dislab.notebook_figure import NotebookFigure
from dislab.plots._panels import CELL, TITLE_SIZE, panel
from dislab.plots._panels import COLUMN as COLUMN
from dislab.plots.matrices import CELLS_WITH_NUMBERS, plot_heat_map, plot_hinton
from dislab.plots.output import write_figure
from dislab.plots.score_sheet import plot_kl
from dislab.runs.curves import term_name

STAGES: Final = {"train": "#26456e", "validation": "#c0392b"}
"""Stages to draw curves of, with their colours."""
MOST_PANELS: Final = 9
MOST_POINTS: Final = 400
"""Maximum number of points of a curve; longer ones are thinned to every n-th point."""
_MARKED: Final = 20
"""Maximum number of points of a curve that are marked each."""
_ACROSS: Final = 3
_PANEL: Final = 1.6
"""Least width of a panel in inches, in a figure of a given width."""
QUALITY: Final = 85
"""JPEG quality of precomputed images and of large pictures."""
LARGEST: Final = 400_000
"""Bytes above which a picture of the run folder is stored as JPEG."""

_REPEATS: Final = 0.01
"""Largest distance, as a share of the range of the loss, at which a curve counts as the same."""
_PER_IMAGE: Final = "nats per image"
_UNITS: Final = (
    (r"discriminator_accuracy", "share"),
    (r"(\w+_)?kl|capacity|tc|total_correlation|index_code_mi|discriminator_loss", _PER_IMAGE),
    (r"grounding|categorical|continuous|reconstruction", _PER_IMAGE),
)
"""Units by the last word of a term; others are weights, or penalties without a unit."""

_LIGHT_TEXT: Final = b"@media (prefers-color-scheme: dark) {svg {fill: #e6eaf0}}"
"""Rule for figures with images; the colour is that of the text of a dark page, in `page.css`."""

_OF_IMPORTANCE: Final = (
    "the larger a square in its row, the more the latent helps to predict the factor"
)
_OF_INFORMATIVENESS: Final = {
    False: "; the fainter a row, the less of the factor is predicted at all (informativeness)",
    True: "; the fainter a row, the closer informativeness is to chance, where the row is empty",
}
"""What shades of rows say, by whether they begin at chance."""
_OF_INFORMATION: Final = "how much each latent tells about each factor, less what chance gives"
_OF_KL: Final = (
    "a sample of a latent tells no more than this of all factors, its mean may tell more"
)


_NUMBERED: Final = 0.24
"""Least width of a cell with a number in inches, on a page."""
_FEW_CELLS: Final = 2.4
_MOST_CELLS: Final = 9.0
"""Widths of a row of few and of many cells in inches; the column of a page has 10.3."""
_SCALE: Final = 0.55
_AROUND: Final = 0.75
"""Width of a colour bar, and height of what is above and below the cells, in inches."""
_NARROWEST: Final = 2.65
_LOWEST: Final = 1.9
"""Least size of a figure in inches: its title fits."""
MOST_ORDERED: Final = 2_000
"""Number of test images to order latents by, the same as for pictures of traversals."""


def curves_figure(
    rows: Sequence[Mapping[str, str]],
    terms: Sequence[str] | None = None,
    width: float | None = None,
) -> Figure | None:
    """Training curves with one panel per loss term; None if nothing changed in training.

    Args:
        rows: The rows of `metrics.csv`.
        terms: Terms to show, in this order; the first nine of `main_terms` unless given.
        width: Total width in inches; by the number of panels unless given.
    """
    curves = {
        f"{stage}/{term}": curve
        for term in (main_terms(rows)[:MOST_PANELS] if terms is None else terms)
        for stage in STAGES
        if (curve := _curve(rows, f"{stage}/{term}")) is not None
    }
    plotted = list(dict.fromkeys(name.partition("/")[2] for name in curves))
    if not plotted:
        return None
    across = min(_ACROSS if width is None else max(1, int(width / _PANEL)), len(plotted))
    down = -(-len(plotted) // across)
    height = 2.3 if width is None else min(2.3, 0.8 * width / across)
    figure = NotebookFigure((width or 3.3 * across, height * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, term in zip(panels, plotted, strict=False):
        for stage, colour in STAGES.items():
            if (curve := curves.get(f"{stage}/{term}")) is not None:
                marker = "." if len(curve[0]) <= _MARKED else None
                axes.plot(*curve, color=colour, linewidth=1.0, marker=marker, label=stage)
        if (capacity := _curve(rows, f"train/{_capacity_of(term)}")) is not None:
            axes.plot(*capacity, color="black", linewidth=1.0, linestyle=":", label="capacity")
            axes.legend(fontsize=7, frameon=False)
        size = 9 if width is None else 8
        axes.set_title(term_name(term), fontsize=size, loc="left", parse_math=False)
        axes.set_ylabel(unit_of(term, rows), fontsize=7)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3, linewidth=0.5)
    for idle in panels[len(plotted) :]:
        idle.set_axis_off()
    panels[0].legend(fontsize=7, frameon=False)
    figure.supxlabel("optimiser step", fontsize=8)
    return figure


def loss_terms(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Terms logged in training: the loss, those of the objective, those of each part.

    The term with the name of its part, such as `kl/kl`, is the first one of the part.

    Args:
        rows: The rows of `metrics.csv`.
    """
    names = {
        name.partition("/")[2] for row in rows for name in row if name.partition("/")[0] in STAGES
    }

    def order(name: str) -> tuple[bool, int, str, bool, str]:
        part, _, term = name.partition("/")
        return name != "loss", name.count("/"), part, term != part, term

    return sorted(names, key=order)


def main_terms(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Terms that changed in training, without those whose curve cannot be told from the loss.

    The capacity of a KL, which is drawn with the KL, is left out too.

    Args:
        rows: The rows of `metrics.csv`.
    """
    changed = [
        term
        for term in loss_terms(rows)
        if any(_curve(rows, f"{stage}/{term}") is not None for stage in STAGES)
    ]
    left_out = {*map(_capacity_of, changed), *repeats_of_loss(rows)}
    return [term for term in changed if term not in left_out]


def repeats_of_loss(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Terms whose curve cannot be told from that of the loss.

    Args:
        rows: The rows of `metrics.csv`.
    """
    return [term for term in loss_terms(rows) if term != "loss" and _is_loss(rows, term)]


def _capacity_of(term: str) -> str:
    """Name of the capacity that the KL of a part is held close to; empty for other terms."""
    part, _, name = term.rpartition("/")
    return f"{part}/capacity".lstrip("/") if name == "kl" else ""


def _is_loss(rows: Sequence[Mapping[str, str]], term: str) -> bool:
    """Whether the curve of a term cannot be told from that of the loss."""
    curve, loss = (_curve(rows, f"train/{name}") for name in (term, "loss"))
    if curve is None or loss is None or curve.shape != loss.shape:
        return False
    return bool(np.abs(curve - loss).max() <= _REPEATS * np.ptp(loss[1]))


def unit_of(term: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Unit of a term of the loss; empty if it has none, or is not known.

    The loss and the objective are in nats if they contain a reconstruction, which always is.

    Args:
        term: The term, one of `loss_terms`.
        rows: The rows of `metrics.csv`.
    """
    if term in ("loss", "objective"):
        return _PER_IMAGE if "reconstruction" in loss_terms(rows) else ""
    name = term.rpartition("/")[2]
    return next((unit for pattern, unit in _UNITS if re.fullmatch(pattern, name)), "")


def _curve(rows: Sequence[Mapping[str, str]], name: str) -> npt.NDArray[np.float64] | None:
    """Steps and values of a logged name; None if it is missing or constant."""
    points = [(float(row["step"]), float(row[name])) for row in rows if name in row]
    if len({value for _, value in points}) < 2:
        return None
    return np.asarray(points[:: -(-len(points) // MOST_POINTS)]).T


def part_figures(record: Mapping[str, Any]) -> Iterator[tuple[str, str, Figure]]:
    """Title, caption and figure of importances, information and KL of the latents.

    Args:
        record: A record of `scores.json`, written by `test` or `validate`, or by hand.
    """
    try:
        parts = parts_of(record.get("parts", {}), scored_factors(record))
        matrices = [m for m in (parts.importance, parts.information) if m is not None]
        cells, names, height = _sizes(len(matrices[0]) if matrices else 0, parts.names)
        if parts.importance is not None:
            title, predicted = "importance for predicting a factor", parts.predicted()
            begins_at_chance = parts.chance is not None
            fainter = "" if predicted is None else _OF_INFORMATIVENESS[begins_at_chance]
            figure, axes = _titled(title, names + cells, height)
            plot_hinton(axes, parts.importance, parts.names, "", predicted)
            axes.set_anchor("NW")
            yield title, f"{_OF_IMPORTANCE}{fainter}", figure
        if parts.information is not None:
            figure, axes = _titled(parts.about, names + cells + _SCALE, height)
            plot_heat_map(axes, parts.information, parts.names, "nats", "", parts.kl)
            yield parts.about, _OF_INFORMATION, figure
        if parts.kl is not None:
            figure, axes = _titled("KL from the prior, nats", _NARROWEST, height)
            plot_kl(axes, parts.kl)
            axes.set_title("", loc="left")
            yield "KL from the prior", _OF_KL, figure
    except (InputError, KeyError, TypeError, ValueError):  # a record written by hand
        return


def _sizes(latents: int, factors: Sequence[str]) -> tuple[float, float, float]:
    """Widths of all cells and of the names beside them, and the height of figures, in inches.

    A page shows the figures without scaling, so that their text has one size.
    """
    side = _NUMBERED if latents <= CELLS_WITH_NUMBERS else CELL / 2
    across = min(max(side, min(CELL, _FEW_CELLS / max(latents, 1))) * latents, _MOST_CELLS)
    down = across / max(latents, 1) * len(factors) + _AROUND
    longest = max((len(name) for name in factors), default=0)
    return across, 0.07 * longest + 0.15, max(down, _LOWEST)


def _titled(title: str, width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of one panel, with a title that begins at its left edge."""
    figure, axes = panel(max(width, _NARROWEST), height)
    figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE, parse_math=False)
    return figure, axes


def scored_factors(record: Mapping[str, Any]) -> list[str]:
    """Names of the factors that scores have a number for: those of the data without nuisance.

    Args:
        record: A record of `scores.json`.
    """
    scored, data = (record.get(name) for name in ("sample", "data"))
    named = [part.get("factors") for part in (scored, data) if isinstance(part, Mapping)]
    listed = (names for names in named if isinstance(names, Sequence | Mapping))
    return [str(name) for name in next(listed, ())]


def data_address(kind: str, content: bytes) -> str:
    """Content as a data URL, which a page shows without a request.

    Args:
        kind: Media type, such as `image/png`.
        content: The bytes.
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def png(image: Float[Tensor, "channel height width"]) -> str:
    """Data URL of one image.

    Args:
        image: Pixels in [0, 1]; one or three channels.
    """
    return _address(_picture(_pixels(image[None])[0]), "PNG")


def atlas(images: Float[Tensor, "image channel height width"]) -> dict[str, Any]:
    """Images as a grid in one picture: its data URL, and the number of `columns`.

    Args:
        images: Pixels in [0, 1]; one or three channels.
    """
    pixels = _pixels(images)
    columns = math.ceil(math.sqrt(len(pixels)))
    rows = math.ceil(len(pixels) / columns)
    height, width, channels = pixels.shape[1:]
    sheet = np.zeros((rows * columns, height, width, channels), dtype=np.uint8)
    sheet[: len(pixels)] = pixels
    sheet = sheet.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    picture = _picture(sheet.reshape(rows * height, columns * width, channels))
    return {"image": _address(picture, "JPEG"), "columns": columns}


def picture(path: Path) -> str:
    """Data URL of a PNG file; a large one is stored as JPEG."""
    content = path.read_bytes()
    if len(content) <= LARGEST:
        return data_address("image/png", content)
    with Image.open(BytesIO(content)) as image:
        return _address(image.convert("RGB"), "JPEG")


def drawing(figure: Figure, has_images: bool = False, is_cropped: bool = True) -> str:
    """Data URL of a figure as SVG without background; equal figures have equal URLs.

    Args:
        figure: The figure.
        has_images: Whether it shows images, whose colours a dark page must not invert: its black
            text, which has no colour of its own in the file, is light there instead.
        is_cropped: Whether the margin is left out, so that the size is not that of the figure.
    """
    buffer = BytesIO()
    with mpl.rc_context(
        {"savefig.bbox": "tight", "savefig.pad_inches": 0.02} if is_cropped else {}
    ):
        write_figure(figure, buffer, "svg", is_transparent=True)
    content = buffer.getvalue()
    if has_images:
        content = content.replace(b"</style>", _LIGHT_TEXT + b"</style>", 1)
    return data_address("image/svg+xml", content)


def _pixels(
    images: Float[Tensor, "image channel height width"],
) -> UInt8[np.ndarray, "image height width channel"]:
    levels = images.nan_to_num(0.0).clamp(0.0, 1.0).mul(255).round().byte()
    return levels.permute(0, 2, 3, 1).contiguous().numpy()


def _picture(pixels: UInt8[np.ndarray, "height width channel"]) -> Image.Image:
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def _address(image: Image.Image, kind: str) -> str:
    buffer = BytesIO()
    image.save(buffer, format=kind, quality=QUALITY, optimize=True)
    return data_address(f"image/{kind.lower()}", buffer.getvalue())
