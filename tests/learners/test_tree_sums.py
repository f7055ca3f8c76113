"""Sums of many trees: a tree by hand, and scikit-learn's own sums."""

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from dislab.learners import HistogramBoosting
from dislab.learners.tree_sums import complete_trees, tree_sums

FIELDS = [
    ("value", float),
    ("feature_idx", int),
    ("num_threshold", float),
    ("left", int),
    ("right", int),
    ("is_leaf", int),
]


def lopsided() -> list[npt.NDArray[np.void]]:
    """Latent 1 up to 0.5: 10; above it latent 0 up to 2: 20, and 30. Then a lone leaf of 7."""
    root, inner = (0, 1, 0.5, 1, 2, 0), (0, 0, 2, 3, 4, 0)
    ten, twenty, thirty = ((value, 0, 0, 0, 0, 1) for value in (10, 20, 30))
    split = np.array([root, ten, inner, twenty, thirty], dtype=FIELDS)
    return [split, np.array([(7, 0, 0, 0, 0, 1)], dtype=FIELDS)]


def test_missing_splits_are_filled_up() -> None:
    trees = complete_trees(lopsided(), 2)
    assert trees.latent[:, 0].tolist() == [1, 0, 0]
    assert trees.threshold[:, 0].tolist() == [0.5, np.inf, 2.0]
    assert trees.value.tolist() == [[10, 10, 20, 30], [7, 7, 7, 7]]


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_a_tree_by_hand(depth: int) -> None:
    codes = np.array([[9, 0.5], [2, 0.6], [2.1, 0.6], [-9, -9], [3, np.nextafter(0.5, 1)]])
    trees = complete_trees(lopsided(), depth)
    assert tree_sums(trees, codes, 1)[:, 0].tolist() == [17, 27, 37, 17, 37]
    assert tree_sums(trees, codes, 2).tolist() == [[10, 7], [20, 7], [30, 7], [10, 7], [30, 7]]


@pytest.mark.parametrize(("kinds", "rounds", "depth"), [(2, 11, 3), (5, 10, 3), (3, 4, 1)])
def test_sums_are_those_of_scikit_learn(kinds: int, rounds: int, depth: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(2500, 4)).round(1)  # many codes lie on thresholds or are alike
    labels = (codes[:, 0] + rng.normal(size=2500) > np.arange(kinds - 1)[:, None]).sum(0)
    model = HistGradientBoostingClassifier(
        max_iter=rounds, max_depth=depth, max_leaf_nodes=None, early_stopping=False
    ).fit(codes[:1000], labels[:1000])
    trees = [tree.nodes for stage in model._predictors for tree in stage]
    own = tree_sums(complete_trees(trees, depth), codes, model.n_trees_per_iteration_)
    expected = model.decision_function(codes).reshape(len(codes), -1)
    np.testing.assert_allclose(own + model._baseline_prediction, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [2, 6, 7])
@pytest.mark.parametrize("kinds", [2, 4])
def test_labels_are_those_of_scikit_learn_at_each_depth(depth: int, kinds: int) -> None:
    generator = torch.Generator().manual_seed(0)
    codes = torch.randn(400, 3, generator=generator)
    labels = 5 + ((codes[:, 0] + torch.randn(400, generator=generator)).long() % kinds)
    model = HistogramBoosting(rounds=8, depth=depth).fit(codes, labels)
    reference = HistGradientBoostingClassifier(
        max_iter=8, max_depth=depth, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    ).fit(codes.numpy(), labels.numpy())
    fresh = torch.randn(500, 3, generator=generator)
    for given in (codes, fresh):
        assert model.predict(given).tolist() == reference.predict(given.numpy()).tolist()
