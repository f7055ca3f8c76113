"""QLAE: an autoencoder whose latents each take one of a few learned values.

Run it with: pip install -e plugins/dislab-qlae, then python docs/examples/qlae.py
Expect InfoM, InfoC and InfoE of about 0.29, 0.17 and 0.65, by chance 0.05, 0.02 and 0.37: above
chance, but far from 1 after so few steps (seed 0, on a CPU, 35 s).
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
from dislab.metrics import InfoMEC, evaluate_fully
from dislab_qlae import QLAE


def main(steps: int = 1000) -> None:
    """Train on images of a blob, and print the values of the latents and the paper's scores.

    Args:
        steps: Optimiser steps.
    """
    pl.seed_everything(0, verbose=False)
    data = SingleData(GaussianBlob(places=16), batch_size=64)
    model = QLAE(
        data.image_shape,
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        values=8,
        optimizer=partial(torch.optim.AdamW, lr=1e-3, weight_decay=0.1),
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    pl.Trainer(max_steps=steps, **quiet).fit(model, data)
    states = data.indices("all")
    factors = data.factors.positions(states)
    with torch.no_grad():
        codes = model.codes(data.images(torch.from_numpy(states)))
    for latent, values in enumerate(codes.T):
        print(f"z{latent} takes", [round(value, 2) for value in values.unique().tolist()])
    scores = {"infomec": partial(InfoMEC, estimator="discrete")}
    scored = evaluate_fully(codes, factors, scores, space=data.factors)
    print(scored.values, "by chance", scored.chance)


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
