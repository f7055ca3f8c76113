"""Bins of codes, trees grown on them, and their sums."""

import copy
import itertools

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

from dislab.codes.learners.histogram_trees import (
    NO_SPLIT,
    CompleteTrees,
    TreeGrower,
    bin_codes,
    tree_sums,
)


def test_each_code_has_a_bin_where_there_are_few() -> None:
    bins = bin_codes(np.array([[2.0, 5], [0, 5], [1, 5], [2, 5]]))
    assert bins.code_bins.tolist() == [[2, 0, 1, 2], [0, 0, 0, 0]]
    assert [edges.tolist() for edges in bins.thresholds] == [[0.5, 1.5], []]
    assert bins.bins == 3


def test_sums_of_each_bin_by_hand() -> None:
    bins = bin_codes(np.array([[2.0, 5], [0, 5], [1, 5], [2, 7]]))
    weights = torch.tensor([[1.0, 10], [2, 20], [4, 40], [8, 80]])
    expected = [[[2, 20], [7, 70]], [[4, 40], [8, 80]], [[9, 90], [0, 0]]]
    assert bins.sums(weights).tolist() == expected


def test_the_largest_numbers_have_a_threshold_between_them() -> None:
    largest = float(np.finfo(np.float64).max)
    assert bin_codes(np.array([[largest], [largest / 2]])).code_bins.tolist() == [[1, 0]]


def test_bins_of_few_codes_are_those_of_scikit_learn() -> None:
    codes = np.random.default_rng(0).normal(size=(255, 3))
    codes[:, 1] = codes[:, 1].round(1)
    mapper = _BinMapper(n_bins=256).fit(codes)
    own = bin_codes(codes)
    assert own.code_bins.T.tolist() == mapper.transform(codes).tolist()
    for edges, theirs in zip(own.thresholds, mapper.bin_thresholds_, strict=True):
        np.testing.assert_allclose(edges, theirs, rtol=1e-15)


