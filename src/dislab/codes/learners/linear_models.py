"""Scikit-learn's linear classifiers, with the settings used by scores."""

from typing import Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_ENOUGH: Final = 10_000
"""More iterations than these problems need; scikit-learn warns if one reaches the limit."""


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
