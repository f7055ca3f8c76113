"""Estimates of the aggregate posterior q(z) and of what a KL divergence is made of."""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.functional.gaussians import log_density, standard_log_density
from dislab.functional.precision import full_precision

Estimator = Literal["mws", "mss", "mws-unnormalised"]
"""How q(z) is estimated from a minibatch: weighted, stratified, or weighted without constants."""

ROWS_AT_ONCE = 256
"""Rows of the (batch, batch, latent) tensor that are built together."""


class Decomposition(NamedTuple):
    """The terms of E[KL(q(z|x) ‖ p(z))], in nats per image, batch averaged.

    Attributes:
        index_code_mi: Mutual information of image number and code.
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
    """Minibatch estimates whose sum is the sampled KL divergence.

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 2 and appendix C.

    Args:
        z: One sample of each of this process's posteriors.
        mean: Means of the posteriors of the global batch.
        log_var: Log variances of the posteriors of the global batch.
        estimator: How q(z) is estimated.
        train_size: Number of training images.
        first_row: Where this process's rows stand in the global batch.
    """
    own = slice(first_row, first_row + len(z))
    log_q_zx = log_density(z, mean[own], log_var[own]).sum(1)
    weights = log_weights(len(mean), train_size, estimator, z)[own]
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
    """Log weight of posterior j in the estimate of q(z_i), of one global batch.

    The stratified weights of a batch of M + 1 images out of N are 1/M, but 1/N for an image's own
    posterior and (N − M)/(N·M) for its cyclic successor, so that each row sums to one; a single
    image weighs one.

    Args:
        count: Images in the global batch.
        train_size: Number of training images N.
        estimator: How q(z) is estimated.
        like: Gives the device and the floating-point type.
    """
    weights = torch.zeros(count, count, device=like.device, dtype=like.dtype)
    if estimator == "mws-unnormalised":
        return weights
    if estimator == "mws":
        return weights - math.log(count * train_size)
    if count == 1:
        return weights  # a single posterior is all that is known of q(z)
    others = count - 1
    row = torch.arange(count, device=like.device)[:, None]
    rest = max(train_size - others, 0) / (train_size * others)
    weights = weights - math.log(others)
    # not by indexing, for which a number is first sent to a card
    weights.scatter_(1, (row + 1) % count, math.log(rest) if rest else -math.inf)
    return weights.scatter_(1, row, -math.log(train_size))


@full_precision
def permute_latents(
    z: Float[Tensor, "all latent"], permutation: Int[Tensor, "batch latent"]
) -> Float[Tensor, "batch latent"]:
    """Samples of the product of marginals: each latent taken from another image.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, algorithm 1.

    Args:
        z: Samples of the aggregate posterior.
        permutation: Which row each latent of each result comes from.
    """
    return z.gather(0, permutation)
