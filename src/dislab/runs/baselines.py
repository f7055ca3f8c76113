"""Baselines without training, for comparison with trained models."""

from collections.abc import Sequence
from typing import Final, Literal, NoReturn, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.plugins import Precision
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from dislab.base import DataModule, Draws, ImageBatch, Objective
from dislab.base.inference import over_images
from dislab.factors import Indices
from dislab.functional.random import mix
from dislab.functional.streams import Stream
from dislab.runs.models import rebuild

Baseline = Literal["pixels", "pca"]
"""Baselines: grey pixels averaged over a grid of 8×8; one principal component per latent."""

GRID: Final = 8
"""Maximum number of grid cells per side of the pixel baseline."""
IMAGES: Final = 1000
"""Maximum number of images to compute principal components from."""


class _Fixed(Objective):
    """Codes without training."""

    def draw(self, count: int, stream: Stream) -> Draws:
        """Draws no random numbers."""
        return {}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> NoReturn:
        """Raises an error, as there is nothing to train."""
        raise NotImplementedError


@final
class _Pixels(_Fixed):
    """Pixels, averaged over channels and cells."""

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """One code per cell."""
        height, width = (min(GRID, side) for side in image.shape[-2:])
        return adaptive_avg_pool2d(image.float().mean(1, keepdim=True), (height, width)).flatten(1)


@final
class _Components(_Fixed):
    """Principal components of pixels."""

    def __init__(
        self, centre: Float[Tensor, " pixel"], axes: Float[Tensor, "pixel latent"]
    ) -> None:
        super().__init__()
        self.register_buffer("centre", centre)
        self.register_buffer("axes", axes)

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Coordinates of the images along the components, for pixels in [0, 1]."""
        rows = image.float().flatten(1)
        return (rows - self.get_buffer("centre")) @ self.get_buffer("axes")


def baselines(
    chosen: Sequence[Baseline],
    data: DataModule,
    module: Objective,
    states: Indices,
    batch_size: int,
    precision: Precision,
) -> dict[str, Objective]:
    """The chosen baselines by name, on the device of the method.

    As many principal components as the method has latents are computed from the first states.
    """
    models: dict[str, Objective] = {}
    for name in chosen:
        if name == "pixels":
            models[name] = _Pixels()
            continue
        seen = states[:IMAGES]
        example = over_images(data, module, states[:1], 1, module.codes, precision)
        rows = over_images(data, module, seen, batch_size, _rows, precision)
        models[name] = _Components(*_principal(rows.double(), example.shape[1]))
    return {name: example.to(module.device, module.dtype) for name, example in models.items()}


def untrained(module: Objective, count: int, seed: int) -> tuple[list[int], list[Objective]]:
    """Copies of a method, on its device, with fresh weights from the returned seeds."""
    seeds = [mix(seed, index) for index in range(count)]
    copies = []
    for model_seed in seeds:
        # Weights are initialised on the CPU: only its generator is seeded, and restored afterwards.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(model_seed)
            copies.append(rebuild(module).to(module.device, module.dtype))
    return seeds, copies


def _rows(image: Tensor) -> Tensor:
    return image.flatten(1)


def _principal(
    rows: Float[Tensor, "image pixel"], count: int
) -> tuple[Float[Tensor, " pixel"], Float[Tensor, "pixel latent"]]:
    """Mean and principal directions of the rows; directions beyond their rank are zeros."""
    centre = rows.mean(0)
    centred = rows - centre
    variances, combinations = torch.linalg.eigh(centred @ centred.T)
    components = variances.argsort(descending=True)[:count]
    components = components[variances[components] > 1e-9 * variances.max()]
    axes = centred.T @ combinations[:, components] / variances[components].sqrt()
    padded = torch.zeros(rows.shape[1], count, dtype=rows.dtype)
    padded[:, : len(components)] = axes
    return centre.float(), padded.float()
