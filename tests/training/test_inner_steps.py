"""Inner steps change nothing but the time: weights, log, checkpoints, validation, resuming."""

import csv
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import LambdaCallback, LearningRateMonitor, ModelCheckpoint, Timer
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.profilers import SimpleProfiler
from torch import Tensor
from torch.optim import Optimizer

from dislab.base import Objective, Terms
from dislab.callbacks import InnerSteps, StopOnSignal
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE, InfoWGANGP
from dislab.regularizers import KL, TotalCorrelation
from dislab.training import inner_loop
from dislab.training.inner_loop import InnerLoop, obstacle_to_choosing

_DUE = {
    *range(9, 61, 9),  # rows of the log
    *range(11, 61, 11),  # checkpoints
    *range(14, 61, 14),  # validation, by all batches
    *(14, 23, 37, 46, 60),  # validation by an epoch's batches, and the ends of epochs and training
}
"""The steps of `fitted` in which something is due, of 60 in epochs of 23."""


class Seen(pl.Callback):
    """The calls that a callback gets from Lightning: optimiser steps, and times of validation."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.validated: list[int] = []

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.steps.append(trainer.global_step)

    def on_validation_start(self, trainer: pl.Trainer, *_: Any) -> None:
        self.validated.append(trainer.global_step)


class Gradients(pl.Callback):
    """A callback that looks at every update."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def on_before_optimizer_step(self, trainer: pl.Trainer, *_: Any) -> None:
        self.steps.append(trainer.global_step)


class Interrupt(pl.Callback):
    """Sends this process a signal in the middle of the 17th step."""

    def on_before_backward(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step == 16:
            os.kill(os.getpid(), signal.SIGINT)


def made_model() -> VAE:
    torch.manual_seed(0)
    return VAE(
        (1, 64, 64),
        900,
        3,
        partial(MLPEncoder, hidden=(4,)),
        partial(MLPDecoder, hidden=(4,)),
        {
            "kl": partial(KL, warmup_steps=30),
            "tc": partial(TotalCorrelation, width=4, depth=1),
        },
        optimizer=partial(torch.optim.Adam, lr=1e-3),
        scheduler=partial(torch.optim.lr_scheduler.StepLR, step_size=7, gamma=0.5),
    )


def fitted(
    folder: Path,
    inner: int | Literal["chosen"] | None,
    resume: Path | None = None,
    model: Objective | None = None,
    callbacks: tuple[pl.Callback, ...] = (),
    **settings: Any,
) -> tuple[dict[str, Any], Seen, list[dict[str, str]]]:
    """Trains, and returns the last checkpoint, what was seen and the rows of the log.

    Without a number of inner steps the loop is Lightning's own.
    """
    seen = Seen()
    data = SingleData(GaussianBlob(), batch_size=4, steps_per_epoch=23)
    torch.manual_seed(5)
    trainer = pl.Trainer(
        **{
            "accelerator": "cpu",
            "max_steps": 60,
            "log_every_n_steps": 9,
            "val_check_interval": 14,
            "check_val_every_n_epoch": None,
            "limit_val_batches": 1,
            "num_sanity_val_steps": 0,
            "gradient_clip_val": 5.0,
            **settings,
        },
        devices=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=CSVLogger(folder, name="", version=""),
        callbacks=[
            *([] if inner is None else [InnerSteps(None if inner == "chosen" else inner)]),
            *([] if inner == "chosen" else [seen]),  # which follows every step
            *callbacks,
            ModelCheckpoint(
                folder / "kept", every_n_train_steps=11, save_top_k=-1, filename="{step}"
            ),
        ],
    )
    trainer.fit(model or made_model(), datamodule=data, ckpt_path=resume, weights_only=True)
    trainer.save_checkpoint(folder / "end.ckpt")
    with (folder / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return torch.load(folder / "end.ckpt", weights_only=True), seen, rows


def assert_equal(one: Any, other: Any, place: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), place
        for key in one:
            if key != "callbacks":  # ModelCheckpoint's state names the folder
                assert_equal(one[key], other[key], f"{place}/{key}")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), place
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), place
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_equal(mine, theirs, f"{place}/{number}")
    else:
        assert one == other, place


