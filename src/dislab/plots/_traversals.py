"""Latent traversals: images decoded while one latent at a time varies."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from einops import rearrange
from jaxtyping import Float, Int, UInt8
from lightning.pytorch.plugins import Precision
from matplotlib.figure import Figure
from torch import Tensor

from dislab.base.inference import evaluating, lacks
from dislab.base.objective import Objective
from dislab.codes.checks import ConstantFactorWarning, some_of
from dislab.errors import InputError, warn
from dislab.factors import check_factor_names, column_names
from dislab.functional.checks import check_count
from dislab.naming.settings import checks_arguments
from dislab.plots._arguments import array
from dislab.plots._latent_order import Order, latent_order
from dislab.plots.image_grid import image_grid

Positions = Literal["shifted", "absolute"]
"""Traversals around the code of each image, or around the centre of the prior."""

SPANS: Final[dict[Positions, tuple[float, float]]] = {
    "shifted": (-2.0, 2.0),
    "absolute": (-3.0, 3.0),
}
"""Default span of each kind of positions."""

_GAP: Final = 2


_MANY: Final = 2000
"""Number of images in which a factor that does not vary does not vary in the data either."""


class Moved(NamedTuple):
    """Images of moved latents.

    Attributes:
        images: Pixels in [0, 1], shape (latent, image, step, channel, height, width).
        heads: Labels of the steps; none for bounded codes.
    """

    images: Float[Tensor, "latent image step channel height width"]
    heads: list[str]


@checks_arguments
def traversals(
    model: Objective,
    images: npt.NDArray[np.floating] | npt.NDArray[np.uint8] | Tensor,
    factors: "npt.ArrayLike | Mapping[str, npt.ArrayLike] | Sequence[Any] | None" = None,
    names: Sequence[str] = (),
    blocks: int = 1,
    steps: int = 9,
    span: tuple[float, float] | None = None,
    positions: Positions = "shifted",
    latents: int = 10,
    batch_size: int = 256,
    title: str = "",
) -> Figure:
    """Figure of latent traversals with one row per latent, with the highest KL on top.

    Rows are labelled as by the callback `Traversals`: with the KL of the latent from its prior
    and, if factors are given, the factor with the highest mutual information with its mean. Save
    the figure with `dislab.plots.save` as PNG, PDF or SVG.

    Args:
        model: A method with codes and a decoder, such as `load_run` returns.
        images: Images, shape (image, channel, height, width): pixels in [0, 1], or bytes. All of
            them determine the order of the latents, and the first ones are traversed.
        factors: Value numbers of the images' factors, shape (image, factor); a dictionary or table
            of columns, of value numbers or texts; or the result of `run.encode()` for the images.
        names: Names of the factors; unless given, those of the columns or of the run, or
            `factor_0`, `factor_1`, … for an array.
        blocks: Number of images to traverse, one block of columns each.
        steps: Number of positions.
        span: The first and the last position or shift, in standard deviations of the prior, or of
            the codes; −3 to 3 for absolute positions and −2 to 2 for shifts unless given.
        positions: `shifted` moves a latent from the code of the image, `absolute` from 0.
        latents: Maximum number of latents to show.
        batch_size: Number of images encoded at a time.
        title: Title above the figure.

    Raises:
        InputError: An argument is invalid, the images or factors do not match, or the method has no
            codes or no decoder.

    Warns:
        ConstantFactorWarning: Some factors take one value only in the images, so that they name no
            latent, and latents may get the names of others.
    """
    moves, order = _of_arrays(
        model, images, factors, names, blocks, steps, span, positions, latents, batch_size
    )
    return image_grid(
        rearrange(moves.images, "row image step c h w -> row (image step) c h w").numpy(),
        order.labels[:latents],
        moves.heads * blocks,
        title,
        blocks=blocks,
        faded=order.dead[:latents],
    )


@checks_arguments
def traversal_frames(
    model: Objective,
    images: npt.NDArray[np.floating] | npt.NDArray[np.uint8] | Tensor,
    blocks: int = 1,
    steps: int = 15,
    span: tuple[float, float] | None = None,
    positions: Positions = "shifted",
    latents: int = 10,
    batch_size: int = 256,
) -> UInt8[np.ndarray, "frame height width 3"]:
    """Frames of an animation that shows the traversals of all latents at once, in separate images.

    One row per image and one column per latent, with the highest KL on the left; the latents move
    forth and back. Save the frames with `dislab.plots.save_animation` as GIF.

    Args:
        model: As for `traversals`, like the other arguments.
        images: Images, shape (image, channel, height, width).
        blocks: Number of images to traverse, one row each.
        steps: Number of positions.
        span: The first and the last position or shift.
        positions: `shifted` or `absolute`.
        latents: Maximum number of latents to show.
        batch_size: Number of images encoded at a time.

    Raises:
        InputError: As for `traversals`.
    """
    moves, _ = _of_arrays(
        model, images, None, (), blocks, steps, span, positions, latents, batch_size
    )
    return frames_of(moves)


def frames_of(moves: Moved) -> UInt8[np.ndarray, "frame height width 3"]:
    """Frames in which all latents move forth and back, one row per image, one column per latent.

    Args:
        moves: Images of the moved latents.
    """
    grid = torch.nn.functional.pad(moves.images, (0, _GAP, 0, _GAP), value=1.0)
    rows = rearrange(grid, "latent image step c h w -> step (image h) (latent w) c")
    shades = (rows[:, :-_GAP, :-_GAP].clamp(0, 1) * 255).round().to(torch.uint8)
    shades = shades.expand(*shades.shape[:3], 3)
    scale = max(1, round(64 / max(moves.images.shape[-2:])))
    frames = shades.repeat_interleave(scale, 1).repeat_interleave(scale, 2).numpy()
    return np.concatenate((frames, frames[-2:0:-1]))


def check_traversal(steps: int, latents: int, batch_size: int, span: tuple[float, float]) -> None:
    """Rejects settings that show nothing.

    Args:
        steps: Number of positions.
        latents: Maximum number of latents to show.
        batch_size: Number of images encoded at a time.
        span: The first and the last position or shift.

    Raises:
        InputError: A number is too small, or the span is empty.
    """
    check_count("latents", latents, 1, most=1000)
    check_count("batch_size", batch_size, 1)
    check_count("steps", steps, 2, most=100)
    if not -np.inf < span[0] < span[1] < np.inf:
        raise InputError(f"span is {tuple(span)}; it must rise from one finite number to another")


def moved(
    module: Objective,
    code: Float[Tensor, "image latent"],
    order: Order,
    latents: Sequence[int],
    places: Float[Tensor, " place"],
    positions: Positions,
) -> Moved:
    """Decoded images of codes in which one latent at a time varies; needs evaluation mode.

    Args:
        module: The method.
        code: Codes of the images, on the device of the method.
        order: Centre and scale of the latents.
        latents: Numbers of the latents.
        places: Positions or shifts, in standard deviations.
        positions: Around the code of each image, or around the centre.
    """
    each = _places(module, code, order, places, positions)
    rows = [_row(module, code, latent, each[latent]) for latent in latents]
    width = max(row.shape[1] for row in rows)
    bounded = not lacks(module, "code_values")
    heads = [] if bounded else [_head(position, positions) for position in places.tolist()]
    return Moved(torch.stack([_filled(row, width) for row in rows]), heads)


def pixels_of(model: Objective, images: Any) -> Tensor:
    """Images as a tensor in the precision of a model, bytes divided by 255; on their own device.

    Raises:
        InputError: They are no array or tensor of numbers.
    """
    if not isinstance(images, Tensor):
        pixels = array("images", images, "(image, channel, height, width)")
        if pixels.dtype.kind not in "biuf":
            raise InputError(
                f"images are {type(images).__name__}; give an array or tensor of shape (image, "
                "channel, height, width)"
            )
        images = torch.from_numpy(pixels)
    is_bytes = images.dtype == torch.uint8
    converted: Tensor = images.float() / 255 if is_bytes else images.to(model.dtype)
    return converted


def _of_arrays(
    model: Objective,
    images: Any,
    factors: Any,
    names: Sequence[str],
    blocks: int,
    steps: int,
    span: tuple[float, float] | None,
    positions: Positions,
    latents: int,
    batch_size: int,
) -> tuple[Moved, Order]:
    span = SPANS[positions] if span is None else span
    check_traversal(steps, latents, batch_size, span)
    if lacks(model, "decode") or not (model.has_codes or not lacks(model, "encode")):
        raise InputError(f"{type(model).__name__} has no codes or no decoder to draw traversals by")
    pixels = pixels_of(model, images)
    check_count("blocks", blocks, 1, most=min(100, len(pixels)))
    table, names = _table(factors, names, len(pixels))
    _warn_of_names(table, names)
    with evaluating(model, Precision()):

        def over(function: Callable[[Tensor], Tensor]) -> Tensor:
            starts = range(0, len(pixels), batch_size)
            batches = (pixels[at : at + batch_size].to(model.device) for at in starts)
            return torch.cat([function(batch).cpu() for batch in batches])

        order = latent_order(model, over, table, names)
        first = pixels[:blocks].to(model.device)
        code = model.codes(first) if lacks(model, "encode") else model.encode(first).mean
        places = torch.linspace(*span, steps)
        return moved(model, code, order, order.latents[:latents], places, positions), order


def _table(factors: Any, names: Sequence[str], count: int) -> tuple[Tensor, list[str]]:
    """Value numbers of the factors, without columns if there are none, and their names."""
    if hasattr(factors, "factors") and hasattr(factors, "names"):  # codes of a run
        factors, names = factors.factors, names or factors.names
    if isinstance(factors, Mapping):
        columns, names = list(factors.values()), names or [str(name) for name in factors]
    else:
        table = np.zeros((count, 0), dtype=np.int64) if factors is None else factors
        rows = array("factors", table, "(image, factor)")
        if rows.ndim != 2 or len(rows) != count:
            raise InputError(
                f"factors are {rows.dtype} of shape {rows.shape}; give value numbers, one row for "
                f"each of {count} images and one column for each factor"
            )
        columns = list(rows.T)
        names = names or column_names(table) or [f"factor_{at}" for at in range(len(columns))]
    check_factor_names(names, len(columns), advice=", or none")
    numbers = [_numbers(name, column, count) for name, column in zip(names, columns, strict=True)]
    table = np.stack(numbers, axis=1) if numbers else np.zeros((count, 0), dtype=np.int64)
    return torch.from_numpy(table), list(names)


def _numbers(name: str, column: Any, count: int) -> Int[np.ndarray, " image"]:
    """Value numbers of a factor; texts are numbered in their order."""
    values = array(f"factor {name}", column, "(image,)")
    if values.dtype.kind == "O":  # of a table with columns of several types
        values = np.array(values.tolist())
    if values.shape != (count,) or values.dtype.kind not in "biuUT":
        remedy = ", such as the factors of run.encode(), not its values"
        raise InputError(
            f"factor {name} is {values.dtype} of shape {values.shape}; give value numbers 0, 1, 2, "
            f"… of {count} images{remedy if values.dtype.kind == 'f' else ''}"
        )
    if values.dtype.kind in "UT":
        values = np.unique(values, return_inverse=True)[1]
    return values.astype(np.int64)


def _warn_of_names(table: Int[Tensor, "image factor"], names: Sequence[str]) -> None:
    """Warns of factors that name no latent."""
    if not names:
        return
    advice = "; give images drawn from all of the data, such as those of run.encode(images=2000)"
    is_constant = (table == table[:1]).all(dim=0).tolist()
    if any(is_constant):
        constant = [name for name, same in zip(names, is_constant, strict=True) if same]
        warn(
            f"{some_of(constant)} took one value only in {len(table):,} images, so that latents "
            f"may get the names of other factors{advice if len(table) < _MANY else ''}",
            ConstantFactorWarning,
        )


def _places(
    module: Objective,
    code: Float[Tensor, "image latent"],
    order: Order,
    places: Float[Tensor, " place"],
    positions: Positions,
) -> list[Float[Tensor, "image step"]]:
    """Positions of each latent in its traversal."""
    if lacks(module, "code_values"):
        places, scale = places.to(code), order.scale.to(code)
        start = code if positions == "shifted" else order.centre.to(code).expand_as(code)
        return [
            column[:, None] + step * places for column, step in zip(start.T, scale, strict=True)
        ]
    values = module.code_values(len(places))
    values = module.code_values(max(len(step) for step in values))
    return [step.to(code).expand(len(code), -1) for step in values]


def _head(position: float, positions: Positions) -> str:
    sign = "+" if positions == "shifted" else ""
    unit = "σ" if positions == "shifted" else ""
    return f"{position:{sign}.3g}{unit}".replace("-", "−") if position else "0"


def _row(
    module: Objective,
    code: Float[Tensor, "image latent"],
    latent: int,
    places: Float[Tensor, "image step"],
) -> Float[Tensor, "image step channel height width"]:
    z = code[:, None].repeat(1, places.shape[1], 1)
    z[:, :, latent] = places
    decoded = module.decode(z.flatten(0, 1)).float().cpu()
    return rearrange(decoded, "(image step) c h w -> image step c h w", image=len(code))


def _filled(
    row: Float[Tensor, "image step channel height width"], width: int
) -> Float[Tensor, "image filled channel height width"]:
    """The row padded with white images."""
    return torch.nn.functional.pad(row, (0,) * 7 + (width - row.shape[1],), value=1.0)
