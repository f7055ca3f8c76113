"""Training settings for transfer, and a predictor on shifted factors.

Run it with: python docs/examples/dittadi.py
Expect errors of MLP near 0.02 on the left half and 0.21 on the right, where chance has 0.27.
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
from dislab.objectives import AdaGVAE
from dislab.regularizers import KL
from dislab.transfer import Scenario, transfer_scores


def main(steps: int = 1000) -> None:
    """Train Ada-GVAE, fit predictors of the factors on the left half, and test them on the right.

    Args:
        steps: Optimiser steps.
    """
    pl.seed_everything(0, verbose=False)
    data = PairedData(GaussianBlob(places=16), k=1, batch_size=32, test=0.0, validation=0.0)
    model = AdaGVAE(
        data.image_shape,
        data.train_size,
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(128,)),  # for 128 × 128 pixels: ResidualEncoder128
        decoder=partial(MLPDecoder, hidden=(128,)),  # and ResidualDecoder128
        regularizers={"kl": partial(KL, warmup_steps=steps // 2)},  # β rises from 0
        input_noise=(0.03, 0.15),  # the encoder sees it, the decoder's target has none
        optimizer=partial(torch.optim.Adam, lr=1e-3),
        scheduler=partial(torch.optim.lr_scheduler.StepLR, step_size=steps // 2 + 1, gamma=0.5),
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    pl.Trainer(max_steps=steps, gradient_clip_val=1.0, **quiet).fit(model, data)
    states = data.indices("all")
    factors = data.factors.positions(states)
    codes = model.codes(data.images(torch.from_numpy(states)))
    shift = Scenario("right", {"posX": {"max": 0.5}}, {"posX": {"min": 0.6}}, shifted=("posX",))
    scores = transfer_scores(codes, factors, data.factors, [shift], ["Ridge", "MLP"], labels=100)
    print("Mean errors of posY, as parts of its range:\npredictor  left half  right half")
    for name in ("chance", "Ridge", "MLP"):
        left, right = (scores.values[f"right/{name}{end}"] for end in ("/in_distribution", ""))
        print(f"{name:9}  {left:9.2f}  {right:10.2f}")


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
