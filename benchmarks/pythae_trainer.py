"""The β-VAE of the timings under pythae's own model and trainer.

`pip install pythae` beside dislab; `train_throughput.py` takes it in when it is there.
"""

import os
import time
from typing import Any

import torch
from pythae.data.datasets import BaseDataset
from pythae.models import BetaVAE, BetaVAEConfig
from pythae.models.base.base_utils import ModelOutput
from pythae.models.nn import BaseDecoder, BaseEncoder
from pythae.trainers import BaseTrainer, BaseTrainerConfig
from pythae.trainers.training_callbacks import TrainingCallback
from torch import Tensor, nn


class Encoder(BaseEncoder):
    """A network with twice as many results as latents, as pythae wants it.

    Args:
        network: The network.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, image: Tensor) -> Any:
        """Mean and log variance."""
        mean, log_var = self.network(image).chunk(2, dim=1)
        return ModelOutput(embedding=mean, log_covariance=log_var)


class Decoder(BaseDecoder):
    """A network that makes logits, as pythae wants it.

    Args:
        network: The network.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, code: Tensor) -> Any:
        """Probability of white, pixel by pixel."""
        return ModelOutput(reconstruction=self.network(code).sigmoid())


class Clock(TrainingCallback):
    """Prints the CPU time of a step once enough are done, and leaves.

    Args:
        steps: Steps that are timed, and as many again before.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0
        self.start = 0.0

    def on_train_step_end(self, training_config: Any, **_: Any) -> None:
        """Looks at the clock."""
        self.done += 1
        if self.done == self.steps:
            self.start = time.process_time()
        elif self.done == 2 * self.steps:
            print(1e3 * (time.process_time() - self.start) / self.steps, flush=True)
            os._exit(0)


def train(images: Tensor, encoder: nn.Module, decoder: nn.Module, size: int, steps: int) -> None:
    """Trains until the clock stops it.

    Args:
        images: Pixels from 0 to 255, `(image, 1, height, width)`.
        encoder: Makes mean and log variance of ten latents.
        decoder: Makes logits.
        size: Images in a batch.
        steps: Steps that are timed.
    """
    shape = tuple(images.shape[1:])
    settings = BetaVAEConfig(input_dim=shape, latent_dim=10, reconstruction_loss="bce", beta=4.0)
    model = BetaVAE(settings, Encoder(encoder), Decoder(decoder))
    training = BaseTrainerConfig(
        output_dir="pythae", per_device_train_batch_size=size, num_epochs=100, no_cuda=True
    )
    data = BaseDataset(images.float() / 255, torch.zeros(len(images)))
    trainer = BaseTrainer(
        model, train_dataset=data, training_config=training, callbacks=[Clock(steps)]
    )
    trainer.train()
