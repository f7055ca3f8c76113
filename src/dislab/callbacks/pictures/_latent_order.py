"""Which latents a picture shows, in which order, and what it says of each."""

from typing import Final, NamedTuple

import lightning.pytorch as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.base import DataModule, Objective
from dislab.base.inference import lacks
from dislab.callbacks._encoding import over_images
from dislab.callbacks.scores._scoring import ACTIVE
from dislab.codes.information import information_gaps
from dislab.factors import Indices
from dislab.functional.gaussians import kl_per_latent
from dislab.functional.random import host_generator

BINS: Final = 20
NAMED: Final = 0.1
"""From how many nats of KL a latent's label names a factor.

A sample of a latent carries no more information than its KL, however much its mean carries."""
STILL: Final = 1e-6
"""Up to which share of the largest standard deviation a code without a posterior is dead."""
NAMED_SPREAD: Final = 0.01
"""From which share of the largest standard deviation such a code's label names a factor."""


class Order(NamedTuple):
    """Latents from the most to the least telling one.

    Attributes:
        latents: Their numbers.
        labels: What each is and carries.
        dead: Whether each carries nothing, in the order of `latents`.
        centre: Position 0 of every latent of the method, in the unit of its codes.
        scale: One standard deviation of every latent of the method, likewise.
    """

    latents: list[int]
    labels: list[str]
    dead: list[bool]
    centre: Tensor
    scale: Tensor


def latent_order(
    trainer: pl.Trainer, data: DataModule, module: Objective, states: Indices, batch_size: int
) -> Order:
    """The latents by their KL; of a method without posteriors by their spread over the images.

    Bounded codes stay in their own order.

    Args:
        trainer: The trainer at work.
        data: Where images come from.
        module: The objective, which has posteriors or codes.
        states: On which states the order is found.
        batch_size: Images at a time.
    """
    positions = torch.from_numpy(data.factors.positions(states))
    if lacks(module, "encode"):
        codes = over_images(trainer, data, module, states, batch_size, module.codes).double()
        centre, spread = codes.mean(0), codes.std(0, correction=0)
        if lacks(module, "code_values"):
            latents = spread.argsort(descending=True, stable=True).tolist()
            labels = {latent: f"z{latent}  std {spread[latent]:.2g}" for latent in latents}
        else:
            latents = list(range(codes.shape[1]))
            labels = {i: _bounds(f"c{i}", values) for i, values in enumerate(module.code_values(2))}
        dead, named = spread <= STILL * spread.max(), spread > NAMED_SPREAD * spread.max()
        known = _carried(codes, positions, data.factors.names, dead, named, "")
        return _ordered(latents, labels, known, dead, centre, spread)

    def encode(image: Tensor) -> Tensor:
        posterior = module.encode(image)
        return torch.stack((posterior.mean, kl_per_latent(*posterior)), dim=1)

    encoded = over_images(trainer, data, module, states, batch_size, encode).double()
    means, kl = encoded[:, 0], encoded[:, 1].mean(0)
    latents = kl.argsort(descending=True, stable=True).tolist()
    labels = {latent: f"z{latent}  KL {kl[latent]:.2f} nats" for latent in latents}
    dead, named = kl <= ACTIVE, kl > NAMED
    known = _carried(means, positions, data.factors.names, dead, named, " in the mean")
    return _ordered(latents, labels, known, dead, torch.zeros_like(kl), torch.ones_like(kl))


def _ordered(
    latents: list[int],
    labels: dict[int, str],
    known: list[str],
    dead: Bool[Tensor, " latent"],
    centre: Float[Tensor, " latent"],
    scale: Float[Tensor, " latent"],
) -> Order:
    texts = [labels[latent] + known[latent] for latent in latents]
    return Order(latents, texts, dead[latents].tolist(), centre, scale)


def _bounds(name: str, values: Tensor) -> str:
    first, last = (f"{value:g}".replace("-", "−") for value in (values[0], values[-1]))
    return f"{name}  {first} … {last}"


def _carried(
    codes: Float[Tensor, "point latent"],
    positions: Int[Tensor, "point factor"],
    names: tuple[str, ...],
    dead: Bool[Tensor, " latent"],
    named: Bool[Tensor, " latent"],
    where: str,
) -> list[str]:
    """The factor that each latent carries most information about, if it is active enough."""
    most, factor = _information(codes, positions).max(dim=1)
    known = (named & (most > 0)).tolist()
    return [
        "  dead"
        if dead[latent]
        else f"  {names[factor[latent]]} {most[latent]:.2f} nats{where}"
        if known[latent]
        else ""
        for latent in range(codes.shape[1])
    ]


def _information(
    codes: Float[Tensor, "point latent"], factors: Int[Tensor, "point factor"]
) -> Float[Tensor, "latent factor"]:
    """Mutual information in nats, less what the same codes share with shuffled factors.

    A few thousand points share some information with any factor by chance, and more with one of
    many values. A code that is not finite counts as 0.
    """
    codes = codes.where(codes.isfinite(), 0.0)
    shuffled = factors[torch.from_numpy(host_generator(0).permutation(len(factors)))]
    found = information_gaps(codes, factors, BINS).mutual_information
    return (found - information_gaps(codes, shuffled, BINS).mutual_information).clamp(min=0.0)
