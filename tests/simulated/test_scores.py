"""Scores, predictors and the look at losses on the device give what they give on the host."""

from typing import Any

import pytest
import torch
from tests import cases
from tests.gpu.place import to_device, to_host
from tests.simulated.device import DEVICE, no_waiting
from torch import Tensor

from dislab.base._optimizing import Watch
from dislab.errors import TrainingError
from dislab.factors import Factor, FactorSpace

SPACE = FactorSpace((Factor("a", (0.0, 1.0, 2.0)), Factor("b", (0.0, 1.0, 2.0, 3.0))))


def draw(images: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    states = torch.randint(len(SPACE), (images,), generator=generator)
    factors = torch.from_numpy(SPACE.positions(states.numpy()))
    noise = torch.randn(images, 3, generator=generator)
    return torch.cat([factors + 0.3 * noise[:, :2], noise[:, 2:]], 1), factors


@pytest.mark.parametrize("build", cases.cases("metrics"))
def test_scores(build: Any) -> None:
    codes, factors = draw(260)
    host, device = build(SPACE), build(SPACE).to(DEVICE)
    for start in (0, 130):
        rows = slice(start, start + 130)
        host.update(codes[rows], factors[rows])
        with no_waiting():
            device.update(*(one[rows] for one in to_device_later(codes, factors)))
    assert {one.device for one in (*device.codes, *device.factors)} == {DEVICE}
    torch.testing.assert_close(to_host(device.compute()), host.compute(), equal_nan=True)


def to_device_later(*given: Tensor) -> list[Tensor]:
    return [one.to(DEVICE, non_blocking=True) for one in given]


@pytest.mark.parametrize("build", cases.cases("predictors"))
def test_predictors(build: Any) -> None:
    codes, factors = draw(120)
    runs, targets = torch.stack([codes, codes.flip(1)]), (factors / torch.tensor([2, 1])).float()
    predictor = build(3, (0, 4))
    predictor.fit(runs, targets)
    expected = predictor.predict(runs)
    there = to_device(runs)
    for wanted in (targets, to_device(targets)):
        predictor.fit(there, wanted)
        for asked in (there, runs):
            found = predictor.predict(asked)
            assert found.device == asked.device
            torch.testing.assert_close(to_host(found), expected)


def test_losses_are_noted_without_waiting() -> None:
    watch = Watch()
    with no_waiting():
        for step in range(3):
            watch.note(step, {"loss": torch.full((), float(step), device=DEVICE)})
    watch.look()
    with no_waiting():
        watch.note(3, {"kl": torch.full((), torch.nan, device=DEVICE)})
    with pytest.raises(TrainingError, match="kl became NaN or infinite at optimiser step 3"):
        watch.look()
