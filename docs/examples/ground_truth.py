"""Models of true factors: the ground-truth decoder and the bottleneck generator.

Run it with: python docs/examples/ground_truth.py
Expect losses of about 270 and 400 nats in training, but of 630 and 690 in the corner: true factors
alone do not generalise (seed 0, on a CPU, 65 s).
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
from dislab.functional.streams import Stream
from dislab.objectives import BottleneckGenerator, GroundTruthDecoder


def main(steps: int = 1000) -> None:
    """Train on all positions but one corner, and compare the losses there and elsewhere.

    Args:
        steps: Optimiser steps of each model.
    """
    pl.seed_everything(0, verbose=False)
    corner = {"posX": {"min": 0.6}, "posY": {"min": 0.6}}
    data = SingleData(GaussianBlob(places=16), batch_size=64, hold_out=corner)
    decoder = partial(MLPDecoder, hidden=(128, 128))
    adam = partial(torch.optim.Adam, lr=1e-3)
    shapes = (data.image_shape, data.factor_names, data.factor_sizes)
    models = {
        # The true factors are its code.
        "ground-truth decoder": GroundTruthDecoder(*shapes, decoder, optimizer=adam),
        # The true factors pass a noisy channel, whose capacity grows from 0.5 to 6 nats.
        "bottleneck": BottleneckGenerator(
            *shapes, decoder, gamma=100.0, capacity=6.0, steps=steps, optimizer=adam
        ),
    }
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    for name, model in models.items():
        pl.Trainer(max_steps=steps, **quiet).fit(model, data)
        for split in ("train", "test"):  # the test split is the corner
            states = data.indices(split)
            factors = torch.from_numpy(data.factors.positions(states))
            batch = ImageBatch(data.images(torch.from_numpy(states)), factors)
            with torch.no_grad():
                terms = model.losses(batch, model.draw(len(states), Stream(0)), model.steps)
            print(name, split, {key: round(term.item(), 1) for key, term in terms.log.items()})


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
