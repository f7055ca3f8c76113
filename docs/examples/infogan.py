"""InfoGAN: a generator whose codes can be read from its images.

Run it with: python docs/examples/infogan.py
Expect correlations of about 0.98 in size of each code with one square and of at most 0.2 with the
other, by chance below 0.12 (seed 0, on a CPU, 55 s); seeds 1 and 2 mix them more, up to 0.65.
"""

import logging
import warnings
from functools import partial
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import torch

from dislab import plots
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import InfoGAN


def main(steps: int = 2000) -> None:
    """Train with two codes on two squares of any brightness, and draw what each code changes."""
    pl.seed_everything(0, verbose=False)
    levels = np.indices((16, 16)).reshape(2, 256).T  # of brightness, the factors
    pixels = np.zeros((256, 32, 32), dtype=np.float32)
    pixels[:, 4:20, 2:18], pixels[:, 20:28, 20:28] = levels.T[..., None, None] / 15
    data = SingleData(ArrayDataset(pixels, levels, names=["large", "small"]), batch_size=64)
    model = InfoGAN(
        data.image_shape,
        generator=partial(MLPDecoder, hidden=(128, 128)),  # noise and codes to an image
        critic=partial(MLPEncoder, hidden=(128, 128)),  # an image to a verdict and its codes
        noise_dim=4,
        categorical=(),
        continuous=2,
        critic_lr=1e-3,
    )
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    pl.Trainer(max_steps=steps, **quiet).fit(model, data)
    states = data.indices("all")
    space, names = data.factors, data.factors.essential_names
    factors = space.positions(states)[:, space.essential]  # without nuisance factors
    images = data.images(torch.from_numpy(states))
    figure = plots.traversals(model, images, factors, names)
    plots.save(figure, Path("infogan.png"))  # a row a code
    with torch.no_grad():
        correlations = np.corrcoef(model.codes(images).T, factors.T)
    chance = 1.96 / len(states) ** 0.5  # which 95 of 100 correlations of random codes do not reach
    print("Correlations of codes (rows) with", names, f"by chance below {chance:.2f}")
    print(correlations[:2, 2:].round(2))


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    main()
