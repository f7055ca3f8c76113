"""Scores on the states that training draws where factors are correlated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
import pytest

from dislab import runs
from dislab.base import DataModule, Metric, Objective
from dislab.callbacks import Evaluate
from dislab.callbacks.scores.evaluate import draw_correlated
from dislab.codes.splits import TEST_FRACTION, train_count
from dislab.errors import InputError
from dislab.factors import Indices


def only_diagonal(self: DataModule, states: Indices) -> npt.NDArray[np.float64]:
    """States where x equals y are drawn, no others."""
    x, y, _ = self.factors.positions(states).T
    return np.asarray(x == y, dtype=np.float64)


@pytest.mark.parametrize("distribution", ["uniform", "correlated"])
def test_states_are_drawn_from_either_distribution(
    distribution: Any,
    tmp_path: Path,
    trainer: Callable[..., pl.Trainer],
    data: Any,
    objective: Objective,
    correlation: Callable[..., Metric],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(data), "likelihoods", only_diagonal)
    evaluate = Evaluate({"c": correlation}, points=24, distribution=distribution)
    trainer(callbacks=[evaluate]).validate(objective, datamodule=data, verbose=False)
    states = np.array([state for batch in data.asked for state in batch][-24:])
    x, y, _ = data.factors.positions(states).T
    assert (x.tolist() == y.tolist()) is (distribution == "correlated")
    assert len(set(states.tolist())) == 24 if distribution == "uniform" else len(set(states)) <= 8
    drawn = runs.read_scores(tmp_path / "run")["validate"]["draw"]
    assert drawn.get("distribution", "uniform") == distribution


@pytest.mark.parametrize("points", [9, 20, 200])
def test_no_state_is_both_learnt_from_and_tested_on(
    points: int, data: DataModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(data), "likelihoods", lambda self, states: 1.0 + states % 3)
    learnt, shares = 0, []
    for seed in range(40):
        states = draw_correlated(data, "all", points, seed)
        assert len(states) == min(points, 32)
        cut = train_count(len(states), TEST_FRACTION)
        assert not set(states[:cut]) & set(states[cut:])
        learnt += len(set(states[:cut]))
        shares.append(np.bincount(states % 3, minlength=3) / len(states))
    assert learnt < 40 * cut  # drawn with replacement
    # 11, 11 and 10 states with the weights 1, 2 and 3
    assert np.mean(shares, axis=0) == pytest.approx(np.array([11, 22, 30]) / 63, abs=0.05)
    first, again, other = (draw_correlated(data, "all", points, seed) for seed in (3, 3, 4))
    assert first.tolist() == again.tolist() != other.tolist()


def test_few_states_are_split_all_the_same(
    data: DataModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_state = np.arange(32) == 5
    monkeypatch.setattr(type(data), "likelihoods", lambda self, states: 1.0 * one_state[states])
    with pytest.raises(InputError, match="one state alone is likely"):
        draw_correlated(data, "all", 20, 0)


def test_a_correlated_distribution_needs_a_correlation(
    trainer: Callable[..., pl.Trainer],
    data: DataModule,
    objective: Objective,
    correlation: Callable[..., Metric],
) -> None:
    evaluate = Evaluate({"c": correlation}, distribution="correlated")
    with pytest.raises(InputError, match=r"correlated, but the data are not; set data\.corr"):
        trainer(callbacks=[evaluate]).fit(objective, datamodule=data)
    assert int(objective.steps) == 0
