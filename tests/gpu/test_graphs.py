"""Steps and draws in CUDA graphs: the same runs as without, or a note that says why not."""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import LambdaCallback
from tests.functional.test_streams import units_apart
from tests.gpu.place import DEVICE, IS_SIMULATED, trainer
from tests.gpu.test_runs import PRECISIONS, blobs, fitted
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from dislab.base import ImageBatch, Terms
from dislab.callbacks import InnerSteps
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.streams import Stream
from dislab.objectives import VAE, InfoWGANGP
from dislab.regularizers import KL
from dislab.training.captured_step import RECORDINGS, CapturedStep

CLOSE: dict[str, Any] = {"rtol": 0, "atol": 0} if IS_SIMULATED else {"rtol": 1e-2, "atol": 1e-3}
"""To the bit, as single precision holds the learning rates; but a card adds in no fixed order."""


def check_close(one: dict[str, Any], other: dict[str, Any], **close: Any) -> None:
    """Weights close, counters and settings equal."""
    close = close or CLOSE
    for name, value in one["state_dict"].items():
        torch.testing.assert_close(other["state_dict"][name], value, **close, msg=name)
    for part in ("global_step", "epoch", "lr_schedulers"):
        assert one[part] == other[part], part
    [mine], [theirs] = one["optimizer_states"], other["optimizer_states"]
    assert mine["param_groups"] == theirs["param_groups"]
    torch.testing.assert_close(mine["state"], theirs["state"], **close)


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> list[CapturedStep]:
    """The captured steps that a test makes."""
    made: list[CapturedStep] = []
    begin = CapturedStep.__init__

    def noted(self: CapturedStep, *args: Any) -> None:
        begin(self, *args)
        made.append(self)

    monkeypatch.setattr(CapturedStep, "__init__", noted)
    return made


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("residency", ["device", "host"])
def test_a_run_is_that_of_ordinary_steps(
    precision: str, residency: str, tmp_path: Path, captured: list[CapturedStep]
) -> None:
    settings: dict[str, Any] = {"precision": precision, "residency": residency}
    plain = fitted(tmp_path / "plain", **settings)
    quick = fitted(tmp_path / "quick", InnerSteps(1000, graph=True), **settings)
    check_close(plain, quick)
    [step] = captured
    assert step.obstacle is None
    lightnings = {6, 8, 9, 11, 12, 16, 17, 18, 20}  # rows, validations, checkpoint, ends
    assert step.replays == 20 - len(lightnings) - 3


@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
@pytest.mark.parametrize("graphs", [(True, False), (False, True)])
def test_either_run_resumes_the_other(graphs: tuple[bool, bool], tmp_path: Path) -> None:
    whole = fitted(tmp_path / "whole")
    fitted(tmp_path / "part", InnerSteps(1000, graph=graphs[0]), max_steps=15)
    kept = tmp_path / "part" / "step=11.ckpt"
    rest = fitted(tmp_path / "rest", InnerSteps(1000, graph=graphs[1]), resume=kept)
    check_close(whole, rest)


