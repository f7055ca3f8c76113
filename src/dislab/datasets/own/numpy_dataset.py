"""Images of your own, in a NumPy file."""

import hashlib
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.base.pixels import blocks_of, check_contents, check_pixels
from dislab.datasets.bank.bank import BankSpec, Rows, bank_record, open_bank, prepare_bank
from dislab.datasets.files.image_files import fingerprint
from dislab.datasets.files.npz import Header, array_blocks, open_header, read_array
from dislab.datasets.own._arrays import (
    IMAGES,
    ROWS,
    Form,
    Layout,
    columns,
    form_of,
    gather,
    to_bytes,
)
from dislab.datasets.own._columns import Gaps, Labels, Traits, labelled, unlabelled
from dislab.errors import InputError, missing, one_line, suggestion
from dislab.factors import FactorSpace, Indices, Kind
from dislab.functional.checks import check_choice
from dislab.storage import cache_file, foreign_format

_LOCAL_HEADER: Final = 30
"""Local header of a zip member before its name; ends with the lengths of name and extra field."""


@final
class NumpyDataset(Dataset):
    """Images of your own: an array in a `npy` or `npz` file, with factor values if you have them.

    Uncompressed 8-bit images (`numpy.save`, `numpy.savez`) are memory-mapped and read batch by
    batch, so that they may exceed the memory. All others (fractions, booleans,
    `numpy.savez_compressed`) are converted once, in chunks, to an 8-bit file in the cache folder.
    Nothing is unpickled.

    Images and factors are interpreted as in `ArrayDataset`.

    Args:
        file: The `npy` file of the images, or an `npz` file that contains them.
        images: Name of the images' array in an `npz` file; unless given, the only array of three
            or four axes.
        factors: The arrays of factor values: their names in an `npz` file, or `npy` files, relative
            to the folder of the images. An array of one axis is a factor with the array's name;
            each column of one of two axes is a factor: the array's name, `_`, and the number of the
            column. Null for images without factors.
        names: Names of the columns of a single array of factors.
        kinds: `ordinal`, `categorical`, `circular` or `continuous`, by factor, if different from
            the default, such as `{size: categorical}`; as an option,
            `--data.dataset.kinds.size categorical`.
        units: Units of numeric values, by factor.
        periods: Period of each circular factor, or of a continuous one that is periodic, by factor,
            in its unit, such as `{angle: 360}`; as an option, `--data.dataset.periods.angle 360`.
        layout: Position of the channel axis; `auto` infers it.
        gaps: `refuse` raises an error if an image has no value of a factor (NaN, None, an empty
            text or a masked entry); `keep` lets such images train, and `LabelFit` uses the values
            that they have, but they are neither scored nor selected by what is missing.
    """

    licence: ClassVar[str] = "yours"
    contents: ClassVar[str] = "your images in a npy or npz file, and their factors"
    cache: ClassVar[str] = "numpy_dataset"

    def __init__(
        self,
        file: str,
        images: str | None = None,
        factors: str | list[str] | None = None,
        names: list[str] | None = None,
        kinds: dict[str, Kind] | None = None,
        units: dict[str, str] | None = None,
        periods: dict[str, float] | None = None,
        layout: Layout = "auto",
        gaps: Gaps = "refuse",
    ) -> None:
        self.file = file
        self.images_name = images
        self.factor_arrays = [factors] if isinstance(factors, str) else factors or []
        self.names = names
        check_choice("gaps", gaps, get_args(Gaps))
        self.gaps: Gaps = gaps
        self.traits = Traits(kinds or {}, units or {}, periods or {})
        self.layout = layout
        if not self.factor_arrays and (names or kinds or units or periods):
            raise InputError(
                "names, kinds, units and periods describe factors; name their arrays by factors"
            )

    @property
    def factors(self) -> FactorSpace:
        """The factors in the order of their arrays.

        Raises:
            InputError: The file cannot be read, or its arrays do not match.
        """
        return self._labels.space

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width.

        Raises:
            InputError: The file cannot be read, or has no images.
        """
        return self._form.shape

    @property
    def count(self) -> int:
        """Number of images."""
        return self._stored.shape[0]

    @property
    def pixel_type(self) -> str:
        """Type of the stored pixels, such as `uint8`."""
        return str(self._stored.dtype)

    def prepare(self) -> None:
        """Converts the images once, unless they can be mapped unchanged.

        Raises:
            InputError: The images cannot be read, the cache folder cannot be written to, or the
                pixels are out of range, or bytes 0 and 1, which would be almost black.
        """
        check_contents(f"images of {self._path}", self._blocks())
        if not self._stored.as_bytes:
            prepare_bank(self._spec())

    def tables(self) -> dict[str, Tensor]:
        """The images as `images` in the order of the file, and the row of each state as `rows`.

        Raises:
            InputError: The images have not been prepared.
        """
        return {IMAGES: self._pixels, ROWS: torch.from_numpy(self._labels.order)}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number."""
        return gather(tables, index, self._form)

    def image_ids(self, index: Indices) -> dict[str, npt.NDArray[Any]]:
        """The numbers of images in the order in which they were given, as `rows`."""
        return {"rows": self._labels.order[index]}

    def provenance(self) -> dict[str, str]:
        """Path, and fingerprint of the file (name, size, time); checksum of converted images.

        Raises:
            InputError: The images have not been prepared.
        """
        record = self._origin if self._stored.as_bytes else bank_record(self._spec())
        return {**record, "file": str(self._path)}

    def __getstate__(self) -> dict[str, Any]:
        """Only the settings, as another process maps the images itself."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }

    @cached_property
    def _path(self) -> Path:
        path = Path(self.file).expanduser()
        if not path.is_file():
            content = "the npy or npz file of the images"
            raise InputError(f"the file {missing(path, 'file', content)}")
        return path

    @cached_property
    def is_archive(self) -> bool:
        """Whether the file is an npz file, whatever its suffix.

        Raises:
            InputError: The file cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                return file.read(2) == b"PK"
        except OSError as error:
            raise _refusal(self._path, one_line(error)) from error

    @cached_property
    def _stored(self) -> "_Stored":
        if self.is_archive:
            return _member(self._path, self.images_name)
        array = _npy(self._path)
        if self.images_name is not None:
            raise InputError(
                f"{self._path} is no npz file and holds one array; leave images out, not "
                f"{self.images_name!r}"
            )
        as_bytes = array.dtype == np.uint8 and array.flags.c_contiguous
        return _Stored("", array.shape, array.dtype, array if as_bytes else None)

    @cached_property
    def _form(self) -> Form:
        try:
            return form_of(self._stored.shape, self.layout)
        except InputError as error:
            raise InputError(f"{self._path}: {error}") from error

    @cached_property
    def _labels(self) -> Labels:
        try:
            return self._labelled(self.count)
        except InputError as error:
            if str(self._path) in str(error):
                raise
            raise InputError(f"{self._path}: {error}") from error

    def _labelled(self, count: int) -> Labels:
        if not self.factor_arrays:
            return Labels(unlabelled(count), np.arange(count))
        arrays = {name: self._values(name) for name in self.factor_arrays}
        first = next(iter(arrays.values()))
        if len(arrays) == 1 and first.ndim == 2 and self.names is not None:
            factor_columns = columns(first, self.names, count, self.traits.kinds, self.gaps)
            return labelled(factor_columns, self.traits)
        if self.names is not None:
            raise InputError(
                "names are for the columns of one array of two axes; other factors have the names "
                "of their arrays"
            )
        stems = {Path(name).stem: values for name, values in arrays.items()}
        return labelled(columns(stems, None, count, self.traits.kinds, self.gaps), self.traits)

    def _values(self, name: str) -> npt.NDArray[Any]:
        if not self.is_archive:
            path = self._path.parent / Path(name).expanduser()
            if not path.is_file():
                beside = [file.name for file in path.parent.glob("*.npy") if file != self._path]
                hint = suggestion(path.name, beside)
                raise InputError(f"{path.parent} has no file {path.name}{hint}; give a npy file")
            return np.asarray(_npy(path))
        with _archive(self._path) as archive:
            _check_member(self._path, archive, name)
            refuse = partial(_refusal, self._path)
            return read_array(
                _plain(open_header(archive, name, refuse), name, refuse), name, refuse
            )

    @cached_property
    def _pixels(self) -> UInt8[Tensor, "image *axes"]:
        if (mapped := self._stored.mapped) is not None:
            return torch.from_numpy(mapped)
        return open_bank(self._spec())

    @property
    def _origin(self) -> dict[str, str]:
        files = fingerprint(self._path.parent, [self._path.name])
        return {"source": "numpy", "files": files, "array": self._stored.name}

    def _spec(self) -> BankSpec:
        key = hashlib.sha256(f"{self._path.resolve()}\0{self._stored.name}".encode()).hexdigest()
        path = cache_file(f"numpy_dataset/{self._path.stem}-{key[:12]}.npy")
        rows = (self._stored.shape[0], math.prod(self._stored.shape[1:]))
        return BankSpec(path, rows, self._origin, self._blocks, packed=False)

    def _blocks(self) -> Iterator[Rows]:
        """The images in the order of the file, as chunks of rows of bytes."""
        name = f"images of {self._path}"
        for block in self._stored_blocks():
            try:
                pixels = to_bytes(np.ascontiguousarray(block), name)
            except InputError:
                check_pixels(name, self._stored_blocks())  # the remedy depends on all pixels
                raise
            yield pixels.reshape(len(block), -1)

    def _stored_blocks(self) -> Iterator[npt.NDArray[Any]]:
        if not self._stored.name:
            yield from blocks_of(_npy(self._path))
            return
        refuse = partial(_refusal, self._path)
        with _archive(self._path) as archive:
            header = _plain(open_header(archive, self._stored.name, refuse), IMAGES, refuse)
            yield from array_blocks(header, self._stored.name, refuse)


