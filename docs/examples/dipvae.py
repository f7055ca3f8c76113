"""DIP-VAE: a VAE whose latents are pushed towards zero covariance.

Run it with: python docs/examples/dipvae.py
Expect correlations below 0.1 in size off the diagonal (seed 0, on a CPU).
"""

import logging
import warnings
from functools import partial

import lightning.pytorch as pl
import torch

from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.regularizers import DIP, KL


def main(steps: int = 1000) -> None:
    """Train DIP-VAE-I and DIP-VAE-II, and print the correlations of the latents.

    Args:
        steps: Optimiser steps of each kind.
    """
    pl.seed_everything(0, verbose=False)
    data = SingleData(GaussianBlob(places=16), batch_size=64)
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    images = data.images(torch.from_numpy(data.indices("all")))
    # I: the covariance of the means is penalised; II: that of the samples.
    for kind, weights in {"I": (10.0, 100.0), "II": (10.0, 10.0)}.items():
        off_diagonal, diagonal = weights
        dip = partial(DIP, kind=kind, lambda_od=off_diagonal, lambda_d=diagonal)
        model = VAE(
            data.image_shape,
            data.train_size,
            latent_dim=4,
            encoder=partial(MLPEncoder, hidden=(128,)),
            decoder=partial(MLPDecoder, hidden=(128,)),
            regularizers={"kl": KL, "dip": dip},
            optimizer=partial(torch.optim.Adam, lr=1e-3),
        )
        pl.Trainer(max_steps=steps, **quiet).fit(model, data)
        with torch.no_grad():
            print(f"DIP-VAE-{kind}:", torch.corrcoef(model.codes(images).T), sep="\n")


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
