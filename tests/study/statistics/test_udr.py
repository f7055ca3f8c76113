"""UDR and alignment: by hand, in the words of the authors' code, and of good and bad models."""

from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import torch
from scipy.linalg import expm
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso

from dislab.datasets import GaussianBlob
from dislab.encoders import ConvEncoder64
from dislab.errors import InputError
from dislab.study.statistics import (
    alignment,
    every_agreement,
    latent_similarity,
    pair_score,
    udr,
    udr_by_setting,
)
from dislab.study.statistics.agreement import Form, Similarity

Array = npt.NDArray[np.float64]

SQUARE = np.array([[1.0, 0.5], [0.0, 0.5]])
WIDE = np.array([[1.0, 0.5]])


@pytest.mark.parametrize(
    ("similarity", "form", "score"),
    [
        # first the latents of the one model, then those of the other
        (SQUARE, "pooled", (2 / 3 + 1 / 2 + 1 + 1 / 4) / 4),
        (SQUARE, "averaged", ((2 / 3 + 1 / 2) / 2 + (1 + 1 / 4) / 2) / 2),
        (WIDE, "pooled", (2 / 3 + 1 + 1 / 2) / 3),
        (WIDE, "averaged", (2 / 3 + 3 / 4) / 2),
        (WIDE.T, "averaged", (2 / 3 + 3 / 4) / 2),
        (np.eye(3), "pooled", 1.0),
        (np.ones((4, 4)), "pooled", 1 / 4),
        (np.zeros((2, 2)), "averaged", 0.0),
        (np.zeros((0, 2)), "pooled", 0.0),
    ],
)
def test_the_score_of_a_pair_by_hand(similarity: Array, form: Form, score: float) -> None:
    assert pair_score(similarity, form) == pytest.approx(score)


def orthogonal(latents: int) -> Array:
    """Codes with variance 1 and no correlation at all."""
    signs = [[1.0, -1.0]] * latents
    return np.stack([one.ravel() for one in np.meshgrid(*signs)], axis=1)


def test_weights_of_the_lasso_by_hand() -> None:
    codes = orthogonal(2)
    turned = codes @ np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    # with uncorrelated inputs the penalty takes alpha from each correlation
    np.testing.assert_allclose(latent_similarity(codes, -3 * codes + 1, "lasso"), 0.9 * np.eye(2))
    np.testing.assert_allclose(latent_similarity(codes, turned, "lasso"), np.sqrt(0.5) - 0.1)
    single = latent_similarity(codes[:, :1], turned, "lasso")
    assert single.shape == (1, 2)
    np.testing.assert_allclose(single, np.sqrt(0.5) - 0.1)
    np.testing.assert_allclose(latent_similarity(codes, turned, "lasso", alpha=0.71), 0)


def test_rank_correlations_are_absolute_and_0_for_a_latent_that_stands_still() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    second[:, 1] = 7.0
    found = latent_similarity(first, second, "spearman")
    assert found.shape == (2, 3)
    assert found[1, 2] == pytest.approx(abs(spearmanr(first[:, 1], second[:, 2]).statistic))
    assert found[:, 1].tolist() == [0, 0]


def models(count: int, turn: float, seed: int = 0, images: int = 2000) -> list[Array]:
    """Codes of models that found three factors, in any order and with any sign, or turned ones."""
    rng = np.random.default_rng(seed)
    factors = rng.uniform(-1, 1, size=(images, 3)) * np.sqrt(3)
    found = []
    for _ in range(count):
        axis = np.triu(rng.choice([-1.0, 1.0], size=(3, 3)), 1)
        codes = factors @ expm(turn * (axis - axis.T))[:, rng.permutation(3)]
        codes = codes * rng.choice([-1, 1], size=3) + 0.2 * rng.normal(size=codes.shape)
        found.append(np.concatenate([codes, 0.01 * rng.normal(size=(images, 2))], axis=1))
    return found


KL = np.array([2.0, 1.5, 1.0, 0.01, 0.0])


@pytest.mark.parametrize("similarity", get_args(Similarity))
@pytest.mark.parametrize("form", get_args(Form))
def test_models_that_find_the_factors_rank_above_mixtures(
    similarity: Similarity, form: Form
) -> None:
    scores = [udr(models(5, turn), [KL] * 5, similarity, form).scores for turn in (0, 0.2, 0.5)]
    good, near, far = scores
    assert good.min() > near.max()
    assert near.min() > far.max()
    assert good.min() > 0.8
    assert far.max() < 0.6


@pytest.mark.parametrize("similarity", get_args(Similarity))
def test_untrained_networks_rank_below_models_that_found_the_factors(
    similarity: Similarity,
) -> None:
    space, rng = GaussianBlob().factors, np.random.default_rng(0)
    states = rng.integers(len(space), size=300)
    images = GaussianBlob().images(torch.from_numpy(states)).float() / 255
    positions = space.positions(states).astype(float)
    found, untrained = [], []
    for seed in range(5):
        torch.manual_seed(seed)
        with torch.no_grad():
            untrained.append(ConvEncoder64((1, 64, 64), 5)(images).double().numpy())
        noise = 0.5 * rng.normal(size=positions.shape)
        found.append((positions + noise)[:, rng.permutation(2)] * rng.choice([-1, 1], size=2))
    good = udr(found, [np.ones(2)] * 5, similarity).scores
    bad = udr(untrained, [np.ones(5)] * 5, similarity).scores
    assert good.min() > 0.85
    assert bad.max() < 0.25


def test_one_bad_model_among_good_ones_gets_the_lowest_score() -> None:
    codes = [*models(5, 0), models(1, 0.5)[0]]
    found = udr(codes, [KL] * 6, "spearman")
    assert found.scores[-1] < 0.8 * found.scores[:-1].min()
    assert found.informative == [3] * 6


