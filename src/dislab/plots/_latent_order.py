"""Order and labels of the latents in a picture."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from dislab.base.inference import lacks
from dislab.base.objective import Objective
from dislab.codes.latent_order import LatentOrder, nats, order_by_kl, order_by_spread
from dislab.errors import InputError
from dislab.functional.losses import kl_per_latent
from dislab.plots._panels import two_lines


class Order(NamedTuple):
    """Latents in order, from the most to the least informative one.

    Attributes:
        latents: Numbers of the latents.
        labels: Name and content of each latent.
        names: Name of each latent and of the factors that it carries, in at most two lines.
        dead: Whether each latent carries no information, in the order of `latents`.
        centre: Position 0 of every latent of the method, in the unit of its codes.
        scale: Standard deviation of every latent of the method, in the unit of its codes.
    """

    latents: list[int]
    labels: list[str]
    names: list[str]
    dead: list[bool]
    centre: Tensor
    scale: Tensor

    def chosen(self, latents: Sequence[int]) -> "Order":
        """Only some latents, in a given order.

        Args:
            latents: Their numbers.

        Raises:
            InputError: A latent does not exist.
        """
        for latent in latents:
            if latent not in self.latents:
                count = len(self.latents)
                raise InputError(
                    f"latent {latent} does not exist; latents are numbered 0 to {count - 1}"
                )
        rows = [self.latents.index(latent) for latent in latents]
        return self._replace(
            latents=list(latents),
            labels=[self.labels[row] for row in rows],
            names=[self.names[row] for row in rows],
            dead=[self.dead[row] for row in rows],
        )


def latent_order(
    module: Objective,
    over: Callable[[Callable[[Tensor], Tensor]], Tensor],
    positions: Int[Tensor, "point factor"],
    names: Sequence[str],
) -> Order:
    """Orders latents by KL or, without posteriors, by the deviation of their codes over images.

    Bounded codes keep their order.

    Args:
        module: The method.
        over: Applies a function of images to all points, and returns its results on the CPU.
        positions: Factors of the points; without columns if they are unknown.
        names: Names of the factors.
    """
    if lacks(module, "encode"):
        codes = over(module.codes).double()
        bounded = not lacks(module, "code_values")
        order = order_by_spread(codes, positions, bounded)
        labels = [
            f"z{latent}  std {amount:.2g}" for latent, amount in enumerate(order.amount.tolist())
        ]
        if bounded:
            labels = [_bounds(f"c{i}", values) for i, values in enumerate(module.code_values(2))]
        return _labelled(order, labels, names, "")

    def encode(image: Tensor) -> Tensor:
        posterior = module.encode(image)
        return torch.stack((posterior.mean, kl_per_latent(*posterior)), dim=1)

    encoded = over(encode).double()
    order = order_by_kl(encoded[:, 0], encoded[:, 1].mean(0), positions)
    labels = [
        f"z{latent}  KL {nats(amount)} nats" for latent, amount in enumerate(order.amount.tolist())
    ]
    return _labelled(order, labels, names, " in the mean")


def _labelled(order: LatentOrder, labels: list[str], names: Sequence[str], where: str) -> Order:
    texts, short = [], []
    for latent in order.latents:
        carried, name = order.carried[latent], labels[latent].split()[0]
        factors = [factor for factor, main in enumerate(order.main) if main == latent]
        if carried is not None and len(factors) < 2:
            factors = [carried.factor]
        is_own = carried is not None and carried.is_own
        text = ", ".join(f"{'' if is_own else 'partly '}{names[factor]}" for factor in factors)
        told = ", ".join(f"{order.information[latent, factor]:.2f}" for factor in factors)
        content = f"  {text} {told} nats{where}" if factors else ""
        texts.append(labels[latent] + ("  dead" if order.dead[latent] else content))
        short.append(two_lines(f"{name} {text}"))
    dead = [order.dead[latent] for latent in order.latents]
    return Order(order.latents, texts, short, dead, order.centre, order.scale)


def _bounds(name: str, values: Tensor) -> str:
    first, last = (f"{value:g}".replace("-", "−") for value in (values[0], values[-1]))
    return f"{name}  {first} … {last}"
