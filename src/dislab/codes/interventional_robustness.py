"""How far codes move while one factor is held."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def held_deviations(
    codes: Float[Tensor, "image latent"], column: Int[Tensor, " image"], quantile: float
) -> Float[Tensor, " latent"]:
    """A quantile of the distances from the mean of a value's codes, averaged over the values.

    Each value counts once, however many images have it. The quantile is interpolated between
    neighbouring distances.

    Args:
        codes: Codes.
        column: Value numbers of the factor that is held.
        quantile: Which quantile, in [0, 1]; 1 takes the largest distance.
    """
    order = column.argsort(stable=True)
    counts = torch.unique(column, return_counts=True)[1].tolist()
    parts = torch.split(codes[order], counts)
    return torch.stack([_quantile((one - one.mean(0)).abs(), quantile) for one in parts]).mean(0)


def _quantile(distances: Float[Tensor, "row latent"], quantile: float) -> Float[Tensor, " latent"]:
    ascending = distances.sort(dim=0).values
    place = quantile * (len(ascending) - 1)
    low = int(place)
    high = min(low + 1, len(ascending) - 1)
    return torch.lerp(ascending[low], ascending[high], place - low)
