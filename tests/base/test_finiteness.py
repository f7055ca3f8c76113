"""The watch over the terms of a loss."""

import re
from typing import Any

import pytest
import torch
from torch import nn

from dislab.base._optimizing import Watch
from dislab.base.parts import Regularizer
from dislab.errors import DivergenceError, TrainingError


def terms(kl: float, loss: float = 1.0) -> dict[str, torch.Tensor]:
    return {"kl": torch.tensor(kl, dtype=torch.float64), "loss": torch.tensor(loss)}


def test_the_first_bad_step_and_its_terms_are_named() -> None:
    watch = Watch()
    watch.look()
    watch.note(7, terms(1.0))
    watch.look()
    watch.note(8, terms(2.0))
    watch.note(9, terms(float("inf"), float("nan")))
    watch.note(10, terms(float("nan")))
    for _ in range(2):  # what is wrong stays wrong
        with pytest.raises(TrainingError, match=r"stopped: kl became NaN or infinite at .* 9;"):
            watch.look()


def test_the_loss_is_named_when_it_alone_is_bad() -> None:
    watch = Watch()
    watch.note(0, terms(1.0, float("nan")))
    with pytest.raises(TrainingError, match="stopped: loss became"):
        watch.look()


def test_a_formula_that_is_bad_from_the_start_is_told_from_a_divergence() -> None:
    watch = Watch()
    watch.note(0, terms(float("nan")))
    with pytest.raises(TrainingError, match=r"at the first step, .*; check the formula"):
        watch.look()


@pytest.mark.parametrize(("step", "when"), [(0, "the first step"), (9, "optimiser step 9")])
def test_a_penalty_without_terms_is_named_if_only_the_sum_is_bad(step: int, when: str) -> None:
    class Silent(Regularizer):
        def forward(self, posterior: Any, z: Any, draws: Any, step: Any) -> Any: ...

    class Kl(Silent): ...

    module = nn.ModuleDict({"kl": Kl(), "mine": Silent()})
    watch = Watch()
    watch.note(step, {"kl/weight": torch.ones(()), "objective": torch.tensor(float("nan"))})
    message = (
        f"objective became NaN or infinite at {when}, and all logged terms are finite; check the "
        f"formula of the regulariser Silent ({__name__}), whose penalty is not logged"
    )
    with pytest.raises(DivergenceError, match=re.escape(message)):
        watch.look(module)


def test_no_graph_is_kept_and_a_look_comes_in_time() -> None:
    watch = Watch()
    weight = torch.ones((), requires_grad=True)
    watch.note(0, {"loss": weight * 2})
    assert not any(value.requires_grad for value in watch._values[0])
    watch.note(1, {"loss": weight / 0})
    noted = []

    def go_on() -> None:
        for step in range(2, 2000):
            watch.note(step, {"loss": weight})
            noted.append(step)

    with pytest.raises(TrainingError, match="optimiser step 1;"):
        go_on()
    assert len(noted) < 1100
