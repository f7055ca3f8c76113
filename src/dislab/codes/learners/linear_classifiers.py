"""Scikit-learn's linear classifiers, with the settings used by scores."""

import math
import warnings
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

_ENOUGH: Final = 10_000
"""More iterations than these problems need; scikit-learn warns if one reaches the limit."""


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


def latent_machines(
    codes: Float[Tensor, "image latent"],
    labels: Int[Tensor, " image"],
    tested: Float[Tensor, "other latent"],
    C: float = 0.01,  # noqa: N803, the name in the literature
) -> Int[Tensor, "other latent"]:
    """Labels predicted by a linear support vector machine on each single latent.

    Squared hinge loss, one label against the rest, classes weighted inversely to their frequency.
    `C` weighs the losses against the squared weight; at least two labels must differ.
    """
    from sklearn.svm import LinearSVC

    # the primal problem has an exact solution that does not depend on a seed
    machine = LinearSVC(C=C, class_weight="balanced", dual=False, tol=1e-6, max_iter=_ENOUGH)
    train, test, truth = codes.cpu().numpy(), tested.cpu().numpy(), labels.cpu().numpy()
    columns = [
        machine.fit(train[:, [latent]], truth).predict(test[:, [latent]])
        for latent in range(train.shape[1])
    ]
    return torch.from_numpy(np.stack(columns, axis=1)).to(codes.device)


def logits_of_answers(
    codes: Float[Tensor, "image latent"],
    answers: Bool[Tensor, "image question"],
    tested: Float[Tensor, "other latent"],
) -> Float[Tensor, "other question"]:
    """Logs-odds of the answer yes to each question, by separate logistic regressions with C = 1.

    Codes must have similar scales, and each question needs both answers among the training images.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(solver="newton-cholesky", tol=1e-6, max_iter=_ENOUGH)
    train, test, truth = codes.cpu().numpy(), tested.cpu().numpy(), answers.cpu().numpy()
    columns = [model.fit(train, answer).decision_function(test) for answer in truth.T]
    return torch.from_numpy(np.stack(columns, axis=1)).to(codes.device)
