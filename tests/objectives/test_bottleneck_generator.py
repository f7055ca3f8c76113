from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import BottleneckGenerator

NAMES, SIZES = ("x", "y"), (3, 5)


def make(**settings: Any) -> BottleneckGenerator:
    decoder = partial(MLPDecoder, hidden=(8,))
    return BottleneckGenerator((1, 8, 8), NAMES, SIZES, decoder, **settings)


def batch() -> ImageBatch:
    image = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    return ImageBatch(image, torch.tensor([[0, 4], [1, 1]]))


def test_the_loss_by_hand() -> None:
    model = make(gamma=10.0, start=0.5, capacity=8.5, steps=8).double()
    with torch.no_grad():
        model.scale.copy_(torch.tensor([2.0, 1.0]))
        model.shift.copy_(torch.tensor([-1.0, 0.5]))
        model.log_var.copy_(torch.tensor([4.0, 9.0]).log())
    noise = torch.tensor([[1.0, -1.0], [0.5, 2.0]], dtype=torch.float64)
    # factors (0, 1) and (1/2, 1/4): means (−1, 1.5) and (0, 0.75), deviations 2 and 3
    z = torch.tensor([[1.0, -1.5], [1.0, 6.75]], dtype=torch.float64)
    logits = model.decoder(z)
    pixels = F.binary_cross_entropy_with_logits(logits, batch().image, reduction="sum") / 2
    log4, log9 = torch.tensor([4.0, 9.0], dtype=torch.float64).log()
    x = 0.5 * (0.5 * (1 + 0) + 4 - log4 - 1)
    y = 0.5 * (0.5 * (2.25 + 0.5625) + 9 - log9 - 1)
    for step, capacity, distance in ((2, 2.5, x + y - 2.5), (8, 8.5, 8.5 - x - y)):
        loss, log = model.losses(batch(), {"noise": noise}, torch.tensor(step))
        torch.testing.assert_close(log["kl/x"], x, rtol=1e-6, atol=0)
        torch.testing.assert_close(log["kl/y"], y, rtol=1e-6, atol=0)
        assert log["capacity"].item() == capacity
        assert distance > 0
        torch.testing.assert_close(loss, pixels + 10 * distance, rtol=1e-6, atol=0)


def test_the_distance_is_of_the_mean_kl_not_of_each_image() -> None:
    """An image above the capacity and one below it, even out."""
    model = make(gamma=1000.0, start=1.0, capacity=1.0).double()
    with torch.no_grad():
        model.scale.fill_(4.0)
        model.shift.fill_(-2.0)
        model.log_var.zero_()
    # means (−2, 2) and (0, −1), deviations 1: 4 nats and half a nat
    kl = 0.5 * ((-2.0) ** 2 + 2.0**2 + 0.0 + (-1.0) ** 2) / 2
    log = model.losses(batch(), {"noise": torch.zeros(2, 2).double()}, torch.tensor(0)).log
    assert log["kl"].item() == pytest.approx(kl, rel=1e-12)


def test_the_run_starts_below_its_first_capacity() -> None:
    model = make()
    everything = torch.cartesian_prod(torch.arange(3), torch.arange(5))
    image = torch.zeros(15, 1, 8, 8)
    drawn = model.draw(15, Stream(0))
    log = model.losses(ImageBatch(image, everything), drawn, torch.tensor(0)).log
    assert log["kl"].item() < log["capacity"].item() == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"start": -0.5}, "start is -0.5"),
        ({"capacity": 0.25}, "capacity is 0.25; it must be at least start, which is 0.5"),
        ({"steps": -1}, "steps is -1"),
    ],
)
def test_numbers_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**settings)


@pytest.mark.slow
def test_position_is_bought_first(toy: Any, train: Any) -> None:
    """The order of Burgess et al. (2018), fig. 3: x and y, then scale, then shape."""
    torch.manual_seed(0)
    decoder = partial(MLPDecoder, hidden=(128, 128))
    build = partial(BottleneckGenerator, (1, 32, 32), toy.names, toy.sizes, decoder)
    model = build(gamma=100.0, capacity=10.0, steps=6000)
    logs = train(
        model, lambda i: ImageBatch(toy.image[i], toy.factors[i]), len(toy.image), 6000, 5e-3
    )
    early = [log for log in logs if 1.8 < log["capacity"] < 3.0]
    position = [log["kl/x"] + log["kl/y"] for log in early]
    assert min(both / log["kl"] for both, log in zip(position, early, strict=True)) > 0.7
    balance = [log["kl/x"] / both for both, log in zip(position, early, strict=True)]
    assert sum(balance) / len(balance) == pytest.approx(0.5, abs=0.1)
    bought = {
        name: next(log["capacity"] for log in logs if log[f"kl/{name}"] > 0.5) for name in toy.names
    }
    assert max(bought["x"], bought["y"]) + 0.5 < bought["scale"] < bought["shape"] - 0.5
    assert logs[-1]["kl"] == pytest.approx(logs[-1]["capacity"], rel=0.1)