@pytest.mark.slow
@pytest.mark.parametrize("inner", [5, 1000])
def test_the_outcome_is_the_same_to_the_bit(inner: int, tmp_path: Path) -> None:
    plain, calls, rows = fitted(tmp_path / "plain", None)
    quick, quick_calls, same_rows = fitted(tmp_path / "quick", inner)
    assert_equal(plain, quick)
    assert rows == same_rows
    assert [row["step"] for row in rows if row["train/loss"]] == ["8", "17", "26", "35", "44", "53"]
    kept = sorted(path.name for path in (tmp_path / "plain/kept").iterdir())
    assert kept == sorted(path.name for path in (tmp_path / "quick/kept").iterdir())
    assert kept == [f"step={step}.ckpt" for step in (11, 22, 33, 44, 55)]
    assert calls.validated == quick_calls.validated == [14, 28, 42, 56]
    assert calls.steps == list(range(1, 61))


@pytest.mark.slow
def test_lightning_takes_part_where_something_is_due_and_nowhere_else(tmp_path: Path) -> None:
    _, calls, _ = fitted(tmp_path, 20)
    assert calls.steps == sorted({*range(20, 61, 20), *_DUE})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
@pytest.mark.parametrize(("before", "after"), [(1, 6), (6, 1), (6, 4)])
def test_a_resumed_run_goes_on_to_the_bit(before: int, after: int, tmp_path: Path) -> None:
    whole, _, _ = fitted(tmp_path / "whole", None)
    fitted(tmp_path / "part", before, max_steps=40)
    resumed, _, _ = fitted(tmp_path / "rest", after, tmp_path / "part/kept/step=33.ckpt")
    for part in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch"):
        assert_equal(whole[part], resumed[part], part)


@pytest.fixture
def inner(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that were made without Lightning, by their number among all."""
    made: list[int] = []
    end = InnerLoop._end

    def counted(self: InnerLoop) -> None:
        end(self)
        made.append(self.global_step)

    monkeypatch.setattr(InnerLoop, "_end", counted)
    return made


@pytest.mark.slow
def test_without_a_number_lightning_takes_part_where_something_is_due(
    tmp_path: Path, inner: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _, rows = fitted(tmp_path / "plain", None)
    monkeypatch.setattr(inner_loop, "_PATIENCE", 1000.0)
    quick, _, same_rows = fitted(tmp_path / "quick", "chosen")
    assert_equal(plain, quick)
    assert rows == same_rows
    assert inner == [step for step in range(1, 61) if step not in _DUE]


@pytest.mark.slow
def test_without_a_number_lightning_waits_for_no_long_time(
    tmp_path: Path, inner: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inner_loop, "_PATIENCE", 0.0)
    fitted(tmp_path, "chosen")
    assert not inner  # of no time, none is left for a step between


class Following(ModelCheckpoint):
    """A callback from elsewhere that follows what Lightning's does, and batches."""

    def on_train_batch_end(self, *_: Any) -> None:
        pass


class Checkpoint(ModelCheckpoint):
    """A callback from elsewhere that adds nothing to a step."""


def ignored(*_: Any) -> None:
    pass


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("callback", "count"),
    [
        (Seen(), 0),
        (Following(), 0),
        (LambdaCallback(on_train_batch_start=ignored), 0),
        (LambdaCallback(on_before_zero_grad=ignored), 0),
        (Checkpoint(), 8),
        (LearningRateMonitor(), 8),
        (Timer(duration={"hours": 1}), 8),
        (StopOnSignal(), 8),
    ],
)
def test_callbacks_that_follow_every_batch_do(
    callback: pl.Callback,
    count: int,
    tmp_path: Path,
    inner: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inner_loop, "_PATIENCE", 1000.0)
    fitted(tmp_path, "chosen", callbacks=(callback,), max_steps=9)
    assert len(inner) == count


