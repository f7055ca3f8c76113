"""Users' arrays: layout, conversion of pixels to bytes, and columns of factor values."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import ImageShape
from dislab.base.pixels import blocks_of, check_pixels
from dislab.datasets.bank.bank import bank_rows
from dislab.datasets.own._columns import Column, Gapped, Gaps, listing, missing, name_hint
from dislab.errors import InputError, one_line, warn
from dislab.factors import GapWarning, Kind, check_factor_names, column_names

Layout = Literal["auto", "NCHW", "NHWC"]
"""Order of the axes: image, channel, height, width, or with the channels last."""

IMAGES: Final = "images"
ROWS: Final = "rows"
"""Names of the tables of a data set of arrays: the stored images, and the row of each state."""

_CHANNELS: Final = (1, 3)


class Form(NamedTuple):
    """Format of stored images.

    Attributes:
        shape: Channels, height and width.
        last: Whether the channels are the last axis.
    """

    shape: ImageShape
    last: bool


def form_of(shape: tuple[int, ...], layout: Layout) -> Form:
    """Format of an array of images with a given shape.

    Raises:
        InputError: It is no shape of grey or RGB images, or the layout is ambiguous or does not
            match.
    """
    if len(shape) not in (3, 4) or 0 in shape:
        raise InputError(
            f"images have the shape {shape}; it must have three or four axes, none of them empty"
        )
    if len(shape) == 3:
        return Form((1, shape[1], shape[2]), last=False)
    places = [name for name, axis in (("NCHW", 1), ("NHWC", 3)) if shape[axis] in _CHANNELS]
    if not places or (layout != "auto" and layout not in places):
        of = "" if layout == "auto" else f" as {layout}"
        raise InputError(
            f"images of shape {shape} have neither one nor three channels{of}; give grey or RGB "
            "images, such as the first three channels of those with transparency"
        )
    if layout == "auto" and len(places) > 1:
        raise InputError(f"images of shape {shape} may be NCHW or NHWC; say which by layout")
    last = (places[0] if layout == "auto" else layout) == "NHWC"
    _, first, second, third = shape
    return Form((third, first, second) if last else (first, second, third), last)


def to_bytes(images: npt.NDArray[Any], name: str = IMAGES) -> npt.NDArray[np.uint8]:
    """Converts to pixels from 0 to 255; fractions are rounded to the nearest of 256 levels.

    Rejects other types, fractions outside [0, 1]; `name` is for messages.
    """
    if images.dtype == np.uint8:
        return images
    if images.dtype.kind == "b":
        return images.astype(np.uint8) * np.uint8(255)
    check_pixels(name, [images])
    result = np.empty(images.shape, dtype=np.uint8)
    for block, pixels in zip(blocks_of(images), blocks_of(result), strict=True):
        pixels[...] = np.rint(block.astype(np.float32).clip(0, 1) * 255)
    return result


def gather(
    tables: Mapping[str, Tensor], index: Int[Tensor, " batch"], form: Form
) -> UInt8[Tensor, "batch channel height width"]:
    """Images of states, on the device of tables and index."""
    rows = tables[ROWS][index] if ROWS in tables else index
    pixels = bank_rows(tables[IMAGES].flatten(1), rows)
    channels, height, width = form.shape
    if not form.last:
        return pixels.view(len(index), channels, height, width)
    return pixels.view(len(index), height, width, channels).permute(0, 3, 1, 2).contiguous()


def columns(
    factors: object,
    names: Sequence[str] | None,
    count: int,
    kinds: Mapping[str, Kind],
    gaps: Gaps = "refuse",
) -> dict[str, Gapped]:
    """Factor values by name, from an array or a mapping of names to columns.

    `names` are those of the columns of an array, or replace those of a table of pandas, polars or
    Arrow; `kinds` are the kinds that the user gave. With `gaps` keep, a missing value is None.

    Raises:
        InputError: Values have an invalid number or type or are missing, or names are missing or
            duplicate.
    """
    if isinstance(factors, Mapping):
        if names is not None:
            raise InputError(
                "names are given twice, with the factors and by names; leave names out"
            )
        parts = entries({str(name): rows for name, rows in factors.items()}, count, gaps)
        return {
            name: _column(name, column, kinds.get(name), gaps) for name, column in parts.items()
        }
    array = as_array("factors", factors, gaps)
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2 or len(table) != count or not table.shape[1]:
        raise InputError(
            f"factors have the shape {array.shape}; give one row for each of {count} images "
            "and at least one column"
        )
    titles = column_names(factors) if names is None else names
    if titles is None:
        titles = [f"factor_{column}" for column in range(table.shape[1])]
    check_factor_names(titles, table.shape[1])
    return {
        name: _column(name, column, kinds.get(name), gaps)
        for name, column in zip(titles, table.T, strict=True)
    }


def entries(
    factors: Mapping[str, object], count: int, gaps: Gaps = "refuse"
) -> dict[str, npt.NDArray[Any]]:
    """One column per factor: vectors, shape (image, entry), become factors `name_0`, `name_1`, ….

    Raises:
        InputError: Values have an invalid number or shape, or two factors the same name.
    """
    pairs: list[tuple[str, npt.NDArray[Any]]] = []
    for name, rows in factors.items():
        values = as_array(f"values of {name}", rows, gaps)
        if values.shape in ((count,), (count, 1)):
            pairs.append((name, values.reshape(-1)))
        elif values.ndim == 2 and len(values) == count and values.shape[1]:
            pairs += [(f"{name}_{entry}", column) for entry, column in enumerate(values.T)]
        else:
            raise InputError(
                f"factor {name} has values of shape {values.shape}; give one for each of {count} "
                "images, or a vector for each"
            )
    check_factor_names([name for name, _ in pairs], len(pairs))
    return dict(pairs)


def as_array(name: str, rows: object, gaps: Gaps = "refuse") -> npt.NDArray[Any]:
    """Converts rows to an array; rejects rows of different lengths and, unless kept, masks."""
    if isinstance(rows, np.ma.MaskedArray) and (masked := int(np.ma.getmaskarray(rows).sum())):
        if gaps == "refuse":
            raise InputError(f"{name} are masked in {masked} places; leave these images out")
        mask = np.ma.getmaskarray(rows)
        rows = np.ma.getdata(rows).astype(object)
        rows[mask] = None
    try:
        return np.asarray(rows)
    except (ValueError, TypeError, RuntimeError) as error:  # the last two of torch
        raise InputError(
            f"{name} are no array: {one_line(error)}; give rows of one length"
        ) from error


def _column(name: str, values: npt.NDArray[Any], kind: Kind | None, gaps: Gaps) -> Gapped:
    if values.dtype.kind == "S":
        values = _decoded(name, values)
    rows = _without_value(values, kind)
    if not rows:
        return _values(name, values)
    places = listing([f"row {row} ({_quoted(values[row])})" for row in rows])
    complaint = f"factor {name} lacks a value in {places}"
    hint = name_hint(name, [values[row] for row in rows], kind)
    if gaps == "refuse":
        raise InputError(
            f"{complaint}; leave these images out, or set gaps to keep to train on them too{hint}"
        )
    if hint:
        effect = "gaps: keep takes them for missing"
        warn(f"{complaint}; {effect}{hint}", GapWarning)
    present = iter(_values(name, np.delete(values, rows)))
    lacking = set(rows)
    return cast("Gapped", [None if row in lacking else next(present) for row in range(len(values))])


def _values(name: str, values: npt.NDArray[Any]) -> Column:
    if values.dtype.kind == "O":  # columns of a table with numbers and text
        kinds = {isinstance(value, str) for value in values}
        values = values.astype(str) if kinds == {True} else _numbers(name, values)
    if values.dtype.kind == "U":
        return [str(value) for value in values]
    if values.dtype.kind not in "biuf":
        raise InputError(f"factor {name} is {values.dtype}; give numbers or text")
    return [float(value) for value in values]


def _without_value(values: npt.NDArray[Any], kind: Kind | None) -> list[int]:
    """Rows of the images that have no value in a column."""
    if values.dtype.kind == "f":
        return np.flatnonzero(np.isnan(values)).tolist()
    return missing(values.tolist(), kind) if values.dtype.kind in "OU" else []


def _quoted(value: object) -> str:
    return repr(str(value)) if isinstance(value, str) else str(value)


def _decoded(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return np.char.decode(values, "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"factor {name} is no text in UTF-8: {error}") from error


def _numbers(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"factor {name} mixes numbers and other values: {one_line(error)}; give numbers or text"
        ) from error
