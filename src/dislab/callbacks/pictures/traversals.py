"""Pictures of the effect of each latent."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, final

import numpy as np
import torch
from einops import rearrange
from lightning.pytorch.plugins import Precision
from torch import Tensor

from dislab.base import DataModule, Objective, Split
from dislab.base.datamodule import draw_points, draw_states
from dislab.base.inference import evaluating, images_of, lacks, over_images
from dislab.callbacks.pictures._picture import Picture
from dislab.functional.checks import check_count
from dislab.naming.settings import checks_settings
from dislab.plots._latent_order import Order, latent_order
from dislab.plots._traversals import SPANS, Moved, Positions, check_traversal, moved
from dislab.plots.image_grid import ImageGrid

_AXES: Final[Mapping[Positions, str]] = {
    "shifted": "shift from the code of the image",
    "absolute": "position of the latent",
}


@checks_settings
@final
class Traversals(Picture):
    """Draws latent traversals: images decoded while one latent at a time varies.

    One row per latent, with the highest KL on top; one block of columns per image. With
    `positions: shifted`, the latent is shifted relative to the image's code, so that a shift of 0
    shows the reconstruction; with `absolute`, it takes the same positions for all images, as is
    common in papers.

    A row's label gives the latent, its KL from the prior in nats, and the factor of whose
    information, summed over the latents, its mean holds the largest share, if that is at least a
    quarter, with the mutual information in nats (20 equal-width bins, minus the value for shuffled
    factors). The mean can carry far more information than the samples that the decoder receives,
    whose information is at most the KL. So no factor is named for a latent with a KL of 0.1 nats or
    less; one with 0.01 nats or less is called dead, and its row is greyed out.

    For a method without posteriors, its codes are traversed instead. Bounded codes, such as a
    generator's, take all values of a categorical code and range from −1 to 1 for a continuous one;
    span and positions are then ignored. Other codes are shifted in units of their standard
    deviation over the points, from the image's code or from their mean, with the largest deviation
    on top. A code is dead if its deviation is at most a millionth of the largest; a factor is named
    if it is more than a hundredth.

    For a method that generates from true factors, there is one row per factor instead, from its
    first value to its last, with the other factors as in the chosen images; span and points are
    then ignored.

    Every validation during training writes `images/traversals_<steps>.png` into the run folder;
    the end of training, `validate` and `test` write `images/traversals.png`; TensorBoard gets all
    of them. A method without codes or decoder is skipped.

    Args:
        images: Number of images to traverse, side by side.
        steps: Number of positions.
        span: The first and the last position or shift, in standard deviations of the prior, or of
            the codes; −3 to 3 for absolute positions and −2 to 2 for shifts unless given.
        positions: `shifted` moves a latent from the code of the image, `absolute` from 0.
        latents: Maximum number of latents to show, those with the highest KL first.
        split: Split to draw images and points from: train, validation, test, or all.
        points: Number of states for estimating KL and mutual information.
        batch_size: Number of images encoded at a time.
        seed: Seed of the choice of images and points, which stay the same throughout a run.

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
        check_count("points", points, 1)
        span = SPANS[positions] if span is None else span
        check_traversal(steps, latents, batch_size, span)
        self.images = images
        self.positions: Positions = positions
        self.places = torch.linspace(*span, steps)
        self.latents = latents
        self.split: Split = split
        self.points = points
        self.batch_size = batch_size
        self.seed = seed
        self.chosen: Sequence[int] = ()
        """Numbers of the latents to show, in this order; set by `dislab draw`."""

    def missing(self, module: Objective) -> str | None:
        """A decoder, and a posterior or codes, unless the method generates from true factors."""
        if not lacks(module, "render"):
            return None
        if lacks(module, "decode"):
            return "decoder"
        return None if module.has_codes or not lacks(module, "encode") else "posterior"

    def grid(self, data: DataModule, module: Objective, precision: Precision) -> ImageGrid:
        """One row per latent or factor, one block of columns per image."""
        if not lacks(module, "render"):
            return self._factor_grid(data, module, precision)
        moves, order = self.moves(data, module, precision)
        images, how = moves.images.shape[1], f", {self.positions} positions" if moves.heads else ""
        return ImageGrid(
            rearrange(moves.images, "row image step c h w -> row (image step) c h w").numpy(),
            order.labels,
            moves.heads * images,
            f"Latent traversals after {int(module.steps):,} steps{how}",
            blocks=images,
            faded=order.dead,
            short_labels=order.names,
            axis=_AXES[self.positions] if moves.heads else "",
        )

    def moves(
        self, data: DataModule, module: Objective, precision: Precision
    ) -> tuple[Moved, Order]:
        """Images of the moved latents, and the order of these latents.

        Args:
            data: The prepared data.
            module: The method, with codes and a decoder.
            precision: Lightning's plugin for the precision of the run.

        Raises:
            InputError: A chosen latent does not exist.
        """
        states = draw_points(data, self.split, max(self.points, self.images), self.seed)
        reference = states[: self.points]

        def over(function: Callable[[Tensor], Tensor]) -> Tensor:
            return over_images(data, module, reference, self.batch_size, function, precision)

        space = data.factors
        positions = torch.from_numpy(space.positions(reference)[:, space.essential])
        order = latent_order(module, over, positions, space.essential_names)
        order = order.chosen(self.chosen or order.latents[: self.latents])
        with evaluating(module, precision):
            image = images_of(data, module, states[: self.images], precision)
            code = module.codes(image) if lacks(module, "encode") else module.encode(image).mean
            return moved(module, code, order, order.latents, self.places, self.positions), order

    def _factor_grid(self, data: DataModule, module: Objective, precision: Precision) -> ImageGrid:
        states = draw_states(data, self.split, self.images, self.seed)
        positions, steps = data.factors.positions(states), len(self.places)
        fractions = np.linspace(0.0, 1.0, steps)
        varying = [factor for factor, size in enumerate(data.factors.sizes) if size > 1]
        rows = []
        for factor in varying[: self.latents]:
            moved = np.repeat(positions, steps, axis=0)
            values = np.rint(fractions * (data.factors.sizes[factor] - 1)).astype(np.int64)
            moved[:, factor] = np.tile(values, len(states))
            with evaluating(module, precision):
                rendered = module.render(torch.from_numpy(moved).to(module.device))
            rows.append(rendered.float().cpu())
        return ImageGrid(
            torch.stack(rows).numpy(),
            [data.factors.names[factor] for factor in varying[: self.latents]],
            [f"{fraction:.0%}" for fraction in fractions] * len(states),
            f"Factors from first to last value after {int(module.steps):,} steps",
            blocks=len(states),
        )
