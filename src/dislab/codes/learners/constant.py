"""Prediction without codes."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor


@final
class Constant:
    """Predicts the most frequent training label, or the mean of floating-point labels.

    It gives the chance level of every learner. Integer labels are classes.
    """

    def __init__(
        self, latents: int, labels: Int[Tensor, " image"] | Float[Tensor, " image"]
    ) -> None:
        self._latents = latents
        measured = labels.is_floating_point()
        self._value = labels.mean() if measured else labels.mode().values

    def importances(self) -> Float[Tensor, " latent"]:
        """Zeros for all latents."""
        return torch.zeros(self._latents, dtype=torch.float64)

    def predict(
        self, codes: Float[Tensor, "image latent"]
    ) -> Int[Tensor, " image"] | Float[Tensor, " image"]:
        """The same value for every image."""
        return self._value.expand(len(codes))
