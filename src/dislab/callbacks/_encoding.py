"""Draws states from a data module, and encodes their images."""

from collections.abc import Callable
from typing import NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import DataModule, Objective, Split
from dislab.base.inference import over_images
from dislab.base.state_draws import drawable
from dislab.codes.splits import TEST_FRACTION, train_count
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.losses import kl_per_latent, sample
from dislab.functional.random import host_generator
from dislab.functional.streams import Stream
from dislab.runs.codes import codes_of


class Encoding(NamedTuple):
    """Codes of drawn states, on the CPU.

    Attributes:
        codes: In float32, shape (point, latent).
        factors: Positions, shape (point, factor).
        kl: KL of each latent's posterior from the prior in nats, averaged over the points, shape
            (latent,); None for a method without posteriors.
    """

    codes: Tensor
    factors: Tensor
    kl: Tensor | None


def split_with_states(data: DataModule, split: Split) -> Split:
    """The given split, or `all` if it has no states."""
    return split if len(data.indices(split)) else "all"


def draw_correlated(data: DataModule, split: Split, points: int, seed: int) -> Indices:
    """Draws state numbers from a split with replacement, with the probabilities of training.

    The states are first partitioned at random: the first two thirds of the draws come from two
    thirds of the states, the rest from the others, so that a score fitted on the former and tested
    on the latter never sees an image in both. A split with fewer than `points` states gives fewer
    numbers. Rejects data without correlation, or with only one likely state.
    """
    states = drawable(data, split)
    weights = data.likelihoods(states)
    if weights is None:
        raise InputError(
            "evaluate.distribution is correlated, but the data are not; set data.correlation, or "
            "distribution to uniform"
        )
    likely = np.flatnonzero(weights)
    if len(likely) < 2:
        raise InputError(
            "one state alone is likely under data.correlation, and scores learn from some and are "
            "tested on others; raise its strength, or set evaluate.distribution to uniform"
        )
    generator = host_generator(seed)
    count, order = min(points, len(states)), generator.permutation(likely)
    parts = np.split(order, [train_count(len(order), TEST_FRACTION)])
    train = train_count(count, TEST_FRACTION)
    rows = [
        generator.choice(part, size=size, p=weights[part] / weights[part].sum())
        for part, size in zip(parts, (train, count - train), strict=True)
    ]
    indices: Indices = states[np.concatenate(rows)]
    return indices


def standard_noise(points: int, seed: int) -> Callable[[Tensor], Tensor]:
    """Standard normal noise for `points` rows in order, independent of the batch size."""
    numbers: Tensor | None = None
    start = 0

    def following(like: Tensor) -> Tensor:
        nonlocal numbers, start
        if numbers is None:
            numbers = Stream(seed).normal("sampled codes", points, like.shape[1])
        rows = numbers[start : start + len(like)]
        start += len(like)
        return rows.to(like)

    return following


def sample_states(
    trainer: pl.Trainer,
    data: DataModule,
    module: Objective,
    states: Indices,
    batch_size: int,
    seed: int,
) -> Encoding:
    """Samples of the posteriors of states, which depend on the seed but not on the batch size."""
    sums: list[Tensor] = []
    noise = standard_noise(len(states), seed)

    def encode(image: Tensor) -> Float[Tensor, "batch latent"]:
        posterior = module.encode(image)
        sums.append(kl_per_latent(*posterior).cpu().double().sum(0))
        return sample(*posterior, noise(posterior.mean)).float()

    codes = over_images(data, module, states, batch_size, encode, trainer.precision_plugin)
    kl = torch.stack(sums).sum(0) / len(states)
    return Encoding(codes, torch.from_numpy(data.factors.positions(states)), kl)


def encode_states(
    trainer: pl.Trainer,
    data: DataModule,
    module: Objective,
    states: Indices,
    batch_size: int,
    with_kl: bool = True,
) -> Encoding:
    """Codes, factors and, unless `with_kl` is false, the KL of the posteriors of states."""
    precision = trainer.precision_plugin
    codes, kl = codes_of(data, module, states, batch_size, precision, with_kl)
    return Encoding(codes, torch.from_numpy(data.factors.positions(states)), kl)
