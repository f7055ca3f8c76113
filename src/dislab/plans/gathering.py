"""Images of states as network inputs: gathered, resized, and kept if that saves time."""

from collections.abc import Callable
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from dislab.base.dataset import Dataset, Rows, fractions, image_shape_of
from dislab.base.parts import ImageShape, is_vector
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_choice, check_count

Colour = Literal["keep", "grey", "rgb"]

_LUMA: Final = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the luminance of ITU-R BT.601."""

Residency = Literal["auto", "host", "device"]

_MEMORY_SHARE: Final = 0.25
"""Largest share of a device's free memory for the images."""

_MOST_BYTES: Final = 2**28
"""Largest memory of the cache, per process."""


def transformed_shape(shape: ImageShape, resize: int | None, colour: Colour) -> ImageShape:
    """Channels, height and width after `transform`; impossible settings are refused."""
    check_choice("colour", colour, get_args(Colour))
    channels, height, width = shape
    if is_vector(shape) and (resize is not None or colour != "keep"):
        raise InputError("the data are vectors, not images; leave out resize and colour")
    if resize is not None:
        check_count("resize", resize, 1, most=4096)
    if colour != "keep" and channels not in (1, 3):
        raise InputError(
            f"colour {colour} needs images of 1 or 3 channels, and these have {channels}; set "
            "colour to keep"
        )
    if colour != "keep":
        channels = 1 if colour == "grey" else 3
    return (channels, resize or height, resize or width)


def transform(
    scaled: Float[Tensor, "batch channel height width"], resize: int | None, colour: Colour
) -> Float[Tensor, "batch channels rows columns"]:
    """Images in [0, 1], resized by antialiased bilinear interpolation if their size differs.

    The colour `grey` takes the luminance (ITU-R BT.601), `rgb` repeats a single channel.
    """
    channels = scaled.shape[1]
    if colour == "grey" and channels == 3:
        # term by term: a matrix product rounds an image by its place in the batch
        red, green, blue = (
            scaled[:, index : index + 1] * weight for index, weight in enumerate(_LUMA)
        )
        scaled = red + green + blue
    if resize is not None and scaled.shape[-2:] != (resize, resize):
        scaled = F.interpolate(scaled, size=(resize, resize), mode="bilinear", antialias=True)
        scaled = scaled.clamp_(0, 1)
    if colour == "rgb" and channels == 1:
        scaled = scaled.expand(-1, 3, -1, -1).contiguous()
    return scaled


