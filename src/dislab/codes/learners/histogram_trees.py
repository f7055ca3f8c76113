"""Trees that split at histogram bins: binning, growing many trees, and summing their values."""

import itertools
from typing import Any, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, threshold

MOST_BINS: Final = 255
"""Largest number of bins per latent: bin numbers are bytes, and one byte value means no split."""
WIDEST: Final = 32
"""Number of bin edges per latent in its widest gaps, wherever these are."""
LEAST_CURVATURE: Final = 1e-3
"""Smallest sum of the second derivatives in a child, as in scikit-learn; less for rare labels."""
TINY: Final = 1e-30
"""Added to divisors, so that 0/0 is 0."""
_ROUNDING: Final = 1e-5
"""Relative difference below which two splits are equally good, in single precision."""
NO_SPLIT: Final = 255
"""Number of a bin that sends all images to the left."""
IMAGES_AT_ONCE: Final = 1024
"""Number of images processed together, so that their tests fit into the cache; changes no
result."""
_TABLE_BITS: Final = 9
"""Logarithm to base 2 of the largest number of leaf combinations of trees looked up together."""
_ALWAYS_LEFT: Final = 255
"""Rank of a threshold that no code exceeds."""


class CodeBins(NamedTuple):
    """Codes in bins, and the images of each bin.

    Attributes:
        code_bins: Bin number of each code, shape (latent, image).
        thresholds: Upper edges of all bins but the last one, for each latent.
        images: Image numbers, ordered by bin, then by latent; every latent has the same number of
            bins here, some of them empty.
        starts: Start of each part in `images`, and the end of the last one.
    """

    code_bins: npt.NDArray[np.uint8]
    thresholds: tuple[npt.NDArray[np.float64], ...]
    images: Int[Tensor, " place"]
    starts: Int[Tensor, " bin_and_end"]

    @property
    def bins(self) -> int:
        """Largest number of bins of a latent."""
        return max(map(len, self.thresholds)) + 1

    def sums(self, weights: Float[Tensor, "image kind"]) -> Float[Tensor, "bin latent kind"]:
        """Sums of the contiguous weights over the images in each bin."""
        summed = embedding_bag(
            self.images, weights, self.starts, mode="sum", include_last_offset=True
        )
        return summed.view(self.bins, len(self.code_bins), -1)


def bin_codes(codes: npt.NDArray[np.floating[Any]], bins: int = MOST_BINS) -> CodeBins:
    """Bins with about equal numbers of images, or one per distinct code if there are few.

    There are 2 to 255 bins. Edges are in the middle of a gap between two neighbouring codes: of the
    32 widest gaps (a quarter of the bins if that is less), and of the widest gap in each of as
    many equal parts of the ordered codes as there are edges left. So a gap between groups of codes,
    as of two values of a factor, has an edge however few images are beside it; a quantile, as in
    scikit-learn's histogram boosting, puts images of both sides into one bin.
    """
    columns = np.sort(codes.astype(np.float64), axis=0).T
    thresholds = tuple(_thresholds(column, bins) for column in columns)
    indices = np.stack(
        [
            np.searchsorted(edges, column).astype(np.uint8)
            for edges, column in zip(thresholds, codes.T, strict=True)
        ]
    )
    latents, most = len(indices), max(map(len, thresholds)) + 1
    part = (indices.astype(np.int64) * latents + np.arange(latents)[:, None]).ravel()
    images = np.argsort(part, kind="stable") % indices.shape[1]
    starts = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=most * latents))])
    return CodeBins(indices, thresholds, torch.from_numpy(images), torch.from_numpy(starts))


