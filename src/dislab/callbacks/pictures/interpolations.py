"""Pictures of interpolations between two images."""

from typing import ClassVar, final

import torch
from einops import rearrange
from lightning.pytorch.plugins import Precision

from dislab.base import DataModule, Objective, Split
from dislab.base.datamodule import draw_states
from dislab.base.inference import evaluating, images_of, lacks
from dislab.callbacks.pictures._picture import Picture
from dislab.functional.checks import check_count
from dislab.naming.settings import checks_settings
from dislab.plots.image_grid import ImageGrid


@checks_settings
@final
class Interpolations(Picture):
    """Draws images decoded along the straight line between the codes of two images.

    One row per pair, with the original images at its ends. A categorical code of a generator
    passes through the values in between. If only one image is available, it is at both ends.

    Every validation during training writes `images/interpolations_<steps>.png` into the run
    folder; the end of training, `validate` and `test` write `images/interpolations.png`. A method
    without codes or decoder is skipped.

    Args:
        pairs: Number of pairs of images.
        steps: Number of codes on each line, including both ends.
        split: Split to draw images from: train, validation, test, or all.
        seed: Seed of the choice of images, which stay the same throughout a run.

    Raises:
        InputError: A number is too small.
    """

    name: ClassVar[str] = "interpolations"

    def __init__(
        self, pairs: int = 4, steps: int = 9, split: Split = "test", seed: int = 0
    ) -> None:
        check_count("pairs", pairs, 1, most=100)
        check_count("steps", steps, 2, most=100)
        self.pairs = pairs
        self.fractions = torch.linspace(0.0, 1.0, steps)
        self.split: Split = split
        self.seed = seed

    def missing(self, module: Objective) -> str | None:
        """Codes, or a decoder."""
        if not module.has_codes:
            return "codes"
        return "decoder" if lacks(module, "decode") else None

    def grid(self, data: DataModule, module: Objective, precision: Precision) -> ImageGrid:
        """One row per pair: the first image, the decoded codes, the second image."""
        states = draw_states(data, self.split, 2 * self.pairs, self.seed)
        half = (len(states) + 1) // 2
        with evaluating(module, precision):
            image = images_of(data, module, states, precision)
            code = module.codes(image)
            first, second = code[:half], code[-half:]
            fraction = self.fractions.to(code)[None, :, None]
            z = first[:, None] + fraction * (second - first)[:, None]
            decoded = module.decode(z.flatten(0, 1)).float()
        steps = rearrange(decoded, "(pair step) ... -> pair step ...", pair=half)
        ends = image.float()
        row = torch.cat((ends[:half, None], steps, ends[-half:, None]), dim=1)
        between = [f"{fraction:.0%}" for fraction in self.fractions.tolist()]
        return ImageGrid(
            row.cpu().numpy(),
            column_labels=["image", *between, "image"],
            title=f"Interpolations after {int(module.steps):,} steps",
        )