@pytest.mark.parametrize("bins", [255, 16, 2])
@pytest.mark.parametrize("images", [300, 1500])
def test_bins_hold_at_most_two_parts_of_the_images(bins: int, images: int) -> None:
    (number,), (edges,) = bin_codes(np.random.default_rng(0).normal(size=(images, 1)), bins)[:2]
    counts = np.bincount(number, minlength=len(edges) + 1)
    assert 0 < len(edges) < bins
    assert counts.min() > 0
    assert counts.max() <= 2 * np.ceil(images / (bins - 1 - min(32, bins // 4)))


def test_equal_codes_share_a_bin() -> None:
    codes = np.random.default_rng(0).normal(size=(1500, 1))
    codes = np.where(codes < 1, 0, codes)
    own = bin_codes(codes)
    assert len(set(own.code_bins[0][codes[:, 0] == 0].tolist())) == 1
    assert own.code_bins[0][codes[:, 0] == 0].max() < own.code_bins[0][codes[:, 0] > 0].min()


@pytest.mark.parametrize("rare", [1, 2, 7, 50])
@pytest.mark.parametrize("images", [300, 1333, 10_000])
def test_a_gap_has_an_edge_however_few_images_are_beside_it(images: int, rare: int) -> None:
    """Of 33 groups of codes, all but one of a few images, no two share a bin."""
    rng = np.random.default_rng(images)
    group = np.minimum(np.arange(images) // rare, 32)
    codes = (group + 0.05 * rng.uniform(-1, 1, size=images))[rng.permutation(images)]
    own = bin_codes(np.stack([codes, -codes], axis=1))
    for number in own.code_bins:
        bins_of_groups = [set(number[codes.round() == one].tolist()) for one in range(33)]
        shared = [a & b for a, b in itertools.combinations(bins_of_groups, 2)]
        assert not any(shared)


def test_the_largest_numbers_have_edges_between_them() -> None:
    codes = np.random.default_rng(0).uniform(-1, 1, size=(400, 1)) * np.finfo(np.float64).max
    (edges,) = bin_codes(codes).thresholds
    assert np.isfinite(edges).all()
    assert len(edges) > 200


CODES = np.array([[0.0, 1], [0, 0], [1, 1], [1, 0]])


def derivatives(first: list[list[int]]) -> torch.Tensor:
    gradient = torch.tensor(first, dtype=torch.float32).T.contiguous()
    return torch.stack([gradient, torch.ones_like(gradient)])


def test_two_trees_by_hand() -> None:
    grower = TreeGrower(bin_codes(CODES), kinds=2, depth=2, rate=0.5)
    logits = torch.full((4, 2), 10.0)
    trees = grower.grow(derivatives([[4, 4, -3, -1], [2, -2, 2, -2]]), logits)
    # the first tree asks latent 0, then latent 1 on the right; the second asks latent 1 alone
    assert trees.latent.T.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert trees.bin_index.T.tolist() == [[0, NO_SPLIT, 0], [0, NO_SPLIT, NO_SPLIT]]
    assert trees.value.T.tolist() == [[-2, 0, 0.5, 1.5], [1, 0, -1, 0]]
    assert logits.T.tolist() == [[8, 8, 11.5, 10.5], [9, 11, 9, 11]]
    # 2·2/4·(4 + 2)², 1·1/2·(3 − 1)²; 2·2/4·(2 + 2)²
    assert trees.gain.T.tolist() == [[36, 0, 2], [16, 0, 0]]


def test_the_first_of_equal_splits_is_taken() -> None:
    codes = np.repeat(CODES[:, :1], 3, axis=1)
    grower = TreeGrower(bin_codes(codes), kinds=1, depth=1, rate=1.0)
    trees = grower.grow(derivatives([[1, 1, -1, -1]]), torch.zeros(4, 1))
    assert (trees.latent.tolist(), trees.bin_index.tolist()) == ([[0]], [[0]])


@pytest.mark.parametrize("depth", [1, 3])
def test_children_without_curvature_are_not_split_off(depth: int) -> None:
    grower = TreeGrower(bin_codes(CODES), kinds=1, depth=depth, rate=1.0)
    given = torch.tensor([[4.0, 2, -4, -4], [1, 1, 4e-4, 5e-4]])[..., None]
    trees = grower.grow(given, torch.zeros(4, 1))
    assert trees.bin_index[0].item() == 0
    assert trees.latent[0].item() == 1  # not latent 0, whose right child weighs 9e-4


def test_gradients_that_vanish_leave_a_stump() -> None:
    grower = TreeGrower(bin_codes(CODES), kinds=1, depth=3, rate=1.0)
    logits = torch.zeros(4, 1)
    trees = grower.grow(torch.zeros(2, 4, 1), logits)
    assert (trees.bin_index == NO_SPLIT).all()
    assert not trees.value.any()
    assert not trees.gain.any()
    assert not logits.any()


def test_a_grower_keeps_nothing_of_its_last_trees() -> None:
    rng = np.random.default_rng(0)
    bins = bin_codes(rng.normal(size=(200, 3)))
    given = torch.from_numpy(rng.normal(size=(2, 2, 200, 4))).float()
    given[:, 1].abs_()
    once, twice = torch.zeros(200, 4), torch.zeros(200, 4)
    used, fresh = (TreeGrower(bins, 4, 3, 0.1) for _ in range(2))
    first = used.grow(given[0], torch.zeros(200, 4))
    kept = copy.deepcopy(first._asdict())
    own, other = used.grow(given[1], once), fresh.grow(given[1], twice)
    assert torch.equal(once, twice)
    for name in ("latent", "bin_index", "value", "gain"):
        np.testing.assert_array_equal(getattr(own, name), getattr(other, name))
        np.testing.assert_array_equal(getattr(first, name), kept[name])


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
