"""Cache of resized images."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base.parts import ImageShape
from dislab.factors import Indices

_MOST_BYTES: Final = 2**28
"""Largest memory of the cache, per process."""


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
