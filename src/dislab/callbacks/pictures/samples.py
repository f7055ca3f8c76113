"""Pictures of samples from the prior of a method."""

from typing import ClassVar, final

from einops import rearrange
from lightning.pytorch.plugins import Precision

from dislab.base import DataModule, Objective
from dislab.base.inference import evaluating, images_of, lacks
from dislab.callbacks.pictures._picture import Picture
from dislab.functional.checks import check_count
from dislab.naming.settings import checks_settings
from dislab.plots.image_grid import ImageGrid


@checks_settings
@final
class Samples(Picture):
    """Draws images decoded from latents sampled from the prior, as PNG and in TensorBoard.

    The prior is standard normal, or the method's own: noise and codes of a generator, or the noise
    of the bottleneck of `BottleneckGenerator`.

    Every validation during training writes `images/samples_<steps>.png` into the run folder; the
    end of training, `validate` and `test` write `images/samples.png`. A method without decoder or
    prior is skipped.

    Args:
        rows: Number of rows of images.
        columns: Number of images per row.
        seed: Seed of the latents, which stay the same throughout a run.

    Raises:
        InputError: `rows` or `columns` is below 1 or above 100.
    """

    name: ClassVar[str] = "samples"

    def __init__(self, rows: int = 4, columns: int = 8, seed: int = 0) -> None:
        check_count("rows", rows, 1, most=100)
        check_count("columns", columns, 1, most=100)
        self.rows = rows
        self.columns = columns
        self.seed = seed

    def missing(self, module: Objective) -> str | None:
        """A decoder, or a prior."""
        if not lacks(module, "generate"):
            return None
        if lacks(module, "decode"):
            return "decoder"
        return "prior" if lacks(module, "encode") else None

    def grid(self, data: DataModule, module: Objective, precision: Precision) -> ImageGrid:
        """Rows and columns of images."""
        count = self.rows * self.columns
        stream = module.prior_stream(self.seed)
        with evaluating(module, precision):
            if lacks(module, "generate"):
                first = images_of(data, module, data.indices("all")[:1], precision)
                latents = module.encode(first).mean.shape[1]
                image = module.decode(stream.normal("latents", count, latents))
            else:
                image = module.generate(count, stream)
        grid = rearrange(image.float().cpu(), "(row column) ... -> row column ...", row=self.rows)
        title = f"Samples after {int(module.steps):,} steps"
        return ImageGrid(grid.numpy(), title=title)