class _Stored(NamedTuple):
    """Name (empty for a npy file), shape and type of the images, and their bytes if mapped."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    mapped: npt.NDArray[np.uint8] | None

    @property
    def as_bytes(self) -> bool:
        return self.mapped is not None


def _npy(path: Path) -> npt.NDArray[Any]:
    """The array of a npy file, mapped; changes to it never reach the file."""
    try:
        # torch needs writable pages
        return np.asarray(np.lib.format.open_memmap(path, mode="c"))
    except (OSError, ValueError, EOFError) as error:
        raise _refusal(path, one_line(error)) from error


def _member(path: Path, name: str | None) -> _Stored:
    """The images of an archive, mapped if they are stored as bytes."""
    refuse = partial(_refusal, path)
    with _archive(path) as archive:
        if name is None:
            name = _only_images(path, archive)
        _check_member(path, archive, name)
        header = _plain(open_header(archive, name, refuse), name, refuse)
        with header.stream as stream:
            begin = stream.tell()
        info = archive.getinfo(f"{name}.npy")
    stored = info.compress_type == zipfile.ZIP_STORED
    if not stored or header.dtype != np.uint8:
        return _Stored(name, header.shape, header.dtype, None)
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(_LOCAL_HEADER)
    extra = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    start = info.header_offset + _LOCAL_HEADER + extra + begin
    if math.prod(header.shape) + begin != info.file_size:
        raise refuse(f"{name} has {info.file_size - begin} bytes behind its header")
    mapped = np.memmap(path, np.uint8, "c", start, header.shape)
    return _Stored(name, header.shape, header.dtype, np.asarray(mapped))


def other_arrays(dataset: NumpyDataset) -> dict[str, str]:
    """The arrays beside the images by name: why each holds no factors, empty if it may.

    Args:
        dataset: Images of an npz file, or of a npy file, whose other arrays are the npy files in
            the same folder.

    Raises:
        InputError: The file cannot be read, or it has no images.
    """
    reasons = {}
    if not dataset.is_archive:
        for path in sorted(dataset._path.parent.glob("*.npy")):
            with suppress(InputError):
                array = _npy(path)
                reasons[path.name] = _no_factors(array, dataset.count)
        reasons.pop(dataset._path.name, None)
        return reasons
    with _archive(dataset._path) as archive:
        for name in _arrays(archive):
            if name == dataset._stored.name:
                continue
            header = open_header(archive, name, partial(_refusal, dataset._path))
            header.stream.close()
            reasons[name] = _no_factors(header, dataset.count)
    return reasons


def _no_factors(array: Header | npt.NDArray[Any], count: int) -> str:
    if array.dtype.hasobject:
        return "Python objects"
    if len(array.shape) not in (1, 2):
        return f"{len(array.shape)} axes"
    return "" if array.shape[0] == count else f"{array.shape[0]:,} rows for {count:,} images"


def _only_images(path: Path, archive: zipfile.ZipFile) -> str:
    """The only array of three or four axes."""
    if not _arrays(archive):
        raise _refusal(path, "it has no arrays")
    images = []
    for name in _arrays(archive):
        header = open_header(archive, name, partial(_refusal, path))
        header.stream.close()
        if len(header.shape) in (3, 4):
            images.append(name)
    if len(images) != 1:
        which = ", ".join(images) if images else f"none among {', '.join(_arrays(archive))}"
        raise InputError(
            f"{path} has {len(images)} arrays of three or four axes ({which}); name the one of the "
            "images by the setting images, on the command line by --images"
        )
    return images[0]


def _arrays(archive: zipfile.ZipFile) -> Sequence[str]:
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def _check_member(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    names = _arrays(archive)
    if not names:
        raise _refusal(path, "it has no arrays")
    if name not in names:
        hint = suggestion(name, names)
        raise InputError(f"{path} has no array {name!r}{hint}; it has {', '.join(names)}")


def _plain(header: Header, name: str, refuse: Any) -> Header:
    """The header of an array of plain values in row-major order; others are rejected."""
    if header.dtype.hasobject or (header.fortran and len(header.shape) > 1):
        header.stream.close()
        raise refuse(
            f"{name} holds Python objects, which are not unpickled"
            if header.dtype.hasobject
            else f"{name} is in column-major order; store numpy.ascontiguousarray of it"
        )
    return header


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise _refusal(path, one_line(error)) from error


def _refusal(path: Path, fault: str) -> InputError:
    if kind := foreign_format(path):
        return InputError(
            f"{path} is {kind}; load it in Python, and write its arrays by numpy.save or "
            "numpy.savez"
        )
    return InputError(f"{path} cannot be used: {fault}; write it by numpy.save or numpy.savez")
