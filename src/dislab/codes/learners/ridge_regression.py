"""Linear regression with a quadratic penalty."""

from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.linear_model import Ridge


@final
class RidgeRegression:
    """Scikit-learn's `Ridge` on standardised codes and numbers.

    It is the counterpart of `LogisticClassifier` for regression.

    Args:
        penalty: Weight of the sum of squared weights relative to the sum of squared errors.
    """

    def __init__(self, penalty: float = 1.0) -> None:
        self.penalty = penalty
        self._model: Ridge | None = None
        self._units: tuple[Tensor, Tensor, Tensor, Tensor] | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], numbers: Float[Tensor, " image"]
    ) -> "RidgeRegression":
        """Learn from codes and at least two different numbers; return itself."""
        from sklearn.linear_model import Ridge

        targets = numbers.double()
        if (targets == targets[:1]).all():
            raise InputError("a regression needs at least two different numbers to learn from")
        still = (codes == codes[:1]).all(0)
        spread = torch.where(still, 1.0, codes.std(0, correction=0))
        self._units = codes.mean(0), spread, targets.mean(), targets.std(correction=0)
        scaled = ((targets - self._units[2]) / self._units[3]).cpu().numpy()
        inputs_scaled = ((codes - self._units[0]) / spread).cpu().numpy()
        self._model = Ridge(alpha=self.penalty).fit(inputs_scaled, scaled)
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, " image"]:
        """The predicted number of each code."""
        if self._model is None or self._units is None:
            raise InputError("call fit(codes, numbers) first")
        mean, spread, middle, width = self._units
        scaled = self._model.predict(((codes - mean) / spread).cpu().numpy())
        return torch.from_numpy(scaled) * width.cpu() + middle.cpu()
