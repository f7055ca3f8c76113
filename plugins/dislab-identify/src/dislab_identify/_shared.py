"""What the methods share: checks, posteriors, and the class of an auxiliary factor."""

import math
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from dislab.base import ImageShape, Posterior
from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_count
from dislab.functional.runtime import widen


def check_latents(method: str, latent_dim: int, image_shape: ImageShape) -> None:
    """Refuses more latents than features, which no inverse of a mixing has."""
    check_count("latent_dim", latent_dim, 1)
    if latent_dim > math.prod(image_shape):
        raise InputError(
            f"latent_dim is {latent_dim}, and the data have {math.prod(image_shape)} features; "
            f"{method} inverts a mixing: give at most as many latents as features"
        )


def auxiliary_column(
    method: str, auxiliary: str, names: Sequence[str], sizes: Sequence[int]
) -> int:
    """Column of the factor that a method conditions on; refuses factors of a single value."""
    if auxiliary not in names:
        raise InputError(
            f"auxiliary is {auxiliary!r}{suggestion(auxiliary, names)}, which is no factor of the "
            f"data; they are {', '.join(names)}"
        )
    column = list(names).index(auxiliary)
    if sizes[column] < 2:
        raise InputError(
            f"factor {auxiliary} has a single value, and {method} compares several; give data "
            "with at least two"
        )
    return column


def posterior_of(outputs: Float[Tensor, "batch output"]) -> Posterior:
    """Means and log variances, the two halves of an encoder's outputs."""
    mean, log_var = widen(outputs).chunk(2, dim=1)
    return Posterior(mean, log_var)
