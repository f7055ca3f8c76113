"""Which latents a picture shows, in which order, and what it says of each."""

from typing import Final, NamedTuple

import lightning.pytorch as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import DataModule, Objective
from dislab.callbacks._encoding import over_images
from dislab.callbacks._scoring import ACTIVE
from dislab.callbacks._trainer import lacks
from dislab.factors import Indices
from dislab.functional.draws import host_generator
from dislab.functional.gaussians import kl_per_latent
from dislab.functional.mutual_information import information_gaps

BINS: Final = 20


class Order(NamedTuple):
    """Latents from the most to the least telling one.

    Attributes:
        latents: Their numbers.
        labels: What each is and carries.
        scale: What a shift of one standard deviation is, for every latent of the method.
    """

    latents: list[int]
    labels: list[str]
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
        spread = codes.std(0, correction=0)
        if lacks(module, "code_values"):
            latents = spread.argsort(descending=True, stable=True).tolist()
            labels = [f"z{latent}  std {spread[latent]:.2g}" for latent in latents]
        else:
            latents = list(range(codes.shape[1]))
            labels = [_bounds(f"c{i}", values) for i, values in enumerate(module.code_values(2))]
        known = _carried(codes, positions, data.factors.names, spread > 0)
        return Order(latents, _joined(latents, labels, known), spread)

    def encode(image: Tensor) -> Tensor:
        posterior = module.encode(image)
        return torch.stack((posterior.mean, kl_per_latent(*posterior)), dim=1)

    encoded = over_images(trainer, data, module, states, batch_size, encode).double()
    means, kl = encoded[:, 0], encoded[:, 1].mean(0)
    latents = kl.argsort(descending=True, stable=True).tolist()
    labels = [f"z{latent}  KL {kl[latent]:.2f} nats" for latent in latents]
    known = _carried(means, positions, data.factors.names, kl > ACTIVE)
    return Order(latents, _joined(latents, labels, known), torch.ones_like(kl))


def _joined(latents: list[int], labels: list[str], known: list[str]) -> list[str]:
    return [label + known[latent] for latent, label in zip(latents, labels, strict=True)]


def _bounds(name: str, values: Tensor) -> str:
    first, last = (f"{value:g}".replace("-", "−") for value in (values[0], values[-1]))
    return f"{name}  {first} … {last}"


def _carried(
    codes: Float[Tensor, "point latent"],
    positions: Int[Tensor, "point factor"],
    names: tuple[str, ...],
    active: Tensor,
) -> list[str]:
    """The factor that each latent tells most about, if any."""
    most, factor = _information(codes, positions).max(dim=1)
    return [
        f"  {names[factor[latent]]} {most[latent]:.2f} nats" if told else ""
        for latent, told in enumerate((active & (most > 0)).tolist())
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
