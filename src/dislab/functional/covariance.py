"""Covariance of codes over a batch."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.functional.precision import full_precision

DIPKind = Literal["I", "II"]
"""Whose covariance is meant: of the posterior means (I) or of the samples' distribution (II)."""


@full_precision
def code_covariance(
    mean: Float[Tensor, "batch latent"], log_var: Float[Tensor, "batch latent"], kind: DIPKind
) -> Float[Tensor, "latent latent"]:
    """Covariance of the codes of a batch, with the biased 1/B.

    Kumar et al. (2018), https://arxiv.org/abs/1711.00848, eq. 5: by the law of total covariance
    the samples' covariance is that of the means plus the *diagonal* matrix of mean variances.

    Args:
        mean: Means of the posteriors.
        log_var: Log variances of the posteriors.
        kind: I for the means alone, II for the samples.
    """
    centred = mean - mean.mean(0)
    covariance = centred.mT @ centred / len(mean)
    return covariance + torch.diag(log_var.exp().mean(0)) if kind == "II" else covariance
