"""Boosted trees for several columns of labels or numbers of the same images, grown together."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.codes.learners.code_bins import CodeBins
from dislab.codes.learners.logit_gradients import logit_gradients
from dislab.codes.learners.tree_grower import NO_SPLIT, GrownTrees, TreeGrower
from dislab.codes.learners.tree_sums import CompleteTrees

Column = Int[Tensor, " image"] | Float[Tensor, " image"]
"""Numbers of labels, or numbers to be fitted."""

MOST_TOGETHER: Final = 128
"""Trees that grow together, so that their arrays stay in the cache; changes no result."""


class BoostedLogits(NamedTuple):
    """The logits of one column of labels, or its numbers, as a start and sums of trees.

    Attributes:
        start: Logits before the first round, one a kind; one alone for two kinds; of numbers their
            mean.
        trees: All trees, kinds within rounds.
        gain: By how much the splits at each latent lower the squared residuals, all trees added.
    """

    start: Float[Tensor, " kind"]
    trees: CompleteTrees
    gain: npt.NDArray[np.float64]


def boost(
    bins: CodeBins, columns: Sequence[Column], rounds: int, depth: int, rate: float
) -> list[BoostedLogits]:
    """Trees for each column, as if each were learnt by itself.

    Args:
        bins: Codes in bins.
        columns: Labels, numbered from 0, all numbers in use, at least two; or numbers of about
            unit variance, as floats, which are fitted with squared errors.
        rounds: Number of rounds, each with one tree a kind; of two kinds, one tree for both.
        depth: Levels of splits.
        rate: Shrinkage of each tree.
    """
    starts = [_start(labels) for labels in columns]
    results: list[BoostedLogits] = []
    while len(results) < len(columns):
        first, sizes = len(results), np.cumsum([len(start) for start in starts[len(results) :]])
        some = slice(first, first + max(1, int((sizes <= MOST_TOGETHER).sum())))
        results += _boost_together(bins, columns[some], starts[some], rounds, depth, rate)
    return results


def _start(labels: Column) -> Float[Tensor, " kind"]:
    """Logits that give each kind its share of the images, or the mean of numbers."""
    if labels.is_floating_point():
        return labels.double().mean()[None]
    logs = labels.bincount().double().log()
    return logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()


def _boost_together(
    bins: CodeBins,
    columns: Sequence[Column],
    starts: Sequence[Float[Tensor, " _"]],
    rounds: int,
    depth: int,
    rate: float,
) -> list[BoostedLogits]:
    sizes = [len(start) for start in starts]
    spans = [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
    logits = torch.cat(list(starts)).float().repeat(bins.number.shape[1], 1)
    derivatives = torch.empty(2, *logits.shape)
    grower = TreeGrower(bins, sum(sizes), depth, rate)
    grown = []
    for _ in range(rounds):
        for kinds, labels in zip(spans, columns, strict=True):
            derivatives[..., kinds] = _gradients(logits[:, kinds], labels)
        grown.append(grower.grow(derivatives, logits))
    return [_logits(bins, start, grown, kinds) for start, kinds in zip(starts, spans, strict=True)]


def _gradients(
    outputs: Float[Tensor, "image kind"], column: Column
) -> Float[Tensor, "2 image kind"]:
    """Derivatives of the negative log-likelihood, or of half the squared error."""
    if not column.is_floating_point():
        return logit_gradients(outputs, column)
    return torch.stack([outputs - column[:, None].to(outputs), torch.ones_like(outputs)])


def _logits(
    bins: CodeBins, start: Float[Tensor, " kind"], grown: Sequence[GrownTrees], kinds: slice
) -> BoostedLogits:
    """The trees of some kinds, with thresholds in the unit of the codes."""
    latent = np.concatenate([trees.latent[:, kinds] for trees in grown], axis=1)
    place = np.concatenate([trees.place[:, kinds] for trees in grown], axis=1)
    value = np.concatenate([trees.value[:, kinds] for trees in grown], axis=1)
    gain = np.concatenate([trees.gain[:, kinds] for trees in grown], axis=1)
    edges = np.full((len(bins.thresholds), NO_SPLIT + 1), np.inf)
    for row, known in zip(edges, bins.thresholds, strict=True):
        row[: len(known)] = known
    trees = CompleteTrees(latent, edges[latent, place], value.T.astype(np.float64))
    sums = np.bincount(latent.ravel(), gain.ravel(), minlength=len(edges))
    return BoostedLogits(start, trees, sums.astype(np.float64))
