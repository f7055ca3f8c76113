"""Batches on the device are those of the host, and are made without waiting."""

from functools import partial
from typing import Any

import pytest
import torch
from tests import cases
from tests.gpu.place import DEVICE, no_waiting, to_host

from dislab.base import fields_of
from dislab.datasets import DSprites

HOST = torch.device("cpu")


def delivered(build: Any, device: torch.device) -> list[Any]:
    """Two training batches and one of validation, as an objective receives them."""
    torch.manual_seed(0)
    data = build(batch_size=8, eval_batch_size=8, include=cases.INCLUDED, validation=0.1)
    data.prepare_data()
    data.setup("fit")
    data._gathering.settle(device)
    train, validation = iter(data.train_dataloader()), iter(data.val_dataloader())
    data.images(torch.zeros(1, dtype=torch.int64, device=device))  # moves the tables, once
    made = []
    for batch in (next(train), next(train), next(validation)):
        moved = data.transfer_batch_to_device(batch, device, 0)
        with no_waiting():
            made.append(data.on_after_batch_transfer(moved, 0))
    return made


def check_batches(build: Any) -> None:
    host, device = (delivered(build, place) for place in (HOST, DEVICE))
    for one, other in zip(host, device, strict=True):
        parts = fields_of(other)
        assert {part.device for part in parts.values()} == {DEVICE}
        torch.testing.assert_close(to_host(parts), fields_of(one))


@pytest.mark.parametrize("residency", ["device", "host", "auto"])
@pytest.mark.parametrize("build", cases.datamodules())
def test_datamodules(build: Any, residency: str) -> None:
    check_batches(partial(build, DSprites(), residency=residency))
