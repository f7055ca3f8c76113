"""A dislab data set as a PyTorch data set."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

if TYPE_CHECKING:
    from dislab.base.dataset import Dataset

Item = tuple[Float[Tensor, "channel height width"], Int[Tensor, " factor"]]


class TorchImages(torch.utils.data.Dataset[Item]):
    """The images of a data set with the positions of their factors, for torch's `DataLoader`.

    An item is an image, pixels in [0, 1] as float32, and the value number of each of its factors;
    `factors.values(positions)` gives the values in their units. A loader gathers a whole batch in
    one call. Worker processes open the images themselves.

    Args:
        dataset: The data set, prepared.
    """

    def __init__(self, dataset: "Dataset") -> None:
        self.dataset = dataset
        self.factors = dataset.factors

    def __len__(self) -> int:
        """Number of states, one per image."""
        return len(self.factors)

    def __getitem__(self, index: int) -> Item:
        """Image and positions of a state; a negative number counts from the end.

        Raises:
            IndexError: There is no such state.
        """
        return self.__getitems__([index])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Item]:
        """Images and positions of several states, gathered together.

        Raises:
            IndexError: There is no such state.
        """
        count = len(self)
        for state in numbers:
            if not -count <= state < count:
                raise IndexError(f"state {state} of {count}")
        index = torch.tensor([int(state) % count for state in numbers], dtype=torch.int64)
        images = self.dataset.scaled(self.dataset.tables(), index)
        positions = torch.from_numpy(self.factors.positions(index.numpy()))
        return list(zip(images, positions, strict=True))
