"""Multinomial logistic regression."""

import math
import warnings
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression


@final
class LogisticClassifier:
    """Scikit-learn's multinomial logistic regression on standardised codes.

    Args:
        C: Inverse strength of the penalty; infinity for no penalty.
        iterations: Largest number of L-BFGS steps. Without a penalty an optimum may not exist, and
            this number is part of the definition.
        scale: Whether codes are standardised first.
    """

    def __init__(self, C: float = 1.0, iterations: int = 1000, scale: bool = True) -> None:  # noqa: N803
        self.C = C
        self.iterations = iterations
        self.scale = scale
        self._model: LogisticRegression | None = None
        self._mean = torch.zeros((), dtype=torch.float64)
        self._spread = torch.ones((), dtype=torch.float64)

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "LogisticClassifier":
        """Learn from codes and at least two different labels; return itself."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        if (labels == labels[:1]).all():
            raise InputError("a classifier needs at least two different labels to learn from")
        if self.scale:
            still = (codes == codes[:1]).all(0)
            self._mean = codes.mean(0)
            self._spread = torch.where(still, 1.0, codes.std(0, correction=0))
        model = LogisticRegression(C=self.C, max_iter=self.iterations)
        with warnings.catch_warnings():
            if math.isinf(self.C):
                warnings.simplefilter("ignore", ConvergenceWarning)
            self._model = model.fit(self._scaled(codes), labels.cpu().numpy())
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, " image"]:
        """The most probable label of each code, among those seen in training."""
        return torch.from_numpy(self._fitted().predict(self._scaled(codes))).to(codes.device)

    def probabilities(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image label"]:
        """Probability of each training label, in ascending order of the labels."""
        return self._logits(codes).softmax(1).to(codes.device)

    def log_loss(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> Float[Tensor, ""]:
        """Mean negative log-probability of the true labels, in nats; all must occur in training."""
        classes = torch.from_numpy(self._fitted().classes_)
        column = torch.searchsorted(classes, labels.cpu().contiguous())
        return torch.nn.functional.cross_entropy(self._logits(codes), column)

    def _logits(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image label"]:
        logits = torch.from_numpy(self._fitted().decision_function(self._scaled(codes)))
        if logits.ndim == 1:  # one logit for two labels
            logits = torch.stack([torch.zeros_like(logits), logits], dim=1)
        return logits

    def _scaled(self, codes: Float[Tensor, "image latent"]) -> "object":
        return ((codes - self._mean) / self._spread).cpu().numpy()

    def _fitted(self) -> "LogisticRegression":
        if self._model is None:
            raise InputError("call fit(codes, labels) first")
        return self._model
