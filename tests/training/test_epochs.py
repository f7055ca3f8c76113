"""Schedules, averages and counters per epoch of runs that are killed anywhere and resumed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import StochasticWeightAveraging

from dislab.callbacks import Checkpoints
from dislab.datamodules import SingleData
from dislab.datasets import DSprites
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.regularizers import KL

STEPS = 45
"""Steps of a run, ten an epoch."""

FEW: dict[str, Any] = {
    "scale": [0.5, 1.0],
    "orientation": {"max": 1.0},
    "posX": {"max": 0.2},
    "posY": {"max": 0.2},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore:Checkpoint directory", "ignore:Be aware that when using"),
    pytest.mark.filterwarnings("ignore:SWA is currently only supported every epoch"),
    pytest.mark.filterwarnings("ignore::dislab.naming.hyperparameters.LostPartWarning"),
]


class PerEpoch(VAE):  # type: ignore[misc]  # final for its users
    """A VAE whose learning rate is halved after every epoch."""

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "epoch"},
        }


class Killed(pl.Callback):
    """Ends the process's training in the middle of a later step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_start(self, trainer: pl.Trainer, *args: Any) -> None:
        if trainer.global_step == self.step:
            raise RuntimeError("killed")


def fit(folder: Path, every: int, *callbacks: pl.Callback, **settings: Any) -> None:
    ckpt_path = settings.pop("ckpt_path", None)
    pl.seed_everything(0, verbose=False)
    data = SingleData(
        DSprites(), batch_size=8, include=FEW, steps_per_epoch=10, validation=0.05, test=0.1
    )
    encoder, decoder = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    model = PerEpoch((1, 64, 64), 1000, 2, encoder, decoder, {"kl": KL})
    kept = Checkpoints(
        folder,
        save_last=True,
        save_top_k=0,
        every_n_train_steps=every,
        enable_version_counter=False,
    )
    trainer = pl.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[*callbacks, kept],
        **settings,
    )
    trainer.fit(model, datamodule=data, ckpt_path=ckpt_path, weights_only=True)


def stored(folder: Path) -> dict[str, Any]:
    """The state at the end, without the paths and times of checkpoints."""
    state: dict[str, Any] = torch.load(folder / "last.ckpt", weights_only=True)
    state["callbacks"] = {k: v for k, v in state["callbacks"].items() if "Checkpoint" not in k}
    return state


def assert_equal(one: Any, other: Any, place: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), place
        for key in one:
            assert_equal(one[key], other[key], f"{place}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), place
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_equal(mine, theirs, f"{place}/{number}")
    else:
        same = torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
        assert same, place


def averaging(strategy: Any) -> list[pl.Callback]:
    return [StochasticWeightAveraging(0.001, 2, 2, strategy)]


@pytest.mark.slow
@pytest.mark.parametrize("validates", [True, False], ids=["validates", "never validates"])
@pytest.mark.parametrize(
    "callbacks",
    [list, lambda: averaging("cos"), lambda: averaging("linear")],
    ids=["schedule", "averaging", "linear averaging"],
)
def test_epochs_of_resumed_runs_equal_those_of_undisturbed_ones(
    callbacks: Callable[[], list[pl.Callback]], validates: bool, tmp_path: Path
) -> None:
    """The checkpoint lies inside an epoch, and on its last batch; before averaging, and in it."""
    settings = {} if validates else {"limit_val_batches": 0, "num_sanity_val_steps": 0}
    fit(tmp_path / "whole", 5, *callbacks(), **settings)
    whole = stored(tmp_path / "whole")
    for at in (7, 10, 13, 20, 27):
        folder = tmp_path / str(at)
        with pytest.raises(RuntimeError, match="killed"):
            fit(folder, at, *callbacks(), Killed(at + 2), **settings)
        assert stored(folder)["global_step"] == at
        fit(folder / "on", 5, *callbacks(), ckpt_path=folder / "last.ckpt", **settings)
        assert_equal(whole, stored(folder / "on"), str(at))
