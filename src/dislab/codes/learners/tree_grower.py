"""Grows a tree for each of many sets of gradients at once."""

import itertools
from typing import Final, NamedTuple, final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import threshold

from dislab.codes.learners.code_bins import CodeBins

LEAST_CURVATURE: Final = 1e-3
"""What the second derivatives of a child must add up to at least, as in scikit-learn."""
TINY: Final = 1e-30
"""Keeps divisors from being 0 where what they divide is 0, too."""
ROUNDING: Final = 1e-5
"""Splits whose worth differs by less than this share are equally good, in single precision."""
NO_SPLIT: Final = 255
"""Number of a bin that sends all images to the left."""


class GrownTrees(NamedTuple):
    """One complete tree a kind; splits and nodes stand level by level.

    Attributes:
        latent: Which latent a split tests, shape (split, kind).
        place: Images in bins above this one go to the right, shape (split, kind); `NO_SPLIT`
            where none go.
        value: What a leaf adds, shape (leaf, kind).
        gain: By how much each split lowers the sum of squared residuals, shape (split, kind).
    """

    latent: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    value: npt.NDArray[np.float32]
    gain: npt.NDArray[np.float64]


class _Split(NamedTuple):
    latent: Tensor
    place: Tensor
    found: Tensor
    left: Tensor
    right: Tensor


@final
class TreeGrower:
    """Grows trees of second-order boosting, with one pass over the images for all kinds.

    A split is the one with the largest H₁H₂/H·(G₁/H₁ − G₂/H₂)², where G and H are the sums of the
    first and second derivatives in the children, and a leaf's value is −G/H: Chen & Guestrin
    (2016), https://arxiv.org/abs/1603.02754, eq. 5 and 7, without penalties, the trees of
    scikit-learn's histogram boosting. Of equally good splits that of the first latent and lowest
    bin is taken.

    Its arrays are made once: fresh ones of this size would cost as much time as what is computed
    in them.

    Args:
        bins: Codes in bins.
        kinds: Number of trees that grow together.
        depth: Levels of splits.
        rate: Shrinkage, by which the values of leaves are multiplied.
    """

    def __init__(self, bins: CodeBins, kinds: int, depth: int, rate: float) -> None:
        latents, images = bins.number.shape
        self._bins = bins
        self._depth = depth
        self._rate = rate
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
        self._place = torch.empty(self._splits, kinds, dtype=torch.int64)
        self._sums = torch.empty(2 * self._splits + 1, 2, kinds)

    def grow(
        self, derivatives: Float[Tensor, "2 image kind"], logits: Float[Tensor, "image kind"]
    ) -> GrownTrees:
        """The trees that fit the derivatives of a loss; adds to the logits what the trees say.

        Args:
            derivatives: First and second derivatives, contiguous.
            logits: Changed in place.
        """
        self._add_up(0, derivatives)
        leaf = self._node(0, 0, derivatives)
        first, second = self._sums[self._splits :].numpy().swapaxes(0, 1)
        value = np.float32(-self._rate) * first / (second + np.float32(TINY))
        np.add(np.ascontiguousarray(leaf.T), np.arange(len(leaf)) * len(value), out=self._cell)
        np.take(value.T.ravel(), self._cell, out=self._added, mode="clip")
        logits += torch.from_numpy(self._added)
        latent, place = self._latent.numpy().copy(), self._place.numpy().copy()
        return GrownTrees(latent, place, value, self._gains())

    def _node(self, node: int, level: int, weights: Tensor) -> npt.NDArray[np.uint8]:
        """Splits a node and all below it; which of its leaves each image would end in."""
        left, right = 2 * node + 1, 2 * node + 2
        goes_left = self._split(node, left, right)
        if level == self._depth - 1:
            return (~goes_left).view(np.uint8)
        np.copyto(self._turn, np.ascontiguousarray(goes_left.T))
        own = torch.mul(weights, torch.from_numpy(self._turn), out=self._weights[level])
        self._add_up(level + 1, own)
        leaf = self._node(left, level + 1, own)
        if level < self._depth - 2:
            torch.sub(weights, own, out=own)
        torch.sub(self._binned[level], self._binned[level + 1], out=self._binned[level + 1])
        other = self._node(right, level + 1, own) + np.uint8(2 ** (self._depth - 1 - level))
        return other ^ (-goes_left.view(np.uint8) & (leaf ^ other))

    def _split(self, node: int, left: int, right: int) -> npt.NDArray[np.bool_]:
        """Notes the best split of each kind; which images it sends to the left (kind, image)."""
        split = self._search(self._binned[(node + 1).bit_length() - 1])
        if node == 0:
            self._sums[0] = split.left + split.right
        else:
            split.found.logical_and_(self._place[(node - 1) // 2] != NO_SPLIT)
        self._latent[node] = torch.where(split.found, split.latent, 0)
        self._place[node] = torch.where(split.found, split.place, NO_SPLIT)
        self._sums[left] = torch.where(split.found, split.left, self._sums[node])
        self._sums[right] = torch.where(split.found, split.right, 0.0)
        tested = self._bins.number[self._latent[node].numpy()]
        goes_left: npt.NDArray[np.bool_] = tested <= self._place[node].byte().numpy()[:, None]
        return goes_left

    def _add_up(self, level: int, weights: Tensor) -> None:
        """Sums of weights in each bin, into the place of the level."""
        for number, part in enumerate(weights):
            self._binned[level, :, number] = self._bins.sums(part)

    def _search(self, binned: Tensor) -> _Split:
        """The best split of each kind, from the sums in each bin."""
        below, kinds = self._cumulate(binned), self._kinds
        (first, second), whole = below.unbind(1), below[-1]
        score, right = self._work
        torch.addcmul(first, second, -whole[0] / (whole[1] + TINY), out=score)
        torch.sub(whole[1], second, out=right)
        # children that are too light get an infinite divisor, so that their splits count nothing
        threshold(right, LEAST_CURVATURE, torch.inf, inplace=True)
        right.mul_(threshold(second, LEAST_CURVATURE, torch.inf))
        score.square_().div_(right)
        most = score.amax(0)
        best = most.amax(0)
        enough = best * (1 - ROUNDING)
        latent = (most >= enough).byte().argmax(0)
        place = (score[:, latent, kinds] >= enough).byte().argmax(0)
        left = below[place, :, latent, kinds].T
        return _Split(latent, place, best > 0, left, whole[:, latent, kinds] - left)

    def _cumulate(self, binned: Tensor) -> Tensor:
        """Sums of each bin and all below it: row by row faster than by `cumsum`."""
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
        left, right = slice(1, None, 2), slice(2, None, 2)
        apart = residual[left] * count[right] - residual[right] * count[left]
        product = count[:splits] * count[left] * count[right]
        return np.divide(apart**2, product, out=np.zeros_like(apart), where=product > 0)
