"""Composition VAE: an image with one factor of another image.

Run it with: python docs/examples/composition.py
Expect mean errors below 1 pixel, by chance 15 and 18 (seed 0, on a CPU, 65 s).
"""

import logging
import warnings
from functools import partial

import lightning.pytorch as pl
import torch

from dislab.datamodules import CompositionData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import CompositionVAE


def main(steps: int = 1000) -> None:
    """Train on triplets, and give images the horizontal position of others.

    Args:
        steps: Optimiser steps.
    """
    pl.seed_everything(0, verbose=False)
    data = CompositionData(GaussianBlob(places=16, sigma=6.0), batch_size=64)
    model = CompositionVAE(
        data.image_shape,
        data.action_names,  # the factors that can be copied
        latent_dim=4,
        mixing="interpolation",  # an action has a weight for each latent: 0 keeps it, 1 copies it
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        optimizer=partial(torch.optim.Adam, lr=3e-3),
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    pl.Trainer(max_steps=steps, **quiet).fit(model, data)
    states = torch.from_numpy(data.indices("all"))
    reference = data.images(states)
    transform = data.images(states.flip(0))
    action = torch.full((len(states),), data.action_names.index("posX"))
    with torch.no_grad():
        composed = model.compose(reference, transform, action)
    # The blob's column is that of the transform, its row that of the reference.
    order = torch.randperm(len(states))  # images of other places: the error by chance
    for name, wanted, dims in (("across", transform, (1, 2)), ("down", reference, (1, 3))):
        drawn, place = (images.sum(dim=dims).argmax(1) for images in (composed, wanted))
        error, chance = ((drawn - to).abs().float().mean() for to in (place, place[order]))
        print(f"mean error {name}: {error:.1f} pixels, by chance {chance:.1f}")


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
