"""Users' arrays: layout, conversion of pixels to bytes, and columns of factor values."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import ImageShape
from dislab.datasets.bank.bank import bank_rows
from dislab.datasets.own._columns import Column
from dislab.errors import InputError

Layout = Literal["auto", "NCHW", "NHWC"]
"""Order of the axes: image, channel, height, width, or with the channels last."""

IMAGES: Final = "images"
ROWS: Final = "rows"
"""Names of the tables of a data set of arrays: the stored images, and the row of each state."""

_CHANNELS: Final = (1, 3)
_MARGIN: Final = 0.01
"""Tolerance for fractions outside [0, 1], such as after rounding in a resize."""
_AT_A_TIME: Final = 1024


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
        raise InputError(f"images have the shape {shape}; it must have three or four axes")
    if len(shape) == 3:
        return Form((1, shape[1], shape[2]), last=False)
    places = [name for name, axis in (("NCHW", 1), ("NHWC", 3)) if shape[axis] in _CHANNELS]
    if not places or (layout != "auto" and layout not in places):
        raise InputError(f"images of shape {shape} have neither one nor three channels as {layout}")
    if layout == "auto" and len(places) > 1:
        raise InputError(f"images of shape {shape} may be NCHW or NHWC; say which by layout")
    last = (places[0] if layout == "auto" else layout) == "NHWC"
    _, first, second, third = shape
    return Form((third, first, second) if last else (first, second, third), last)


def check_pixels(dtype: np.dtype[Any]) -> None:
    """Rejects arrays of types other than 8-bit integers, floats and booleans."""
    if dtype != np.uint8 and dtype.kind not in "bf":
        raise InputError(
            f"images are {dtype}; give pixels from 0 to 255 as uint8, such as by "
            "images.astype('uint8'), or fractions in [0, 1] as floats"
        )


def to_bytes(images: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Converts to pixels from 0 to 255; fractions are rounded to the nearest of 256 levels.

    Raises:
        InputError: The numbers have another type, or fractions lie outside [0, 1].
    """
    check_pixels(images.dtype)
    if images.dtype == np.uint8:
        return images
    if images.dtype.kind == "b":
        return images.astype(np.uint8) * np.uint8(255)
    result = np.empty(images.shape, dtype=np.uint8)
    for start in range(0, len(images), _AT_A_TIME):
        block = images[start : start + _AT_A_TIME].astype(np.float32)
        low, high = float(block.min()), float(block.max())
        if not (low >= -_MARGIN and high <= 1 + _MARGIN):  # also for NaN
            remedy = "divide them by the largest possible value" if low >= 0 else "rescale them"
            raise InputError(
                f"images are {images.dtype} with pixels from {low:g} to {high:g}; floats must lie "
                f"in [0, 1]: {remedy}"
            )
        np.rint(block.clip(0, 1) * 255, out=block)
        result[start : start + _AT_A_TIME] = block
    return result


def gather(
    tables: Mapping[str, Tensor], index: Int[Tensor, " batch"], form: Form
) -> UInt8[Tensor, "batch channel height width"]:
    """Images of states, on the device of tables and index."""
    rows = tables[ROWS][index] if ROWS in tables else index
    found = bank_rows(tables[IMAGES].flatten(1), rows)
    channels, height, width = form.shape
    if not form.last:
        return found.view(len(index), channels, height, width)
    return found.view(len(index), height, width, channels).permute(0, 3, 1, 2).contiguous()


def columns(factors: object, names: Sequence[str] | None, count: int) -> dict[str, Column]:
    """Factor values by name, from an array or a mapping of names to columns.

    Raises:
        InputError: Values have an invalid number or type, or names are missing or duplicate.
    """
    if isinstance(factors, Mapping):
        if names is not None:
            raise InputError(
                "names are given twice, with the factors and by names; leave names out"
            )
        return {str(name): _column(str(name), one, count) for name, one in factors.items()}
    given = as_array("factors", factors)
    table = given[:, None] if given.ndim == 1 else given
    if table.ndim != 2 or len(table) != count or not table.shape[1]:
        raise InputError(
            f"factors have the shape {given.shape}; give one row for each of {count} images "
            "and at least one column"
        )
    titles = [f"factor{number}" for number in range(table.shape[1])] if names is None else names
    if len(set(titles)) != table.shape[1]:
        raise InputError(f"{table.shape[1]} factors need names of their own, not {list(titles)}")
    return {
        name: _column(name, column, count) for name, column in zip(titles, table.T, strict=True)
    }


def as_array(name: str, given: object) -> npt.NDArray[Any]:
    """Converts rows to an array; rejects rows of different lengths."""
    try:
        return np.asarray(given)
    except ValueError as error:
        raise InputError(f"{name} are no array: {error}; give rows of one length") from error


def _column(name: str, given: object, count: int) -> Column:
    values = as_array(f"values of {name}", given)
    if values.shape != (count,):
        raise InputError(
            f"factor {name} has values of shape {values.shape}; give one for each of {count} images"
        )
    if values.dtype.kind == "O":  # columns of a table with numbers and text
        kinds = {isinstance(one, str) for one in values}
        values = values.astype(str) if kinds == {True} else _numbers(name, values)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    if values.dtype.kind == "U":
        return [str(one) for one in values]
    if values.dtype.kind not in "biuf":
        raise InputError(f"factor {name} is {values.dtype}; give numbers or text")
    return [float(one) for one in values]


def _numbers(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"factor {name} mixes numbers and other values: {error}") from error
