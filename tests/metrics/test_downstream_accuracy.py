"""Accuracy of simple predictors, by number of labels."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from dislab.errors import InputError
from dislab.metrics import DownstreamAccuracy


def test_equals_scikit_learn(graded: Any) -> None:
    metric = DownstreamAccuracy(graded.space, labels=(30, 200), tested=150)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    codes, factors = graded.codes.numpy(), graded.factors.numpy()
    for number in (30, 200):
        scaled = (codes - codes[:number].mean(0)) / codes[:number].std(0)
        expected = [
            LogisticRegression(max_iter=1000)
            .fit(scaled[:number], column[:number])
            .score(scaled[-150:], column[-150:])
            for column in factors.T
        ]
        per_factor = result[f"downstream_logistic_{number}_per_factor"].tolist()
        assert per_factor == pytest.approx(expected, abs=0.01)
        mean = result[f"downstream_logistic_{number}"].item()
        assert mean == pytest.approx(np.mean(expected), abs=0.01)
    assert next(iter(result)) == "downstream_logistic_200"


@pytest.mark.slow
def test_trees_learn_what_lines_cannot(graded: Any) -> None:
    codes = torch.randn(450, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    factors = graded.factors.clone()
    factors[:, 0] = (codes[:, 0] * codes[:, 1] > 0).long()
    values = {}
    for classifier in ("logistic", "hgbt"):
        metric = DownstreamAccuracy(graded.space, classifier, labels=(300,), tested=150)
        metric.update(codes, factors)
        values[classifier] = metric.compute()[f"downstream_{classifier}_300_per_factor"][0].item()
    assert values["hgbt"] > 0.9
    assert values["logistic"] < 0.7


def test_a_single_label_is_predicted(graded: Any) -> None:
    metric = DownstreamAccuracy(graded.space, labels=(1,), tested=400)
    metric.update(graded.codes, graded.factors)
    share = (graded.factors[-400:] == graded.factors[0]).double().mean(0)
    result = metric.compute()["downstream_logistic_1_per_factor"]
    torch.testing.assert_close(result, share)


def test_efficiency_is_a_ratio(dsprites_like: Any) -> None:
    metric = DownstreamAccuracy(dsprites_like.space, labels=(100, 10_000), tested=1000)
    generator = torch.Generator().manual_seed(0)
    coarse = dsprites_like.factors.clamp(max=2)  # fewer values, faster to fit
    codes = coarse + 0.5 * torch.randn(15_000, 5, generator=generator)
    metric.update(codes, coarse)
    result = metric.compute()
    few, many = (result[f"downstream_logistic_{number}"].item() for number in (100, 10_000))
    assert result["downstream_logistic_efficiency"].item() == pytest.approx(few / many)
    assert few < many


def test_misuse_is_named(graded: Any) -> None:
    metric = DownstreamAccuracy(graded.space)
    metric.update(graded.codes, graded.factors)
    with pytest.raises(InputError, match="learns from 10000 images and is tested on 5000 others"):
        metric.compute()
    with pytest.raises(InputError, match="labels is empty"):
        DownstreamAccuracy(graded.space, labels=())
    with pytest.raises(InputError, match="labels is 0"):
        DownstreamAccuracy(graded.space, labels=(10, 0))
