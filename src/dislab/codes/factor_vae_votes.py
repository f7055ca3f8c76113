"""Votes of the FactorVAE score: which latent varies least while one factor is held."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.codes.value_rows import ValueRows, rows_of
from dislab.errors import InputError

VOTES_AT_ONCE: Final = 64
"""Votes whose codes are gathered together; bounds the memory, changes no result."""


class Ballot(NamedTuple):
    """The images behind each vote.

    Attributes:
        factor: The factor that is held, shape (vote,).
        rows: Rows of the bank of images that share its value, shape (vote, sample).
    """

    factor: Tensor
    rows: Tensor


def draw_ballot(
    factors: Int[Tensor, "image factor"],
    varied: Bool[Tensor, " factor"],
    votes: int,
    samples: int,
    generator: np.random.Generator,
    names: Sequence[str],
    tables: Callable[[int], ValueRows] | None = None,
) -> Ballot:
    """Images for each vote, drawn with replacement out of the bank.

    A factor is drawn uniformly among those that vary, its value as it occurs in the bank, then
    the images among all that have the value. A value that only one image has is never held: a
    single image shows no variation.

    Args:
        factors: Positions: value numbers.
        varied: Which factors take part.
        votes: Number of votes.
        samples: Number of images a vote.
        generator: Source of the draws.
        names: Names of the factors, for messages.
        tables: Gives the rows of each value of a factor, where they are known already.

    Raises:
        InputError: No two images share a value of one of the factors.
    """
    held = generator.choice(np.flatnonzero(varied.cpu().numpy()), votes)
    rows = np.empty((votes, samples), dtype=np.int64)
    for factor in np.unique(held):
        own = np.flatnonzero(held == factor)
        known = rows_of(factors[:, factor]) if tables is None else tables(int(factor))
        order, first, count = (one.cpu().numpy() for one in known)
        column = factors[:, factor].cpu().numpy()
        shared = np.flatnonzero(count[column] > 1)
        if not len(shared):
            raise InputError(
                f"no two images share a value of factor {names[factor]}, so that it cannot be "
                "held; score more images, or group its values"
            )
        value = column[shared[generator.integers(len(shared), size=len(own))]]
        place = generator.random((len(own), samples)) * count[value, None]
        rows[own] = order[first[value, None] + place.astype(np.int64)]
    return Ballot(
        torch.from_numpy(held.astype(np.int64)).to(factors.device),
        torch.from_numpy(rows).to(factors.device),
    )


def count_votes(
    codes: Float[Tensor, "image latent"],
    active: Bool[Tensor, " latent"],
    ballot: Ballot,
    factor_count: int,
) -> Int[Tensor, "latent factor"]:
    """How often each latent varied least while each factor was held.

    A latent's variance over the images of a vote is divided by its variance over the whole bank,
    both unbiased. Among equals the first latent gets the vote.

    Args:
        codes: Codes of the bank.
        active: Which latents may get votes, at least one; none of them constant.
        ballot: The images behind each vote.
        factor_count: Number of factors, with those that never vary.
    """
    chosen = active.nonzero().flatten()
    scaled = codes[:, chosen]
    scaled = (scaled - scaled.mean(0)) / scaled.std(0)
    winners = [
        _scatter(scaled, rows).argmin(dim=1) for rows in torch.split(ballot.rows, VOTES_AT_ONCE)
    ]
    cells = chosen[torch.cat(winners)] * factor_count + ballot.factor
    counts = torch.bincount(cells, minlength=codes.shape[1] * factor_count)
    return counts.view(codes.shape[1], factor_count)


def vote_accuracy(
    train: Int[Tensor, "latent factor"], votes: Int[Tensor, "latent factor"]
) -> Float[Tensor, ""]:
    """Share of votes whose factor is the one that their latent stands for.

    A latent stands for the factor that it got most training votes for, the first among equals.
    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, section 4.

    Args:
        train: Training votes, which decide what each latent stands for.
        votes: The votes that are judged, at least one.
    """
    right = votes.gather(1, train.argmax(dim=1, keepdim=True)).sum()
    return right / votes.sum().double()


def _scatter(
    codes: Float[Tensor, "image latent"], rows: Int[Tensor, "vote sample"]
) -> Float[Tensor, "vote latent"]:
    """Sum of squared deviations over the images of each vote; exactly 0 where all are equal."""
    samples = rows.shape[1]
    drawn = codes.index_select(0, rows.flatten()).view(*rows.shape, -1)
    # Relative to the first image, so that nothing cancels where latents stand still.
    shifted = drawn - drawn[:, :1]
    return shifted.square().sum(1) - shifted.sum(1).square() / samples
