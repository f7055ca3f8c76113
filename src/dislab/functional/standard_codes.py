"""Codes with mean 0 and standard deviation 1."""

from typing import Final, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

LEAST_SPREAD: Final = 1e-6
"""A latent that spreads by less than this share of its size is rounding: it never varies."""


class Standard(NamedTuple):
    """How codes are standardised, in float64.

    Attributes:
        centre: Means, shape (run, 1, latent).
        scale: One over the standard deviations, or 0 for a latent that never varies.
    """

    centre: Tensor
    scale: Tensor

    def of(self, codes: Float[Tensor, "run image latent"]) -> Float[Tensor, "run image latent"]:
        """Standardised codes in float64; 0 wherever a latent never varied.

        Args:
            codes: Codes of the runs that it was made from.
        """
        return (codes.to(self.centre.device).double() - self.centre) * self.scale


def standard(codes: Float[Tensor, "run image latent"]) -> Standard:
    """The means and scales of each run's codes.

    Args:
        codes: Codes of at least one image.
    """
    codes = codes.double()
    centre = codes.mean(1, keepdim=True)
    spread = codes.std(1, correction=0, keepdim=True)
    varies = spread > LEAST_SPREAD * codes.abs().amax(1, keepdim=True)
    # a spread that float64 cannot invert counts as none
    scale = torch.where(varies, spread.clamp_min(1e-300).reciprocal(), 0.0)
    return Standard(centre, scale)
