"""Every built-in predictor conforms."""

from functools import partial
from typing import Any

import pytest
import torch

from dislab.plugins import available
from dislab.predictors import MLP, GradientBoosting, NearestNeighbors, RandomForest, Ridge
from dislab.testing import check_predictor

PREDICTORS: dict[str, Any] = {
    "GradientBoosting": [
        partial(GradientBoosting, engine="histogram", rounds=12, rate=0.3),
        partial(GradientBoosting, engine="exact", rounds=12, rate=0.3),
    ],
    "MLP": [
        partial(MLP, layers=layers, width=32, steps=60, batch_size=100, learning_rate=0.02)
        for layers in (1, 3)
    ],
    "NearestNeighbors": [NearestNeighbors, partial(NearestNeighbors, k=1)],
    "RandomForest": [partial(RandomForest, trees=6)],
    "Ridge": [Ridge, partial(Ridge, penalty=0.0)],
}


def test_every_declared_predictor_is_checked_here() -> None:
    own = {plugin.name for plugin in available("predictors") if plugin.distribution == "dislab"}
    assert own == set(PREDICTORS)


@pytest.mark.parametrize("build", [build for builds in PREDICTORS.values() for build in builds])
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
