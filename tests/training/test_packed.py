"""Runs of a pack write the same as alone; failures and signals reach the right run."""

import csv
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn

from dislab.base import Encoder, ImageShape, Terms
from dislab.callbacks import Checkpoints, InnerSteps, StopOnSignal
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import DivergenceError, InputError, PackError
from dislab.objectives import VAE, InfoWGANGP
from dislab.regularizers import KL, TotalCorrelation
from dislab.training.packed import Pack, fit_packed
from dislab.training.seat import Seat
from dislab.training.stack import Stack


def fit(
    folder: Path,
    seed: int,
    beta: float = 1.0,
    lr: float = 1e-3,
    callbacks: tuple[pl.Callback, ...] = (),
    inner: bool = True,
    resume: Path | None = None,
    model: Callable[[], Any] | None = None,
    steps: int = 1,
    broken: int | None = None,
    **settings: Any,
) -> pl.Trainer:
    """Trains a run as a user of Lightning does."""
    torch.manual_seed(seed)
    objective = (
        model()
        if model
        else VAE(
            (1, 64, 64),
            900,
            3,
            partial(MLPEncoder, hidden=(4,)),
            partial(MLPDecoder, hidden=(4,)),
            {"kl": partial(KL, beta=beta), "tc": partial(TotalCorrelation, width=4, depth=1)},
            optimizer=partial(torch.optim.Adam, lr=lr),
            scheduler=partial(torch.optim.lr_scheduler.StepLR, step_size=7, gamma=0.9),
        )
    )
    trainer = pl.Trainer(
        **{
            "accelerator": "cpu",
            "max_steps": 40,
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
            *([InnerSteps(steps)] if inner else []),
            *callbacks,
            Checkpoints(folder / "kept", every_n_train_steps=20, save_last=True, save_top_k=0),
        ],
    )
    data = SingleData(GaussianBlob(), batch_size=4, steps_per_epoch=23)
    if broken is not None:
        break_batch(data, broken)
    trainer.fit(objective, datamodule=data, ckpt_path=resume, weights_only=True)
    return trainer


def break_batch(data: Any, number: int) -> None:
    """Lets the transfer of a batch fail, counted from 1."""
    arrive, counted = data.on_after_batch_transfer, iter(range(1, 10**6))

    def broken(batch: Any, dataloader_idx: int) -> Any:
        if next(counted) == number:
            raise LookupError("no such batch")
        return arrive(batch, dataloader_idx)

    data.on_after_batch_transfer = broken


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def last(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(folder / "kept/last.ckpt", weights_only=True)
    return found


def assert_close(one: Any, other: Any, place: str = "") -> None:
    """Equal kinds, keys and whole numbers, and fractions within 1e-5."""
    assert type(one) is type(other), place
    if isinstance(one, dict):
        assert one.keys() == other.keys(), place
        for key in one:
            if key != "callbacks":  # the state of the checkpoints names their folder
                assert_close(one[key], other[key], f"{place}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), place
        for number, (mine, its) in enumerate(zip(one, other, strict=True)):
            assert_close(mine, its, f"{place}/{number}")
    elif isinstance(one, torch.Tensor) and one.is_floating_point():
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5, msg=place)
        assert one.stride() == other.stride(), place
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), place
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-6), place
    else:
        assert one == other, place


