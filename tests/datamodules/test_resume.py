"""SingleData under Lightning's own trainer: what a model sees, and what it sees after a resume."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor, nn

from dislab.base import Dataset, ImageBatch
from dislab.datamodules import SingleData
from dislab.factors import FactorSpace
from dislab.plans.index_plans import TrainBatches, TrainingProgress

BATCH, EPOCH = 8, 6


class Recorder(pl.LightningModule):
    """Records the states that it receives; fails on demand."""

    def __init__(self, space: FactorSpace, fail_at: int | None = None) -> None:
        super().__init__()
        self.space = space
        self.fail_at = fail_at
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen: dict[str, list[list[int]]] = {"train": [], "validation": [], "test": []}
        self.validated: list[int] = []

    def record(self, stage: str, batch: ImageBatch) -> None:
        states = self.space.index(batch.factors.numpy())
        shown = (batch.image[:, 0, 0, :2].double() * 255).round().numpy() @ [256, 1]
        assert np.array_equal(shown, states)
        self.seen[stage].append(states.tolist())

    def training_step(self, batch: ImageBatch, batch_idx: int) -> Tensor:
        if self.global_step == self.fail_at:
            raise KeyError("on demand")
        self.record("train", batch)
        return self.weight * batch.image.mean()

    def validation_step(self, batch: ImageBatch, batch_idx: int) -> None:
        self.record("validation", batch)

    def on_validation_epoch_end(self) -> None:
        self.validated.append(self.global_step)

    def test_step(self, batch: ImageBatch, batch_idx: int) -> None:
        self.record("test", batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


Fit = Callable[..., tuple[Recorder, pl.Trainer]]


@pytest.fixture
def fit(tiny: Dataset, tmp_path: Path) -> Fit:
    def run(
        seed: int,
        ckpt_path: Path | None = None,
        data: dict[str, Any] | None = None,
        fail_at: int | None = None,
        **settings: Any,
    ) -> tuple[Recorder, pl.Trainer]:
        torch.manual_seed(seed)
        module = Recorder(tiny.factors, fail_at)
        quiet: dict[str, Any] = {
            "accelerator": "cpu",
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "max_epochs": -1,
            "default_root_dir": tmp_path,
        }
        trainer = pl.Trainer(**{**quiet, **settings})
        single = SingleData(tiny, BATCH, steps_per_epoch=EPOCH, **(data or {}))
        trainer.fit(module, datamodule=single, ckpt_path=ckpt_path, weights_only=True)
        return module, trainer

    return run


def expected(tiny: Dataset, seed: int, steps: int) -> list[list[int]]:
    batches = TrainBatches(SingleData(tiny).plan("train"), BATCH, progress=TrainingProgress(seed))
    return [batches.states_of(step).states.tolist() for step in range(steps)]


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("stop", [4, 6, 9])
def test_resumed_run_continues_the_draws(
    stop: int, limit: int | None, num_workers: int, fit: Fit, tiny: Dataset, tmp_path: Path
) -> None:
    settings = {"limit_train_batches": limit, "data": {"num_workers": num_workers}}
    first, trainer = fit(3, max_steps=stop, **settings)
    trainer.save_checkpoint(tmp_path / "stopped.ckpt")
    resumed, _ = fit(99, tmp_path / "stopped.ckpt", max_steps=17, **settings)
    assert first.seen["train"] + resumed.seen["train"] == expected(tiny, 3, 17)


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore:The dirpath has changed:UserWarning")
@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("step", [1, 3, 4, 5, 6, 7, 10])
def test_resumed_epochs_end_where_those_of_one_run_do(
    step: int, limit: int | None, fit: Fit, tiny: Dataset, tmp_path: Path
) -> None:
    def run(seed: int, checkpoint: Path | None = None) -> tuple[Recorder, pl.Trainer]:
        folder = tmp_path / f"seed={seed}"
        return fit(
            seed,
            checkpoint,
            limit_train_batches=limit,
            max_steps=14,
            num_sanity_val_steps=0,
            enable_checkpointing=True,
            callbacks=[ModelCheckpoint(folder, "{step}", save_top_k=-1, every_n_train_steps=1)],
        )

    whole, trainer = run(3)
    resumed, again = run(99, tmp_path / f"seed=3/step={step}.ckpt")
    assert whole.seen["train"] == expected(tiny, 3, 14)
    assert resumed.seen["train"] == expected(tiny, 3, 14)[step:]
    ends = (limit or EPOCH) * np.arange(1, 4)
    assert whole.validated == [end for end in ends if end <= 14]
    # a checkpoint of the last step of an epoch is of before its validation, which Lightning omits
    assert resumed.validated == [end for end in ends if step < end <= 14]
    assert again.current_epoch == trainer.current_epoch


def test_run_counted_in_epochs(fit: Fit, tiny: Dataset, tmp_path: Path) -> None:
    first, trainer = fit(3, max_epochs=2)
    trainer.save_checkpoint(tmp_path / "stopped.ckpt")
    resumed, _ = fit(99, tmp_path / "stopped.ckpt", max_epochs=4)
    assert first.seen["train"] + resumed.seen["train"] == expected(tiny, 3, 4 * EPOCH)


@pytest.mark.filterwarnings("ignore:The dirpath has changed:UserWarning")
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_step_that_failed_is_done_again(
    num_workers: int, fit: Fit, tiny: Dataset, tmp_path: Path
) -> None:
    def run(seed: int, checkpoint: Path | None = None, fail_at: int | None = None) -> Recorder:
        saving = ModelCheckpoint(tmp_path / f"seed={seed}", save_top_k=0, save_on_exception=True)
        module, _ = fit(
            seed,
            checkpoint,
            {"num_workers": num_workers},
            fail_at,
            max_steps=17,
            enable_checkpointing=True,
            callbacks=[saving],
        )
        return module

    with pytest.raises(KeyError, match="on demand"):
        run(3, fail_at=8)
    (checkpoint,) = (tmp_path / "seed=3").iterdir()
    stored = torch.load(checkpoint, weights_only=True)
    assert stored["SingleData"] == {"seed": 3, "step": 8}
    resumed = run(99, checkpoint)
    assert resumed.seen["train"] == expected(tiny, 3, 17)[8:]


def test_a_second_fit_starts_anew(tiny: Dataset, fit: Fit) -> None:
    first, _ = fit(3, max_steps=5)
    second, _ = fit(3, max_steps=5)
    assert first.seen == second.seen


@pytest.mark.parametrize("residency", ["auto", "host", "device"])
@pytest.mark.parametrize("precision", ["32-true", "64-true"])
def test_residency_changes_nothing(residency: str, precision: Any, fit: Fit, tiny: Dataset) -> None:
    module, _ = fit(3, data={"residency": residency}, max_steps=7, precision=precision)
    assert module.seen["train"] == expected(tiny, 3, 7)


def test_every_state_of_a_split_is_shown_once(fit: Fit, tiny: Dataset) -> None:
    data = SingleData(tiny, BATCH, eval_batch_size=4)
    module, trainer = fit(3, max_steps=1, num_sanity_val_steps=0)
    trainer.validate(module, datamodule=data, verbose=False)
    trainer.test(module, datamodule=data, verbose=False)
    for stage in ("validation", "test"):
        shown = [state for batch in module.seen[stage] for state in batch]
        assert shown == data.indices(stage).tolist()


def test_without_validation_and_test(fit: Fit, tiny: Dataset) -> None:
    with pytest.warns(UserWarning, match="Total length of `EvalLoader` across ranks is zero"):
        module, trainer = fit(3, data={"validation": 0.0, "test": 0.0}, max_steps=7)
    assert len(module.seen["train"]) == 7
    assert module.seen["validation"] == []
    assert trainer.global_step == 7
