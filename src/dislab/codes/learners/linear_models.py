"""Scikit-learn's linear classifiers, with the settings of scores."""

from typing import Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_ENOUGH: Final = 10_000
"""Steps that none of these problems needs; scikit-learn warns where one does."""


def latent_machines(
    codes: Float[Tensor, "image latent"],
    labels: Int[Tensor, " image"],
    tested: Float[Tensor, "other latent"],
    C: float = 0.01,  # noqa: N803, the name in the literature
) -> Int[Tensor, "other latent"]:
    """Labels that a linear support vector machine on each latent alone predicts.

    Squared hinge loss, one label against the rest, classes weighted inversely to their frequency.
    `C` is the weight of the losses against the squared weight; at least two labels must differ.
    """
    from sklearn.svm import LinearSVC

    # the primal problem has an exact solution that does not depend on a seed
    machine = LinearSVC(C=C, class_weight="balanced", dual=False, tol=1e-6, max_iter=_ENOUGH)
    known, asked, truth = codes.cpu().numpy(), tested.cpu().numpy(), labels.cpu().numpy()
    columns = [
        machine.fit(known[:, [latent]], truth).predict(asked[:, [latent]])
        for latent in range(known.shape[1])
    ]
    return torch.from_numpy(np.stack(columns, axis=1)).to(codes.device)


def logits_of_answers(
    codes: Float[Tensor, "image latent"],
    answers: Bool[Tensor, "image question"],
    tested: Float[Tensor, "other latent"],
) -> Float[Tensor, "other question"]:
    """Log-odds of a yes to each question, by a logistic regression of its own with C = 1.

    Codes are of similar scales, and each question has answers of both kinds.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(solver="newton-cholesky", tol=1e-6, max_iter=_ENOUGH)
    known, asked, truth = codes.cpu().numpy(), tested.cpu().numpy(), answers.cpu().numpy()
    columns = [model.fit(known, one).decision_function(asked) for one in truth.T]
    return torch.from_numpy(np.stack(columns, axis=1)).to(codes.device)
