"""Networks and regularisers on the device give what they give on the host, without waiting."""

import copy
from typing import Any

import pytest
import torch
from tests import cases
from tests.gpu.place import CLOSE, DEVICE, no_waiting, to_device, to_host
from torch import Tensor, nn

from dislab.base import ImageShape, Posterior
from dislab.functional.streams import Stream

HOST = torch.device("cpu")


def passed(network: nn.Module, inputs: Tensor) -> list[Tensor]:
    outputs = network(inputs)
    outputs.square().mean().backward()
    return [outputs, *(one.grad for one in network.parameters() if one.grad is not None)]


def check_network(network: nn.Module, inputs: Tensor) -> None:
    twin = copy.deepcopy(network).to(DEVICE)
    there = to_device(inputs)
    with no_waiting():
        found = passed(twin, there)
    torch.testing.assert_close(to_host(found), passed(network, inputs), **CLOSE)


@pytest.mark.parametrize(("build", "shape"), cases.networks("encoders"))
def test_encoders(build: Any, shape: ImageShape) -> None:
    check_network(build(shape, 6), torch.rand(2, *shape))


@pytest.mark.parametrize(("build", "shape"), cases.networks("decoders"))
def test_decoders(build: Any, shape: ImageShape) -> None:
    check_network(build(5, shape), torch.randn(2, 5))


@pytest.mark.parametrize("build", cases.cases("regularizers"))
@pytest.mark.parametrize("step", [0, 50, 10**6])
def test_regularizers(build: Any, step: int) -> None:
    """At the beginning, in the middle and behind the end of what is annealed."""
    regularizer = build(4, 100)
    given = torch.randn(2, 6, 4), torch.randn(6, 4), torch.tensor(step)
    draws = regularizer.draw(6, Stream(0))
    on_device = regularizer.draw(6, Stream(0, device=DEVICE))
    assert {one.device for one in on_device.values()} <= {DEVICE}
    assert {name: one.shape for name, one in on_device.items()} == {
        name: one.shape for name, one in draws.items()
    }
    if regularizer.needs_labels:
        draws["labels"] = torch.rand(6, 3)
    penalties = []
    for device in (HOST, DEVICE):
        part = copy.deepcopy(regularizer).to(device)
        (mean, log_var), z, number = (one.to(device) for one in given)
        drawn = {name: one.to(device) for name, one in draws.items()}
        with no_waiting():
            penalties.append(part(Posterior(mean, log_var), z, drawn, number))
    torch.testing.assert_close(to_host(penalties[1]), penalties[0], **CLOSE)
