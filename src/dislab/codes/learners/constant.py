"""Prediction without codes."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor


@final
class Constant:
    """Predicts the most frequent value of the labels learnt from, or the mean of measured numbers.

    It is the level of chance of every learner: no latent matters to it. Whole numbers are values.
    """

    def __init__(
        self, latents: int, labels: Int[Tensor, " image"] | Float[Tensor, " image"]
    ) -> None:
        self._latents = latents
        measured = labels.is_floating_point()
        self._value = labels.mean() if measured else labels.mode().values

    def importances(self) -> Float[Tensor, " latent"]:
        """Zeros: no latent matters."""
        return torch.zeros(self._latents, dtype=torch.float64)

    def predict(
        self, codes: Float[Tensor, "image latent"]
    ) -> Int[Tensor, " image"] | Float[Tensor, " image"]:
        """The same value for every image."""
        return self._value.expand(len(codes))
