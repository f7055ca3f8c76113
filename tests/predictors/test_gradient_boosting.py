from typing import Any

import pytest
import torch
from sklearn import ensemble

from dislab.errors import InputError
from dislab.predictors import GradientBoosting

SOURCE = torch.Generator().manual_seed(0)
CODES = torch.randn(2, 90, 3, generator=SOURCE)
KINDS = (CODES[0, :, 0] > 0).float() + (CODES[0, :, 1] > 0).float()
TARGETS = torch.stack([torch.sigmoid(CODES[0, :, 0]), KINDS], 1)


def reference(engine: str, settings: dict[str, Any]) -> tuple[Any, Any]:
    if engine == "exact":
        settings |= {"n_estimators": 5}
        return (
            ensemble.GradientBoostingRegressor(**settings),
            ensemble.GradientBoostingClassifier(**settings),
        )
    settings |= {"max_iter": 5, "max_leaf_nodes": None, "min_samples_leaf": 1}
    return (
        ensemble.HistGradientBoostingRegressor(early_stopping=False, **settings),
        ensemble.HistGradientBoostingClassifier(early_stopping=False, **settings),
    )


@pytest.mark.parametrize("engine", ["exact", "histogram"])
def test_its_trees_are_scikit_learns(engine: Any) -> None:
    own = GradientBoosting(3, (0, 3), engine=engine, rounds=5, depth=2, rate=0.2, seed=3)
    own.fit(CODES, TARGETS)
    found = own.predict(CODES)
    for run in range(2):
        codes = CODES[run].double().numpy()
        models = reference(engine, {"max_depth": 2, "learning_rate": 0.2, "random_state": 3})
        for factor, model in enumerate(models):
            model.fit(codes, TARGETS[:, factor].double().numpy())
            expected = torch.from_numpy(model.predict(codes)).float()
            assert torch.equal(found[run, :, factor], expected)


@pytest.mark.parametrize("engine", ["exact", "histogram"])
def test_it_is_constant_outside_of_what_it_learnt_from(engine: Any) -> None:
    values = torch.linspace(0, 1, 50)[:, None]
    codes = values[None] * 4
    own = GradientBoosting(1, (0,), engine=engine, rounds=20)
    own.fit(codes, values)
    beyond = own.predict(torch.tensor([[[4.0], [5.0], [400.0], [-1.0], [-9.0], [0.0]]]))[0, :, 0]
    assert beyond[0] == beyond[1] == beyond[2]
    assert beyond[3] == beyond[4] == beyond[5]
    assert 0 <= beyond.min() < 0.2
    assert 0.8 < beyond.max() <= 1


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="rounds is 0"):
        GradientBoosting(3, (0,), rounds=0)
    with pytest.raises(InputError, match="depth is 0"):
        GradientBoosting(3, (0,), depth=0)
    for rate in (-0.1, 0.0):
        with pytest.raises(InputError, match=f"rate is {rate}; it must be a finite number above"):
            GradientBoosting(3, (0,), rate=rate)
    with pytest.raises(InputError, match="call fit"):
        GradientBoosting(3, (0,)).predict(CODES)


def test_an_unknown_engine_is_named() -> None:
    message = "engine is 'lightgbm'; choose one of histogram, exact"
    with pytest.raises(InputError, match=message):
        GradientBoosting(3, (0,), engine="lightgbm")  # type: ignore[arg-type]