def _thresholds(ordered: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    different = np.unique(ordered)
    if len(different) <= bins:
        return different[:-1] / 2 + different[1:] / 2  # halves first: sums may overflow
    gaps = np.diff(ordered / 2)  # of halves, as differences may overflow
    widest = min(WIDEST, bins // 4)
    starts = np.arange(bins - 1 - widest) * len(gaps) // (bins - 1 - widest)
    part = np.searchsorted(starts, np.arange(len(gaps)), side="right") - 1
    largest = np.flatnonzero(gaps == np.maximum.reduceat(gaps, starts)[part])
    _, first = np.unique(part[largest], return_index=True)
    gap = np.union1d(largest[first], np.argsort(-gaps, kind="stable")[:widest])
    gap = gap[gaps[gap] > 0]
    return ordered[gap] / 2 + ordered[gap + 1] / 2


class GrownTrees(NamedTuple):
    """One complete tree per `kind`; splits and nodes are ordered by level.

    Attributes:
        latent: Latent that a split tests, shape (split, kind).
        bin_index: Images in bins above this one go to the right, shape (split, kind); `NO_SPLIT` if
            none do.
        value: Value that a leaf adds, shape (leaf, kind).
        gain: Reduction of the sum of squared residuals by each split, shape (split, kind).
    """

    latent: npt.NDArray[np.int64]
    bin_index: npt.NDArray[np.int64]
    value: npt.NDArray[np.float32]
    gain: npt.NDArray[np.float64]


class _Split(NamedTuple):
    latent: Tensor
    bin_index: Tensor
    splits: Tensor
    left_sums: Tensor
    right_sums: Tensor


@final
class TreeGrower:
    """Grows trees of second-order boosting, all `kinds` in one pass over the images.

    A split maximises H₁H₂/H·(G₁/H₁ − G₂/H₂)², where G and H are the sums of the first and second
    derivatives in the children, and a leaf's value is −G/H: Chen & Guestrin (2016),
    https://arxiv.org/abs/1603.02754, eq. 5 and 7, without penalties, as in scikit-learn's histogram
    boosting. Among equally good splits, the first latent and then the lowest bin wins.

    Its arrays are allocated once: new ones of this size would take as long as the computation.

    Args:
        bins: Codes in bins.
        kinds: Number of trees that grow together.
        depth: Levels of splits.
        rate: Shrinkage, which multiplies leaf values.
        least: Smallest sum of second derivatives in a child, for each kind.
    """

    def __init__(
        self,
        bins: CodeBins,
        kinds: int,
        depth: int,
        rate: float,
        least: Float[Tensor, " kind"] | None = None,
    ) -> None:
        latents, images = bins.code_bins.shape
        self._bins = bins
        self._depth = depth
        self._rate = rate
        usual = least is None or bool((least == LEAST_CURVATURE).all())
        self._least = None if usual else least
        self._splits = 2**depth - 1
        self._kinds = torch.arange(kinds)
        self._weights = torch.empty(depth - 1, 2, images, kinds)
        self._binned = torch.empty(depth, bins.bins, 2, latents, kinds)
        self._below = torch.empty(bins.bins, 2, latents, kinds)
        self._work = torch.empty(2, bins.bins, latents, kinds)
        self._turn = np.empty((images, kinds), dtype=np.float32)
        self._cell = np.empty((images, kinds), dtype=np.intp)
        self._added = np.empty((images, kinds), dtype=np.float32)
        self._latent = torch.empty(self._splits, kinds, dtype=torch.int64)
        self._bin_index = torch.empty(self._splits, kinds, dtype=torch.int64)
        self._sums = torch.empty(2 * self._splits + 1, 2, kinds)

    def grow(
        self, derivatives: Float[Tensor, "2 image kind"], logits: Float[Tensor, "image kind"]
    ) -> GrownTrees:
        """Fits trees to the contiguous derivatives of a loss; adds their values to the logits."""
        self._add_up(0, derivatives)
        leaf = self._node(0, 0, derivatives)
        first, second = self._sums[self._splits :].numpy().swapaxes(0, 1)
        value = np.float32(-self._rate) * first / (second + np.float32(TINY))
        np.add(np.ascontiguousarray(leaf.T), np.arange(len(leaf)) * len(value), out=self._cell)
        np.take(value.T.ravel(), self._cell, out=self._added, mode="clip")
        logits += torch.from_numpy(self._added)
        latent, bin_index = self._latent.numpy().copy(), self._bin_index.numpy().copy()
        return GrownTrees(latent, bin_index, value, self._gains())

    def _node(self, node: int, level: int, weights: Tensor) -> npt.NDArray[np.uint8]:
        """Splits a node and all nodes below it; returns the leaf of each image."""
        left_child, right_child = 2 * node + 1, 2 * node + 2
        goes_left = self._split(node, left_child, right_child)
        if level == self._depth - 1:
            return (~goes_left).view(np.uint8)
        np.copyto(self._turn, np.ascontiguousarray(goes_left.T))
        child_weights = torch.mul(weights, torch.from_numpy(self._turn), out=self._weights[level])
        self._add_up(level + 1, child_weights)
        leaf = self._node(left_child, level + 1, child_weights)
        if level < self._depth - 2:
            torch.sub(weights, child_weights, out=child_weights)
        torch.sub(self._binned[level], self._binned[level + 1], out=self._binned[level + 1])
        right_leaf = self._node(right_child, level + 1, child_weights) + np.uint8(
            2 ** (self._depth - 1 - level)
        )
        return right_leaf ^ (-goes_left.view(np.uint8) & (leaf ^ right_leaf))

    def _split(self, node: int, left_child: int, right_child: int) -> npt.NDArray[np.bool_]:
        """Stores the best split of each kind; returns which images go left, shape (kind, image)."""
        split = self._search(self._binned[(node + 1).bit_length() - 1])
        if node == 0:
            self._sums[0] = split.left_sums + split.right_sums
        else:
            split.splits.logical_and_(self._bin_index[(node - 1) // 2] != NO_SPLIT)
        self._latent[node] = torch.where(split.splits, split.latent, 0)
        self._bin_index[node] = torch.where(split.splits, split.bin_index, NO_SPLIT)
        self._sums[left_child] = torch.where(split.splits, split.left_sums, self._sums[node])
        self._sums[right_child] = torch.where(split.splits, split.right_sums, 0.0)
        tested = self._bins.code_bins[self._latent[node].numpy()]
        goes_left: npt.NDArray[np.bool_] = tested <= self._bin_index[node].byte().numpy()[:, None]
        return goes_left

    def _add_up(self, level: int, weights: Tensor) -> None:
        """Writes the sums of weights in each bin into the level's array."""
        for index, part in enumerate(weights):
            self._binned[level, :, index] = self._bins.sums(part)

    def _search(self, binned: Tensor) -> _Split:
        """Finds the best split of each kind from the sums in each bin."""
        below, kinds = self._cumulate(binned), self._kinds
        (first, second), total = below.unbind(1), below[-1]
        score, right = self._work
        torch.addcmul(first, second, -total[0] / (total[1] + TINY), out=score)
        torch.sub(total[1], second, out=right)
        # children that are too light get an infinite divisor, so that their splits score 0
        right = self._or_infinite(right, inplace=True)
        right.mul_(self._or_infinite(second))
        score.square_().div_(right)
        most = score.amax(0)
        best = most.amax(0)
        enough = best * (1 - _ROUNDING)
        latent = (most >= enough).byte().argmax(0)
        bin_index = (score[:, latent, kinds] >= enough).byte().argmax(0)
        left_sums = below[bin_index, :, latent, kinds].T
        return _Split(latent, bin_index, best > 0, left_sums, total[:, latent, kinds] - left_sums)

    def _or_infinite(self, curvature: Tensor, inplace: bool = False) -> Tensor:
        """The curvature where it is enough for a child, else infinity."""
        if self._least is None:  # which takes a fifth of the time
            return threshold(curvature, LEAST_CURVATURE, torch.inf, inplace=inplace)
        return torch.where(curvature > self._least, curvature, torch.inf)

    def _cumulate(self, binned: Tensor) -> Tensor:
        """Cumulative sums over bins, row by row, which is faster than `cumsum`."""
        below = self._below.numpy()
        np.copyto(below, binned.numpy())
        for lower, bin_ in itertools.pairwise(below):
            np.add(lower, bin_, out=bin_)
        return self._below

    def _gains(self) -> npt.NDArray[np.float64]:
        """n₁n₂/n·(r₁ − r₂)² for children of n₁ and n₂ images with mean residuals r₁ and r₂."""
        splits, kinds = self._latent.shape
        counted = np.bincount(self._cell.ravel(), minlength=kinds * (splits + 1))
        count = np.zeros((2 * splits + 1, kinds))
        count[splits:] = counted.reshape(kinds, -1).T
        for node in reversed(range(splits)):
            count[node] = count[2 * node + 1] + count[2 * node + 2]
        residual = self._sums[:, 0].double().numpy()
        lefts, rights = slice(1, None, 2), slice(2, None, 2)
        apart = residual[lefts] * count[rights] - residual[rights] * count[lefts]
        product = count[:splits] * count[lefts] * count[rights]
        return np.divide(apart**2, product, out=np.zeros_like(apart), where=product > 0)


class CompleteTrees(NamedTuple):
    """Trees of equal depth; missing splits have threshold infinity and send every code to the left.

    Attributes:
        latent: Latent that a split tests, shape (split, tree), splits level by level.
        threshold: Codes above it go to the right, shape (split, tree).
        value: Value that a leaf adds, shape (tree, leaf), leaves from left to right.
    """

    latent: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


def tree_sums(
    trees: CompleteTrees, codes: npt.NDArray[np.floating[Any]], kinds: int
) -> npt.NDArray[np.float64]:
    """The sum of the trees' values for each code and kind, shape (image, kind).

    There is one tree per kind and round, ordered by round, then kind. All tests of a tree are
    evaluated for all images and together determine the leaf: branchless byte operations take a
    fraction of the time of a walk down the trees. Thresholds are compared by rank, exactly.
    """
    ranks, places = _ranks(trees, codes)
    sums = np.empty((len(codes), kinds))
    for kind in range(kinds):
        latent, rank = trees.latent[:, kind::kinds], places[:, kind::kinds]
        tables, joined = _joined(trees.value[kind::kinds])
        for first in range(0, len(codes), IMAGES_AT_ONCE):
            images = slice(first, first + IMAGES_AT_ONCE)
            right = ranks[:, images][latent] > rank[..., None]
            cell = _cells(_leaves(right), joined, trees.value.shape[1])
            cell += np.arange(len(tables))[:, None] * tables.shape[1]
            sums[images, kind] = tables.ravel().take(cell).sum(0)
    return sums


def _ranks(
    trees: CompleteTrees, codes: npt.NDArray[np.floating[Any]]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Ranks of codes, shape (latent, image), and of thresholds, among a latent's thresholds."""
    ranks = np.zeros(codes.shape[::-1], dtype=np.uint8)
    places = np.full(trees.latent.shape, _ALWAYS_LEFT, dtype=np.uint8)
    for latent, column in enumerate(codes.T):
        tested = (trees.latent == latent) & np.isfinite(trees.threshold)
        thresholds = np.unique(trees.threshold[tested])  # fewer than the bins
        ranks[latent] = np.searchsorted(thresholds, column)
        places[tested] = np.searchsorted(thresholds, trees.threshold[tested])
    return ranks, places


def _leaves(right: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Leaf of each image, shape (tree, image), from all tests, shape (split, tree, image)."""
    leaf = np.zeros(right.shape[1:], dtype=np.uint8)
    path: list[npt.NDArray[np.bool_]] = []
    while (first := (1 << len(path)) - 1) < len(right):
        turn = right[first : 2 * first + 1]
        for step in path:  # keeps the half of the splits on the image's side
            half, second = np.split(turn, 2)
            turn = half ^ (step & (half ^ second))
        path.append(turn[0])
        leaf = 2 * leaf + turn[0]
    return leaf


def _joined(value: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Sums for all leaf combinations of consecutive trees, and the number of trees per row."""
    leaves = value.shape[1]
    joined = max(1, _TABLE_BITS // max(1, leaves.bit_length() - 1))
    rows = -(-len(value) // joined)
    padded = np.zeros((rows * joined, leaves))
    padded[: len(value)] = value
    groups = padded.reshape(rows, joined, leaves)
    table = groups[:, 0]
    for column in range(1, joined):
        table = (table[:, :, None] + groups[:, column, None]).reshape(rows, -1)
    return table, joined


def _cells(leaf: npt.NDArray[np.uint8], joined: int, leaves: int) -> npt.NDArray[np.int64]:
    """Column of each image's sum in the table of `_joined`."""
    short = -len(leaf) % joined
    wide = np.concatenate([leaf, np.zeros((short, leaf.shape[1]), dtype=np.uint8)])
    groups = wide.reshape(-1, joined, leaf.shape[1])
    cell = groups[:, 0].astype(np.uint16)
    for column in range(1, joined):
        cell = cell * np.uint16(leaves) + groups[:, column]
    return cell.astype(np.int64)