def test_a_profiler_follows_every_step(tmp_path: Path, inner: list[int]) -> None:
    fitted(tmp_path, "chosen", max_steps=9, profiler=SimpleProfiler(tmp_path, "profile"))
    assert not inner
    assert "optimizer_step" in (tmp_path / "fit-profile.txt").read_text()


def test_several_processes_agree_on_steps_by_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = pl.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    assert obstacle_to_choosing(trainer) is None
    monkeypatch.setattr(pl.Trainer, "world_size", 2)
    assert obstacle_to_choosing(trainer) == "several processes train"


@pytest.mark.slow
def test_the_learning_rate_is_logged_in_the_same_rows(
    tmp_path: Path, inner: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inner_loop, "_PATIENCE", 1000.0)
    _, _, plain = fitted(tmp_path / "plain", None, callbacks=(LearningRateMonitor("step"),))
    assert not inner
    _, _, quick = fitted(tmp_path / "quick", "chosen", callbacks=(LearningRateMonitor("step"),))
    assert inner
    assert plain == quick
    assert len({rate for row in quick if (rate := row["lr-Adam/pg1"])}) > 3


@pytest.mark.slow
def test_an_epoch_ends_where_it_did(tmp_path: Path) -> None:
    settings: Any = {"max_steps": -1, "max_epochs": 2}
    settings |= {"val_check_interval": 1.0, "check_val_every_n_epoch": 1}
    plain, calls, _ = fitted(tmp_path / "plain", None, **settings)
    quick, quick_calls, _ = fitted(tmp_path / "quick", 50, **settings)
    assert_equal(plain, quick)
    assert quick["global_step"] == 46
    assert calls.validated == quick_calls.validated == [23, 46]


@pytest.mark.slow
def test_accumulated_gradients_are_left_to_lightning(tmp_path: Path) -> None:
    plain, calls, _ = fitted(tmp_path / "plain", None, max_steps=12, accumulate_grad_batches=3)
    quick, quick_calls, _ = fitted(tmp_path / "quick", 6, max_steps=12, accumulate_grad_batches=3)
    assert_equal(plain, quick)
    assert calls.steps == quick_calls.steps


@pytest.mark.slow
def test_a_callback_of_gradients_hears_of_every_update(tmp_path: Path) -> None:
    plain, _, _ = fitted(tmp_path / "plain", None, max_steps=20)
    gradients = Gradients()
    quick, _, _ = fitted(tmp_path / "quick", 10, callbacks=(gradients,), max_steps=20)
    assert_equal(plain, quick)
    assert gradients.steps == list(range(20))


class Keeping(pl.Callback):
    """A callback with nothing but a state."""

    def state_dict(self) -> dict[str, Any]:
        return {"kept": 7}


@pytest.mark.slow
def test_a_function_hears_of_every_update(tmp_path: Path) -> None:
    steps: list[int] = []
    looks = LambdaCallback(
        on_before_optimizer_step=lambda trainer, *_: steps.append(trainer.global_step)
    )
    fitted(tmp_path, 10, callbacks=(looks,), max_steps=20)
    assert steps == list(range(20))


def test_a_checkpoint_holds_the_state_of_callbacks_without_a_step(tmp_path: Path) -> None:
    fitted(tmp_path, 5, callbacks=(Keeping(),), max_steps=12)
    kept = torch.load(tmp_path / "kept/step=11.ckpt", weights_only=True)
    assert kept["callbacks"]["Keeping"] == {"kept": 7}


