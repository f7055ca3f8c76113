"""Covariance of the aggregate posterior pulled towards the identity."""

from typing import Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.functional.checks import check_at_least
from dislab.functional.runtime import full_precision, gather_rows

DIPKind = Literal["I", "II"]
"""Covariance that is used: that of the posterior means (I) or of the samples (II)."""


@full_precision
def code_covariance(
    mean: Float[Tensor, "batch latent"], log_var: Float[Tensor, "batch latent"], kind: DIPKind
) -> Float[Tensor, "latent latent"]:
    """Biased covariance (with 1/B) of the codes of a batch.

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


@final
class DIP(Regularizer):
    """Squared distance of the codes' covariance from the identity (DIP-VAE I and II).

    Kumar et al. (2018), https://arxiv.org/abs/1711.00848, eq. 6 and 7. Use it together with `KL`.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        kind: I penalises the covariance of the means, II that of the samples.
        lambda_od: Weight of the squared off-diagonal entries.
        lambda_d: Weight of the squared distances of the diagonal from 1; None takes
            10·lambda_od for I and lambda_od for II.

    Raises:
        InputError: A weight is negative.
    """

    smallest_batch = 2

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        kind: DIPKind = "I",
        lambda_od: float = 10.0,
        lambda_d: float | None = None,
    ) -> None:
        super().__init__()
        if lambda_d is None:
            lambda_d = (10 if kind == "I" else 1) * lambda_od
        check_at_least("lambda_od", lambda_od, 0)
        check_at_least("lambda_d", lambda_d, 0)
        self.kind: DIPKind = kind
        self.lambda_od = lambda_od
        self.lambda_d = lambda_d

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """The weighted penalty; terms: `off_diagonal` and `diagonal`, unweighted sums."""
        mean, log_var = (gather_rows(rows) for rows in posterior)
        covariance = code_covariance(mean, log_var, self.kind)
        diagonal = covariance.diagonal()
        off_diagonal = (covariance - torch.diag(diagonal)).square().sum()
        on_diagonal = (diagonal - 1).square().sum()
        penalty = self.lambda_od * off_diagonal + self.lambda_d * on_diagonal
        return Penalty(penalty, None, {"off_diagonal": off_diagonal, "diagonal": on_diagonal})
