"""A device draws what the host draws, without making it wait."""

import pytest
import torch
from tests.functional.test_streams import units_apart
from tests.gpu.place import DEVICE, no_waiting, to_host

from dislab.functional.streams import Stream


@pytest.mark.parametrize("on_device", [False, True])
def test_draws(on_device: bool) -> None:
    """With a step that the host knows, and with one that the device alone knows."""
    step = torch.tensor(17).to(DEVICE) if on_device else 17
    there, here = Stream(3, step, DEVICE).of("train"), Stream(3, 17).of("train")
    with no_waiting():
        found = [
            there.uniform("a", 50, 3),
            there.integers("b", 700_000, 50),
            there.permutations("c", 50, 3),
            there.normal("d", 501, 3),
        ]
    expected = [
        here.uniform("a", 50, 3),
        here.integers("b", 700_000, 50),
        here.permutations("c", 50, 3),
    ]
    assert {one.device for one in found} == {DEVICE}
    assert all(torch.equal(to_host(one), own) for one, own in zip(found, expected, strict=False))
    assert units_apart(to_host(found[3]), here.normal("d", 501, 3)) <= 1
