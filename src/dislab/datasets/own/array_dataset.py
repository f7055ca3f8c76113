"""Images of your own, in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets.bank.bank import bank_rows
from dislab.datasets.own._columns import Labels, Traits, labelled, unlabelled
from dislab.errors import InputError
from dislab.factors import FactorSpace, Kind

Layout = Literal["auto", "NCHW", "NHWC"]

_CHANNELS = (1, 3)


@final
class ArrayDataset(Dataset):
    """Images of your own: an array of them, and one of factor values if you have it.

    For use from Python; a configuration cannot hold arrays. Any combination of values may occur;
    states are sorted by them, the last factor fastest. A last factor, `instance`, distinguishes
    images with equal values. Without factors the only one is the image's number, and scores that
    compare codes with factors refuse to be computed.

    Args:
        images: 8-bit pixels, shape (image, channel, height, width) or (image, height, width,
            channel), or (image, height, width) for grey ones; one or three channels.
        factors: Values, shape (image, factor).
        names: Names of the factors; `factor0`, `factor1`, … unless given.
        kinds: `ordinal`, `categorical`, `circular` or `continuous`, by factor. Unless given,
            ordinal, or circular with a period; continuous, with a warning, if it has more than 20
            different numbers and more than half as many as images.
        units: Units of numbers, by factor.
        periods: After how much a circular factor, or a continuous one, returns to itself, by
            factor, in its unit.
        layout: Where the channels are; `auto` finds out.

    Raises:
        InputError: Type, shape or number of the arrays do not fit.
    """

    def __init__(
        self,
        images: npt.ArrayLike,
        factors: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        units: Mapping[str, str] | None = None,
        periods: Mapping[str, float] | None = None,
        layout: Layout = "auto",
    ) -> None:
        pixels = _pixels(_array("images", images), layout)
        if factors is None:
            if names or kinds or units or periods:
                raise InputError("names, kinds, units and periods describe factors; give these too")
            labels = Labels(unlabelled(len(pixels)), np.arange(len(pixels)))
        else:
            columns = _columns(_array("factors", factors), names, len(pixels))
            labels = labelled(columns, Traits(kinds or {}, units or {}, periods or {}))
        self._space = labels.space
        self._images = torch.from_numpy(np.ascontiguousarray(pixels[labels.order]))

    @property
    def factors(self) -> FactorSpace:
        """The factors in the order of their columns."""
        return self._space

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width."""
        _, channels, height, width = self._images.shape
        return (channels, height, width)

    def prepare(self) -> None:
        """Does nothing: the images are in memory."""

    def tables(self) -> dict[str, Tensor]:
        """The images as `images`, in the order of their states."""
        return {"images": self._images}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number.

        Args:
            tables: Result of `tables`, on the device of `index`.
            index: State numbers.
        """
        images = tables["images"]
        return bank_rows(images.flatten(1), index).view(len(index), *images.shape[1:])

    def provenance(self) -> dict[str, str]:
        """Checksum of the pixels in the order of their states."""
        checksum = hashlib.sha256(self._images.numpy().tobytes()).hexdigest()
        return {"source": "array", "sha256": checksum}


def _array(name: str, given: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError as error:
        raise InputError(f"{name} are no array: {error}; give rows of one length") from error


def _pixels(images: npt.NDArray[Any], layout: Layout) -> npt.NDArray[np.uint8]:
    if images.dtype != np.uint8:
        raise InputError(
            f"images are {images.dtype}; give uint8, for pixels in [0, 1] such as "
            "(255 * images).round().astype('uint8')"
        )
    if images.ndim == 3:
        images = images[:, None]
        layout = "NCHW"
    if images.ndim != 4 or 0 in images.shape:
        raise InputError(f"images have the shape {images.shape}; it must have three or four axes")
    places = [name for name, axis in (("NCHW", 1), ("NHWC", 3)) if images.shape[axis] in _CHANNELS]
    if not places or (layout != "auto" and layout not in places):
        raise InputError(
            f"images of shape {images.shape} have neither one nor three channels as {layout}"
        )
    if layout == "auto" and len(places) > 1:
        raise InputError(f"images of shape {images.shape} may be NCHW or NHWC; say which by layout")
    found = places[0] if layout == "auto" else layout
    return np.moveaxis(images, -1, 1) if found == "NHWC" else images


def _columns(
    factors: npt.NDArray[Any], names: Sequence[str] | None, count: int
) -> dict[str, list[float]]:
    if factors.ndim != 2 or len(factors) != count or not factors.shape[1]:
        raise InputError(
            f"factors have the shape {factors.shape}; give one row for each of {count} images and "
            "at least one column"
        )
    if factors.dtype.kind not in "biuf":
        raise InputError(f"factors are {factors.dtype}; give numbers, such as 0, 1, 2 for classes")
    titles = [f"factor{number}" for number in range(factors.shape[1])] if names is None else names
    if len(set(titles)) != factors.shape[1]:
        raise InputError(f"{factors.shape[1]} factors need names of their own, not {list(titles)}")
    columns = factors.T.astype(np.float64).tolist()
    return dict(zip(titles, columns, strict=True))
