"""The simulated device refuses what a card refuses, and notices when the host waits."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.gpu.place import to_device, to_host
from tests.simulated.device import (
    DEVICE,
    DeviceTensor,
    HostWaitsError,
    MixedDevicesError,
    no_waiting,
    waits,
)
from torch import Tensor

HERE = torch.arange(12.0).view(4, 3) - 5


@pytest.fixture
def there() -> Tensor:
    there: Tensor = to_device(HERE)
    return there


MIXED: list[Callable[[Tensor], Any]] = [
    lambda x: x + torch.ones(3),
    lambda x: x.add_(torch.ones(3)),
    lambda x: torch.ones(4, 3).mul_(x),
    lambda x: torch.ones(2, 4) @ x,
    lambda x: torch.cat([x, torch.ones(1, 3)]),
    lambda x: torch.stack([x.sum(), torch.tensor(1.0)]),
    lambda x: torch.where(x > 0, x, torch.zeros(4, 3)),
    lambda x: torch.zeros(4, 3)[x.argmax(0)],
    lambda x: x.index_put_((x.argmax(0),), torch.ones(3)),
    lambda x: torch.nn.Linear(3, 2)(x),
    lambda x: torch.randn(3, generator=torch.Generator(), device=DEVICE),
]
WAITING: list[Callable[[Tensor], Any]] = [
    lambda x: x.sum().item(),
    lambda x: float(x[0, 0]),
    lambda x: bool((x > 0).any()),
    lambda x: x.tolist(),
    lambda x: x.cpu(),
    lambda x: torch.empty(4, 3).copy_(x),
    lambda x: x.nonzero(),
    lambda x: x[x > 0],
    lambda x: x.masked_select(x > 0),
    lambda x: x.index_put_((x > 100,), torch.ones(0, device=DEVICE)),
    lambda x: x.unique(),  # type: ignore[no-untyped-call]
    lambda x: torch.equal(x, x),
    lambda x: x[torch.tensor([0, 1])],
    lambda x: x.__setitem__(x.argmax(0), 1.0),
    lambda x: x[[0, 1]],
    lambda x: torch.tensor([1.0, 2.0], device=DEVICE),
    lambda x: torch.ones(3).to(DEVICE),
    lambda x: torch.linalg.cholesky(x.T @ x + torch.eye(3, device=DEVICE)),
]
FREE: list[Callable[[Tensor], Any]] = [
    lambda x: x + torch.tensor(1.0),
    lambda x: torch.where(x > 0, x, torch.tensor(0.0)),
    lambda x: x.masked_fill_(x > 0, 1.0),
    lambda x: x.__setitem__(x > 0, 1.0),
    lambda x: x[x.argmax(0)],
    lambda x: torch.zeros(3, device=DEVICE) + torch.arange(3, device=DEVICE),
    lambda x: torch.ones(3).to(DEVICE, non_blocking=True),
    lambda x: torch.rand(3, generator=torch.Generator(DEVICE), device=DEVICE),
]


@pytest.mark.parametrize("action", MIXED)
def test_host_and_device_do_not_mix(action: Callable[[Tensor], Any], there: Tensor) -> None:
    with pytest.raises(MixedDevicesError):
        action(there)


@pytest.mark.parametrize("action", WAITING)
def test_the_host_is_seen_to_wait(action: Callable[[Tensor], Any], there: Tensor) -> None:
    waits.clear()
    action(there)
    assert waits
    with pytest.raises(HostWaitsError), no_waiting():
        action(there)


@pytest.mark.parametrize("action", FREE)
def test_the_host_goes_on(action: Callable[[Tensor], Any], there: Tensor) -> None:
    waits.clear()
    with no_waiting():
        action(there)
    assert not waits


@torch.inference_mode()
def test_inference_follows_the_same_rules() -> None:
    there = to_device(HERE)
    assert there.cpu().device.type == "cpu"
    assert waits
    with pytest.raises(HostWaitsError), no_waiting():
        there.to("cpu")
    with torch.inference_mode(False):
        weight = to_device(HERE.clone())
    assert not weight.detach().mT.is_inference()
    for action in MIXED:
        with pytest.raises(MixedDevicesError):
            action(there)


def test_arrays_are_of_the_host(there: Tensor) -> None:
    with pytest.raises(TypeError, match="can't convert sim:0"):
        there.numpy()
    with pytest.raises(TypeError, match="can't convert sim:0"):
        np.asarray(there)


def gradients(layer: torch.nn.Module, x: Tensor) -> list[Tensor]:
    """Gradients through views, writes in place, and a parameter that is used twice."""
    y = torch.cat([layer(x), layer(x.flip(0))]) * 2
    y[0] = 1
    y[:, 1].mul_(3)
    torch.autograd.backward((y.mT @ y).square().mean())
    return [one.grad for one in layer.parameters() if one.grad is not None]


def test_gradients_and_updates_are_those_of_the_host() -> None:
    torch.manual_seed(0)
    host = torch.nn.Linear(3, 2)
    device = torch.nn.Linear(3, 2).to(DEVICE)
    device.load_state_dict(host.state_dict())
    for _ in range(3):
        for layer, x in ((host, HERE), (device, to_device(HERE))):
            optimizer = torch.optim.Adam(layer.parameters(), fused=True)
            assert len(gradients(layer, x)) == 2
            optimizer.step()
    assert all(isinstance(one, DeviceTensor) for one in device.parameters())
    for one, other in zip(host.parameters(), device.parameters(), strict=True):
        assert torch.equal(one, to_host(other))


def test_a_tensor_takes_another_shape_in_place(there: Tensor) -> None:
    there.unsqueeze_(1).transpose_(0, 2)
    assert there.shape == (3, 1, 4)
    assert torch.equal(there.cpu(), HERE.unsqueeze(1).transpose(0, 2))
    with pytest.raises(NotImplementedError):
        there.resize_(20)


def test_chance_is_that_of_the_host() -> None:
    one, other = (torch.Generator(place).manual_seed(3) for place in ("cpu", DEVICE))
    drawn = torch.randn(5, generator=other, device=other.device)
    assert drawn.device == DEVICE
    assert torch.equal(torch.randn(5, generator=one, device=one.device), drawn.cpu())


def test_a_file_says_that_its_tensors_were_of_the_device(there: Tensor) -> None:
    stream = io.BytesIO()
    torch.save({"x": there}, stream)
    stream.seek(0)
    assert torch.equal(torch.load(stream, weights_only=True, map_location="cpu")["x"], HERE)
    stream.seek(0)
    with pytest.raises(RuntimeError, match="read without map_location"):
        torch.load(stream, weights_only=True)