@pytest.mark.slow
def test_an_objective_that_follows_batches_hears_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[int] = []
    zeros: list[int] = []
    hooks: dict[str, Any] = {
        "on_train_batch_end": lambda self, *_: ends.append(self.trainer.global_step),
        "on_before_zero_grad": lambda self, *_: zeros.append(self.trainer.global_step),
    }
    for name, hook in hooks.items():
        with monkeypatch.context() as patch:
            patch.setattr(VAE, name, hook)
            fitted(tmp_path / name, 10, max_steps=15)
    assert ends == list(range(1, 16))
    assert zeros == list(range(15))


class LogsInItsStep(VAE):  # type: ignore[misc]
    """An objective that logs by itself, in a step of its own."""

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        loss = super().training_step(batch, batch_idx)
        self.log("mine", loss.detach(), on_step=False, on_epoch=True)
        self.log("both", loss.detach(), on_step=True, on_epoch=True)
        return loss


class LogsInItsTerms(VAE):  # type: ignore[misc]
    """An objective that logs by itself while it computes its loss."""

    def losses(self, *args: Any) -> Terms:
        terms = super().losses(*args)
        self.log("both", terms.loss.detach(), on_step=True, on_epoch=True)
        return terms


class LogsInHooks(VAE):  # type: ignore[misc]
    """An objective that logs by itself in the hooks of a step; the values differ by the step."""

    def on_before_optimizer_step(self, _: Optimizer) -> None:
        self.log("before", self.steps.float(), on_step=True, on_epoch=True)

    def configure_gradient_clipping(self, *_: Any, **__: Any) -> None:
        self.log("clipping", self.steps.float(), on_step=True, on_epoch=True)


class LogsAroundBackward(VAE):  # type: ignore[misc]
    """An objective that logs by itself where Lightning has to call it."""

    def on_after_backward(self) -> None:
        self.log("after", self.steps.float(), on_step=False, on_epoch=True)

    def on_before_zero_grad(self, _: Optimizer) -> None:
        self.log("zero", self.steps.float(), on_step=False, on_epoch=True)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        self.log("step", self.steps.float(), on_step=True, on_epoch=True)


@pytest.mark.slow
@pytest.mark.parametrize("inner", [5, "chosen"])
@pytest.mark.parametrize("kind", [LogsInItsStep, LogsInItsTerms, LogsInHooks, LogsAroundBackward])
def test_the_means_of_an_epoch_are_the_same(
    kind: type[VAE], inner: int | Literal["chosen"], tmp_path: Path
) -> None:
    def model() -> VAE:
        torch.manual_seed(0)
        encoder, decoder = partial(MLPEncoder, hidden=(4,)), partial(MLPDecoder, hidden=(4,))
        return kind((1, 64, 64), 900, 3, encoder, decoder, {"kl": KL})

    settings: Any = {"max_steps": 50, "limit_val_batches": 0}
    _, _, plain = fitted(tmp_path / "plain", None, model=model(), **settings)
    _, _, quick = fitted(tmp_path / "quick", inner, model=model(), **settings)
    assert plain == quick
    names = [name for name in plain[0] if not name.startswith(("train/", "epoch", "step"))]
    assert names
    for name in names:
        assert any(row[name] for row in plain)


@pytest.mark.slow
def test_an_optimiser_may_evaluate_the_loss_itself(tmp_path: Path) -> None:
    def model() -> VAE:
        torch.manual_seed(0)
        encoder, decoder = partial(MLPEncoder, hidden=(4,)), partial(MLPDecoder, hidden=(4,))
        optimizer = partial(torch.optim.LBFGS, lr=1e-3, max_iter=2)
        return VAE((1, 64, 64), 900, 3, encoder, decoder, {"kl": KL}, optimizer=optimizer)

    settings: Any = {"max_steps": 10, "gradient_clip_val": None}
    plain, _, _ = fitted(tmp_path / "plain", None, model=model(), **settings)
    quick, _, _ = fitted(tmp_path / "quick", 5, model=model(), **settings)
    assert_equal(plain["state_dict"], quick["state_dict"])


