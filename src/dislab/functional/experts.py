"""Products of Gaussian experts."""

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.functional.precision import full_precision


@full_precision
def product_of_experts(
    mean: Float[Tensor, "expert latent"],
    log_var: Float[Tensor, "expert latent"],
    present: Float[Tensor, "batch expert"],
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
    """Mean and log variance of N(0, 1) times the Gaussians of the experts that are present.

    Precisions add up, and the mean is weighted by them. Without any expert it is the prior.

    Vedantam et al. (2018), https://arxiv.org/abs/1705.10762, §3.2.

    Args:
        mean: Means of the experts.
        log_var: Their log variances.
        present: Which experts take part, 0 or 1.
    """
    precision = torch.exp(-log_var)
    total = 1.0 + present @ precision
    return present @ (precision * mean) / total, -total.log()
