from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.optim.lr_scheduler import ReduceLROnPlateau

from dislab.callbacks import Checkpoints
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.training.step_end import advance_plateaus


def test_states_are_exchangeable_with_those_of_lightning(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"dirpath": tmp_path, "monitor": "loss", "every_n_train_steps": 5}
    own, theirs = Checkpoints(**settings), ModelCheckpoint(**settings)
    assert own.state_key == theirs.state_key
    theirs.best_model_path = "best.ckpt"
    own.load_state_dict(theirs.state_dict())
    assert own.best_model_path == "best.ckpt"


def fitted(folder: Path, steps: int, every: str, resumed: Path | None = None) -> dict[str, Any]:
    """Weights of a VAE after some steps, whose learning rate is halved after each epoch."""
    torch.manual_seed(0)
    model = VAE(
        (1, 64, 64),
        900,
        latent_dim=2,
        encoder=partial(MLPEncoder, hidden=(8,)),
        decoder=partial(MLPDecoder, hidden=(8,)),
        regularizers={"kl": KL},
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    halves = ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=10.0)
    schedule = {"scheduler": halves, "interval": "epoch", "monitor": "validation/loss"}
    configured: Any = {"optimizer": optimizer, "lr_scheduler": schedule}
    model.configure_optimizers = lambda: configured  # type: ignore[method-assign]
    saves: dict[str, Any] = {every: 1}
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        callbacks=[Checkpoints(dirpath=folder, save_last=True, save_top_k=0, **saves)],
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    data = SingleData(GaussianBlob(), batch_size=8, steps_per_epoch=10, validation=0.05, test=0.1)
    trainer.fit(model, data, ckpt_path=resumed, weights_only=True)
    return model.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [10, 13, 19])
@pytest.mark.parametrize("every", ["every_n_train_steps", "every_n_epochs"])
def test_a_schedule_that_follows_a_score_resumes_within_an_epoch_and_at_its_end(
    every: str, steps: int, tmp_path: Path
) -> None:
    whole = fitted(tmp_path / "whole", 35, every)
    fitted(tmp_path / "cut", steps, every)
    resumed = fitted(tmp_path / "cut", 35, every, tmp_path / "cut/last.ckpt")
    for name, value in whole.items():
        assert torch.equal(value, resumed[name]), name


def test_a_schedule_follows_the_score_of_this_epoch_before_that_of_the_checkpoint() -> None:
    config = Mock(interval="epoch", frequency=1, reduce_on_plateau=True, monitor="validation/loss")
    trainer = Mock(spec=pl.Trainer, lr_scheduler_configs=[config], current_epoch=3)
    stored = {"validation/loss": 5.0}
    trainer.callback_metrics = {"validation/loss": torch.tensor(2.0)}
    advance_plateaus(trainer, stored)
    trainer.callback_metrics = {}  # not validated since the checkpoint
    advance_plateaus(trainer, stored)
    advance = trainer.lightning_module.lr_scheduler_step
    assert advance.call_args_list == [call(config.scheduler, 2.0), call(config.scheduler, 5.0)]
    with pytest.raises(InputError, match="follows validation/loss, which was not taken in epoch 3"):
        advance_plateaus(trainer, {})
