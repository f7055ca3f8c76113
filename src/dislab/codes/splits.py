"""Division of the images into training and test images of a score."""

from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError, warn

TEST_FRACTION: Final = 1 / 3
"""Default share of test images, which are the last ones."""


class UnseenValueWarning(UserWarning):
    """A factor has values in the test part that the training part lacks."""


def check_fraction(test_fraction: float) -> None:
    """Refuses a share of test images that leaves no training or no test images."""
    if not 0 < test_fraction < 1:
        raise InputError(
            f"test_fraction is {test_fraction}; it must lie between 0 and 1, both excluded"
        )


def train_count(images: int, test_fraction: float) -> int:
    """Number of training images, which come first: at least two, at most all but one."""
    return min(max(images - round(images * test_fraction), 2), images - 1)


def check_labels(
    labels: Int[Tensor, " image"] | Float[Tensor, " image"],
    train: int,
    score: str,
    name: str,
    unseen_values: str = "all images with them count as mistakes",
    unseen: bool = True,
) -> None:
    """Refuses a factor that is constant in the first `train` images, and warns about unseen values.

    `score`, `name` (of the factor) and `unseen_values` (the treatment of values that occur only in
    the test part) are for messages. `unseen` is false for regressed factors, whose values need not
    repeat.

    Warns:
        UnseenValueWarning: Some values are in the test part only.
    """
    if (labels[:train] == labels[:1]).all():
        raise InputError(
            f"factor {name} takes one value only in the {train} images to learn from, but varies "
            f"in the rest; give {score} images in random order, or more of them"
        )
    if not unseen:
        return
    new = set(torch.unique(labels[train:]).tolist()) - set(torch.unique(labels[:train]).tolist())
    if new:
        warn(
            f"factor {name} has values in the images to test on that those to learn from do not "
            f"have ({len(new)}); {unseen_values}",
            UnseenValueWarning,
        )


def standardized(codes: Float[Tensor, "image latent"], train: int) -> Float[Tensor, "image latent"]:
    """Codes standardised by the means and standard deviations of the first `train` images.

    A latent that is constant in these images is only shifted.
    """
    first = codes[:train]
    still = (first == first[:1]).all(0)
    spread = torch.where(still, 1.0, first.std(0, correction=0))
    return (codes - first.mean(0)) / spread


def explained_share(
    predicted: Float[Tensor, " image"], targets: Float[Tensor, " image"]
) -> Float[Tensor, ""]:
    """Share of the variance of numbers explained by predictions, R², clipped at 0.

    It is 0 if all numbers are equal.
    """
    total = (targets - targets.mean()).square().sum()
    missed = (predicted - targets).square().sum()
    return torch.where(total > 0, 1 - missed / total, 0.0).clamp(min=0.0)


def spread_columns(
    columns: Float[Tensor, "*row varied"], varied: list[int], factors: int, fill: float
) -> Float[Tensor, "*row factor"]:
    """Places the columns of the varied factors among all factors; the others get `fill`."""
    spread = columns.new_full((*columns.shape[:-1], factors), fill)
    spread[..., varied] = columns
    return spread
