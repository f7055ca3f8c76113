"""Images of your own, in a data set of Hugging Face."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt
from PIL import Image

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.image_files import (
    UNEQUAL,
    UNREADABLE,
    check_fit,
    check_picture,
    pixels_of,
    size_of,
)
from dislab.datasets.own._arrays import columns
from dislab.datasets.own._columns import (
    Gaps,
    Labels,
    Traits,
    labelled,
    unlabelled,
    warn_left_out,
    with_class_names,
)
from dislab.errors import InputError, one_line, suggestion
from dislab.extras import imported
from dislab.factors import FactorSpace, Indices, Kind
from dislab.functional.checks import check_choice

_FILES: Final = {".parquet": "parquet", ".arrow": "arrow"}
"""Formats of single files by suffix."""
_SAVED: Final = ("dataset_info.json", "dataset_dict.json")
"""Files in a folder written by `save_to_disk`."""
_AT_A_TIME: Final = 256


@final
class HuggingFaceDataset(BankedDataset):
    """Images of your own: a data set in the format of Hugging Face, read by its library.

    Requires `pip install 'dislab[huggingface]'`. One column contains the images, others the values
    of factors: numbers, text, or classes, which are represented by their names. The images are
    converted once and stored in the cache folder. No code of a data set is run.

    Args:
        path: A folder written by `save_to_disk`, a folder of Parquet or image files, a Parquet or
            Arrow file, or a name on the Hub.
        image: The column of the images.
        factors: Columns to use as factors; all columns of numbers, text and classes unless given.
            An empty list is for images without factors.
        split: The part of the data set, such as `train` or `test`.
        configuration: The configuration of a data set that has several.
        download: Whether a named data set may be downloaded from the Hub. Otherwise, the
            environment variable `HF_HUB_OFFLINE=1` allows reading it from the library's cache.
        kinds: `ordinal`, `categorical`, `circular` or `continuous`, by factor, if different from
            the default, such as `{size: categorical}`; as an option,
            `--data.dataset.kinds.size categorical`.
        units: Units of numeric values, by factor.
        periods: Period of each circular factor, or of a continuous one that is periodic, by factor,
            in its unit, such as `{angle: 360}`; as an option, `--data.dataset.periods.angle 360`.
        side: Height and width in pixels to resize all images to, by area averaging; their own
            unless given.
        colour: `keep` accepts 8-bit grey and RGB images; `grey` and `rgb` also convert others.
        fit: Treatment of non-square images when resizing to `side`: `squash` distorts them, `crop`
            keeps the central square, `pad` adds black borders.
        gaps: `refuse` raises an error if an image has no value of a factor (NaN, None, an empty
            text or a masked entry); `keep` lets such images train, and `LabelFit` uses the values
            that they have, but they are neither scored nor selected by what is missing.

    Raises:
        InputError: The side is invalid.
    """

    licence: ClassVar[str] = "that of the data set"
    contents: ClassVar[str] = "your images in a data set of Hugging Face, and their factors"
    cache: ClassVar[str] = "huggingface"

    def __init__(
        self,
        path: str,
        image: str = "image",
        factors: list[str] | None = None,
        split: str = "train",
        configuration: str | None = None,
        download: bool = False,
        kinds: dict[str, Kind] | None = None,
        units: dict[str, str] | None = None,
        periods: dict[str, float] | None = None,
        side: int | None = None,
        colour: Literal["keep", "grey", "rgb"] = "keep",
        fit: Literal["squash", "crop", "pad"] = "squash",
        gaps: Gaps = "refuse",
    ) -> None:
        check_fit(side, fit)
        self.path = path
        self.image = image
        self.columns = factors
        self.split = split
        self.configuration = configuration
        self.download = download
        check_choice("gaps", gaps, get_args(Gaps))
        self.gaps: Gaps = gaps
        self.traits = Traits(kinds or {}, units or {}, periods or {})
        self.side = side
        self.colour = colour
        self.fit = fit

    @property
    def factors(self) -> FactorSpace:
        """The factors in the order of their columns.

        Raises:
            InputError: The data set cannot be read, or its columns do not match.
        """
        return self._read.labels.space

    @cached_property
    def image_shape(self) -> ImageShape:
        """Channels, height and width of the first image.

        Raises:
            InputError: It cannot be read.
        """
        [first] = self._images(self._read.labels.order[:1])
        channels, height, width = first.shape
        return (channels, height, width)

    def image_ids(self, index: Indices) -> dict[str, npt.NDArray[Any]]:
        """The numbers of images in the order in which they were given, as `rows`."""
        return {"rows": self._read.labels.order[index]}

    @cached_property
    def _read(self) -> "_Read":
        table = _opened(self.path, self.configuration, self.split, self.download)
        column_names = list(table.column_names)
        for name in (self.image, *(self.columns or ())):
            if name not in column_names:
                raise InputError(
                    f"{self.path} has no column {name!r}{suggestion(name, column_names)}; it has "
                    f"{', '.join(column_names)}: say by image and factors which to take"
                )
        if not len(table):
            raise InputError(f"the split {self.split} of {self.path} has no rows")
        names = self._chosen(table)
        if not names:
            return _Read(table, Labels(unlabelled(len(table)), np.arange(len(table))))
        values = {name: _values(table, name) for name in names}
        factor_columns = columns(values, None, len(table), self.traits.kinds, self.gaps)
        classes = {
            name: table.features[name].names for name in names if _is(table, name, "ClassLabel")
        }
        return _Read(table, labelled(*with_class_names(factor_columns, self.traits, classes)))

    def _chosen(self, table: Any) -> list[str]:
        if self.columns is not None:
            return self.columns
        others = [name for name in table.column_names if name != self.image]
        labels = [name for name in others if _is(table, name, "Value", "ClassLabel")]
        warn_left_out(self.path, [name for name in others if name not in labels])
        return labels

    def _images(self, rows: Indices) -> list[Rows]:
        """Pixels of the images of some rows, shape (channel, height, width) each."""
        try:
            images = self._undecoded.select(rows)[self.image][:]
        except (OSError, ValueError, SyntaxError) as error:  # errors of Pillow and Arrow
            raise InputError(f"images of {self.path} cannot be read: {one_line(error)}") from error
        return [
            self._decoded(image, f"row {row} of {self.path}")
            for row, image in zip(rows, images, strict=True)
        ]

    @cached_property
    def _undecoded(self) -> Any:
        """The table with images as their files, as decoded images do not tell their bits."""
        import datasets

        table = self._read.table
        if type(table.features[self.image]).__name__ != "Image":
            return table
        return table.cast_column(self.image, datasets.Image(decode=False))

    def _decoded(self, image: Any, name: str) -> Rows:
        try:
            if isinstance(image, Mapping) and set(image) == {"bytes", "path"}:
                image = self._open(image, name)
            if hasattr(image, "convert"):
                return pixels_of(image, name, self.side, self.colour, self.fit)
        except InputError:
            raise
        except UNREADABLE as error:
            raise InputError(f"{name} cannot be read: {one_line(error)}") from error
        raise InputError(
            f"{name} holds a {type(image).__name__} in the column {self.image}, and no image; name "
            "the column of the images by image"
        )

    def _open(self, image: Mapping[str, Any], name: str) -> Any:
        """An image decoded by the library, after a look at its file."""
        content, path = image["bytes"], image["path"]
        if content is not None or (path is not None and Path(path).is_file()):
            with Image.open(path if content is None else io.BytesIO(content)) as picture:
                check_picture(picture, name)
        return self._read.table.features[self.image].decode_example(image)

    def _pictures(self) -> Pictures:
        table, labels = self._read
        content = str(table._fingerprint)  # the library's own fingerprint of the content
        settings = f"{content}\0{self.image}\0{self.side}\0{self.colour}\0{self.fit}\0".encode()
        key = hashlib.sha256(settings + labels.order.tobytes()).hexdigest()[:16]
        origin = {
            "source": "huggingface",
            "path": self.path,
            "split": self.split,
            "fingerprint": content,
            "side": str(self.side),
            "colour": self.colour,
            "fit": self.fit,
        }
        return Pictures(f"huggingface/{key}", len(table), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        order = self._read.labels.order
        for start in range(0, len(order), _AT_A_TIME):
            rows = order[start : start + _AT_A_TIME]
            block = self._images(rows)
            for row, pixels in zip(rows, block, strict=True):
                if pixels.shape != self.image_shape:
                    raise InputError(
                        f"row {row} of {self.path} has {size_of(pixels.shape)}, but row "
                        f"{order[0]} has {size_of(self.image_shape)}; set {UNEQUAL}"
                    )
            yield np.stack([pixels.reshape(-1) for pixels in block])


class _Read(NamedTuple):
    """The library's table, and the factors."""

    table: Any
    labels: Labels


