"""Sums of many trees: a tree by hand, and walks down trees one by one."""

import numpy as np
import numpy.typing as npt
import pytest

from dislab.codes.learners.tree_sums import CompleteTrees, tree_sums


def walk(trees: CompleteTrees, tree: int, code: npt.NDArray[np.float64]) -> float:
    split, splits = 0, len(trees.latent)
    while split < splits:
        above = code[trees.latent[split, tree]] > trees.threshold[split, tree]
        split = 2 * split + 1 + int(above)
    return float(trees.value[tree, split - splits])


def test_trees_by_hand() -> None:
    # latent 1 up to 0.5: 10; above it latent 0 up to 2: 20, and 30; then a lone leaf of 7
    latent = np.array([[1, 0], [0, 0], [0, 0]])
    threshold = np.array([[0.5, np.inf], [np.inf, np.inf], [2, np.inf]])
    trees = CompleteTrees(latent, threshold, np.array([[10.0, 0, 20, 30], [7, 0, 0, 0]]))
    codes = np.array([[9, 0.5], [2, 0.6], [2.1, 0.6], [-9, -9], [3, np.nextafter(0.5, 1)]])
    assert tree_sums(trees, codes, 1)[:, 0].tolist() == [17, 27, 37, 17, 37]
    assert tree_sums(trees, codes, 2).tolist() == [[10, 7], [20, 7], [30, 7], [10, 7], [30, 7]]


@pytest.mark.parametrize(
    ("kinds", "rounds", "depth"), [(1, 11, 3), (5, 10, 3), (3, 4, 1), (2, 3, 6), (2, 3, 8)]
)
def test_sums_are_those_of_single_walks(kinds: int, rounds: int, depth: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(1100, 4)).round(1)  # many codes lie on thresholds or are alike
    shape = (2**depth - 1, rounds * kinds)
    threshold = np.where(rng.random(shape) < 0.2, np.inf, rng.normal(size=shape).round(1))
    value = rng.normal(size=(rounds * kinds, 2**depth))
    trees = CompleteTrees(rng.integers(4, size=shape), threshold, value)
    some = rng.choice(len(codes), 40, replace=False)
    expected = [
        [
            sum(walk(trees, tree, code) for tree in range(kind, shape[1], kinds))
            for kind in range(kinds)
        ]
        for code in codes[some]
    ]
    np.testing.assert_allclose(tree_sums(trees, codes, kinds)[some], expected, atol=1e-12)