def test_recording_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither weights, nor the optimiser, nor counters; the replay is the step."""
    found: list[bool] = []
    record = CapturedStep._record

    def compared(self: CapturedStep, batch: Any) -> None:
        before = [one.clone() for one in kept(self)]
        record(self, batch)
        found.append(all(torch.equal(*pair) for pair in zip(before, kept(self), strict=True)))

    def kept(step: CapturedStep) -> list[Tensor]:
        state = step._optimizer.state_dict()["state"].values()
        return [
            *step._objective.state_dict().values(),
            *(one for of in state for one in of.values()),
        ]

    monkeypatch.setattr(CapturedStep, "_record", compared)
    fitted(tmp_path, InnerSteps(1000, graph=True))
    assert found == [True]


def mlp_vae(kind: type[VAE] = VAE, **settings: Any) -> VAE:
    torch.manual_seed(0)
    networks = partial(MLPEncoder, hidden=(4,)), partial(MLPDecoder, hidden=(4,))
    given = {"optimizer": partial(torch.optim.Adam, lr=2.0**-10), **settings}
    return kind((1, 64, 64), 900, 3, *networks, {"kl": KL}, **given)


def trained(
    folder: Path, model: Any, *callbacks: pl.Callback, steps: int = 12, **settings: Any
) -> dict[str, Tensor]:
    """The weights after some steps."""
    torch.manual_seed(5)
    given = {"limit_val_batches": 0, "log_every_n_steps": 0, **settings}
    runner = trainer(DEVICE, folder, max_steps=steps, callbacks=list(callbacks), **given)
    runner.fit(model, datamodule=blobs(steps_per_epoch=100))
    return {name: value.cpu() for name, value in model.state_dict().items()}


def test_batches_of_another_shape_are_recorded_anew(
    tmp_path: Path, captured: list[CapturedStep]
) -> None:
    images = torch.rand(100, 1, 64, 64)
    rows = [list(range(size)) for size in [4] * 6 + [7] * 6 + [4]]

    def delivered(items: list[tuple[Tensor]]) -> ImageBatch:
        positions = torch.zeros(len(items), 1, dtype=torch.int64)
        return ImageBatch(torch.stack([image for (image,) in items]), positions)

    def run(*callbacks: pl.Callback) -> dict[str, Tensor]:
        model = mlp_vae()
        loader: Any = DataLoader(
            TensorDataset(images),
            batch_sampler=rows,
            collate_fn=delivered,
        )
        runner = trainer(
            DEVICE, tmp_path, max_steps=13, callbacks=list(callbacks), limit_val_batches=0
        )
        torch.manual_seed(5)
        runner.fit(model, loader, loader)
        return {name: value.cpu() for name, value in model.state_dict().items()}

    torch.testing.assert_close(run(), run(InnerSteps(100, graph=True)), **CLOSE)
    assert captured[0].replays == 6
    assert captured[0].obstacle is None


def test_a_step_that_asks_the_device_is_an_ordinary_one(
    tmp_path: Path,
    captured: list[CapturedStep],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = trained(tmp_path, mlp_vae())
    losses = VAE.losses

    def asking(self: VAE, batch: Any, draws: Any, step: Tensor) -> Any:
        terms = losses(self, batch, draws, step)
        assert terms.loss.item() > 0
        return terms

    monkeypatch.setattr(VAE, "losses", asking)
    with caplog.at_level("INFO"):
        asked = trained(tmp_path, mlp_vae(), InnerSteps(100, graph=True))
    torch.testing.assert_close(plain, asked, rtol=0, atol=0)
    assert captured[0].replays == 0
    assert captured[0].obstacle is not None
    assert f"inner_steps.graph: steps are not captured: {captured[0].obstacle}" in caplog.text
    if not IS_SIMULATED:
        assert "captur" in captured[0].obstacle
        assert torch.cuda.current_stream() == torch.cuda.default_stream()


class Logging(VAE):  # type: ignore[misc]
    """Logs by itself while it computes its losses."""

    def losses(self, *args: Any) -> Terms:
        terms = super().losses(*args)
        self.log("mine", terms.loss.detach(), on_step=False, on_epoch=True)
        return terms


@pytest.mark.parametrize(
    ("model", "settings", "reason"),
    [
        (partial(mlp_vae, kind=Logging), {}, "Logging logs by itself while it computes its losses"),
        (partial(mlp_vae, optimizer=partial(torch.optim.SGD, lr=0.1)), {}, "SGD is not Adam"),
        (partial(mlp_vae, optimizer=torch.optim.RMSprop), {}, "RMSprop is not Adam"),
        (mlp_vae, {"accumulate_grad_batches": 2}, "gradients are accumulated"),
        (
            partial(
                InfoWGANGP,
                (1, 64, 64),
                partial(MLPDecoder, hidden=(4,)),
                partial(MLPEncoder, hidden=(4,)),
            ),
            {},
            "InfoWGANGP has its own on_before_optimizer_step",
        ),
    ],
)
def test_an_obstacle_is_named_once(
    model: Any,
    settings: dict[str, Any],
    reason: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("INFO"):
        trained(tmp_path, model(), InnerSteps(100, graph=True), **settings)
    assert caplog.text.count(f"inner_steps.graph: steps are not captured: {reason}") == 1


def test_a_callback_of_gradients_is_an_obstacle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looks = LambdaCallback(on_after_backward=lambda *_: None)
    with caplog.at_level("INFO"):
        trained(tmp_path, mlp_vae(), InnerSteps(100, graph=True), looks)
    assert "LambdaCallback looks at every update" in caplog.text


def test_settings_that_change_with_the_steps_are_an_obstacle(
    tmp_path: Path, captured: list[CapturedStep]
) -> None:
    cycle = partial(torch.optim.lr_scheduler.OneCycleLR, max_lr=1e-3, total_steps=50)
    optimizer = partial(torch.optim.Adam, lr=1e-4)
    plain = trained(tmp_path, mlp_vae(optimizer=optimizer, scheduler=cycle))
    model = mlp_vae(optimizer=optimizer, scheduler=cycle)
    quick = trained(tmp_path, model, InnerSteps(100, graph=True))
    torch.testing.assert_close(plain, quick, rtol=1e-3, atol=1e-4)  # its rates are rounded
    assert captured[0].obstacle == "the optimiser's settings change from step to step"


def test_fused_sgd_is_captured(tmp_path: Path, captured: list[CapturedStep]) -> None:
    optimizer = partial(torch.optim.SGD, lr=2.0**-12, momentum=0.5, fused=True)
    plain = trained(tmp_path, mlp_vae(optimizer=optimizer))
    quick = trained(tmp_path, mlp_vae(optimizer=optimizer), InnerSteps(100, graph=True))
    torch.testing.assert_close(plain, quick, **CLOSE)
    assert captured[0].replays == 8


def test_a_recording_that_does_nothing_is_noticed(
    tmp_path: Path, captured: list[CapturedStep], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = trained(tmp_path, mlp_vae())
    monkeypatch.setattr(type(RECORDINGS[DEVICE.type]()), "replay", lambda self: None)
    quick = trained(tmp_path, mlp_vae(), InnerSteps(100, graph=True))
    torch.testing.assert_close(plain, quick, **CLOSE)
    assert captured[0].replays == 0
    assert captured[0].obstacle == "the recording does nothing when it is replayed"


def test_replaced_tensors_are_recorded_anew(tmp_path: Path, captured: list[CapturedStep]) -> None:
    """A graph reads the memory that it was recorded with, whatever became of it."""

    class Swaps(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, module: Any, *_: Any) -> None:
            for parameter in module.parameters():
                parameter.data = parameter.data.clone()

    plain = trained(tmp_path, mlp_vae(), Swaps(), steps=24)
    quick = trained(tmp_path, mlp_vae(), Swaps(), InnerSteps(8, graph=True), steps=24)
    torch.testing.assert_close(plain, quick, **CLOSE)
    assert captured[0].replays == 3 * (8 - 1 - 3)


def test_a_captured_draw_follows_the_step() -> None:
    step = torch.zeros((), dtype=torch.int64, device=DEVICE)

    def draw(number: int | Tensor, place: torch.device) -> tuple[Tensor, ...]:
        stream = Stream(3, number, place).of("train")
        return stream.permutations("order", 64, 10), stream.normal("noise", 64, 10)

    recording, found = RECORDINGS[DEVICE.type](), []
    recording.warm_up(lambda: found.append(draw(step, DEVICE)))
    recording.record(lambda: found.append(draw(step, DEVICE)))
    for number in (1, 2**40):
        step.fill_(number)
        recording.replay()
        order, noise = draw(number, torch.device("cpu"))
        assert torch.equal(found[-1][0].cpu(), order)
        assert units_apart(found[-1][1].cpu(), noise) <= 1