def assert_same_run(packed: Path, alone: Path) -> None:
    assert_close(last(packed), last(alone))
    assert (packed / "kept/last.ckpt").stat().st_size == pytest.approx(
        (alone / "kept/last.ckpt").stat().st_size, rel=0.02
    )
    mine, its = rows(packed), rows(alone)
    assert [row.keys() for row in mine] == [row.keys() for row in its]
    for one, other in zip(mine, its, strict=True):
        for name, cell in other.items():
            assert (float(one[name]) if cell else one[name]) == (
                pytest.approx(float(cell), rel=1e-4, abs=1e-5) if cell else ""
            ), name


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of runs in each step that was stacked."""
    found: list[int] = []
    step = Stack.step

    def noted(self: Stack, batches: Any, number: int) -> None:
        found.append(len(batches))
        step(self, batches, number)

    monkeypatch.setattr(Stack, "step", noted)
    return found


def test_runs_are_as_alone(tmp_path: Path, steps: list[int]) -> None:
    settings = [(5, 1.0), (6, 1.0), (5, 4.0)]
    fits = [
        partial(fit, tmp_path / f"packed_{run}", seed, beta)
        for run, (seed, beta) in enumerate(settings)
    ]
    trainers = fit_packed(fits, measure=False)
    assert [one.global_step for one in trainers] == [40] * 3
    for run, (seed, beta) in enumerate(settings):
        fit(tmp_path / f"alone_{run}", seed, beta)
        assert_same_run(tmp_path / f"packed_{run}", tmp_path / f"alone_{run}")
    due = {9, 18, 27, 36, 20, 40, 14, 28, 23, 14 + 23}  # rows, checkpoints, validation, epoch
    assert steps == [3] * (40 - len(due))


@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
def test_a_run_of_a_pack_goes_on_alone(tmp_path: Path) -> None:
    fits = [partial(fit, tmp_path / f"packed_{run}", run, max_steps=20) for run in range(2)]
    fit_packed(fits, measure=False)
    fit(tmp_path / "rest", 99, resume=tmp_path / "packed_1/kept/last.ckpt")
    fit(tmp_path / "alone", 1)
    for part in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch"):
        assert_close(last(tmp_path / "rest")[part], last(tmp_path / "alone")[part], part)


@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
def test_a_run_that_is_behind_catches_up(tmp_path: Path, steps: list[int]) -> None:
    fit(tmp_path / "start", 1, max_steps=20)
    fits = [
        partial(fit, tmp_path / "behind", 0),
        partial(fit, tmp_path / "ahead", 99, resume=tmp_path / "start/kept/last.ckpt"),
    ]
    fit_packed(fits, measure=False)
    # after step 23, at which both have been alone, without 27, 28, 36, 37 and 40
    assert steps == [2] * 12
    for seed, name in enumerate(("behind", "ahead")):
        fit(tmp_path / f"alone_{seed}", seed)
        for part in ("state_dict", "optimizer_states", "lr_schedulers", "global_step"):
            assert_close(last(tmp_path / name)[part], last(tmp_path / f"alone_{seed}")[part], part)


def fit_twice(folder: Path, seed: int) -> None:
    for number in range(2):
        fit(folder / str(number), seed + 10 * number, max_steps=20)


def test_each_of_two_fits_of_a_run_trains_its_own_model(tmp_path: Path) -> None:
    fit_packed(
        [partial(fit_twice, tmp_path / f"packed_{run}", run) for run in range(2)], measure=False
    )
    for run in range(2):
        fit_twice(tmp_path / f"alone_{run}", run)
        for number in range(2):
            assert_same_run(*(tmp_path / f"{way}_{run}/{number}" for way in ("packed", "alone")))


def test_a_trainer_that_leaves_its_pack_trains_alone(
    tmp_path: Path, steps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = [partial(fit, tmp_path / str(run), run, steps=5, max_steps=20) for run in range(2)]
    trainer = fit_packed(fits, measure=False)[0]
    assert len(steps) == 20 - len({9, 18, 14, 5, 10, 15, 20})  # every fifth is each run's own, too

    def wait(*_: Any) -> None:
        raise AssertionError("it would wait forever")

    monkeypatch.setattr(Seat, "wait", wait)
    trainer.fit_loop.epoch_loop.max_steps = 40
    trainer.fit(trainer.lightning_module, datamodule=trainer.datamodule)  # type: ignore[attr-defined]
    assert trainer.global_step == 40


@pytest.mark.parametrize("stacked", [0.5, 2.0])
def test_a_cpu_takes_the_faster_way_and_says_so(
    stacked: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    seconds = iter(range(10**6))
    clock = {"now": 0.0}
    step = Stack.step

    def timed(self: Stack, batches: Any, number: int) -> None:
        step(self, batches, number)
        clock["now"] += stacked - 1.0

    def now() -> float:
        """Each look takes a second, and a stacked step as much more or less as it is slower."""
        return next(seconds) + clock["now"]

    monkeypatch.setattr(Stack, "step", timed)
    monkeypatch.setattr("dislab.training.packed.time.perf_counter", now)
    with caplog.at_level("INFO", "lightning.pytorch.utilities.rank_zero"):
        pack = Pack([partial(fit, tmp_path / str(run), run) for run in range(2)])
        pack.work()
    assert (pack._stack is None) is (stacked > 1), "it holds the weights of all runs once more"
    [line] = [one.getMessage() for one in caplog.records if "pack:" in one.getMessage()]
    assert line == (
        "pack: 2 runs train as one stacked model, 2.0 times as fast as one after another"
        if stacked < 1
        else "pack: 2 runs make their steps one after another; one stacked model would take 2.0 "
        "times as long"
    )
    fit(tmp_path / "alone", 1)
    assert_same_run(tmp_path / "1", tmp_path / "alone")


class Spoiling(pl.Callback):
    """Spoils a weight at a validation."""

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        with torch.no_grad():
            next(iter(pl_module.parameters())).fill_(float("nan"))


def test_a_run_that_diverges_leaves_the_others(tmp_path: Path, steps: list[int]) -> None:
    fits = [
        partial(fit, tmp_path / "a", 0),
        partial(fit, tmp_path / "b", 1, callbacks=(Spoiling(),)),
        partial(fit, tmp_path / "c", 2),
    ]
    with pytest.raises(DivergenceError, match="became NaN or infinite at optimiser step 14"):
        fit_packed(fits, measure=False)
    fit(tmp_path / "alone", 2)
    assert_same_run(tmp_path / "c", tmp_path / "alone")
    assert set(steps) == {3, 2}


@pytest.mark.parametrize("measure", [False, True])
def test_an_error_in_a_batch_ends_its_run_alone_and_every_error_is_reported(
    measure: bool, tmp_path: Path, steps: list[int], caplog: Any
) -> None:
    fits = [
        partial(fit, tmp_path / "a", 0),
        partial(fit, tmp_path / "b", 1, broken=12),
        partial(fit, tmp_path / "c", 2, callbacks=(Spoiling(),)),
    ]
    with (
        caplog.at_level("INFO", "lightning.pytorch.utilities.rank_zero"),
        pytest.raises(LookupError, match="no such batch") as caught,
    ):
        fit_packed(fits, measure=measure)
    fit(tmp_path / "alone", 0)
    assert_same_run(tmp_path / "a", tmp_path / "alone")
    assert set(steps) == {3, 2}
    said = [one.getMessage() for one in caplog.records if "has failed" in one.getMessage()]
    assert said[0] == "pack: run 1 has failed: LookupError: no such batch"
    assert said[1].startswith("pack: run 2 has failed: DivergenceError: training stopped")
    [note] = caught.value.__notes__
    assert note.startswith("another run of the pack has failed: DivergenceError")


class Raising(pl.Callback):
    """Sends a signal to the process at a validation."""

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.global_step == 14:
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_asks_every_run_to_save_and_end(tmp_path: Path, caplog: Any) -> None:
    fits = [
        partial(fit, tmp_path / str(run), run, callbacks=(*before, StopOnSignal()))
        for run, before in enumerate([(Raising(),), ()])
    ]
    previous = signal.getsignal(signal.SIGTERM)
    with (
        caplog.at_level("INFO", "lightning.pytorch.utilities.rank_zero"),
        pytest.raises(SystemExit),
    ):
        fit_packed(fits, measure=False)
    assert "SIGTERM: stopping each run at its next row of the log, checkpoint or" in caplog.text
    assert signal.getsignal(signal.SIGTERM) is previous
    # each at the next step of its own: one was behind its step 14 already, the other was not
    assert [last(tmp_path / str(run))["global_step"] for run in range(2)] == [18, 14]


class Gradients(pl.Callback):
    """Looks at every update."""

    def on_before_optimizer_step(self, *_: Any) -> None: ...


def game() -> InfoWGANGP:
    networks = partial(MLPDecoder, hidden=(4,)), partial(MLPEncoder, hidden=(4,))
    return InfoWGANGP((1, 64, 64), *networks)


class Normed(Encoder):
    """Normalises over batches."""

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(64 * 64, outputs), nn.BatchNorm1d(outputs)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.norm(self.layer(image.flatten(1)))
        return found


def normed() -> VAE:
    return VAE((1, 64, 64), 900, 3, Normed, partial(MLPDecoder, hidden=(4,)), {"kl": KL})


class Logging(VAE):  # type: ignore[misc]
    """Logs by itself while it computes its losses."""

    def losses(self, *args: Any) -> Terms:
        terms = super().losses(*args)
        self.log("mine", terms.loss.detach(), on_step=False, on_epoch=True)
        return terms


def logging() -> VAE:
    networks = partial(MLPEncoder, hidden=(4,)), partial(MLPDecoder, hidden=(4,))
    return Logging((1, 64, 64), 900, 3, *networks, {"kl": KL})


REFUSED: dict[str, tuple[list[dict[str, Any]], type[Exception], str]] = {
    "taking turns": (
        2 * [{"model": game}],
        PackError,
        "InfoWGANGP has its own on_before_optim",
    ),
    "accumulation": (2 * [{"accumulate_grad_batches": 2}], PackError, "gradients are accumulated"),
    "precision": (2 * [{"precision": "bf16-mixed"}], PackError, "precision is bf16-mixed"),
    "a callback": (2 * [{"callbacks": (Gradients(),)}], PackError, "callback Gradients looks"),
    "learning rates": ([{}, {"lr": 2e-3}], PackError, "lr of the optimiser is 0.001 in run 0"),
    "running statistics": (2 * [{"model": normed}], PackError, "encoder.norm .BatchNorm1d. keeps"),
    "its own log": (
        2 * [{"model": logging}],
        PackError,
        "Logging logs by itself while it computes",
    ),
    "no inner steps": (2 * [{"inner": False}], InputError, "run 0 .* lacks the callback"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_packed_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    settings, error, message = REFUSED[name]
    fits = [partial(fit, tmp_path / str(run), run, **one) for run, one in enumerate(settings)]
    with pytest.raises(error, match=message):
        fit_packed(fits, measure=False)


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="no run to train"):
        fit_packed([])
