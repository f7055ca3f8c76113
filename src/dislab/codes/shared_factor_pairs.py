"""Pairs of images that share one factor, for the score of the β-VAE paper."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.errors import InputError

POINTS_AT_ONCE: Final = 64
"""Points whose codes are gathered together; bounds the memory, changes no result."""


class PairDraw(NamedTuple):
    """The pairs behind each point.

    Attributes:
        factor: The factor that the pairs of a point share, shape (point,).
        rows: Rows of the bank, shape (2, point, pair).
    """

    factor: Tensor
    rows: Tensor


def draw_pairs(
    factors: Int[Tensor, "image factor"],
    varied: Bool[Tensor, " factor"],
    points: int,
    pairs: int,
    generator: np.random.Generator,
    names: Sequence[str],
) -> PairDraw:
    """Pairs for each point, drawn with replacement out of the bank.

    A factor is drawn uniformly among those that vary, one a point. The first image of a pair is
    drawn uniformly, the second among the others with the same value. An image whose value no
    other has is in no pair.

    Args:
        factors: Positions: value numbers.
        varied: Which factors take part.
        points: Number of points.
        pairs: Number of pairs a point.
        generator: Source of the draws.
        names: Names of the factors, for messages.

    Raises:
        InputError: No two images share a value of one of the factors.
    """
    bank = factors.cpu().numpy()
    shared = generator.choice(np.flatnonzero(varied.cpu().numpy()), points)
    rows = np.empty((2, points, pairs), dtype=np.int64)
    for factor in np.unique(shared):
        column = bank[:, factor]
        own = np.flatnonzero(shared == factor)
        order = np.argsort(column, kind="stable")
        count = np.bincount(column)
        value = column[order]
        # places in the sorted column, so that images with one value are neighbours
        usable = np.flatnonzero(count[value] > 1)
        if not len(usable):
            raise InputError(
                f"no two images share a value of factor {names[factor]}, so that no pair can; "
                "score more images, or group its values"
            )
        place = usable[generator.integers(len(usable), size=(len(own), pairs))]
        size = count[value[place]]
        first = (np.cumsum(count) - count)[value[place]]
        step = 1 + (generator.random(place.shape) * (size - 1)).astype(np.int64)
        rows[0, own] = order[place]
        rows[1, own] = order[first + (place - first + step) % size]
    return PairDraw(
        torch.from_numpy(shared.astype(np.int64)).to(factors.device),
        torch.from_numpy(rows).to(factors.device),
    )


def mean_differences(
    codes: Float[Tensor, "image latent"], draw: PairDraw
) -> Float[Tensor, "point latent"]:
    """Mean absolute difference of the codes over the pairs of each point.

    Args:
        codes: Codes of the bank.
        draw: The pairs.
    """
    pairs = draw.rows.shape[2]
    parts = []
    for first, second in zip(*(part.split(POINTS_AT_ONCE) for part in draw.rows), strict=True):
        apart = codes.index_select(0, first.flatten()) - codes.index_select(0, second.flatten())
        parts.append(apart.abs_().view(len(first), pairs, -1).mean(1))
    return torch.cat(parts)
