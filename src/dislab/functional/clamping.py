"""Latents held at their mean over a batch in which the factors behind them do not vary."""

from jaxtyping import Bool, Float
from torch import Tensor

from dislab.functional.collectives import gather_rows
from dislab.functional.precision import full_precision


@full_precision
def clamp_to_mean(
    z: Float[Tensor, "batch latent"], active: Bool[Tensor, "batch latent"]
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, ""]]:
    """Latents with the inactive ones at their batch mean, and half their squared distance from it.

    The mean is over the global batch of all processes and gives no gradient, so that what is
    computed from the clamped latents trains the active ones alone. The distance is summed over
    latents and averaged over the batch; its gradient with respect to an inactive latent is
    (z − mean)/B, and zero for an active one.

    Kulkarni et al. (2015), https://arxiv.org/abs/1503.03167, section 3.2.

    Args:
        z: One sample of each posterior.
        active: Which latents may vary.
    """
    mean = gather_rows(z.detach()).mean(0)
    distance = (z - mean).masked_fill(active, 0.0)
    return mean + (z - mean).masked_fill(~active, 0.0), 0.5 * distance.square().sum(1).mean()
