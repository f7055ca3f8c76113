"""What boosted trees add up to, for many images and trees at once."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

IMAGES_AT_ONCE: Final = 1024
"""Images whose tests are held in the cache together; changes no result."""
TABLE_BITS: Final = 9
"""Trees are looked up together while their leaves have at most two to this many combinations."""
ALWAYS_LEFT: Final = 255
"""Rank of a threshold that no code exceeds."""


class CompleteTrees(NamedTuple):
    """Trees of the same depth, whose missing splits, at infinity, send every code to the left.

    Attributes:
        latent: Which latent a split tests, shape (split, tree), splits level by level.
        threshold: Codes above it go to the right, shape (split, tree).
        value: What a leaf adds, shape (tree, leaf), leaves from left to right.
    """

    latent: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


def tree_sums(
    trees: CompleteTrees, codes: npt.NDArray[np.floating[Any]], kinds: int
) -> npt.NDArray[np.float64]:
    """The sum of the trees' values for each code and kind of label, shape (image, kind).

    The tests of a tree are made for all images, needed or not, and decide together on its leaf:
    bytes without branches take a fraction of the time of walking down the trees. Thresholds
    are compared by rank, exactly.

    Args:
        trees: One tree a kind and round, kinds within rounds.
        codes: Finite codes.
        kinds: Number of kinds.
    """
    ranks, places = _ranks(trees, codes)
    sums = np.empty((len(codes), kinds))
    for kind in range(kinds):
        latent, place = trees.latent[:, kind::kinds], places[:, kind::kinds]
        tables, joined = _joined(trees.value[kind::kinds])
        for first in range(0, len(codes), IMAGES_AT_ONCE):
            images = slice(first, first + IMAGES_AT_ONCE)
            right = ranks[:, images][latent] > place[..., None]
            cell = _cells(_leaves(right), joined, trees.value.shape[1])
            cell += np.arange(len(tables))[:, None] * tables.shape[1]
            sums[images, kind] = tables.ravel().take(cell).sum(0)
    return sums


def _ranks(
    trees: CompleteTrees, codes: npt.NDArray[np.floating[Any]]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """How many thresholds of its latent each code exceeds (latent, image), and theirs."""
    ranks = np.zeros(codes.shape[::-1], dtype=np.uint8)
    places = np.full(trees.latent.shape, ALWAYS_LEFT, dtype=np.uint8)
    for latent, column in enumerate(codes.T):
        tested = (trees.latent == latent) & np.isfinite(trees.threshold)
        known = np.unique(trees.threshold[tested])  # fewer than there are bins
        ranks[latent] = np.searchsorted(known, column)
        places[tested] = np.searchsorted(known, trees.threshold[tested])
    return ranks, places


def _leaves(right: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """The leaf that each image ends in, (tree, image), of all tests (split, tree, image)."""
    leaf = np.zeros(right.shape[1:], dtype=np.uint8)
    path: list[npt.NDArray[np.bool_]] = []
    while (first := (1 << len(path)) - 1) < len(right):
        turn = right[first : 2 * first + 1]
        for step in path:  # the half of the splits on the side that the image is on
            left, other = np.split(turn, 2)
            turn = left ^ (step & (left ^ other))
        path.append(turn[0])
        leaf = 2 * leaf + turn[0]
    return leaf


def _joined(value: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Sums for all combinations of leaves of some trees, one row for so many trees."""
    leaves = value.shape[1]
    joined = max(1, TABLE_BITS // max(1, leaves.bit_length() - 1))
    rows = -(-len(value) // joined)
    padded = np.zeros((rows * joined, leaves))
    padded[: len(value)] = value
    groups = padded.reshape(rows, joined, leaves)
    table = groups[:, 0]
    for one in range(1, joined):
        table = (table[:, :, None] + groups[:, one, None]).reshape(rows, -1)
    return table, joined


def _cells(leaf: npt.NDArray[np.uint8], joined: int, leaves: int) -> npt.NDArray[np.int64]:
    """Where in its table each image finds the sum of some trees."""
    short = -len(leaf) % joined
    wide = np.concatenate([leaf, np.zeros((short, leaf.shape[1]), dtype=np.uint8)])
    groups = wide.reshape(-1, joined, leaf.shape[1])
    cell = groups[:, 0].astype(np.uint16)
    for one in range(1, joined):
        cell = cell * np.uint16(leaves) + groups[:, one]
    return cell.astype(np.int64)