class Gathering:
    """The images of a data module as network inputs.

    Images are gathered either by a loader, on the host, or late: on the device that receives the
    state numbers of a batch.

    Args:
        dataset: The images.
        residency: Where images are gathered; `auto` decides by the free memory of a CUDA device.
        num_workers: Processes that gather images ahead.
        resize: Height and width of the result in pixels; None keeps the original size.
        colour: Treatment of the channels.

    Raises:
        InputError: The residency or colour does not exist, the size is not positive, or the images
            are neither grey nor RGB.
    """

    def __init__(
        self,
        dataset: Dataset,
        residency: Residency,
        num_workers: int,
        resize: int | None,
        colour: Colour,
    ) -> None:
        check_choice("residency", residency, get_args(Residency))
        self.late = False
        self._dataset = dataset
        self._residency = residency
        self._num_workers = num_workers
        self._resize = resize
        self._colour: Colour = colour
        self._tables: dict[torch.device, dict[str, Tensor]] = {}
        self._kept: KeptImages | None = None
        transformed_shape(image_shape_of(dataset), resize, colour)

    @property
    def shape(self) -> ImageShape:
        """Channels, height and width."""
        return transformed_shape(self._dataset.image_shape, self._resize, self._colour)

    def settle(self, device: torch.device) -> None:
        """Decide for the device of the run whether images are gathered late."""
        if device.type == "cpu" and not self._num_workers:
            self.late = True
        elif self._residency != "auto" or device.type != "cuda":
            self.late = self._residency == "device"
        else:
            size = sum(table.nbytes for table in self._dataset.tables().values())
            free, _ = torch.cuda.mem_get_info(device)
            self.late = size <= _MEMORY_SHARE * free

    def keep(self, states: Indices) -> None:
        """Cache the images of some states for training on the CPU, if that saves time.

        It saves time if images are resized, which takes longer than gathering them, and if all of
        them fit into memory.
        """
        resized = self.shape[1:] != self._dataset.image_shape[1:]
        useful = self.late and resized and KeptImages.fit(states, self.shape)
        self._kept = KeptImages(states, self.shape) if useful else None

    def images(self, index: Int[Tensor, " batch"]) -> Float[Tensor, "batch channel height width"]:
        """Images of states, on the device of `index`."""
        if self._kept is not None and index.device.type == "cpu":
            return self._kept.get(index, self._gathered)
        if self.late or index.device.type == "cpu":
            return self._gathered(index)
        return self.received(self._dataset.images(index).to(index.device))

    def received(self, image: Rows) -> Float[Tensor, "batch channels rows columns"]:
        """Network inputs from a loader's pixels of 0 to 255, or from its vectors."""
        return transform(fractions(image), self._resize, self._colour)

    def _gathered(
        self, index: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of states, gathered from tables on the device of `index`."""
        scaled = self._dataset.scaled(self._tables_on(index.device), index)
        return transform(scaled, self._resize, self._colour)

    def _tables_on(self, device: torch.device) -> dict[str, Tensor]:
        if device.type == "cpu":
            return self._dataset.tables()
        if device not in self._tables:
            tables = self._dataset.tables()
            self._tables[device] = {name: table.to(device) for name, table in tables.items()}
        return self._tables[device]


class KeptImages:
    """Cache of the images of some states as network inputs, each made once.

    If requested images are missing, up to twice as many further images are made with them, so that
    the cache fills quickly: making a few images takes almost as long as making many.

    Args:
        states: State numbers, ascending.
        shape: Channels, height and width.
    """

    def __init__(self, states: Indices, shape: ImageShape) -> None:
        self._states = states
        # the operating system allocates memory only for rows that are written
        self._images = torch.empty(len(states), *shape, dtype=torch.float32)
        self._is_kept: npt.NDArray[np.bool_] = np.zeros(len(states), dtype=np.bool_)
        self._whole = 0  # all images before this one are cached

    @staticmethod
    def fit(states: Indices, shape: ImageShape) -> bool:
        """Whether there are any images, and all of them take at most a quarter of a gigabyte."""
        return 0 < len(states) * 4 * int(np.prod(shape, dtype=np.int64)) <= _MOST_BYTES

    def get(
        self, index: Int[Tensor, " batch"], make: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of states, in new memory.

        Args:
            index: State numbers; if one of them is not among the cached states, all images are made
                anew.
            make: Makes images of state numbers.
        """
        numbers = index.numpy()
        places = np.searchsorted(self._states, numbers)
        if not (self._states.take(places, mode="clip") == numbers).all():
            return make(index)
        if self._whole < len(self._states):
            missing = places[~self._is_kept[places]]
            if len(missing):
                self._make(missing, self._whole + 2 * len(places), make)
        return self._images.index_select(0, torch.from_numpy(places))

    def _make(
        self, missing: npt.NDArray[np.int64], end: int, make: Callable[[Tensor], Tensor]
    ) -> None:
        """Makes the images at missing places, and the next ones up to `end`."""
        self._is_kept[missing] = True
        others = self._whole + np.flatnonzero(~self._is_kept[self._whole : end])
        self._is_kept[others] = True
        self._whole = min(end, len(self._states))
        places = np.concatenate([np.unique(missing), others])
        self._images[torch.from_numpy(places)] = make(torch.from_numpy(self._states[places]))
