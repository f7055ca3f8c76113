"""Pictures of images above their reconstructions."""

from typing import ClassVar, final

import torch
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
class Reconstructions(Picture):
    """Draws some images above their reconstructions, as PNG and in TensorBoard.

    A reconstruction is the decoded mean of an image's posterior, unless the method reconstructs
    differently; a method that generates from true factors receives those of the image.

    Every validation during training writes `images/reconstructions_<steps>.png` into the run
    folder; the end of training, `validate` and `test` write `images/reconstructions.png`. A method
    without posterior or decoder is skipped.

    Args:
        count: Number of images.
        split: Split to draw images from: train, validation, test, or all.
        seed: Seed of the choice of images, which stay the same throughout a run.

    Raises:
        InputError: The number of images is below 1 or above the limit.
    """

    name: ClassVar[str] = "reconstructions"

    def __init__(self, count: int = 8, split: Split = "test", seed: int = 0) -> None:
        check_count("count", count, 1, most=100)
        self.count = count
        self.split: Split = split
        self.seed = seed

    def missing(self, module: Objective) -> str | None:
        """A posterior or a decoder, unless the method makes images in another way."""
        if not (lacks(module, "reconstruct") and lacks(module, "render")):
            return None
        if lacks(module, "encode"):
            return "posterior and no method reconstruct"
        return "decoder" if lacks(module, "decode") else None

    def grid(self, data: DataModule, module: Objective, precision: Precision) -> ImageGrid:
        """Images in the first row, reconstructions in the second."""
        states = draw_states(data, self.split, self.count, self.seed)
        with evaluating(module, precision):
            image = images_of(data, module, states, precision)
            if lacks(module, "render"):
                decoded = module.reconstruct(image)
            else:
                positions = torch.from_numpy(data.factors.positions(states))
                decoded = module.render(positions.to(image.device))
            rows = torch.stack((image.float(), decoded.float())).cpu()
        title = f"Reconstructions after {int(module.steps):,} steps"
        return ImageGrid(rows.numpy(), ("image", "reconstruction"), title=title)
