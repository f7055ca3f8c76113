from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import ClampedBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.losses import sample
from dislab.functional.streams import Stream
from dislab.objectives import DCIGN
from dislab.objectives.dcign import clamp_to_mean
from dislab.regularizers import KL, TotalCorrelation
from dislab.runs import load_run
from dislab.testing import check_objective

ACTIVE = torch.tensor([[True, False], [True, False]])


STEP = torch.tensor(5)
GROUPS = ("light", "pose", "rest")
LATENTS = {"pose": 1, "light": 2, "rest": 3}


def make(**settings: Any) -> DCIGN:
    given: dict[str, Any] = {
        "group_names": GROUPS,
        "latents": LATENTS,
        "encoder": partial(MLPEncoder, hidden=(16,)),
        "decoder": partial(MLPDecoder, hidden=(16,)),
        "regularizers": {"kl": partial(KL, beta=2.0)},
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return DCIGN((1, 8, 8), 16, **{**given, **settings})


def clamped(active: int, count: int = 6) -> ClampedBatch:
    image = torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    factors = torch.zeros(count, 3, dtype=torch.int64)
    return ClampedBatch(image, factors, torch.full((count,), active))


@pytest.mark.parametrize(("active", "columns"), [(0, [1, 2]), (1, [0]), (2, [3, 4, 5])], ids=GROUPS)
def test_the_loss_clamps_the_latents_of_the_other_groups(active: int, columns: list[int]) -> None:
    model, batch = make(strength=0.3), clamped(active)
    draws = model.draw(6, Stream(0))
    posterior = model.encode(batch.image)
    z = sample(*posterior, draws["noise"])
    others = [column for column in range(6) if column not in columns]
    held = z.clone()
    held[:, others] = z.mean(0)[others]
    logits = model.decoder(held)
    pixels = F.binary_cross_entropy_with_logits(logits, batch.image, reduction="sum") / 6
    pull = 0.5 * (z[:, others] - z.mean(0)[others]).square().sum() / 6
    loss, log = model.losses(batch, draws, STEP)
    torch.testing.assert_close(log["reconstruction"], pixels)
    torch.testing.assert_close(log["invariance"], pull)
    torch.testing.assert_close(loss, pixels + 2 * log["kl/kl"] + 0.3 * pull)


def test_means_get_the_decoders_gradient_or_the_pull_and_the_divergence_reaches_all() -> None:
    """The gradient that the paper's edited backward pass would hand on, latent by latent."""
    model, batch = make(strength=0.5), clamped(1)
    draws = model.draw(6, Stream(0))
    held = []
    model.encoder.register_forward_hook(lambda _, __, out: held.append(out))
    model.decoder.register_forward_pre_hook(lambda _, given: held.append(given[0]))
    log = model.losses(batch, draws, STEP).log
    outputs, decoded = held
    (from_pixels,) = torch.autograd.grad(log["reconstruction"], decoded, retain_graph=True)
    (from_loss,) = torch.autograd.grad(log["objective"], outputs)
    mean, log_var = outputs.detach().chunk(2, 1)
    z = mean + (0.5 * log_var).exp() * draws["noise"]
    backward = 0.5 * (z - z.mean(0)) / 6
    backward[:, 0] = from_pixels[:, 0]
    torch.testing.assert_close(from_loss[:, :6], backward + 2 * mean / 6)


@pytest.mark.parametrize("active", range(3))
def test_conforms(active: int) -> None:
    regularizers: Any = {"kl": KL, "tc": partial(TotalCorrelation, width=8, depth=1)}
    parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    build = partial(DCIGN, (1, 8, 8), 16, GROUPS, LATENTS, *parts, regularizers)
    check_objective(build, clamped(active))


def test_a_checkpoint_rebuilds_the_groups(tmp_path: Path) -> None:
    model = make()
    run = pl.Trainer(logger=False, accelerator="cpu", devices=1, enable_model_summary=False)
    run.strategy.connect(model)
    run.save_checkpoint(tmp_path / "model.ckpt")
    loaded = load_run(tmp_path / "model.ckpt")
    assert isinstance(loaded, DCIGN)
    assert loaded.group_of_latent.tolist() == [1, 0, 0, 2, 2, 2]


def test_arguments_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"groups pose, nose, and the data have light, pose, rest"):
        make(latents={"pose": 1, "nose": 1})
    with pytest.raises(
        InputError, match=r"have no groups; use a data module that has some, such as ClampedData"
    ):
        make(group_names=())
    with pytest.raises(InputError, match=r"latents.pose is 0"):
        make(latents={**LATENTS, "pose": 0})
    with pytest.raises(InputError, match=r"strength is -1"):
        make(strength=-1.0)
    with pytest.raises(InputError, match="DCIGN needs a regulariser"):
        make(regularizers={})


def test_hand_worked_values_and_gradients() -> None:
    z = torch.tensor([[1.0, 5.0], [3.0, 8.0]], dtype=torch.float64, requires_grad=True)
    clamped, distance = clamp_to_mean(z, ACTIVE)
    assert clamped.tolist() == [[1.0, 6.5], [3.0, 6.5]]
    assert distance.item() == pytest.approx(0.5 * (1.5**2 + 1.5**2) / 2)
    weights = torch.tensor([[2.0, 7.0], [-1.0, 11.0]], dtype=torch.float64)
    # active: the decoder's gradient; inactive: strength · (z − mean) / B
    ((clamped * weights).sum() + 0.01 * distance).backward()  # type: ignore[no-untyped-call]
    expected = [[2.0, 0.01 * -1.5 / 2], [-1.0, 0.01 * 1.5 / 2]]
    assert z.grad is not None
    torch.testing.assert_close(z.grad, torch.tensor(expected, dtype=torch.float64))


def test_a_stop_gradient_on_the_mean_changes_no_gradient_of_the_distance() -> None:
    z = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    nothing = torch.zeros(6, 3, dtype=torch.bool)
    (ours,) = torch.autograd.grad(clamp_to_mean(z, nothing)[1], z)
    flowing = 0.5 * (z - z.mean(0)).square().sum(1).mean()
    torch.testing.assert_close(ours, torch.autograd.grad(flowing, z)[0])


def test_where_everything_is_active_nothing_changes() -> None:
    z = torch.randn(6, 3)
    clamped, distance = clamp_to_mean(z, torch.ones(6, 3, dtype=torch.bool))
    torch.testing.assert_close(clamped, z)
    assert distance == 0


def test_two_processes_clamp_to_the_mean_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    z = torch.randn(8, 3, dtype=torch.float64)
    active = torch.tensor([[True, False, False]]).expand(8, 3)
    weights = torch.randn(8, 3, dtype=torch.float64)

    def result(rows: Tensor, share: slice) -> tuple[Tensor, Tensor]:
        own = rows.clone().requires_grad_()
        clamped, distance = clamp_to_mean(own, active[share])
        loss = (clamped * weights[share]).sum(1).mean() + distance
        return clamped.detach(), torch.autograd.grad(loss, own)[0]

    whole = result(z, slice(0, 8))
    monkeypatch.setattr("dislab.objectives.dcign.gather_rows", lambda rows: z)
    parts = [result(z[share], share) for share in (slice(0, 4), slice(4, 8))]
    torch.testing.assert_close(torch.cat([part[0] for part in parts]), whole[0])
    # DDP averages the gradients of two processes
    torch.testing.assert_close(torch.cat([part[1] for part in parts]) / 2, whole[1])
