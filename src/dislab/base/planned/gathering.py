"""Gather images and convert them to network inputs."""

from typing import Final, Literal, get_args

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from dislab.base.dataset import Dataset
from dislab.base.parts import ImageShape
from dislab.base.planned.kept_images import KeptImages
from dislab.base.planned.transforms import Colour, fractions, transform, transformed_shape
from dislab.factors import Indices
from dislab.functional.checks import check_choice

Residency = Literal["auto", "host", "device"]

_MEMORY_SHARE: Final = 0.25


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
        transformed_shape(dataset.image_shape, resize, colour)

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

    def received(
        self, image: UInt8[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channels rows columns"]:
        """Network inputs from a loader's pixels of 0 to 255."""
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
