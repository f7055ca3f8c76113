"""Pictures of what each latent does."""

from typing import ClassVar, final

import lightning.pytorch as pl
import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from dislab import plots
from dislab.base import DataModule, Objective, Split
from dislab.callbacks._encoding import draw_states, images_of
from dislab.callbacks._latent_order import latent_order
from dislab.callbacks._picture import Picture
from dislab.callbacks._trainer import evaluating, lacks
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.settings import checks_settings


@checks_settings
@final
class Traversals(Picture):
    """Draws images decoded from codes in which one latent at a time is moved.

    One row a latent, the one with the highest KL on top; one block of columns an image, and in it
    the image's code with the latent shifted by each step, so that a shift of 0 shows the
    reconstruction. A row's label gives the latent, its KL from the prior in nats, and the factor
    that it carries most information about, with that mutual information in nats (20 equal-width
    bins, less what shuffled factors give); no factor is named for a latent with a KL of 0.01 nats
    or less.

    A method without posteriors has its codes moved instead. Bounded codes, such as a generator's,
    take all values of a categorical code and go from −1 to 1 with a continuous one; span plays no
    part then. Other codes are shifted in their standard deviations over the points, the ones that
    vary most on top.

    A method that draws from true factors gets one row a factor instead, from its first value to
    its last, in the chosen images' states; span and points play no part then.

    Every validation during training writes `images/traversals_<steps>.png` into the run folder;
    the end of training, `validate` and `test` write `images/traversals.png`; TensorBoard gets all
    of them. A method without codes or decoder is left alone.

    Args:
        images: How many images are taken apart, side by side.
        steps: How many shifts.
        span: The first and the last shift, in standard deviations of the prior, or of the codes.
        latents: How many latents are shown at most, those with the highest KL.
        split: Where images and points are drawn from: train, validation, test, or all.
        points: On how many states KL and mutual information are measured.
        batch_size: Images encoded at a time.
        seed: Decides which images and points; they stay the same throughout a run.

    Raises:
        InputError: A number is below what makes sense, or the span is empty.
    """

    name: ClassVar[str] = "traversals"

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
        check_count("images", images, 1, most=100)
        check_count("latents", latents, 1, most=1000)
        check_count("batch_size", batch_size, 1)
        check_count("steps", steps, 2, most=100)
        check_count("points", points, 1)
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

    def missing(self, module: Objective) -> str | None:
        """A decoder, and a posterior or codes, unless the method draws from true factors."""
        if not lacks(module, "render"):
            return None
        if lacks(module, "decode"):
            return "decoder"
        return None if module.has_codes or not lacks(module, "encode") else "posterior"

    def draw(self, trainer: pl.Trainer, data: DataModule, module: Objective) -> Figure:
        """One row a latent or factor, one block of columns an image."""
        if not lacks(module, "render"):
            return self._draw_factors(trainer, data, module)
        states = draw_states(data, self.split, max(self.points, self.images), self.seed)
        order = latent_order(trainer, data, module, states[: self.points], self.batch_size)
        chosen = states[: self.images]
        shown = order.latents[: self.latents]
        with evaluating(trainer, module):
            image = images_of(trainer, data, module, chosen)
            code = module.codes(image) if lacks(module, "encode") else module.encode(image).mean
            places = self._places(module, code, order.scale.to(code))
            rows = [_moved(module, code, latent, places[latent]) for latent in shown]
        width = max(row.shape[1] for row in rows)
        grid = torch.stack([_filled(row, width) for row in rows])
        bounded = not lacks(module, "code_values")
        shifts = [] if bounded else [_shift(shift) for shift in self.shifts.tolist()]
        return plots.image_grid(
            rearrange(grid, "row image step c h w -> row (image step) c h w").numpy(),
            order.labels[: self.latents],
            shifts * len(chosen),
            f"Latent traversals after {int(module.steps):,} steps",
            blocks=len(chosen),
        )

    def _places(
        self,
        module: Objective,
        code: Float[Tensor, "image latent"],
        scale: Float[Tensor, " latent"],
    ) -> list[Float[Tensor, "image step"]]:
        """Where each latent is moved to."""
        if lacks(module, "code_values"):
            shifts = self.shifts.to(code)
            return [
                column[:, None] + one * shifts for column, one in zip(code.T, scale, strict=True)
            ]
        values = module.code_values(len(self.shifts))
        values = module.code_values(max(len(one) for one in values))
        return [one.to(code).expand(len(code), -1) for one in values]

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


def _moved(
    module: Objective,
    code: Float[Tensor, "image latent"],
    latent: int,
    places: Float[Tensor, "image step"],
) -> Float[Tensor, "image step channel height width"]:
    z = code[:, None].repeat(1, places.shape[1], 1)
    z[:, :, latent] = places
    decoded = module.decode(z.flatten(0, 1)).float().cpu()
    return rearrange(decoded, "(image step) c h w -> image step c h w", image=len(code))


def _filled(
    row: Float[Tensor, "image step channel height width"], width: int
) -> Float[Tensor, "image filled channel height width"]:
    """The row with white images after its own."""
    return torch.nn.functional.pad(row, (0,) * 7 + (width - row.shape[1],), value=1.0)


def _shift(number: float) -> str:
    return f"{number:+.3g}σ".replace("-", "−") if number else "0"
