"""Boosted histogram trees for classification and regression, with importances."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple, final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.codes.learners.histogram_trees import (
    LEAST_CURVATURE,
    NO_SPLIT,
    CodeBins,
    CompleteTrees,
    GrownTrees,
    TreeGrower,
    bin_codes,
    tree_sums,
)
from dislab.errors import InputError

Column = Int[Tensor, " image"] | Float[Tensor, " image"]
"""Label numbers (classification), or target numbers (regression)."""

_MOST_TOGETHER: Final = 128
"""Number of trees grown together, so that their arrays fit into the cache; changes no result."""
DEEPEST: Final = 8
"""Largest depth: trees are complete, and leaf numbers are stored in bytes."""


class BoostedLogits(NamedTuple):
    """The logits of a column of labels, or its predicted numbers: a start value plus sums of trees.

    Attributes:
        start: Logits before the first round, one per class, or a single one for two classes; the
            mean for regression.
        trees: All trees, ordered by round, then class.
        gain: Reduction of the squared residuals by the splits on each latent, summed over all
            trees.
    """

    start: Float[Tensor, " kind"]
    trees: CompleteTrees
    gain: npt.NDArray[np.float64]


def boost(
    bins: CodeBins, columns: Sequence[Column], rounds: int, depth: int, rate: float
) -> list[BoostedLogits]:
    """Fits trees for each column, independently of the other columns.

    Columns hold at least two labels, numbered from 0 without gaps, or floats of about unit
    variance, which are fitted with squared errors. A round makes one tree per class, or a single
    tree for two classes. `rate` is the shrinkage of each tree.
    """
    starts = [_start(labels) for labels in columns]
    results: list[BoostedLogits] = []
    while len(results) < len(columns):
        first, sizes = len(results), np.cumsum([len(start) for start in starts[len(results) :]])
        some = slice(first, first + max(1, int((sizes <= _MOST_TOGETHER).sum())))
        results += _boost_together(bins, columns[some], starts[some], rounds, depth, rate)
    return results


def _start(labels: Column) -> Float[Tensor, " kind"]:
    """Logits of each class's share of the images, or the mean of numbers."""
    if labels.is_floating_point():
        return labels.double().mean()[None]
    logs = labels.bincount().double().log()
    return logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()


def _least(labels: Column, kinds: int) -> Float[Tensor, " kind"]:
    """Smallest curvature of a child: enough for one image of each class alone at the start.

    With p the share of a class, the curvature of an image is p·(1 − p).
    """
    usual = torch.full((kinds,), LEAST_CURVATURE)
    if labels.is_floating_point():
        return usual
    share = labels.bincount()[-kinds:] / len(labels)
    return torch.minimum(usual, share * (1 - share) / 2)


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
    logits = torch.cat(list(starts)).float().repeat(bins.code_bins.shape[1], 1)
    derivatives = torch.empty(2, *logits.shape)
    least = torch.cat([_least(*pair) for pair in zip(columns, sizes, strict=True)])
    grower = TreeGrower(bins, sum(sizes), depth, rate, least)
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
    """The trees of one column (`kinds`), with thresholds in the unit of the codes."""
    latent = np.concatenate([trees.latent[:, kinds] for trees in grown], axis=1)
    bin_index = np.concatenate([trees.bin_index[:, kinds] for trees in grown], axis=1)
    value = np.concatenate([trees.value[:, kinds] for trees in grown], axis=1)
    gain = np.concatenate([trees.gain[:, kinds] for trees in grown], axis=1)
    edges = np.full((len(bins.thresholds), NO_SPLIT + 1), np.inf)
    for row, thresholds in zip(edges, bins.thresholds, strict=True):
        row[: len(thresholds)] = thresholds
    trees = CompleteTrees(latent, edges[latent, bin_index], value.T.astype(np.float64))
    sums = np.bincount(latent.ravel(), gain.ravel(), minlength=len(edges))
    return BoostedLogits(start, trees, sums.astype(np.float64))


def logit_gradients(
    logits: Float[Tensor, "image kind"], labels: Int[Tensor, " image"]
) -> Float[Tensor, "2 image kind"]:
    """First and second derivatives of the negative log-likelihood with respect to each logit.

    With p the probability of a class, they are p (minus one for the true label) and p·(1 − p). For
    p close to one, 1 − p is computed as the sum of the other probabilities, not as a difference.
    There is one column of logits per class, or for two classes only that of the second.
    """
    column = labels[:, None]
    if logits.shape[1] == 1:
        negative, label_probability = torch.sigmoid(-logits), torch.sigmoid(logits)
        return torch.stack(
            [torch.where(column == 1, -negative, label_probability), label_probability * negative]
        )
    result = logits.new_empty((2, *logits.shape))
    first, second = result
    torch.softmax(logits, 1, out=first)
    label_probability = first.gather(1, column)
    remainder = first.scatter_(1, column, 0.0).sum(1, keepdim=True)
    torch.addcmul(first, first, first, value=-1.0, out=second)
    second.scatter_(1, column, label_probability * remainder)
    first.scatter_(1, column, -remainder)
    return result


