"""Every built-in predictor conforms."""

from functools import partial
from typing import Any

import pytest
import torch
from tests import cases

from dislab.predictors import MLP, GradientBoosting, RandomForest
from dislab.testing import check_predictor


@pytest.mark.parametrize("build", cases.cases("predictors"))
def test_predictors(build: Any) -> None:
    check_predictor(build)


@pytest.mark.parametrize("seed", [-1, 2**40])
@pytest.mark.parametrize(
    "build",
    [
        partial(GradientBoosting, rounds=2),
        partial(GradientBoosting, rounds=2, engine="exact"),
        partial(RandomForest, trees=2),
        partial(MLP, width=2, steps=2),
    ],
)
def test_any_whole_number_is_a_seed(build: Any, seed: int) -> None:
    codes = torch.linspace(0, 1, 30).view(1, 30, 1)
    predictor = build(1, (0,), seed=seed)
    predictor.fit(codes, codes[0])
    assert predictor.predict(codes).isfinite().all()
