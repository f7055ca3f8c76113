"""Training in float16 with a gradient scaler, which Lightning itself keeps for cards.

Its `precision="16-mixed"` becomes bfloat16 on a CPU; the plugin given here does not. On a card the
same tests are marked `gpu`.
"""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.plugins import MixedPrecision
from torch import Tensor
from torch.amp import GradScaler
from torch.nn.utils import parameters_to_vector

from dislab.base import Objective
from dislab.callbacks import InnerSteps
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import ConvDecoder64, ConvGenerator
from dislab.encoders import ConvCritic, ConvEncoder64
from dislab.objectives import VAE, InfoGAN, InfoWGANGP
from dislab.regularizers import KL, DecomposedKL, TotalCorrelation

SHAPE = (1, 64, 64)
NETWORKS = partial(ConvEncoder64, preset="burgess"), partial(ConvDecoder64, preset="burgess")
GAME = (
    partial(ConvGenerator, channels=(8, 4), hidden=8),
    partial(ConvCritic, channels=(4, 8), hidden=8),
)
OF_VAE = partial(VAE, SHAPE, 954, 3, *NETWORKS)
FACTORVAE = {"kl": KL, "tc": partial(TotalCorrelation, width=16, depth=2)}
METHODS: dict[str, Any] = {
    "VAE": partial(OF_VAE, {"kl": KL}),
    "FactorVAE": partial(OF_VAE, FACTORVAE),
    "BetaTCVAE": partial(OF_VAE, {"kl": DecomposedKL}),
    "InfoGAN": partial(InfoGAN, SHAPE, *GAME),
    "InfoWGANGP": partial(InfoWGANGP, SHAPE, *GAME, critic_steps=2),
}
HUGE = 2.0**60


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a run trains; on a card as exactly as on the host."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    return str(request.param)


class Losses(pl.Callback):
    """The loss of every step."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, *_: Any) -> None:
        self.values.append(float(outputs["loss"]))


def fitted(
    method: str,
    scaler: GradScaler | None,
    device: str,
    folder: Path,
    *callbacks: pl.Callback,
    resume: Path | None = None,
    **settings: Any,
) -> tuple[Objective, list[float], pl.Trainer]:
    """A run of six steps, in float16 where there is a scaler."""
    torch.manual_seed(0)
    model: Objective = METHODS[method]()
    torch.manual_seed(1)
    losses = Losses()
    half: list[Any] = [] if scaler is None else [MixedPrecision("16-mixed", device, scaler)]
    trainer = pl.Trainer(
        accelerator="cpu" if device == "cpu" else "gpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        plugins=half,
        default_root_dir=folder,
        **{"max_steps": 6, **settings},
        callbacks=[losses, *callbacks],
    )
    data = SingleData(GaussianBlob(), batch_size=4, steps_per_epoch=50)
    trainer.fit(model, datamodule=data, ckpt_path=resume, weights_only=True)
    return model, losses.values, trainer


def weights(model: Objective) -> Tensor:
    return parameters_to_vector(model.parameters()).detach().cpu()


def gradients(model: Objective) -> Tensor:
    """Of the last step, of all parameters that it trained."""
    given = [one.grad for one in model.parameters() if one.grad is not None]
    return torch.cat([one.flatten().cpu() for one in given])


def scaler(device: str, scale: float = 16.0, growth_interval: int = 2000) -> GradScaler:
    return GradScaler(device, init_scale=scale, growth_interval=growth_interval)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "limit"), [*((name, 0.5) for name in METHODS), ("VAE", None), ("InfoGAN", None)]
)
def test_float16_stays_near_float32(
    method: str, limit: float | None, device: str, tmp_path: Path
) -> None:
    """With clipped gradients too, which end up too short if they are clipped while scaled."""
    full, losses, _ = fitted(method, None, device, tmp_path, gradient_clip_val=limit)
    used = scaler(device)
    half, near, _ = fitted(method, used, device, tmp_path, gradient_clip_val=limit)
    assert used.get_scale() == 16  # no step was skipped
    assert near == pytest.approx(losses, rel=1e-3, abs=0.05)
    assert near != losses
    torch.manual_seed(0)
    start = weights(METHODS[method]())
    way, found = (weights(one) - start for one in (full, half))
    assert found.dtype == torch.float32
    # Adam takes steps of one size where gradients are next to zero, in whatever direction
    assert float((found - way).norm() / way.norm()) < 0.3
    wanted, last = (gradients(one) for one in (full, half))
    assert float((last - wanted).norm() / wanted.norm()) < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_an_overflow_skips_the_step_of_every_part(method: str, device: str, tmp_path: Path) -> None:
    used = scaler(device, HUGE)
    model, losses, trainer = fitted(method, used, device, tmp_path, max_steps=3)
    assert used.get_scale() == HUGE / 2**3
    torch.manual_seed(0)
    untrained = METHODS[method]()
    for one, other in zip(model.parameters(), untrained.parameters(), strict=True):
        assert torch.equal(one.cpu(), other)
    assert not trainer.optimizers[0].state
    assert all(value == value for value in losses)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["FactorVAE", "InfoWGANGP"])
def test_a_resumed_run_goes_on_with_its_scale(method: str, device: str, tmp_path: Path) -> None:
    """The scale grows every second step, and is halved again where that was too much."""
    used = scaler(device, growth_interval=2)
    whole, losses, _ = fitted(method, used, device, tmp_path)
    part = scaler(device, growth_interval=2)
    _, _, trainer = fitted(method, part, device, tmp_path, max_steps=3)
    trainer.save_checkpoint(tmp_path / "part.ckpt")
    fresh = scaler(device, 1.0, growth_interval=2)
    rest, others, _ = fitted(method, fresh, device, tmp_path, resume=tmp_path / "part.ckpt")
    assert losses[3:] == others
    assert fresh.state_dict() == used.state_dict()
    assert fresh.get_scale() > 16
    for one, other in zip(whole.parameters(), rest.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
def test_inner_steps_scale_as_others(device: str, tmp_path: Path) -> None:
    """An overflow among them skips a step there too."""
    runs: list[tuple[float, Objective]] = []
    for inner in (1, 6):
        used = scaler(device, 2.0**12)
        model, _, _ = fitted("FactorVAE", used, device, tmp_path, InnerSteps(inner))
        runs.append((used.get_scale(), model))
    (scale, plain), (same, quick) = runs
    assert scale == same < 2.0**12
    for one, other in zip(plain.parameters(), quick.parameters(), strict=True):
        assert torch.equal(one, other)
