"""Linear regression with an L1 penalty."""

from typing import TYPE_CHECKING, Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.linear_model import Lasso, LassoCV

FOLDS = 5
STEPS = 10_000


@final
class LassoRegression:
    """Scikit-learn's lasso on centred codes and standardised labels.

    Args:
        alpha: Weight of the sum of absolute weights relative to half the mean squared error; None
            chooses it by five-fold cross-validation.
        scale: Whether codes are divided by their standard deviations.
        selection: Order of the weight updates: `cyclic` or `random`.
        seed: Seed of the random order.
        tolerance: Largest excess of the loss over its minimum, as a share of half the mean squared
            label. With scikit-learn's default, 1e-4, weights depend on the order of updates.
    """

    def __init__(
        self,
        alpha: float | None = 0.02,
        scale: bool = True,
        selection: Literal["cyclic", "random"] = "cyclic",
        seed: int = 0,
        tolerance: float = 1e-10,
    ) -> None:
        self.alpha = alpha
        self.scale = scale
        self.selection: Literal["cyclic", "random"] = selection
        self.seed = seed
        self.tolerance = tolerance
        self._model: Lasso | LassoCV | None = None
        self._units: tuple[Tensor, Tensor, Tensor, Tensor] | None = None

    def fit(
        self,
        codes: Float[Tensor, "image latent"],
        labels: Int[Tensor, " image"] | Float[Tensor, " image"],
    ) -> "LassoRegression":
        """Learn from codes and at least two different labels; return itself."""
        from sklearn.linear_model import Lasso, LassoCV

        if (labels == labels[:1]).all():
            raise InputError("a regression needs at least two different labels to learn from")
        still = (codes == codes[:1]).all(0) | (not self.scale)
        spread = torch.where(still, 1.0, codes.std(0, correction=0))
        target = labels.double()
        self._units = codes.mean(0), spread, target.mean(), target.std(correction=0)
        common = {
            "selection": self.selection,
            "random_state": self.seed,
            "max_iter": STEPS,
            "tol": self.tolerance,
        }
        model = (
            LassoCV(cv=FOLDS, **common) if self.alpha is None else Lasso(alpha=self.alpha, **common)
        )
        scaled = ((target - self._units[2]) / self._units[3]).cpu().numpy()
        self._model = model.fit(((codes - self._units[0]) / spread).cpu().numpy(), scaled)
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, " image"]:
        """The predicted label of each code, in general not a whole number."""
        model, (mean, spread, middle, width) = self._fitted()
        scaled = model.predict(((codes - mean) / spread).cpu().numpy())
        return torch.from_numpy(scaled) * width.cpu() + middle.cpu()

    def importances(self) -> Float[Tensor, " latent"]:
        """Absolute weights."""
        return torch.from_numpy(self._fitted()[0].coef_).abs()

    def _fitted(self) -> "tuple[Lasso | LassoCV, tuple[Tensor, Tensor, Tensor, Tensor]]":
        if self._model is None or self._units is None:
            raise InputError("call fit(codes, labels) first")
        return self._model, self._units
