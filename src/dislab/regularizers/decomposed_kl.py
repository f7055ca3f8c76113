"""KL divergence decomposed into three separately weighted terms."""

import math
from typing import Literal, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.losses import kl_per_latent, log_density, standard_log_density
from dislab.functional.runtime import full_precision, gather_rows, world

Estimator = Literal["mws", "mss", "mws-unnormalised"]
"""Minibatch estimator of q(z): stratified, weighted, or weighted without its constants."""

ROWS_AT_ONCE = 256
"""Number of rows of the (batch, batch, latent) tensor computed together."""


class Decomposition(NamedTuple):
    """The terms of E[KL(q(z|x) ‖ p(z))], in nats per image, averaged over the batch.

    Attributes:
        index_code_mi: Mutual information of image index and code.
        total_correlation: KL from the aggregate posterior to the product of its marginals.
        dimension_wise_kl: Sum over latents of KL from the marginal to the prior.
    """

    index_code_mi: Tensor
    total_correlation: Tensor
    dimension_wise_kl: Tensor


@full_precision
def decompose_kl(
    z: Float[Tensor, "batch latent"],
    mean: Float[Tensor, "all latent"],
    log_var: Float[Tensor, "all latent"],
    estimator: Estimator,
    train_size: int,
    first_row: int = 0,
) -> Decomposition:
    """Minibatch estimates of three terms whose sum is the sampled KL divergence.

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 2 and appendix C.

    Args:
        z: One sample of each of this process's posteriors.
        mean: Means of the posteriors of the global batch.
        log_var: Log variances of the posteriors of the global batch.
        estimator: How q(z) is estimated.
        train_size: Number of training images.
        first_row: Number of this process's first row in the global batch.
    """
    batch = slice(first_row, first_row + len(z))
    log_q_zx = log_density(z, mean[batch], log_var[batch]).sum(1)
    weights = log_weights(len(mean), train_size, estimator, z)[batch]
    joint, marginals = [], []
    for start in range(0, len(z), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        pairs = log_density(z[rows, None], mean[None], log_var[None])
        weight = weights[rows]
        joint.append(torch.logsumexp(pairs.sum(2) + weight, dim=1))
        marginals.append(torch.logsumexp(pairs + weight[:, :, None], dim=1).sum(1))
    log_q_z, log_prod_q_zj = torch.cat(joint), torch.cat(marginals)
    log_p_z = standard_log_density(z).sum(1)
    return Decomposition(
        (log_q_zx - log_q_z).mean(),
        (log_q_z - log_prod_q_zj).mean(),
        (log_prod_q_zj - log_p_z).mean(),
    )


def log_weights(
    count: int, train_size: int, estimator: Estimator, like: Float[Tensor, "..."]
) -> Float[Tensor, "all all"]:
    """Log weights of posterior j in the estimate of q(z_i), for one global batch.

    For a batch of M + 1 of N images, the stratified weights are 1/N for an image's own posterior,
    (N − M)/(N·M) for its cyclic successor, and 1/M for all others, so that each row sums to one; a
    single image has weight one.

    Args:
        count: Images in the global batch.
        train_size: Number of training images N.
        estimator: How q(z) is estimated.
        like: Tensor with the device and dtype of the result.
    """
    weights = torch.zeros(count, count, device=like.device, dtype=like.dtype)
    if estimator == "mws-unnormalised":
        return weights
    if estimator == "mws":
        return weights - math.log(count * train_size)
    if count == 1:
        return weights  # a single posterior estimates q(z)
    others = count - 1
    row = torch.arange(count, device=like.device)[:, None]
    remainder = max(train_size - others, 0) / (train_size * others)
    weights = weights - math.log(others)
    # not by indexing, which first copies a number to the device
    weights.scatter_(1, (row + 1) % count, math.log(remainder) if remainder else -math.inf)
    return weights.scatter_(1, row, -math.log(train_size))


@final
class DecomposedKL(Regularizer):
    """Separately weighted mutual information, total correlation and dimension-wise KL (β-TCVAE).

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 4. It replaces `KL`. The
    aggregate posterior is estimated from the global batch of all processes.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set.
        beta: Weight of the total correlation.
        alpha: Weight of the index-code mutual information; `sampled` form only.
        gamma: Weight of the dimension-wise KL; `sampled` form only.
        estimator: `mss` is the stratified estimate, `mws` the weighted one, which overstates the
            total correlation of a small batch by tens of nats, and `mws-unnormalised` leaves out
            its constants, as Locatello et al. (2019) do; the last two have equal gradients.
        form: `sampled` weights the three Monte-Carlo terms, as the paper does; `analytic` adds
            (beta − 1) times the total correlation to the closed-form KL, as Locatello et al.
            (2019), https://arxiv.org/abs/1811.12359, do.

    Raises:
        InputError: A weight is negative, or alpha or gamma is not 1 in the analytic form.
    """

    smallest_batch = 2

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        beta: float = 6.0,
        alpha: float = 1.0,
        gamma: float = 1.0,
        estimator: Estimator = "mss",
        form: Literal["sampled", "analytic"] = "sampled",
    ) -> None:
        super().__init__()
        for name, weight in (("beta", beta), ("alpha", alpha), ("gamma", gamma)):
            check_at_least(name, weight, 0)
        if form == "analytic" and (alpha, gamma) != (1, 1):
            raise InputError(
                f"alpha={alpha} and gamma={gamma} have no meaning in the analytic form, which "
                "weights the total correlation alone; leave them at 1 or set form to sampled"
            )
        self.train_size = train_size
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.estimator: Estimator = estimator
        self.form = form

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """The weighted sum; terms: the three estimates and the closed-form `kl`, in nats.

        Raises:
            InputError: A training batch is larger than the training set.
        """
        mean, log_var = (gather_rows(rows) for rows in posterior)
        if self.training and len(mean) > self.train_size:
            raise InputError(
                f"a batch of {len(mean)} images is larger than the training set of "
                f"{self.train_size}; the estimate of q(z) needs distinct images"
            )
        parts = decompose_kl(
            z, mean, log_var, self.estimator, self.train_size, first_row=world()[0] * len(z)
        )
        kl = kl_per_latent(*posterior).sum(1).mean()
        if self.form == "analytic":
            penalty = kl + (self.beta - 1) * parts.total_correlation
        else:
            penalty = (
                self.alpha * parts.index_code_mi
                + self.beta * parts.total_correlation
                + self.gamma * parts.dimension_wise_kl
            )
        return Penalty(penalty, None, {**parts._asdict(), "kl": kl})
