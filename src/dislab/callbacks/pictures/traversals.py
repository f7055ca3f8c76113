"""Pictures of the effect of each latent."""

from typing import ClassVar, Final, Literal, final

import lightning.pytorch as pl
import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from dislab import plots
from dislab.base import DataModule, Objective, Split
from dislab.base.inference import evaluating, images_of, lacks
from dislab.base.state_draws import draw_states
from dislab.callbacks.pictures._latent_order import Order, latent_order
from dislab.callbacks.pictures._picture import Picture
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.settings import checks_settings

Positions = Literal["shifted", "absolute"]
"""Around the code of each image, or around the centre of the prior."""

SPANS: Final[dict[Positions, tuple[float, float]]] = {
    "shifted": (-2.0, 2.0),
    "absolute": (-3.0, 3.0),
}
"""The span of each kind of positions unless one is given."""


@checks_settings
@final
class Traversals(Picture):
    """Draws images decoded from codes in which one latent at a time is moved.

    One row a latent, the one with the highest KL on top; one block of columns an image. With
    `positions: shifted` the latent is moved from the image's code by each step, so that a shift of
    0 shows the reconstruction; with `absolute` it takes the same positions for all images, as
    papers draw it.

    A row's label gives the latent, its KL from the prior in nats, and the factor that its mean
    carries most information about, with that information in nats (20 equal-width bins, less what
    shuffled factors give). The mean can carry far more than the samples that the decoder sees,
    whose information is at most the KL. So no factor is named for a latent with a KL of 0.1 nats or
    less; one with 0.01 nats or less is called dead, and its row is greyed.

    A method without posteriors has its codes moved instead. Bounded codes, such as a generator's,
    take all values of a categorical code and go from −1 to 1 with a continuous one; span and
    positions play no part then. Other codes are moved in their standard deviations over the points,
    from the image's code or from their mean, the ones that vary most on top. A code is dead that
    varies by a millionth of the one that varies most, or less; a factor is named where it varies by
    more than a hundredth.

    A method that draws from true factors gets one row a factor instead, from its first value to
    its last, in the chosen images' states; span and points play no part then.

    Every validation during training writes `images/traversals_<steps>.png` into the run folder;
    the end of training, `validate` and `test` write `images/traversals.png`; TensorBoard gets all
    of them. A method without codes or decoder is left alone.

    Args:
        images: How many images are taken apart, side by side.
        steps: How many positions.
        span: The first and the last position or shift, in standard deviations of the prior, or of
            the codes; −3 to 3 for absolute positions and −2 to 2 for shifts unless given.
        positions: `shifted` moves a latent from the code of the image, `absolute` from 0.
        latents: How many latents are shown at most, those with the highest KL.
        split: Where images and points are drawn from: train, validation, test, or all.
        points: On how many states KL and mutual information are measured.
        batch_size: Images encoded at a time.
        seed: Decides which images and points; they stay the same throughout a run.

    Raises:
        InputError: A number is too small, or the span is empty.
    """

    name: ClassVar[str] = "traversals"

    def __init__(
        self,
        images: int = 3,
        steps: int = 9,
        span: tuple[float, float] | None = None,
        positions: Positions = "shifted",
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
        span = SPANS[positions] if span is None else span
        if not -np.inf < span[0] < span[1] < np.inf:
            raise InputError(
                f"span is {tuple(span)}; it must rise from one finite number to another"
            )
        self.images = images
        self.positions: Positions = positions
        self.places = torch.linspace(*span, steps)
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
        with evaluating(module, trainer.precision_plugin):
            image = images_of(data, module, chosen, trainer.precision_plugin)
            code = module.codes(image) if lacks(module, "encode") else module.encode(image).mean
            places = self._places(module, code, order)
            rows = [_moved(module, code, latent, places[latent]) for latent in shown]
        width = max(row.shape[1] for row in rows)
        grid = torch.stack([_filled(row, width) for row in rows])
        bounded = not lacks(module, "code_values")
        heads = [] if bounded else [self._head(place) for place in self.places.tolist()]
        how = "" if bounded else f", {self.positions} positions"
        return plots.image_grid(
            rearrange(grid, "row image step c h w -> row (image step) c h w").numpy(),
            order.labels[: self.latents],
            heads * len(chosen),
            f"Latent traversals after {int(module.steps):,} steps{how}",
            blocks=len(chosen),
            faded=order.dead[: self.latents],
        )

    def _places(
        self,
        module: Objective,
        code: Float[Tensor, "image latent"],
        order: Order,
    ) -> list[Float[Tensor, "image step"]]:
        """Where each latent is moved to."""
        if lacks(module, "code_values"):
            places, scale = self.places.to(code), order.scale.to(code)
            start = code if self.positions == "shifted" else order.centre.to(code).expand_as(code)
            return [
                column[:, None] + one * places for column, one in zip(start.T, scale, strict=True)
            ]
        values = module.code_values(len(self.places))
        values = module.code_values(max(len(one) for one in values))
        return [one.to(code).expand(len(code), -1) for one in values]

    def _head(self, place: float) -> str:
        sign = "+" if self.positions == "shifted" else ""
        unit = "σ" if self.positions == "shifted" else ""
        return f"{place:{sign}.3g}{unit}".replace("-", "−") if place else "0"

    def _draw_factors(self, trainer: pl.Trainer, data: DataModule, module: Objective) -> Figure:
        states = draw_states(data, self.split, self.images, self.seed)
        positions, steps = data.factors.positions(states), len(self.places)
        fractions = np.linspace(0.0, 1.0, steps)
        varying = [factor for factor, size in enumerate(data.factors.sizes) if size > 1]
        rows = []
        for factor in varying[: self.latents]:
            moved = np.repeat(positions, steps, axis=0)
            values = np.rint(fractions * (data.factors.sizes[factor] - 1)).astype(np.int64)
            moved[:, factor] = np.tile(values, len(states))
            with evaluating(module, trainer.precision_plugin):
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
