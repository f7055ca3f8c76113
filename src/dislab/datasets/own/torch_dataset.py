"""Images of your own, from a PyTorch data set."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, cast, final, get_args

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from dislab.base import Dataset, ImageShape
from dislab.base.pixels import blocks_of, check_contents
from dislab.datasets.files.image_files import UNEQUAL, UNREADABLE, check_fit, pixels_of, size_of
from dislab.datasets.own._arrays import (
    IMAGES,
    Form,
    as_array,
    columns,
    entries,
    form_of,
    gather,
    to_bytes,
)
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
from dislab.factors import FactorSpace, Indices, Kind, check_factor_names
from dislab.functional.checks import check_choice

Part = int | str
"""Index of a value in a tuple, or its key in a dictionary."""


@final
class TorchDataset(Dataset):
    """Images of your own: any data set of torch or torchvision that is indexed by numbers.

    An item is an image; or a tuple, list or dictionary with an image and factor values, each a
    number or text, or a vector of them, one factor per entry, as in a `TensorDataset`. Images are
    Pillow images, tensors, or arrays, with 8 bits or fractions in [0, 1], grey or RGB. All items
    are read once, when the factors are first accessed, and the images are stored in memory with 8
    bits; so a random transform is applied only once. Integer labels are replaced by the names in
    the list `classes` of the data set, if it has one. Images without values have a single factor,
    the image number.

    From Python, `TorchDataset(torchvision.datasets.CIFAR10("data"))`. A configuration may name only
    classes of torch or of an installed plugin.

    Args:
        dataset: The data set.
        image: Index of the image in a tuple, or its key in a dictionary.
        factors: Indices or keys of the factor values; all other numbers, texts and vectors unless
            given. An empty list is for images without factors.
        names: Names of all factors; unless given, the keys, or `label`, or `factor_1`, … by index;
            entries of a vector are numbered, as in `factor_0`, `factor_1`, ….
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
        InputError: The data set cannot be indexed by numbers, or the side is invalid.
    """

    licence: ClassVar[str] = "yours"
    contents: ClassVar[str] = "your images in a data set of torch or torchvision, and their labels"
    cache: ClassVar[str] = ""

    def __init__(
        self,
        # for Dataset[Any], jsonargparse would build a bare Dataset instead of the named class
        dataset: torch.utils.data.Dataset,  # type: ignore[type-arg]
        image: int | str = 0,
        factors: list[int | str] | None = None,
        names: list[str] | None = None,
        kinds: dict[str, Kind] | None = None,
        units: dict[str, str] | None = None,
        periods: dict[str, float] | None = None,
        side: int | None = None,
        colour: Literal["keep", "grey", "rgb"] = "keep",
        fit: Literal["squash", "crop", "pad"] = "squash",
        gaps: Gaps = "refuse",
    ) -> None:
        if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            raise InputError(
                f"{type(dataset).__name__} cannot be indexed by numbers; give a map-style data "
                "set, with __len__ and __getitem__"
            )
        check_fit(side, fit)
        self.dataset = dataset
        self.image = image
        self.parts = factors
        self.names = names
        check_choice("gaps", gaps, get_args(Gaps))
        self.gaps: Gaps = gaps
        self.traits = Traits(kinds or {}, units or {}, periods or {})
        self.side = side
        self.colour = colour
        self.fit = fit

    @property
    def factors(self) -> FactorSpace:
        """The factors in the order of the values.

        Raises:
            InputError: An item has a different structure from the first one, or invalid values.
        """
        return self._read.labels.space

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width.

        Raises:
            InputError: As for `factors`.
        """
        _, channels, height, width = self._read.images.shape
        return (channels, height, width)

    def prepare(self) -> None:
        """Reads all items, unless they have been read.

        Raises:
            InputError: As for `factors`.
        """
        _ = self._read

    def tables(self) -> dict[str, Tensor]:
        """The images as `images`, in the order of their states."""
        return {IMAGES: self._read.images}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number."""
        return gather(tables, index, Form(self.image_shape, last=False))

    def image_ids(self, index: Indices) -> dict[str, npt.NDArray[Any]]:
        """The numbers of images in the order in which they were given, as `rows`."""
        return {"rows": self._read.labels.order[index]}

    def provenance(self) -> dict[str, str]:
        """Class of the data set, and checksum of the pixels in the order of their states."""
        checksum = hashlib.sha256(self._read.images.numpy().tobytes()).hexdigest()
        cls = type(self.dataset)
        return {"source": f"{cls.__module__}.{cls.__qualname__}", "sha256": checksum}

    @cached_property
    def _read(self) -> "_Read":
        items = cast("Sequence[Any]", self.dataset)
        count = len(items)
        if not count:
            raise InputError(f"{type(self.dataset).__name__} has no items")
        pixels: npt.NDArray[np.uint8] | None = None
        values: dict[Part, list[Any]] = {}
        bar = tqdm(range(count), desc="reading", unit=" images", leave=False, disable=None)
        for index in bar:
            image, item_values = self._parted(items[index], index, values if index else None)
            item_pixels = self._pixels(image, index)
            if pixels is None:
                pixels = np.empty((count, *item_pixels.shape), dtype=np.uint8)
            if item_pixels.shape != pixels.shape[1:]:
                raise InputError(
                    f"item {index} has {size_of(item_pixels.shape)}, but item 0 has "
                    f"{size_of(pixels.shape[1:])}; set {UNEQUAL}"
                )
            pixels[index] = item_pixels
            for part, value in item_values.items():
                values.setdefault(part, []).append(value)
        assert pixels is not None
        check_contents(f"images of {type(self.dataset).__name__}", blocks_of(pixels))
        labels = self._labels(values, count)
        return _Read(labels, torch.from_numpy(pixels[labels.order]))

    def _parted(
        self, item: Any, index: int, expected: Mapping[Part, object] | None
    ) -> tuple[Any, dict[Part, Any]]:
        """The image of an item, and its values by index or key."""
        if isinstance(item, Mapping):
            parts: dict[Part, Any] = dict(item)
        elif isinstance(item, tuple | list):
            parts = dict(enumerate(item))
        else:
            parts = {0: item}
        for part in (self.image, *(self.parts or ())):
            if part not in parts:
                hint = suggestion(str(part), map(str, parts))
                raise InputError(
                    f"item {index} of {type(self.dataset).__name__} has no part {part!r}{hint}; "
                    f"it has {', '.join(map(repr, parts))}: say by image and factors which to take"
                )
        image = parts.pop(self.image)
        values = {part: _plain(value) for part, value in parts.items()}
        if self.parts is not None:
            return image, {part: values[part] for part in self.parts}
        if expected is not None:
            return image, {part: values.get(part) for part in expected}
        labels = {
            part: value
            for part, value in values.items()
            if isinstance(value, Real | str) or _is_vector(value)
        }
        self._warn_left_out([part for part in values if part not in labels])
        return image, labels

    def _warn_left_out(self, parts: Sequence[Part]) -> None:
        warn_left_out(f"the items of {type(self.dataset).__name__}", map(repr, parts))

    def _pixels(self, image: Any, index: int) -> npt.NDArray[np.uint8]:
        name = f"item {index} of {type(self.dataset).__name__}"
        if isinstance(image, Image.Image):
            try:
                return pixels_of(image, name, self.side, self.colour, self.fit)
            except UNREADABLE as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"{name} cannot be read: {one_line(error)}") from error
        try:
            array = as_array(IMAGES, image)
            form = form_of((1, *array.shape), "NCHW" if isinstance(image, Tensor) else "auto")
            pixels = to_bytes(array[None])[0]
        except InputError as error:
            raise InputError(
                f"{name} has no image that can be used: {one_line(error)}; leave Normalize and the "
                "like out of its transform, or name another part by image"
            ) from error
        if pixels.ndim == 3:
            pixels = pixels if form.last else np.moveaxis(pixels, 0, -1)
            pixels = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
        picture = Image.fromarray(np.ascontiguousarray(pixels))
        return pixels_of(picture, name, self.side, self.colour, self.fit)

    def _labels(self, values: dict[Part, list[Any]], count: int) -> Labels:
        if self.parts is None:
            uneven = [part for part, column in values.items() if _is_uneven(column)]
            self._warn_left_out(uneven)
            values = {part: column for part, column in values.items() if part not in uneven}
        if not values:
            if self.names or any(self.traits):
                raise InputError(
                    "names, kinds, units and periods describe factors, and the items have none"
                )
            return Labels(unlabelled(count), np.arange(count))
        by_name = {_name(part, values): column for part, column in values.items()}
        classes = {name: _classes(column, self.dataset) for name, column in by_name.items()}
        for name, column in by_name.items():
            if classes[name]:  # torchvision writes a missing class as -1
                by_name[name] = [None if value == -1 else value for value in column]
        parts = entries(by_name, count, self.gaps)
        titles = self.names or list(parts)
        check_factor_names(titles, len(parts))
        factor_columns = columns(
            dict(zip(titles, parts.values(), strict=True)),
            None,
            count,
            self.traits.kinds,
            self.gaps,
        )
        class_names = {title: classes.get(name) for title, name in zip(titles, parts, strict=True)}
        return labelled(*with_class_names(factor_columns, self.traits, class_names))


class _Read(NamedTuple):
    """The factors, and the images in the order of their states."""

    labels: Labels
    images: Tensor


def _plain(value: Any) -> Any:
    """A value as a plain number or text or a list of numbers, if possible."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        if np.prod(value.shape) == 1:
            return value.item()
        if value.ndim == 1:
            return value.tolist()
    return value


def _is_vector(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(entry, Real) for entry in value)
    )


def _is_uneven(column: Sequence[Any]) -> bool:
    """Whether the values are vectors, as the first one is, of different lengths."""
    return _is_vector(column[0]) and len({np.shape(vector) for vector in column}) > 1


def _name(part: Part, values: Mapping[Part, Sequence[Any]]) -> str:
    if isinstance(part, str):
        return part
    if len(values) > 1:
        return f"factor_{part}"
    return "label" if np.ndim(values[part][0]) == 0 else "factor"


def _classes(column: Sequence[Any], dataset: object) -> Sequence[str] | None:
    """Names of the classes that a column numbers, if the data set has a name for each number."""
    names = getattr(dataset, "classes", None)
    are_texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    if not are_texts or not all(isinstance(value, int) for value in column):
        return None
    names = cast("Sequence[str]", names)
    return names if -1 <= min(column) <= max(column) < len(names) else None
