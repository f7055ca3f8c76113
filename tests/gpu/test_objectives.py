"""Every objective on the device: its losses are the host's, and its steps make nobody wait."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases
from tests.gpu.place import (
    CLOSE,
    DEVICE,
    IS_SIMULATED,
    StepsWithoutWaiting,
    no_waiting,
    to_device,
    to_host,
    trainer,
)
from torch.utils.data import DataLoader

from dislab.base import ImageBatch, Objective
from dislab.functional.streams import Stream
from dislab.objectives import VAE


def judged(model: Objective, batch: Any, draws: Any) -> tuple[dict[str, Any], list[Any]]:
    """Loss and terms of a batch, and the gradients of the loss."""
    terms = model.losses(batch, draws, model.steps)
    torch.autograd.backward(terms.loss)
    return {**terms.log, "loss": terms.loss}, [one.grad for one in model.parameters()]


def check_losses(build: Any, batch: Any) -> None:
    torch.manual_seed(0)
    model: Objective = build()
    twin = copy.deepcopy(model).to(DEVICE)
    draws = model.draw(len(batch[0]), Stream(1))
    expected, gradients = judged(model, batch, draws)
    there, drawn = to_device(batch), to_device(draws)
    twin.losses(there, drawn, twin.steps)  # the first batch is checked, which waits
    with no_waiting():
        found, others = judged(twin, there, drawn)
    for name, value in found.items():
        assert value.device == DEVICE
        torch.testing.assert_close(to_host(value), expected[name].detach(), **CLOSE)
    for one, other in zip(gradients, others, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(to_host(other), one, **CLOSE)


def check_steps(build: Any, batch: Any, folder: Path, **settings: Any) -> None:
    torch.manual_seed(0)
    model: Objective = build()
    start = copy.deepcopy(model.state_dict())
    loader: Any = DataLoader([to_device(batch)] * 3, batch_size=None)  # type: ignore[arg-type]
    watched = [StepsWithoutWaiting()]
    runner = trainer(DEVICE, folder, callbacks=watched, limit_val_batches=1, **settings)
    runner.fit(model, loader, loader)
    assert runner.global_step == 3
    trained = model.state_dict()
    assert all(value.isfinite().all() for value in trained.values())
    learns = [name for name, one in model.named_parameters() if one.requires_grad]
    assert any(not torch.equal(to_host(trained[name]), start[name]) for name in learns)


@pytest.mark.parametrize(("build", "batch"), cases.objectives())
def test_losses_and_gradients_are_those_of_the_host(build: Any, batch: Any, tmp_path: Path) -> None:
    check_losses(cases.ready(build, tmp_path), batch)


@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_steps_make_nobody_wait(build: Any, batch: Any, tmp_path: Path) -> None:
    check_steps(cases.ready(build, tmp_path), batch, tmp_path)


@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_steps_in_half_precision(build: Any, batch: Any, tmp_path: Path) -> None:
    check_steps(cases.ready(build, tmp_path), batch, tmp_path, precision="bf16-mixed")


def test_a_step_that_waits_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    well = VAE.losses

    def losses(self: VAE, *given: Any) -> Any:
        terms = well(self, *given)
        float(terms.loss.detach())
        return terms

    monkeypatch.setattr(VAE, "losses", losses)
    with pytest.raises(RuntimeError, match="wait" if IS_SIMULATED else "synchroniz"):
        check_steps(cases.builds("objectives", "VAE")[0], cases.BATCHES[ImageBatch], tmp_path)
