"""Batches are made on the device without waiting, and are those of the host."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tests import cases
from tests.gpu.place import to_device, to_host
from tests.gpu.test_data import check_batches
from tests.simulated.device import DEVICE, no_waiting
from torch import Tensor

from dislab.base import Dataset
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.datasets.chairs import parametric_chairs as chairs
from dislab.datasets.heads import _render as heads
from dislab.datasets.robot_finger import _render as finger
from dislab.datasets.shapes3d import _render as shapes3d

HOST = torch.device("cpu")


@pytest.mark.parametrize("residency", ["device", "host"])
@pytest.mark.parametrize("settings", [{"resize": 32}, {"colour": "rgb"}, {"colour": "grey"}])
@pytest.mark.parametrize("channels", [1, 3])
def test_transforms(settings: dict[str, Any], channels: int, residency: Any) -> None:
    images = np.random.default_rng(0).integers(256, size=(60, channels, 40, 40), dtype=np.uint8)
    states = [[x, y] for x in range(6) for y in range(10)]
    dataset = ArrayDataset(images, states)
    build = partial(SingleData, dataset, residency=residency, **settings)
    check_batches(lambda include, **other: build(**other))


@pytest.mark.parametrize("build", cases.cases("datasets"))
def test_datasets(build: Callable[[], Dataset]) -> None:
    dataset = build()
    dataset.prepare()
    index = torch.randint(len(dataset.factors), (20,), generator=torch.Generator().manual_seed(0))
    tables, there = to_device(dataset.tables()), to_device(index)
    with no_waiting():
        gathered, scaled = dataset.gather(tables, there), dataset.scaled(tables, there)
    assert gathered.device == scaled.device == DEVICE
    assert torch.equal(to_host(gathered), dataset.images(index))
    assert torch.equal(to_host(scaled), dataset.scaled(dataset.tables(), index))


def test_a_robot_finger_is_drawn_on_the_device() -> None:
    state = torch.rand(12, 7, generator=torch.Generator().manual_seed(0)) - 0.5
    view = finger.camera(64)
    drawn = []
    for device in (HOST, DEVICE):
        scene = finger.backdrop(finger.SIMULATED, view, device)
        drawn.append(finger.render(finger.SIMULATED, view, scene, state))
    assert drawn[1].device == DEVICE
    assert torch.equal(to_host(drawn[1]), drawn[0])


def test_chairs_are_drawn_on_the_device() -> None:
    generator = torch.Generator().manual_seed(0)
    shape = torch.tensor([0.5, 0.45, 0.5, 0.05, 1.0]) * (
        0.8 + 0.4 * torch.rand(9, 5, generator=generator)
    )
    given = shape, torch.rand(9, 2, generator=generator), torch.rand(9, 3, generator=generator)
    drawn = chairs.render_views(*given, DEVICE)
    assert drawn.device == DEVICE
    assert torch.equal(to_host(drawn), chairs.render_views(*given))


@pytest.mark.parametrize("shape", range(4))
def test_rooms_are_drawn_on_the_device(shape: int) -> None:
    geometry = (3 * 4 + shape) * 15 + 5
    drawn = shapes3d.render(geometry, DEVICE)
    assert drawn.device == DEVICE
    assert torch.equal(to_host(drawn), shapes3d.render(geometry))


def surface() -> Tensor:
    return torch.cat([torch.ones(1, 34, 66), torch.rand(4, 34, 66)])


def test_heads_are_drawn_on_the_device() -> None:
    torch.manual_seed(0)
    given = surface()
    drawn = heads.render(to_device(given), 0.3, 0.2, [0.0, 0.5])
    assert drawn.device == DEVICE
    assert torch.equal(to_host(drawn), heads.render(given, 0.3, 0.2, [0.0, 0.5]))
