"""Ada-GVAE and Ada-ML-VAE: weak supervision by pairs of images.

Run it with: python docs/examples/adagvae.py
Expect a MIG of about 0.8 for both methods (seed 0, on a CPU), far above chance.
"""

import logging
import warnings
from functools import partial

import lightning.pytorch as pl
import torch

from dislab.datamodules import PairedData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.metrics import evaluate_fully
from dislab.objectives import AdaGVAE, AdaMLVAE
from dislab.regularizers import KL


def main(steps: int = 1000) -> None:
    """Train on pairs that differ in one factor, and print a score of the codes beside chance.

    Args:
        steps: Optimiser steps of each method.
    """
    pl.seed_everything(0, verbose=False)
    # The methods do not learn which factor differs, only that k = 1 does.
    data = PairedData(
        GaussianBlob(places=16, sigma=6.0), k=1, batch_size=32, test=0.0, validation=0.0
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    states = data.indices("all")
    factors = data.factors.positions(states)
    images = data.images(torch.from_numpy(states))
    for method in (AdaGVAE, AdaMLVAE):
        model = method(
            data.image_shape,
            data.train_size,
            latent_dim=2,
            encoder=partial(MLPEncoder, hidden=(128,)),
            decoder=partial(MLPDecoder, hidden=(128,)),
            regularizers={"kl": KL},
            optimizer=partial(torch.optim.Adam, lr=3e-3),
        )
        pl.Trainer(max_steps=steps, **quiet).fit(model, data)
        scored = evaluate_fully(model.codes(images), factors, ["MIG"], space=data.factors)
        mig, chance = scored.values["mig"], scored.chance["mig"]
        print(f"{method.__name__}: MIG {mig:.2f}, by chance {chance:.2f}")


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
