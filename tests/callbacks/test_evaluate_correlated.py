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
