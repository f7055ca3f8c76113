"""SCAN: words grounded in the latents of a trained VAE.

Run it with: python docs/examples/scan.py
Expect SCAN to give the word posX=low to images drawn for it with probability 0.65, to all images
with 0.34, and to prefer no half of posY (seed 0, on a CPU, 55 s).
"""

import logging
import warnings
from functools import partial
from pathlib import Path

import lightning.pytorch as pl
import torch

from dislab.datamodules import SingleData, SymbolData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.streams import Stream
from dislab.objectives import SCAN, VAE
from dislab.regularizers import KL


def main(steps: int = 1000) -> None:
    """Train a VAE, then SCAN on descriptions of its images, and draw images of a concept."""
    pl.seed_everything(0, verbose=False)
    blobs = GaussianBlob(places=16, sigma=6.0)
    adam = partial(torch.optim.Adam, lr=3e-3)
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    images = SingleData(blobs, batch_size=64)
    vision = VAE(
        images.image_shape,
        images.train_size,
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        regularizers={"kl": KL},
        optimizer=adam,
    )
    trainer = pl.Trainer(max_steps=steps, **quiet)
    trainer.fit(vision, images)
    trainer.save_checkpoint("vision.ckpt")
    data = SymbolData(blobs, parts=2, batch_size=16)  # of halves, such as posX=low and posX=high
    model = SCAN(data.image_shape, data.symbol_names, "vision.ckpt", optimizer=adam)
    pl.Trainer(max_steps=steps, **quiet).fit(model, data)
    concept = torch.eye(len(data.symbol_names))[[0] * 64]  # says nothing about the other factor
    drawn = model.sym2img(concept, model.draw(64, Stream(seed=0)))
    states = torch.from_numpy(images.indices("all"))
    shown = {f"drawn for {data.symbol_names[0]}": drawn, "all images": images.images(states)}
    for name, part in shown.items():  # the words that SCAN gives to them
        print(name, dict(zip(data.symbol_names, model.img2sym(part).mean(0).tolist(), strict=True)))
    Path("vision.ckpt").unlink()


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
