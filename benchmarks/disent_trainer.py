"""The β-VAE of the timings under disent's own framework, data set and Lightning module.

    python benchmarks/disent_trainer.py IMAGES NETWORKS BATCH_SIZE STEPS

Runs in an environment that has disent and needs no dislab: `train_throughput.py --disent PYTHON`
calls it. Follows the example of its README: `DisentDataset` with `ToImgTensorF32`, a shuffling
`DataLoader` without workers, `BetaVae`, a `Trainer` without logger and checkpoints. NETWORKS is a
file of `torch.save` with encoder and decoder, the same as in the other timings.
"""

import os
import sys
import time
from importlib.metadata import version
from typing import Any

import lightning as L
import numpy as np
import torch
from disent.dataset import DisentDataset
from disent.dataset.sampling import SingleSampler
from disent.dataset.transform import ToImgTensorF32
from disent.frameworks.vae import BetaVae
from disent.model import AutoEncoder, DisentDecoder, DisentEncoder
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

SHAPE = (1, 64, 64)
LATENTS = 10


class Images(Dataset[Any]):
    """Images from memory, as disent's data sets hand them out.

    Args:
        images: Bytes, `(image, height, width, channel)`.
    """

    def __init__(self, images: Any) -> None:
        self.images = images

    def __len__(self) -> int:
        """How many."""
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        """One image."""
        return self.images[index]


class Encoder(DisentEncoder):
    """A network with twice as many results as latents.

    Args:
        network: The network.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__(x_shape=SHAPE, z_size=LATENTS, z_multiplier=2)
        self.network = network

    def encode(self, x: Tensor) -> Any:
        """Mean and log variance."""
        return self.network(x)


class Decoder(DisentDecoder):
    """A network that makes logits.

    Args:
        network: The network.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__(x_shape=SHAPE, z_size=LATENTS)
        self.network = network

    def decode(self, z: Tensor) -> Any:
        """Logits."""
        return self.network(z)


class Clock(L.Callback):
    """Prints versions and the CPU time of a step once enough are done, and leaves.

    Args:
        steps: Steps that are timed, and as many again before.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.start = 0.0

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """Looks at the clock."""
        if trainer.global_step == self.steps:
            self.start = time.process_time()
        elif trainer.global_step == 2 * self.steps:
            milliseconds = 1e3 * (time.process_time() - self.start) / self.steps
            python = ".".join(map(str, sys.version_info[:3]))
            print()  # ends the line of the progress bar
            print(python, torch.__version__, L.__version__, version("disent"), milliseconds)
            sys.stdout.flush()
            os._exit(0)


def main() -> None:
    """Trains until the clock stops it."""
    images, networks, size, steps = sys.argv[1:]
    data = Images(np.load(images))
    dataset = DisentDataset(dataset=data, sampler=SingleSampler(), transform=ToImgTensorF32())
    loader = DataLoader(dataset, batch_size=int(size), shuffle=True, num_workers=0)
    encoder, decoder = torch.load(networks, weights_only=False)  # written by train_throughput.py
    settings = BetaVae.cfg(
        optimizer="adam",
        optimizer_kwargs={"lr": 1e-4},
        recon_loss="bce",
        loss_reduction="mean_sum",
        beta=4,
    )
    module = BetaVae(AutoEncoder(Encoder(encoder), Decoder(decoder)), settings)
    trainer = L.Trainer(
        max_steps=2 * int(steps) + 1,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        callbacks=[Clock(int(steps))],
    )
    trainer.fit(module, loader)


if __name__ == "__main__":
    main()