def _opened(path: str, configuration: str | None, split: str, download: bool) -> Any:
    datasets = imported("datasets", "huggingface", "a data set of Hugging Face")
    local = Path(path).expanduser()
    if not local.exists() and not (download or datasets.config.HF_HUB_OFFLINE):
        raise InputError(
            f"{local} does not exist; a data set of the Hub is fetched with download: true, and "
            "one in the library's cache is read with the environment variable HF_HUB_OFFLINE=1"
        )
    try:
        if any((local / name).is_file() for name in _SAVED):
            loaded = datasets.load_from_disk(str(local))
            if isinstance(loaded, datasets.DatasetDict):
                return loaded[split]
            return loaded
        if local.is_file():
            kind = _FILES.get(local.suffix.lower())
            if kind is None:
                raise InputError(f"{local} is no folder and no file in {', '.join(_FILES)}")
            return datasets.load_dataset(kind, data_files={split: str(local)}, split=split)
        return datasets.load_dataset(
            str(local) if local.exists() else path, configuration, split=split
        )
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"{path} has no split {split}; it has {', '.join(loaded)}") from error
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise InputError(f"{path} cannot be read by datasets: {one_line(error)}") from error


def _is(table: Any, column: str, *types: str) -> bool:
    return type(table.features[column]).__name__ in types


def _values(table: Any, name: str) -> list[Any]:
    """Values of a column; numbers for classes, of which the library writes a missing one as -1."""
    values = list(table[name][:])
    if not _is(table, name, "ClassLabel"):
        return values
    classes = range(-1, table.features[name].num_classes)
    for row, value in enumerate(values):
        if value is not None and value not in classes:
            raise InputError(
                f"column {name} has {value} in row {row}, but its classes are 0 to {classes[-1]}; "
                "mend that, or leave the column out of factors"
            )
    return [None if value == -1 else value for value in values]
