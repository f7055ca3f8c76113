"""Strong weight decay makes quantised codes follow the factors."""

from functools import partial

import pytest
import torch
from torch import Tensor

from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.factors import Factor, FactorSpace
from dislab.functional.draws import device_generator
from dislab.metrics import DCI
from dislab_qlae import QLAE

CPU = torch.device("cpu")
SIZES = (10, 10, 6)
"""Values of x, y and width."""


def blobs(positions: Tensor) -> Tensor:
    """White Gaussian blobs of 32×32 pixels at x, y, with a width."""
    x, y, width = (
        low + (high - low) * positions[:, factor, None, None] / (SIZES[factor] - 1)
        for factor, (low, high) in enumerate(((8.0, 23.0), (8.0, 23.0), (2.0, 5.0)))
    )
    rows, columns = torch.arange(32.0)[:, None], torch.arange(32.0)
    squared = (columns - x).square() + (rows - y).square()
    return torch.exp(-squared / (2 * width.square()))[:, None]


def disentanglement(weight_decay: float, seed: int, steps: int = 2000) -> float:
    """DCI disentanglement over all states after training; decay is faster than in a long run."""
    grid = torch.cartesian_prod(*(torch.arange(size) for size in SIZES))
    grid = grid[torch.randperm(len(grid), generator=device_generator(CPU, 0))]
    image = blobs(grid)
    torch.manual_seed(seed)
    networks = partial(MLPEncoder, hidden=(128, 128)), partial(MLPDecoder, hidden=(128, 128))
    adam = partial(torch.optim.AdamW, lr=2e-3, weight_decay=weight_decay)
    model = QLAE((1, 32, 32), 6, *networks, optimizer=adam)
    optimizer = model.configure_optimizers()
    assert isinstance(optimizer, torch.optim.Optimizer)
    for step in range(steps):
        chosen = torch.randint(len(grid), (64,), generator=device_generator(CPU, seed, step))
        loss = model.losses(ImageBatch(image[chosen], grid[chosen]), {}, torch.tensor(step)).loss
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    space = FactorSpace(
        tuple(
            Factor(name, tuple(map(float, range(size))))
            for name, size in zip(("x", "y", "width"), SIZES, strict=True)
        )
    )
    metric = DCI(space)
    metric.update(model.codes(image).detach(), grid)
    return float(metric.compute()["dci_hgbt_disentanglement"])


@pytest.mark.slow
def test_weight_decay_disentangles() -> None:
    """Three seeds reached 0.41 to 0.59 with a decay of 1 and 0.24 to 0.41 without, each less."""
    decayed, free = disentanglement(1.0, seed=1), disentanglement(0.0, seed=1)
    assert decayed > 0.3
    assert decayed > free + 0.05
