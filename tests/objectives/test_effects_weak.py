"""Small trainings that show what weak supervision does: seconds each, on blobs rendered here."""

from functools import partial
from typing import Any

import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor

from dislab.base import ClampedBatch, ImageBatch, Objective, PairBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.factors import Factor, FactorSpace
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.metrics import DCI
from dislab.objectives import DCIGN, VAE, AdaGVAE, AdaMLVAE
from dislab.regularizers import KL

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


def states(count: int, generator: torch.Generator) -> Tensor:
    columns = [torch.randint(size, (count,), generator=generator) for size in SIZES]
    return torch.stack(columns, dim=1)


def with_new_values(positions: Tensor, which: Tensor, generator: torch.Generator) -> Tensor:
    """The states with the chosen factors moved to another value."""
    sizes = torch.tensor(SIZES)
    shift = torch.stack(
        [torch.randint(1, size, (len(positions),), generator=generator) for size in SIZES], dim=1
    )
    return torch.where(which, (positions + shift) % sizes, positions)


def single(count: int, generator: torch.Generator) -> ImageBatch:
    positions = states(count, generator)
    return ImageBatch(blobs(positions), positions)


def pair(count: int, generator: torch.Generator) -> PairBatch:
    positions = states(count, generator)
    moved = torch.randint(len(SIZES), (count, 1), generator=generator)
    changed = torch.arange(len(SIZES)) == moved
    second = with_new_values(positions, changed, generator)
    return PairBatch(blobs(positions), blobs(second), positions, second, changed)


def clamped(count: int, generator: torch.Generator) -> ClampedBatch:
    active = int(torch.randint(len(SIZES), (), generator=generator))
    held = states(1, generator).expand(count, -1)
    chosen = torch.arange(len(SIZES)) == active
    positions = torch.where(chosen, states(count, generator), held)
    return ClampedBatch(blobs(positions), positions, torch.full((count,), active))


def train(model: Objective, batches: Any, steps: int, count: int, seed: int) -> Objective:
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step in range(steps):
        batch = batches(count, device_generator(CPU, seed, 0, step))
        draws = model.draw(count, Stream(seed, step))
        loss = model.losses(batch, draws, torch.tensor(step)).loss
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


def all_codes(model: Objective) -> tuple[Tensor, Tensor]:
    """Codes and positions of all states, in an order that mixes them."""
    positions = torch.cartesian_prod(*(torch.arange(size) for size in SIZES))
    positions = positions[torch.randperm(len(positions), generator=device_generator(CPU, 0))]
    with torch.no_grad():
        return model.codes(blobs(positions)), positions


def make(method: Any, *leading: Any, **settings: Any) -> Objective:
    torch.manual_seed(0)
    return method(  # type: ignore[no-any-return]
        (1, 32, 32),
        600,
        *leading,
        partial(MLPEncoder, hidden=(128, 128)),
        partial(MLPDecoder, hidden=(128, 128)),
        {"kl": KL},
        **settings,
    )


def disentanglement(model: Objective) -> float:
    space = FactorSpace(
        tuple(
            Factor(name, tuple(map(float, range(size))))
            for name, size in zip(("x", "y", "width"), SIZES, strict=True)
        )
    )
    score = DCI(space)
    score.update(*all_codes(model))
    return float(score.compute()["dci_hgbt_disentanglement"])


@pytest.fixture(scope="module")
def vae() -> float:
    """Disentanglement of a VAE that saw as many images."""
    return disentanglement(train(make(VAE, 3), single, steps=1500, count=128, seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("method", [AdaGVAE, AdaMLVAE])
def test_pairs_disentangle_what_single_images_do_not(method: Any, vae: float) -> None:
    """Three seeds: .89, .94 and .94 for Ada-GVAE; .19, .06 and .14 for the VAE, less for β = 4."""
    reached = disentanglement(train(make(method, 3), pair, steps=1500, count=64, seed=0))
    assert reached > 0.75
    assert reached > vae + 0.4


@pytest.mark.slow
def test_the_latents_of_a_group_follow_its_factor_and_no_other() -> None:
    """Three seeds: at least .96 for a group's own factor, at most .17 for another's."""
    groups = ("x", "y", "width")
    model = make(DCIGN, groups, dict.fromkeys(groups, 1))
    codes, positions = all_codes(train(model, clamped, steps=3000, count=64, seed=0))
    for latent in range(3):
        for factor in range(3):
            strength = abs(spearmanr(codes[:, latent], positions[:, factor])[0])
            assert strength > 0.9 if latent == factor else strength < 0.3
