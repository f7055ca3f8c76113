from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as lightning
import pytest
import torch

from dislab.decoders import ConvDecoder64
from dislab.encoders import ConvEncoder64
from dislab.objectives import VAE
from dislab.regularizers import KL

Runs = Callable[..., Path]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Makes run folders with a checkpoint of a VAE with four latents, not trained."""

    def make(name: str = "encoder", channels: int = 3) -> Path:
        torch.manual_seed(len(name))
        model = VAE((channels, 64, 64), 100, 4, ConvEncoder64, ConvDecoder64, {"kl": KL})
        trainer = lightning.Trainer(
            logger=False, enable_checkpointing=False, barebones=True, accelerator="cpu"
        )
        trainer.strategy.connect(model)
        path = tmp_path / name / "checkpoints" / "last.ckpt"
        trainer.save_checkpoint(path)
        return tmp_path / name

    return make
