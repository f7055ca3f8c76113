"""DC-IGN: weak supervision by batches in which one group of factors varies.

Run it with: python docs/examples/dcign.py
Expect a correlation of about 0.96 in size of each latent with its own factor (seed 0, on a CPU).
"""

import logging
import warnings
from functools import partial

import lightning.pytorch as pl
import torch

from dislab.datamodules import ClampedData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import DCIGN
from dislab.regularizers import KL


def main(steps: int = 1000) -> None:
    """Train with a latent for each position, and print which factor each latent follows.

    Args:
        steps: Optimiser steps.
    """
    pl.seed_everything(0, verbose=False)
    groups = {"across": ["posX"], "down": ["posY"]}
    data = ClampedData(GaussianBlob(places=16, sigma=6.0), groups=groups, batch_size=16)
    model = DCIGN(
        data.image_shape,
        data.train_size,
        group_names=data.group_names,
        latents={"across": 1, "down": 1},  # how many latents each group gets
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        regularizers={"kl": KL},
        optimizer=partial(torch.optim.Adam, lr=3e-3),
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    pl.Trainer(max_steps=steps, **quiet).fit(model, data)
    states = data.indices("all")
    space, names = data.factors, data.factors.essential_names
    factors = space.positions(states)[:, space.essential]  # without nuisance factors
    with torch.no_grad():
        codes = model.codes(data.images(torch.from_numpy(states)))
    rows = torch.cat([codes, torch.from_numpy(factors)], dim=1).T
    chance = 1.96 / len(states) ** 0.5  # which 95 of 100 correlations of random codes do not reach
    print("Correlations of latents (rows) with", names, f"by chance below {chance:.2f}")
    print(torch.corrcoef(rows)[:2, 2:])


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
