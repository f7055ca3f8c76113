"""Codes of some images with the factors behind them."""

from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dislab.codes.checks import checked_codes, checked_factors
from dislab.errors import InputError
from dislab.factors import UNLABELLED, FactorSpace

Array: TypeAlias = npt.NDArray[Any] | Tensor
"""Numbers in rows."""


@final
class Domain(NamedTuple):
    """Images of one distribution, as some encoders see them.

    Attributes:
        codes: Shape (image, latent), or (run, image, latent) for several runs.
        factors: Positions: value numbers, shape (image, factor).
        space: The factors and their values.
        values: Exact values of the factors in their units, shape (image, factor), where they lie
            off the grid of `space`; None where they do not.
    """

    codes: Array
    factors: Array
    space: FactorSpace
    values: npt.NDArray[np.float64] | None = None

    def checked(self, runs: int | None = None) -> "Domain":
        """The same with codes of shape (run, image, latent) in float32, and factors in int64.

        Args:
            runs: How many runs there must be; None for any number.

        Raises:
            InputError: The shapes do not fit, the codes are not finite, the factors are no
                positions of the space, or there are no factors.
        """
        if self.space.names == (UNLABELLED,):
            raise InputError(
                "transfer compares codes with factors, and these images have none; give the data "
                "set a table of factors"
            )
        codes = _tensor(self.codes)
        stacked = codes[None] if codes.ndim == 2 else codes
        if stacked.ndim != 3 or 0 in stacked.shape:
            raise InputError(
                "codes have shape (image, latent), or (run, image, latent) for several runs; got "
                f"{tuple(codes.shape)}"
            )
        if runs is not None and len(stacked) != runs:
            raise InputError(
                f"there are {runs} runs, and codes of {len(stacked)} for another data set"
            )
        # one after the other, so that a message on broken codes counts those of one run
        stacked = torch.stack([checked_codes([run]) for run in stacked])
        factors = checked_factors([_tensor(self.factors)], self.space).cpu()
        if len(factors) != stacked.shape[1]:
            raise InputError(
                f"there are codes of {stacked.shape[1]} images, but factors of {len(factors)}; "
                "give one row of factors for each image"
            )
        if self.values is not None and self.values.shape != tuple(factors.shape):
            raise InputError(
                f"exact values of shape {self.values.shape} do not fit factors of shape "
                f"{tuple(factors.shape)}"
            )
        return Domain(stacked.float(), factors.numpy(), self.space, self.values)


def _tensor(array: Array) -> Tensor:
    if isinstance(array, Tensor):
        return array.detach()
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise InputError(f"codes and factors must be numbers, not of type {values.dtype}")
    return torch.from_numpy(np.ascontiguousarray(values))
