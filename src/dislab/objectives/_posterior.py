"""What an encoder's outputs mean."""

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Posterior


def posterior_of(outputs: Float[Tensor, "batch outputs"]) -> Posterior:
    """Means, then log variances, in float32 or wider.

    Args:
        outputs: What an encoder returned, two numbers a latent.
    """
    if outputs.dtype in (torch.bfloat16, torch.float16):
        outputs = outputs.float()
    mean, log_var = outputs.chunk(2, dim=1)
    return Posterior(mean, log_var)
