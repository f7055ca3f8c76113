"""Scikit-learn's linear and kernel regressions, with the settings used by scores."""

from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.linear_model import Lasso, LassoCV, Ridge

FOLDS: Final = 5
STEPS: Final = 10_000

Regression = Literal["linear", "kernel"]
"""Least squares, or kernel ridge regression with a Gaussian kernel."""

_GRID: Final = {"alpha": [1.0, 0.1, 1e-2, 1e-3], "gamma": np.logspace(-2, 2, 4)}

_FOLDS: Final = 3


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
        inputs = ((codes - self._units[0]) / spread).cpu().numpy()
        self._model = Ridge(alpha=self.penalty).fit(inputs, scaled)
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, " image"]:
        """The predicted number of each code."""
        if self._model is None or self._units is None:
            raise InputError("call fit(codes, numbers) first")
        mean, spread, middle, width = self._units
        scaled = self._model.predict(((codes - mean) / spread).cpu().numpy())
        return torch.from_numpy(scaled) * width.cpu() + middle.cpu()


def predicted_block(
    codes: Float[Tensor, "image latent"],
    numbers: Float[Tensor, "image number"],
    queries: Float[Tensor, "other latent"],
    regression: Regression,
) -> Float[Tensor, "other number"]:
    """Predictions of a linear or kernel ridge regression for other codes.

    Codes and numbers must be standardised; at least six training codes are needed.

    `kernel` chooses the penalty and kernel width by three-fold cross-validation, jointly for all
    numbers, on the grid of von Kügelgen et al. (2021), https://arxiv.org/abs/2106.04619.
    """
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import GridSearchCV

    model: Any = (
        LinearRegression()
        if regression == "linear"
        else GridSearchCV(KernelRidge(kernel="rbf"), _GRID, cv=_FOLDS)
    )
    model.fit(codes.cpu().numpy(), numbers.cpu().numpy())
    return torch.from_numpy(model.predict(queries.cpu().numpy())).to(codes)
