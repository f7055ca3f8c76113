"""Pictures of what each latent does."""

from typing import ClassVar, Final, final

import lightning.pytorch as pl
import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from dislab import plots
from dislab.base import DataModule, Objective, Split
from dislab.callbacks._encoding import draw_states, images_of, over_images
from dislab.callbacks._picture import Picture
from dislab.callbacks._scoring import ACTIVE
from dislab.callbacks._trainer import Capability, evaluating, lacks
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_at_least
from dislab.functional.draws import host_generator
from dislab.functional.gaussians import kl_per_latent
from dislab.functional.mutual_information import information_gaps

BINS: Final = 20


@final
class Traversals(Picture):
    """Draws images decoded from codes in which one latent at a time is moved.

    One row a latent, the one with the highest KL on top; one block of columns an image, and in it
    the image's code with the latent shifted by each step, so that a shift of 0 shows the
    reconstruction. A row's label gives the latent, its KL from the prior in nats, and the factor
    that it carries most information about, with that mutual information in nats (20 equal-width
    bins, less what shuffled factors give); no factor is named for a latent with a KL of 0.01 nats
    or less.

    A method that draws from true factors gets one row a factor instead, from its first value to
    its last, in the chosen images' states; span and points play no part then.

    Every validation during training writes `images/traversals_<steps>.png` into the run folder;
    the end of training, `validate` and `test` write `images/traversals.png`; TensorBoard gets all
    of them. A method without posterior or decoder is left alone.

    Args:
        images: How many images are taken apart, side by side.
        steps: How many shifts.
        span: The first and the last shift, in standard deviations of the prior.
        latents: How many latents are shown at most, those with the highest KL.
        split: Where images and points are drawn from: train, validation, test, or all.
        points: On how many states KL and mutual information are measured.
        batch_size: Images encoded at a time.
        seed: Decides which images and points; they stay the same throughout a run.

    Raises:
        InputError: A number is below what makes sense, or the span is empty.
    """

    name: ClassVar[str] = "traversals"
    instead: ClassVar[tuple[Capability, ...]] = ("render",)

    def __init__(
        self,
        images: int = 3,
        steps: int = 9,
        span: tuple[float, float] = (-2.0, 2.0),
        latents: int = 20,
        split: Split = "test",
        points: int = 2_000,
        batch_size: int = 256,
        seed: int = 0,
    ) -> None:
        for name, value in (("images", images), ("latents", latents), ("batch_size", batch_size)):
            check_at_least(name, value, 1)
        check_at_least("steps", steps, 2)
        check_at_least("points", points, 1)
        if not -np.inf < span[0] < span[1] < np.inf:
            raise InputError(
                f"span is {tuple(span)}; it must rise from one finite number to another"
            )
        self.images = images
        self.shifts = torch.linspace(*span, steps)
        self.latents = latents
        self.split: Split = split
        self.points = points
        self.batch_size = batch_size
        self.seed = seed

    def draw(self, trainer: pl.Trainer, data: DataModule, module: Objective) -> Figure:
        """One row a latent or factor, one block of columns an image."""
        if not lacks(module, "render"):
            return self._draw_factors(trainer, data, module)
        states = draw_states(data, self.split, max(self.points, self.images), self.seed)
        latents, labels = self._order(trainer, data, module, states[: self.points])
        chosen = states[: self.images]
        with evaluating(trainer, module):
            code = module.encode(images_of(trainer, data, module, chosen)).mean
            rows = [self._move(module, code, latent) for latent in latents]
        grid = rearrange(torch.stack(rows), "row image step c h w -> row (image step) c h w")
        shifts = [_shift(shift) for shift in self.shifts.tolist()]
        return plots.image_grid(
            grid.numpy(),
            labels,
            shifts * len(chosen),
            f"Latent traversals after {int(module.steps):,} steps",
            blocks=len(chosen),
        )

    def _draw_factors(self, trainer: pl.Trainer, data: DataModule, module: Objective) -> Figure:
        states = draw_states(data, self.split, self.images, self.seed)
        positions, steps = data.factors.positions(states), len(self.shifts)
        fractions = np.linspace(0.0, 1.0, steps)
        varying = [factor for factor, size in enumerate(data.factors.sizes) if size > 1]
        rows = []
        for factor in varying[: self.latents]:
            moved = np.repeat(positions, steps, axis=0)
            values = np.rint(fractions * (data.factors.sizes[factor] - 1)).astype(np.int64)
            moved[:, factor] = np.tile(values, len(states))
            with evaluating(trainer, module):
                drawn = module.render(torch.from_numpy(moved).to(module.device))
            rows.append(drawn.float().cpu())
        return plots.image_grid(
            torch.stack(rows).numpy(),
            [data.factors.names[factor] for factor in varying[: self.latents]],
            [f"{fraction:.0%}" for fraction in fractions] * len(states),
            f"Factors from first to last value after {int(module.steps):,} steps",
            blocks=len(states),
        )

    def _move(
        self, module: Objective, code: Float[Tensor, "image latent"], latent: int
    ) -> Float[Tensor, "image step channel height width"]:
        z = code[:, None].repeat(1, len(self.shifts), 1)
        z[:, :, latent] += self.shifts.to(z)
        decoded = module.decode(z.flatten(0, 1)).float().cpu()
        return rearrange(decoded, "(image step) c h w -> image step c h w", image=len(code))

    def _order(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, states: Indices
    ) -> tuple[list[int], list[str]]:
        """The latents to show, and the label of each."""

        def encode(image: Tensor) -> Tensor:
            posterior = module.encode(image)
            return torch.stack((posterior.mean, kl_per_latent(*posterior)), dim=1)

        encoded = over_images(trainer, data, module, states, self.batch_size, encode).double()
        means, kl = encoded[:, 0], encoded[:, 1].mean(0)
        information = _information(means, torch.from_numpy(data.factors.positions(states)))
        most, carried = information.max(dim=1)
        latents = kl.argsort(descending=True, stable=True)[: self.latents].tolist()
        labels = [f"z{latent}  KL {kl[latent]:.2f} nats" for latent in latents]
        for row, latent in enumerate(latents):
            if kl[latent] > ACTIVE and most[latent] > 0:
                factor = data.factors.names[carried[latent]]
                labels[row] += f"  {factor} {most[latent]:.2f} nats"
        return latents, labels


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


def _shift(number: float) -> str:
    return f"{number:+.3g}σ".replace("-", "−") if number else "0"