def test_scores_are_those_of_the_authors_code() -> None:
    codes, kl = models(5, 0.4), [KL, KL, KL, KL * [1, 1, 0, 1, 1], KL * [1, 0, 0, 1, 1]]
    found = udr(codes, kl, "lasso", "averaged").scores
    standard = [
        (one - one.mean(0)) / one.std(0) * (own > 0.01) for one, own in zip(codes, kl, strict=True)
    ]
    pairs = np.zeros((5, 5))
    for i in range(5):
        for j in range(5):
            model = Lasso(alpha=0.1).fit(standard[i], standard[j])
            matrix = np.abs(model.coef_).T[kl[i] > 0.01][:, kl[j] > 0.01]
            with np.errstate(invalid="ignore"):
                x = np.nan_to_num(matrix.max(0) ** 2 / matrix.sum(0)).mean()
                y = np.nan_to_num(matrix.max(1) ** 2 / matrix.sum(1)).mean()
            pairs[i, j] = (x + y) / 2
    expected = [np.median(np.delete(pairs[:, i], i)) for i in range(5)]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_scores_do_not_depend_on_order_sign_and_scale_of_latents() -> None:
    codes = models(5, 0.4)
    other = [one[:, ::-1] * [1, -2, 3, -4, 5] + 1 for one in codes]
    for similarity in get_args(Similarity):
        same = udr(codes, [KL] * 5, similarity).scores
        np.testing.assert_allclose(udr(other, [KL[::-1]] * 5, similarity).scores, same, rtol=1e-3)


def test_a_model_without_informative_latents_gets_0_and_leaves_the_others() -> None:
    codes = models(6, 0)
    found = udr(codes, [KL] * 5 + [0 * KL])
    assert found.scores[-1] == 0
    assert found.scores[:-1].min() > 0.8
    assert found.informative[-1] == 0
    everything = udr(codes, [0 * KL] * 6)
    assert everything.scores.tolist() == [0] * 6


def test_alignment_by_hand_and_of_good_and_bad_models() -> None:
    codes = orthogonal(2)
    copies = np.stack([codes[:, 0], codes[:, 0]], axis=1)
    found = alignment([codes, -codes[:, ::-1], copies], [np.ones(2)] * 3)
    np.testing.assert_allclose(found.pairs[0, 1:], [1, 0.5])
    assert found.scores.tolist() == [0.75, 0.75, 0.5]
    fewer = alignment([codes, codes], [np.ones(2), np.array([1.0, 0.0])])
    assert fewer.scores.tolist() == [0.5, 0.5]
    good, bad = (alignment(models(3, turn), [KL] * 3).scores for turn in (0, 0.5))
    assert good.min() > 0.95 > 0.9 > bad.max()


def test_scores_of_a_study_compare_runs_of_one_setting() -> None:
    table = pd.DataFrame(
        {"model.beta": [1] * 5 + [4] * 5 + [8], "seed": [*range(5), *range(5), 0]},
        index=[f"run{number}" for number in range(11)],
    )
    codes = dict(zip(table.index, [*models(5, 0), *models(5, 0.5), *models(1, 0)], strict=True))
    found = udr_by_setting(table, codes, dict.fromkeys(codes, KL), similarity="spearman")
    assert found.name == "udr_spearman_pooled"
    assert list(found.index) == list(table.index)
    np.testing.assert_allclose(found[:5], udr(models(5, 0), [KL] * 5, "spearman").scores)
    assert found[:5].min() > found[5:10].max()
    assert np.isnan(found["run10"])


GOOD = models(5, 0, images=20)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: udr(GOOD[:4], [KL] * 4), "4 given, at least 5 needed; train more seeds"),
        (lambda: alignment(GOOD[:1], [KL]), "1 given, at least 2 needed"),
        (lambda: udr(GOOD, [KL] * 4), "codes of 5 models and KL of 4"),
        (lambda: udr([*GOOD[:4], GOOD[4][:10]], [KL] * 5), r"model 4 has codes of shape \(10, 5\)"),
        (lambda: udr(GOOD, [KL[:3]] * 5), r"model 0 has .* KL of shape \(3,\)"),
        (lambda: udr([*GOOD[:4], GOOD[4] * np.nan], [KL] * 5), "of model 4 are not finite"),
        (lambda: udr(GOOD, [KL] * 5, alpha=0.0), "alpha is 0.0"),
        (
            lambda: udr_by_setting(
                pd.DataFrame({"seed": range(5)}, index=range(5)),
                dict(enumerate(GOOD[:3])),
                dict.fromkeys(range(5), KL),
            ),
            "has 3; train more seeds",
        ),
    ],
)
def test_mistakes_are_explained(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        function()


@pytest.mark.parametrize("count", [5, 2, 1])
def test_every_agreement_is_that_of_each_function(count: int) -> None:
    codes = {f"run{number}": one for number, one in enumerate(models(count, 0.4))}
    kl = dict.fromkeys(codes, KL)
    found = every_agreement(codes, kl)
    assert list(found.index) == list(codes)
    assert found["informative"].tolist() == [3] * count
    for similarity, form in product(get_args(Similarity), get_args(Form)):
        column = found[f"udr_{similarity}_{form}"]
        if count < 5:
            assert column.isna().all()
            continue
        expected = udr(list(codes.values()), list(kl.values()), similarity, form).scores
        np.testing.assert_allclose(column, expected)
    if count == 1:
        assert found["alignment"].isna().all()
    else:
        expected = alignment(list(codes.values()), list(kl.values())).scores
        np.testing.assert_allclose(found["alignment"], expected)
