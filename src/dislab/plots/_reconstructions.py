"""Images above their reconstructions."""

import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch.plugins import Precision
from matplotlib.figure import Figure
from torch import Tensor

from dislab.base.inference import evaluating
from dislab.base.objective import Objective
from dislab.functional.checks import check_count
from dislab.naming.settings import checks_arguments
from dislab.plots._traversals import pixels_of
from dislab.plots.image_grid import image_grid


@checks_arguments
def reconstructions(
    model: Objective,
    images: npt.NDArray[np.floating] | npt.NDArray[np.uint8] | Tensor,
    title: str = "",
) -> Figure:
    """Figure of images above their reconstructions, as the callback `Reconstructions` draws them.

    Save the figure with `dislab.plots.save` as PNG, PDF or SVG.

    Args:
        model: A method with a posterior and a decoder, such as `load_run` returns.
        images: At most 100 images, shape (image, channel, height, width): pixels in [0, 1], or
            bytes.
        title: Title above the figure.

    Raises:
        InputError: There are no images or too many, they do not match the model, or the method
            has no posterior or no decoder.
    """
    pixels = pixels_of(model, images)
    check_count("images", len(pixels), 1, most=100)
    with evaluating(model, Precision()):
        decoded = model.reconstruct(pixels.to(model.device))
    rows = torch.stack((pixels.float(), decoded.float().cpu()))
    return image_grid(rows.numpy(), ("image", "reconstruction"), title=title)
