"""Optimisers are tried before a run folder is made."""

from functools import partial
from typing import Any

import pytest
import torch
from torch.optim.lr_scheduler import StepLR

from dislab.base import Objective
from dislab.cli.checks import check_optimizer
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import DenoisingAutoencoder

SMALL = (1, 4, 4), partial(MLPEncoder, hidden=()), partial(MLPDecoder, hidden=())


def test_a_model_that_is_tried_trains_as_one_that_is_not() -> None:
    settings: Any = {"optimizer": partial(torch.optim.SGD, lr=0.1, momentum=0.5)}
    settings["scheduler"] = partial(StepLR, step_size=1, gamma=0.5)
    trained = []
    for tried in (False, True):
        torch.manual_seed(0)
        model = DenoisingAutoencoder(*SMALL, **settings)
        if tried:
            check_optimizer(model)
        made: Any = model.configure_optimizers()
        rates = []
        for _ in range(2):
            image = torch.rand(2, 1, 4, 4)
            model.decode(model.codes(image)).sum().backward()  # type: ignore[no-untyped-call]
            rates.append(made["optimizer"].param_groups[0]["lr"])
            made["optimizer"].step()
            made["lr_scheduler"]["scheduler"].step()
        trained.append((rates, [one.detach() for one in model.parameters()]))
    assert trained[0][0] == [0.1, 0.05]
    assert trained[1][0] == trained[0][0]
    assert all(torch.equal(*pair) for pair in zip(trained[0][1], trained[1][1], strict=True))


def test_a_schedule_that_fails_at_its_first_step_is_refused() -> None:
    model = DenoisingAutoencoder(*SMALL, scheduler=partial(StepLR, step_size=0))
    with pytest.raises(InputError, match="the scheduler fails at its first step: integer modulo"):
        check_optimizer(model)


@pytest.mark.parametrize("hook", ["configure_model", "configure_optimizers"])
def test_a_model_that_may_need_its_trainer_is_not_tried(
    hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks(self: Objective) -> None:
        self.trainer.estimated_stepping_batches  # noqa: B018  # raises: there is none yet

    monkeypatch.setattr(DenoisingAutoencoder, hook, asks, raising=False)
    check_optimizer(DenoisingAutoencoder(*SMALL, optimizer=partial(torch.optim.SGD, lr=-1.0)))
