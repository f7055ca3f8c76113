"""Composition VAE: an image with one factor of another image.

Run it with: python docs/examples/composition.py
"""

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
    data = CompositionData(GaussianBlob(places=16), batch_size=64)
    model = CompositionVAE(
        data.image_shape,
        data.action_names,  # the factors that can be copied
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        optimizer=partial(torch.optim.Adam, lr=1e-3),
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
    columns = composed.sum(dim=(1, 2)).argmax(1) - transform.sum(dim=(1, 2)).argmax(1)
    rows = composed.sum(dim=(1, 3)).argmax(1) - reference.sum(dim=(1, 3)).argmax(1)
    errors = [shift.abs().float().mean().item() for shift in (columns, rows)]
    print(f"mean error: {errors[0]:.1f} pixels across, {errors[1]:.1f} down")


if __name__ == "__main__":
    main()
