"""Images of your own, in arrays."""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final, get_args

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.base.pixels import blocks_of, check_contents
from dislab.datasets.files.image_files import fingerprint
from dislab.datasets.own._arrays import (
    IMAGES,
    ROWS,
    Layout,
    as_array,
    columns,
    form_of,
    gather,
    to_bytes,
)
from dislab.datasets.own._columns import Gaps, Labels, Traits, labelled, unlabelled
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices, Kind
from dislab.functional.checks import check_choice


@final
class ArrayDataset(Dataset):
    """Images of your own: an array of them, and factor values if you have them.

    For use from Python; in a configuration, use `NumpyDataset` for files of arrays. Any set of
    combinations of values is possible; states are sorted by them, the last factor varying fastest,
    so they are in another order than the images given: `image_ids(states)["rows"]` has the number
    of each in the arrays, as `run.encode().rows` has.
    If images have equal values, an additional last factor `instance` distinguishes them. Without
    factors, the only factor is the image number, and scores that compare codes with factors are not
    computed.

    8-bit images mapped by `numpy.load(…, mmap_mode="r")` stay in their file, and only the images of
    a batch are read. All others are stored in memory with 8 bits.

    Args:
        images: Pixels from 0 to 255 as uint8, fractions in [0, 1] as floats, or booleans; shape
            (image, channel, height, width) or (image, height, width, channel), or (image, height,
            width) for grey images; one or three channels. Fractions are rounded to 8 bits.
        factors: Numbers or text, shape (image, factor), or (image,) for a single factor; a
            table of pandas, polars or Arrow; or a mapping of names to columns, shape (image,) or,
            for several factors, (image, factor).
        names: Names of the factors; unless given, those of the columns of a table of pandas, polars
            or Arrow, and `factor_0`, `factor_1`, … for an array.
        kinds: `ordinal`, `categorical`, `circular` or `continuous`, by factor. Unless given, text
            is categorical, and numbers are ordinal, or circular if they have a period, or, with a
            warning, continuous if there are more than 20 different values and more than half as
            many as images.
        units: Units of numeric values, by factor.
        periods: Period of each circular factor, or of a continuous one that is periodic, by factor,
            in its unit.
        layout: Position of the channel axis; `auto` infers it.
        gaps: `refuse` raises an error if an image has no value of a factor (NaN, None, an empty
            text or a masked entry); `keep` lets such images train, and `LabelFit` uses the values
            that they have, but they are neither scored nor selected by what is missing.

    Raises:
        InputError: Type, shape, values or number of the arrays are invalid or do not match; or the
            pixels are bytes 0 and 1, which would be almost black.
    """

    def __init__(
        self,
        images: "npt.ArrayLike",
        factors: "npt.ArrayLike | Mapping[str, npt.ArrayLike] | None" = None,
        names: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        units: Mapping[str, str] | None = None,
        periods: Mapping[str, float] | None = None,
        layout: Layout = "auto",
        gaps: Gaps = "refuse",
    ) -> None:
        check_choice("gaps", gaps, get_args(Gaps))
        if isinstance(images, str | Path):
            raise InputError(
                f"images are {str(images)!r}; give an array, or the file of one to NumpyDataset"
            )
        pixels = as_array(IMAGES, images)
        self._form = form_of(pixels.shape, layout)
        if factors is None:
            if names or kinds or units or periods:
                raise InputError("names, kinds, units and periods describe factors; give these too")
            labels = Labels(unlabelled(len(pixels)), np.arange(len(pixels)))
        else:
            traits = Traits(kinds or {}, units or {}, periods or {})
            values = columns(factors, names, len(pixels), traits.kinds, gaps)
            labels = labelled(values, traits)
        self._space, self._order = labels
        self._file = _mapped_file(images)
        pixels = to_bytes(pixels)
        check_contents(IMAGES, blocks_of(pixels))
        if self._file is None:
            self._tables = {IMAGES: _channels_first(pixels[self._order], self._form.last)}
            self._form = self._form._replace(last=False)
        else:
            self._tables = {IMAGES: _unread(pixels), ROWS: torch.from_numpy(self._order)}

    @property
    def factors(self) -> FactorSpace:
        """The factors in the order of their columns."""
        return self._space

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width."""
        return self._form.shape

    def prepare(self) -> None:
        """Does nothing: the images are in memory, or in the mapped file."""

    def tables(self) -> dict[str, Tensor]:
        """The images as `images`, and the row of each state as `rows` if they are in a file."""
        return dict(self._tables)

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number."""
        return gather(tables, index, self._form)

    def image_ids(self, index: Indices) -> dict[str, npt.NDArray[Any]]:
        """The numbers of images in the order in which they were given, as `rows`."""
        return {"rows": self._order[index]}

    def provenance(self) -> dict[str, str]:
        """Checksum of the pixels in the order of the states; for a file its name, size and time.

        Raises:
            InputError: The file no longer exists.
        """
        if self._file is not None:
            files = fingerprint(self._file.parent, [self._file.name])
            return {"source": "file", "file": str(self._file), "files": files}
        checksum = hashlib.sha256(self._tables[IMAGES].numpy().tobytes()).hexdigest()
        return {"source": "array", "sha256": checksum}


def _mapped_file(images: object) -> Path | None:
    """The file of a mapped array whose rows can be used unchanged."""
    if not isinstance(images, np.memmap) or images.dtype != np.uint8:
        return None
    name = getattr(images, "filename", None)
    return Path(name) if name is not None and images.flags.c_contiguous else None


def _unread(images: npt.NDArray[Any]) -> Tensor:
    """A mapped array as a tensor, which must not be written to."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.from_numpy(images)


def _channels_first(images: npt.NDArray[np.uint8], last: bool) -> Tensor:
    """Images with the channels first, in the order of their states."""
    images = images[:, None] if images.ndim == 3 else images
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(images, -1, 1) if last else images))
