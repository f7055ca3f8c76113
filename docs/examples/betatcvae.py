"""β-TCVAE: the KL divergence in three parts, of which one gets the weight.

Run it with: python docs/examples/betatcvae.py
Expect a DCI disentanglement of 0.4 and a MIG of 0.2 with β = 1, 0.95 and 0.5 with β = 6 (40 s).
"""

import logging
import warnings
from functools import partial

import lightning.pytorch as pl
import numpy as np
import torch

from dislab.base import ImageBatch
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.streams import Stream
from dislab.metrics import evaluate_fully
from dislab.objectives import VAE
from dislab.regularizers import DecomposedKL


def main(steps: int = 1500) -> None:
    """Train on two squares of any brightness with two weights, and print the parts of the KL."""
    levels = np.indices((16, 16)).reshape(2, 256).T  # of brightness, the factors
    pixels = np.zeros((256, 32, 32), dtype=np.float32)
    pixels[:, 4:20, 2:18], pixels[:, 20:28, 20:28] = levels.T[..., None, None] / 15
    data = SingleData(ArrayDataset(pixels, levels, names=["large", "small"]), batch_size=64)
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    states = data.indices("train")
    factors, images = data.factors.positions(states), data.images(torch.from_numpy(states))
    batch = ImageBatch(images, torch.from_numpy(factors))
    for beta in (1.0, 6.0):
        pl.seed_everything(0, verbose=False)
        model = VAE(
            data.image_shape,
            data.train_size,
            latent_dim=6,
            encoder=partial(MLPEncoder, hidden=(128,)),
            decoder=partial(MLPDecoder, hidden=(128,)),
            regularizers={"kl": partial(DecomposedKL, beta=beta)},
            optimizer=partial(torch.optim.Adam, lr=3e-3),
        )
        pl.Trainer(max_steps=steps, **quiet).fit(model, data)
        with torch.no_grad():
            terms = model.losses(batch, model.draw(len(images), Stream(seed=0)), model.steps)
        print(f"β = {beta:g}:", {name: round(term.item(), 2) for name, term in terms.log.items()})
        scored = evaluate_fully(model.codes(images), factors, ["MIG", "DCI"], space=data.factors)
        for score in ("mig", "dci_hgbt_disentanglement"):
            print(f"{score} {scored.values[score]:.2f}, by chance {scored.chance[score]:.2f}")


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
