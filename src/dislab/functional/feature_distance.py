"""Distance of images in the features of a network."""

from jaxtyping import Float
from torch import Tensor

from dislab.functional.precision import full_precision


@full_precision
def feature_distance(
    first: Float[Tensor, "batch feature"], second: Float[Tensor, "batch feature"]
) -> Float[Tensor, ""]:
    """Half the squared distance of two vectors, summed over features and averaged over the batch.

    It is −log N(first; second, 1) without the constant, in nats per image.

    Args:
        first: One vector an image.
        second: Likewise.
    """
    return 0.5 * (first - second).square().sum(1).mean()
