"""VAE, β-VAE and annealed VAE differ in one regulariser.

Run it with: python docs/examples/vae.py
"""

from functools import partial

import lightning.pytorch as pl
import torch

from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.losses import kl_per_latent
from dislab.metrics import evaluate_fully
from dislab.objectives import VAE
from dislab.regularizers import KL, CapacityKL


def main(steps: int = 1000) -> None:
    """Train the three methods, and compare latents in use and scores.

    Args:
        steps: Optimiser steps of each method.
    """
    data = SingleData(GaussianBlob(places=16), batch_size=64)
    penalties = {
        "VAE": KL,
        "β-VAE": partial(KL, beta=4.0),
        # The KL of all latents together follows a target, from 0 up to 6 nats.
        "Annealed VAE": partial(CapacityKL, gamma=100.0, capacity=6.0, steps=steps),
    }
    quiet = {"limit_val_batches": 0, "logger": False, "enable_checkpointing": False}
    quiet |= {"enable_model_summary": False, "enable_progress_bar": False}
    for method, penalty in penalties.items():
        pl.seed_everything(0, verbose=False)
        model = VAE(
            data.image_shape,
            data.train_size,
            latent_dim=6,
            encoder=partial(MLPEncoder, hidden=(128,)),
            decoder=partial(MLPDecoder, hidden=(128,)),
            regularizers={"kl": penalty},
            optimizer=partial(torch.optim.Adam, lr=1e-3),
        )
        pl.Trainer(max_steps=steps, **quiet).fit(model, data)
        indices = torch.from_numpy(data.indices("all"))
        with torch.no_grad():
            posterior = model.encode(data.images(indices))
        used = kl_per_latent(*posterior).mean(0) > 0.1  # nats
        factors = data.factors.positions(data.indices("all"))
        scored = evaluate_fully(posterior.mean, factors, ["MIG"], names=data.factor_names)
        mig, chance = scored.values["mig"], scored.chance["mig"]
        print(f"{method}: {int(used.sum())} latents in use, MIG {mig:.2f}, by chance {chance:.2f}")


if __name__ == "__main__":
    main()
