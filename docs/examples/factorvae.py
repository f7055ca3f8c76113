"""FactorVAE: a VAE whose discriminator estimates the total correlation of the codes.

Run it with: python docs/examples/factorvae.py
Expect a MIG of about 0.1 (seed 0, on a CPU), above chance, which is near 0.
"""

import logging
import warnings
from functools import partial

import lightning.pytorch as pl
import torch

from dislab.base import ImageBatch
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.streams import Stream
from dislab.metrics import evaluate_fully
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation


def main(steps: int = 1000) -> None:
    """Train on images of a blob, and print the parts of the loss and a score.

    Args:
        steps: Optimiser steps.
    """
    pl.seed_everything(0, verbose=False)
    data = SingleData(GaussianBlob(places=16), batch_size=64)
    model = VAE(
        data.image_shape,
        data.train_size,
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        regularizers={"kl": KL, "tc": partial(TotalCorrelation, gamma=10.0, width=100)},
        optimizer=partial(torch.optim.Adam, lr=1e-3),
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    pl.Trainer(max_steps=steps, **quiet).fit(model, data)
    states = data.indices("all")
    factors = data.factors.positions(states)
    images = data.images(torch.from_numpy(states))
    batch = ImageBatch(images, torch.from_numpy(factors))
    with torch.no_grad():
        terms = model.losses(batch, model.draw(len(images), Stream(seed=0)), model.steps)
    # tc/discriminator_accuracy near one half: the codes look like codes with shuffled latents.
    print({name: round(term.item(), 2) for name, term in terms.log.items()})
    scored = evaluate_fully(model.codes(images), factors, ["MIG"], space=data.factors)
    print(f"MIG {scored.values['mig']:.2f}, by chance {scored.chance['mig']:.2f}")


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
