"""Residual gains, against residuals computed from the data."""

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from dislab.learners.residual_gains import residual_gains

Array = npt.NDArray[np.float64]


def labelled_codes(classes: int) -> tuple[Array, npt.NDArray[np.int64]]:
    generator = np.random.default_rng(classes)
    labels = generator.integers(classes, size=500)
    codes = generator.normal(size=(500, 4))
    codes[:, 0] += 0.8 * labels
    codes[:, 2] -= 0.3 * labels
    return codes, labels


def explained(nodes: npt.NDArray[np.void], codes: Array, residuals: Array) -> Array:
    """Fall of the squared residuals by the splits at each latent."""
    gains = np.zeros(codes.shape[1])
    rows = {0: np.arange(len(codes))}
    for number, node in enumerate(nodes):
        if node["is_leaf"]:
            continue
        own = rows[number]
        below = codes[own, node["feature_idx"]] <= node["num_threshold"]
        parts = own[below], own[~below]
        rows[int(node["left"])], rows[int(node["right"])] = parts
        after = sum(len(part) * residuals[part].var() for part in parts)
        gains[node["feature_idx"]] += len(own) * residuals[own].var() - after
    return gains


def boosted(codes: Array, labels: npt.NDArray[np.int64], rounds: int) -> list[npt.NDArray[np.void]]:
    model = HistGradientBoostingClassifier(
        max_iter=rounds, max_depth=3, learning_rate=0.3, early_stopping=False
    ).fit(codes, labels)
    return [tree.nodes for stage in model._predictors for tree in stage]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_gains_of_the_first_round_are_what_the_splits_explain(classes: int) -> None:
    codes, labels = labelled_codes(classes)
    trees = boosted(codes, labels, rounds=1)
    wanted = range(classes) if classes > 2 else [1]
    expected = np.zeros(4)
    for tree, label in zip(trees, wanted, strict=True):
        hits = (labels == label).astype(np.float64)
        expected += explained(tree, codes, hits - hits.mean())
    assert residual_gains(trees, rate=0.3, latents=4) == pytest.approx(expected, rel=1e-5)


def test_gains_of_late_rounds_are_close_to_what_the_splits_explain() -> None:
    codes, labels = labelled_codes(2)
    trees = boosted(codes, labels, rounds=12)
    baseline = np.log(labels.mean() / (1 - labels.mean()))
    raw, expected = np.full(len(codes), baseline), np.zeros(4)
    for tree in trees:
        expected += explained(tree, codes, labels - 1 / (1 + np.exp(-raw)))
        raw += walk(tree, codes)
    assert residual_gains(trees, rate=0.3, latents=4) == pytest.approx(expected, rel=0.1)


def walk(nodes: npt.NDArray[np.void], codes: Array) -> Array:
    """The leaf value of each code."""
    place = np.zeros(len(codes), dtype=np.int64)
    for _ in range(4):
        here = nodes[place]
        below = codes[np.arange(len(codes)), here["feature_idx"]] <= here["num_threshold"]
        place = np.where(here["is_leaf"], place, np.where(below, here["left"], here["right"]))
    return np.asarray(nodes["value"][place])


def test_trees_without_a_split_gain_nothing() -> None:
    trees = boosted(np.ones((30, 2)), np.arange(30) % 2, rounds=2)
    assert residual_gains(trees, rate=0.3, latents=2).tolist() == [0.0, 0.0]
