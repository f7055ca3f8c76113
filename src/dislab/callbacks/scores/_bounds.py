"""The evidence lower bound and its terms, on the states of each split."""

from collections.abc import Mapping
from typing import Final

import lightning.pytorch as pl
import torch
from torch import Tensor

from dislab.base import DataModule, Objective, Split
from dislab.base.datamodule import draw_states, drawable
from dislab.base.inference import images_of, lacks, over_images
from dislab.functional.losses import kl_per_latent, sample
from dislab.metrics.score_table import label
from dislab.runs.codes import standard_noise
from dislab.storage import text_table

SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
QUANTITIES: Final = (
    "elbo_sample",
    "elbo_mean",
    "reconstruction_sample",
    "reconstruction_mean",
    "kl",
    "explained_variance",
)
"""Quantities in nats per image, but for the explained variance of pixels, a share. `sample` and
`mean` denote the decoded latents: samples or means of the posterior. The ELBO of means is not a
bound."""


def bounds(
    trainer: pl.Trainer,
    data: DataModule,
    module: Objective,
    points: int,
    batch_size: int,
    seed: int,
) -> dict[str, float]:
    """Each quantity on each split that has states with all values, under `<quantity>_<split>`.

    Evaluated on at most `points` states of each split; 0 evaluates none. Empty for a method without
    posterior, decoder or pixel likelihood.
    """
    if not points or any(lacks(module, name) for name in ("encode", "decode", "pixel_loss")):
        return {}
    values: dict[str, float] = {}
    for split in bound_images(data, points):
        terms = _terms(trainer, data, module, split, points, batch_size, seed)
        values |= {f"{name}_{split}": value for name, value in terms.items()}
    return values


def bound_images(data: DataModule, points: int) -> dict[Split, int]:
    """How many images of each split `bounds` takes, of splits that have states with all values."""
    counts = {
        split: min(points, len(drawable(data, split)))
        for split in SPLITS
        if len(data.indices(split))
    }
    return {split: count for split, count in counts.items() if count}


def bounds_table(values: Mapping[str, float]) -> str:
    """Formats the result of `bounds`, one line per quantity, in the units of `QUANTITIES`."""
    splits = [split for split in SPLITS if f"kl_{split}" in values]
    rows = [["nats per image", *splits]]
    for name in QUANTITIES:
        of_splits = (values.get(f"{name}_{split}") for split in splits)
        numbers = ["–" if value is None else f"{value:.2f}" for value in of_splits]
        rows.append([label(f"{name}_test").removesuffix(" (test)"), *numbers])
    return "\n".join(text_table(rows, numbers=True))


def _terms(
    trainer: pl.Trainer,
    data: DataModule,
    module: Objective,
    split: Split,
    points: int,
    batch_size: int,
    seed: int,
) -> dict[str, float]:
    states = draw_states(data, split, points, seed)
    noise = standard_noise(len(states), seed)
    precision = trainer.precision_plugin
    # sums of differences from one image lose no digits of faint images, and are 0 for equal ones
    origin = images_of(data, module, states[:1], precision).double()
    sums = torch.zeros(2, *data.image_shape, dtype=torch.float64, device=module.device)

    def measure(image: Tensor) -> Tensor:
        difference = image.double() - origin
        sums.add_(torch.stack([difference.sum(0), difference.square().sum(0)]))
        mean, log_var = module.encode(image)
        z = sample(mean, log_var, noise(mean))
        decoded = [module.pixel_loss(code, image) for code in (z, mean)]
        kl = kl_per_latent(mean, log_var).sum(1).mean()
        error = (module.decode(mean) - image).double().square().flatten(1).sum(1).mean()
        terms = torch.stack([*decoded, kl, error]).double()
        return terms.expand(len(image), -1)

    terms = over_images(data, module, states, batch_size, measure, precision).mean(0)
    sampled, mean, kl, error = terms
    first, second = sums.cpu() / len(states)
    variance = (second - first.square()).sum()
    explained = 1 - error / variance if variance else 0  # equal images have nothing to explain
    values = (-sampled - kl, -mean - kl, sampled, mean, kl, explained)
    quantities = dict(zip(QUANTITIES, map(float, values), strict=True))
    if len(states) < 2:  # whose pixels have no variance
        quantities.pop("explained_variance")
    return quantities
