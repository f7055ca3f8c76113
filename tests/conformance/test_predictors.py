"""Every built-in predictor conforms."""

from functools import partial
from typing import Any

import pytest

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
