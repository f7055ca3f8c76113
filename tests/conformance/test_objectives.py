"""Every built-in objective conforms."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases

from dislab.functional.streams import Stream
from dislab.testing import check_objective


@pytest.mark.parametrize(("build", "batch"), cases.objectives())
def test_objectives(build: Any, batch: Any, tmp_path: Path) -> None:
    check_objective(cases.ready(build, tmp_path), batch)


IDLE = {"Recombinator": {"noise", "order", "left_open"}}
"""Draws that change no loss here: for images alone, or for factors of more attributes."""


@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_the_loss_depends_on_every_draw(build: Any, batch: Any, tmp_path: Path) -> None:
    """No draw is forgotten, or replaced by another one; small effects show in the terms alone."""
    torch.manual_seed(0)
    model = cases.ready(build, tmp_path)()
    draws, others = (model.draw(len(batch[0]), Stream(seed)) for seed in (0, 1))

    def terms(**changed: torch.Tensor) -> torch.Tensor:
        loss, log = model.losses(batch, {**draws, **changed}, torch.tensor(3))
        return torch.stack([loss, *log.values()])

    before = terms()
    drawn = {name: rows for name, rows in others.items() if rows.numel()}
    idle = {name for name, rows in drawn.items() if torch.equal(terms(**{name: rows}), before)}
    assert idle == IDLE.get(build.func.__name__, set())


NOISY = [
    case
    for case in cases.objectives(likelihoods=False)
    if "input_noise" in signature(case.values[0].func).parameters
]


@pytest.mark.parametrize(("build", "batch"), NOISY)
def test_input_noise_is_added_in_training_alone(build: Any, batch: Any, tmp_path: Path) -> None:
    model = cases.ready(build, tmp_path)(input_noise=(0.1, 0.2))
    trained = model.draw(len(batch[0]), Stream(0))
    evaluated = model.eval().draw(len(batch[0]), Stream(0))
    added = trained.keys() - evaluated.keys()
    assert {name.rpartition(".")[2] for name in added} == {"fine", "coarse"}
    assert evaluated
    for name, rows in evaluated.items():
        assert torch.equal(rows, trained[name]), name