class BoostedTrees:
    """Settings and importances shared by the classifier and the regression."""

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1) -> None:
        if not 1 <= depth <= DEEPEST:
            raise InputError(f"the depth of trees is {depth}; it must be from 1 to {DEEPEST}")
        self.rounds = rounds
        self.depth = depth
        self.rate = rate
        self._learnt: BoostedLogits | None = None

    def importances(self) -> Float[Tensor, " latent"]:
        """Each latent's share of the gains of all splits; zeros where no tree has a split.

        As in scikit-learn's `feature_importances_` of exact boosting, the reductions of squared
        residuals, Friedman (2001), https://doi.org/10.1214/aos/1013203451, section 8.1, are summed
        over all trees before they are normalised, so that late trees, which fit noise, count
        little.
        """
        gains = self._fitted().gain
        total = gains.sum()
        return torch.from_numpy(gains / (total if total > 0 else 1.0))

    def _fitted(self) -> BoostedLogits:
        if self._learnt is None:
            raise InputError("call fit first")
        return self._learnt


@final
class HistogramBoosting(BoostedTrees):
    """A classifier of codes by boosted trees that split at histogram bins.

    The algorithm of scikit-learn's histogram gradient boosting, with the depth, rounds, rate and
    smallest leaf of its exact `GradientBoostingClassifier`, 255 bins and no early stopping, for all
    classes and all columns of labels at once. Two things differ: edges of bins are in the widest
    gaps of the codes (`bin_codes`), and a single image of a rare label can be split off. Of at most
    255 different codes and common labels, splits are the same unless two of them are equally good
    up to rounding. Training runs on the host.

    Args:
        rounds: Number of boosting rounds, each with one tree per class.
        depth: Largest depth of a tree, up to 8.
        rate: Shrinkage of each tree.

    Raises:
        InputError: The depth is not from 1 to 8.
    """

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1) -> None:
        super().__init__(rounds, depth, rate)
        self._kinds = torch.empty(0, dtype=torch.int64)

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "HistogramBoosting":
        """Learn from codes and at least two different labels; return itself."""
        (fitted,) = self.fit_each(codes, labels[:, None])
        self._kinds, self._learnt = fitted._kinds, fitted._learnt
        return self

    def fit_each(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, "image factor"]
    ) -> list["HistogramBoosting"]:
        """Fits a classifier like this for each column of labels, together, which saves time.

        Each column has at least two different labels.
        """
        if (labels == labels[:1]).all(0).any():
            raise InputError("a classifier needs at least two different labels to learn from")
        encoded = [column.unique(return_inverse=True) for column in labels.cpu().T]
        bins = bin_codes(codes.cpu().numpy())
        boosted = boost(bins, [index for _, index in encoded], self.rounds, self.depth, self.rate)
        models = []
        for (kinds, _), logits in zip(encoded, boosted, strict=True):
            model = HistogramBoosting(self.rounds, self.depth, self.rate)
            model._kinds, model._learnt = kinds, logits
            models.append(model)
        return models

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, " image"]:
        """The most probable label of each code, among those seen in training."""
        logits = self.logits(codes)
        best = logits.argmax(1) if logits.shape[1] > 1 else (logits[:, 0] > 0).long()
        return self._kinds[best]

    def logits(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image kind"]:
        """The logit of each label, in ascending order; for two labels only that of the second."""
        model = self._fitted()
        sums = tree_sums(model.trees, codes.cpu().numpy(), len(model.start))
        return torch.from_numpy(sums) + model.start


@final
class HistogramRegression(BoostedTrees):
    """A regression on codes by boosted trees that split at histogram bins.

    The trees of `HistogramBoosting` with squared errors: the algorithm of scikit-learn's
    `HistGradientBoostingRegressor` with the depth, rounds, rate and smallest leaf of its exact
    `GradientBoostingRegressor`, 255 bins, with edges in the widest gaps of the codes, and no early
    stopping. Training runs on the host.

    Args:
        rounds: Number of boosting rounds, each with one tree.
        depth: Largest depth of a tree, up to 8.
        rate: Shrinkage of each tree.

    Raises:
        InputError: The depth is not from 1 to 8.
    """

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1) -> None:
        super().__init__(rounds, depth, rate)
        self._middle = self._spread = torch.empty(0)

    def fit(
        self, codes: Float[Tensor, "image latent"], numbers: Float[Tensor, " image"]
    ) -> "HistogramRegression":
        """Learn from codes and at least two different numbers; return itself."""
        (fitted,) = self.fit_each(codes, numbers[:, None])
        self._learnt, self._middle, self._spread = fitted._learnt, fitted._middle, fitted._spread
        return self

    def fit_each(
        self, codes: Float[Tensor, "image latent"], numbers: Float[Tensor, "image factor"]
    ) -> list["HistogramRegression"]:
        """Fits a regression like this for each column of numbers, together, which saves time.

        Each column has at least two different numbers.
        """
        targets = numbers.cpu().double()
        if (targets == targets[:1]).all(0).any():
            raise InputError("a regression needs at least two different numbers to learn from")
        middle, spread = targets.mean(0), targets.std(0, correction=0)
        scaled = ((targets - middle) / spread).T.contiguous()
        boosted = boost(
            bin_codes(codes.cpu().numpy()), list(scaled), self.rounds, self.depth, self.rate
        )
        models = []
        for column, trees in enumerate(boosted):
            model = HistogramRegression(self.rounds, self.depth, self.rate)
            model._learnt, model._middle, model._spread = trees, middle[column], spread[column]
            models.append(model)
        return models

    def predict(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, " image"]:
        """The predicted number of each code."""
        model = self._fitted()
        sums = torch.from_numpy(tree_sums(model.trees, codes.cpu().numpy(), 1))[:, 0]
        return (sums + model.start) * self._spread + self._middle
