"""Regression of several numbers at once on a block of latents."""

from typing import Any, Final, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

Regression = Literal["linear", "kernel"]
"""Least squares, or kernel ridge regression with a Gaussian kernel."""

_GRID: Final = {"alpha": [1.0, 0.1, 1e-2, 1e-3], "gamma": np.logspace(-2, 2, 4)}
_FOLDS: Final = 3


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
