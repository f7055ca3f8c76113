"""Explicitness, against scikit-learn's regressions and areas."""

from typing import Any, get_args

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dislab.errors import InputError
from dislab.metrics import Explicitness
from dislab.metrics.explicitness import Classifier


def test_equals_scikit_learn(graded: Any) -> None:
    metric = Explicitness(graded.space)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    codes, factors = graded.codes.numpy(), graded.factors.numpy()
    codes = (codes - codes[:300].mean(0)) / codes[:300].std(0)
    expected = []
    for column in factors.T:
        areas = []
        for value in np.unique(column):
            model = LogisticRegression(tol=1e-9, max_iter=5000)
            model.fit(codes[:300], column[:300] == value)
            height = model.decision_function(codes[300:])
            areas.append(roc_auc_score(column[300:] == value, height))
        expected.append(np.mean(areas))
    assert result["explicitness_per_factor"].tolist() == pytest.approx(expected, abs=1e-6)
    assert result["explicitness"].item() == pytest.approx(np.mean(expected), abs=1e-6)
    normalized = 2 * np.mean(expected) - 1
    assert result["explicitness_normalized"].item() == pytest.approx(normalized, abs=1e-6)


def test_multinomial_equals_scikit_learn(graded: Any) -> None:
    metric = Explicitness(graded.space, classifier="multinomial")
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    codes, factors = graded.codes.numpy(), graded.factors.numpy()
    codes = (codes - codes[:300].mean(0)) / codes[:300].std(0)
    train, test = [], []
    for column in factors.T:
        model = LogisticRegression(max_iter=1000).fit(codes[:300], column[:300])
        truth, chance = column[:, None] == model.classes_, model.predict_proba(codes)
        train.append(roc_auc_score(truth[:300], chance[:300]))
        test.append(roc_auc_score(truth[300:], chance[300:]))
    name = "explicitness_multinomial"
    assert set(result) == {name, f"{name}_normalized", f"{name}_train", f"{name}_per_factor"}
    assert next(iter(result)) == name
    assert result[f"{name}_per_factor"].tolist() == pytest.approx(test, abs=1e-12)
    assert result[name].item() == pytest.approx(np.mean(test), abs=1e-12)
    assert result[f"{name}_train"].item() == pytest.approx(np.mean(train), abs=1e-12)


@pytest.mark.slow
def test_perfect_codes_part_the_classifiers(dsprites_like: Any) -> None:
    found: dict[str, float] = {}
    for classifier in get_args(Classifier):
        metric = Explicitness(dsprites_like.space, classifier=classifier)
        metric.update(dsprites_like.codes, dsprites_like.factors)
        found |= {name: one.item() for name, one in metric.compute().items() if not one.ndim}
    assert found["explicitness"] == pytest.approx(0.78, abs=0.01)
    assert found["explicitness_multinomial"] == pytest.approx(0.98, abs=0.01)


def test_two_values_are_told_apart_by_either_classifier(graded: Any) -> None:
    factors = graded.factors.clamp(max=1)
    areas = []
    for classifier in get_args(Classifier):
        metric = Explicitness(graded.space, classifier=classifier)
        metric.update(graded.codes, factors)
        areas.append(next(iter(metric.compute().values())).item())
    assert areas[0] == pytest.approx(areas[1], abs=1e-3)


def test_each_value_in_a_latent_of_its_own_is_perfect(graded: Any) -> None:
    codes = torch.cat([torch.nn.functional.one_hot(one) for one in graded.factors.T], dim=1)
    metric = Explicitness(graded.space)
    metric.update(codes.double(), graded.factors)
    result = metric.compute()
    assert result["explicitness"].item() == 1.0
    assert result["explicitness_normalized"].item() == 1.0


def test_values_in_the_middle_are_hidden_from_lines(graded: Any) -> None:
    metric = Explicitness(graded.space)
    metric.update(graded.factors.double(), graded.factors)
    assert 0.7 < metric.compute()["explicitness"].item() < 0.95


def test_a_value_that_no_test_image_shows_is_left_out(graded: Any) -> None:
    factors = graded.factors.clone()
    factors[300:, 2] = factors[300:, 2].clamp(max=4)
    metric = Explicitness(graded.space)
    metric.update(graded.codes, factors)
    assert bool(metric.compute()["explicitness"].isfinite())


def test_a_value_that_is_only_tested_on_is_left_out(graded: Any) -> None:
    factors = graded.factors.clone()
    factors[:300, 2] = factors[:300, 2].clamp(max=4)
    factors[300:, 2] = 5 - factors[300:, 2]
    metric = Explicitness(graded.space)
    metric.update(graded.codes, factors)
    with pytest.warns(UserWarning, match="factor c has values .*1.; they are left out"):
        result = metric.compute()
    assert bool(result["explicitness_per_factor"].isfinite().all())


def test_tests_on_one_image_are_refused(graded: Any) -> None:
    metric = Explicitness(graded.space, test_fraction=0.001)
    metric.update(graded.codes, graded.factors)
    with pytest.raises(InputError, match="of the 1 images to test on; score more"):
        metric.compute()
