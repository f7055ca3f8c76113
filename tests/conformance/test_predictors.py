"""Every built-in predictor conforms."""

from functools import partial
from inspect import signature
from typing import Any

import pytest
import torch
from tests import cases

from dislab import predictors
from dislab.plugins import available
from dislab.predictors import MLP, GradientBoosting, RandomForest
from dislab.testing import check_predictor


@pytest.mark.every(4)
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


DRAWING: dict[str, Any] = {
    "GradientBoosting": partial(GradientBoosting, rounds=3, engine="exact"),
    "RandomForest": partial(RandomForest, trees=3),
    "MLP": partial(MLP, width=4, steps=3),
}
"""The predictors that draw random numbers, with settings with which they do."""


def test_every_predictor_with_a_seed_is_tried() -> None:
    names = [plugin.name for plugin in available("predictors") if plugin.distribution == "dislab"]
    seeded = {name for name in names if "seed" in signature(getattr(predictors, name)).parameters}
    assert seeded == set(DRAWING)


@pytest.mark.parametrize("name", DRAWING)
def test_seeds_repeat_and_differ(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    column, queries = (
        torch.rand(60, 1, generator=generator),
        torch.rand(1, 60, 4, generator=generator),
    )
    predictions = []
    for seed in (0, 0, 1):
        predictor = DRAWING[name](4, (0,), seed=seed)
        predictor.fit(column.expand(1, 60, 4), column)  # equal latents, so that splits tie
        predictions.append(predictor.predict(queries))
    assert torch.equal(predictions[0], predictions[1])
    assert not torch.equal(predictions[0], predictions[2])