@pytest.mark.slow
def test_a_game_goes_on_taking_turns(tmp_path: Path) -> None:
    def game() -> InfoWGANGP:
        torch.manual_seed(0)
        return InfoWGANGP(
            (1, 64, 64),
            partial(MLPDecoder, hidden=(4,)),
            partial(MLPEncoder, hidden=(4,)),
            critic_steps=3,
        )

    plain, _, _ = fitted(tmp_path / "plain", None, model=game(), max_steps=20)
    quick, _, _ = fitted(tmp_path / "quick", 20, model=game(), max_steps=20)
    assert_equal(plain, quick)


@pytest.mark.slow
def test_bfloat16_gives_the_same_to_the_bit(tmp_path: Path) -> None:
    plain, _, _ = fitted(tmp_path / "plain", None, max_steps=15, precision="bf16-mixed")
    quick, _, _ = fitted(tmp_path / "quick", 10, max_steps=15, precision="bf16-mixed")
    assert_equal(plain, quick)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler.step")  # of skipped steps
@pytest.mark.parametrize("precision", ["32-true", "16-mixed", "bf16-mixed"])
def test_a_card_gives_the_same(precision: str, tmp_path: Path) -> None:
    """Close, for sums on a card have no fixed order."""
    settings: Any = {"precision": precision, "accelerator": "gpu"}
    plain, _, _ = fitted(tmp_path / "plain", None, **settings)
    quick, _, _ = fitted(tmp_path / "quick", 10, **settings)
    assert plain["global_step"] == quick["global_step"] == 60
    for name, value in plain["state_dict"].items():
        torch.testing.assert_close(quick["state_dict"][name], value, rtol=1e-2, atol=1e-3)


def test_a_second_fit_goes_on_counting(tmp_path: Path) -> None:
    seen = Seen()
    trainer = pl.Trainer(
        max_steps=10,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        log_every_n_steps=0,
        callbacks=[InnerSteps(5), seen],
    )
    model, data = made_model(), SingleData(GaussianBlob(), batch_size=4, steps_per_epoch=50)
    trainer.fit(model, datamodule=data)
    trainer.fit_loop.epoch_loop.max_steps = 20
    trainer.fit(model, datamodule=data)
    assert seen.steps == [5, 10, 15, 20]
    assert int(model.steps) == 20


@pytest.mark.slow
def test_a_processor_has_no_graphs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plain, _, _ = fitted(tmp_path / "plain", 10, max_steps=15)
    with caplog.at_level("INFO"):
        callbacks = (InnerSteps(10, graph=True),)
        asked, _, _ = fitted(tmp_path / "asked", None, callbacks=callbacks, max_steps=15)
    assert_equal(plain, asked)
    note = "inner_steps.graph: steps are not captured: a cpu device has no CUDA graphs"
    assert caplog.text.count(note) == 1


def test_a_graph_needs_steps_to_record() -> None:
    with pytest.raises(InputError, match=r"leave inner_steps\.steps out, or set it"):
        InnerSteps(1, graph=True)


def test_no_steps_are_refused() -> None:
    with pytest.raises(InputError, match=r"inner_steps\.steps is 0"):
        InnerSteps(0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
def test_after_a_signal_the_next_step_is_lightnings(tmp_path: Path) -> None:
    whole, _, _ = fitted(tmp_path / "whole", None)
    settings: Any = {"log_every_n_steps": 23, "val_check_interval": 1000}
    stop = StopOnSignal()
    with pytest.raises(SystemExit):
        fitted(tmp_path / "part", 1000, callbacks=(stop, Interrupt()), **settings)
    assert stop.received == signal.SIGINT
    saved = tmp_path / "part/kept/last.ckpt"
    assert torch.load(saved, weights_only=True)["global_step"] == 18
    resumed, _, _ = fitted(tmp_path / "rest", 1000, saved)
    for part in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch"):
        assert_equal(whole[part], resumed[part], part)
