"""A stack of objectives trains each as it would train alone; what cannot be stacked is refused."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases
from torch import nn

from dislab.base import Encoder, ImageShape, Objective
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import PackError
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.plugins import load
from dislab.regularizers import KL
from dislab.training import stack as stacking
from dislab.training.stack import Member, Stack

RUNS = 3


def batch_of(batch: Any, seed: int, step: int) -> Any:
    """Other rows of a batch for each run and step; all fields keep their rows together."""
    rows = torch.randperm(len(batch[0]), generator=torch.Generator().manual_seed(100 * seed + step))
    return type(batch)(*(field[rows] for field in batch))


def made(build: Callable[[], Objective], number: int) -> Member:
    torch.manual_seed(number)
    model = build().train()
    model.draw_seed.fill_(number)
    made: Any = model.configure_optimizers()
    return Member(model, made["optimizer"] if isinstance(made, dict) else made, clip=20.0)


def train_alone(member: Member, batch: Any, seed: int, steps: int, first: int = 0) -> None:
    """The update that `PlainStep` makes."""
    model, optimizer = member.objective, member.optimizer
    for step in range(first, first + steps):
        own = batch_of(batch, seed, step)
        draws = model.draw(len(own[0]), Stream(int(model.draw_seed), step).of("train"))
        loss = model.losses(own, draws, model.steps).loss
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        for group in optimizer.param_groups:
            nn.utils.clip_grad_norm_(group["params"], 20.0)
        optimizer.step()
        model.steps.add_(1)


def train_stacked(members: list[Member], batch: Any, steps: int, first: int = 0) -> None:
    stack = Stack(members)
    stack.load()
    for step in range(first, first + steps):
        batches = [batch_of(batch, run, step) for run in range(len(members))]
        stack.step(batches, step)
    stack.store()


def states(member: Member) -> dict[str, torch.Tensor]:
    """Parameters, buffers, and what the optimiser keeps of each parameter."""
    model, optimizer = member.objective, member.optimizer
    kept = {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }
    return {**model.state_dict(), **kept}


def assert_alike(members: list[Member], alone: list[Member]) -> None:
    for run, (one, other) in enumerate(zip(members, alone, strict=True)):
        mine, its = states(one), states(other)
        assert mine.keys() == its.keys()
        for name, value in its.items():
            place = f"{name} of run {run}"
            torch.testing.assert_close(mine[name], value, atol=1e-5, rtol=1e-5, msg=place)


def compare(build: Any, batch: Any, steps: int) -> None:
    members, alone = ([made(build, run) for run in range(RUNS)] for _ in range(2))
    train_stacked(members, batch, steps)
    for run, one in enumerate(alone):
        train_alone(one, batch, run, steps)
    assert_alike(members, alone)
    assert int(members[0].objective.steps) == steps


@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_each_run_is_trained_as_alone(build: Any, batch: Any, tmp_path: Path) -> None:
    compare(cases.ready(build, tmp_path), batch, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("build", "batch"), cases.objectives())
def test_a_hundred_steps_stay_those_of_each_run_alone(
    build: Any, batch: Any, tmp_path: Path
) -> None:
    compare(cases.ready(build, tmp_path), batch, 100)


ENCODER: Any = partial(MLPEncoder, hidden=(5,))
ADAM: Any = partial(torch.optim.Adam, lr=1e-2)


def vae(
    encoder: Any = ENCODER,
    latent_dim: int = 3,
    optimizer: Any = ADAM,
    scheduler: Any = None,
    **kl: Any,
) -> VAE:
    decoder = partial(MLPDecoder, hidden=(5,))
    parts: Any = {"kl": partial(KL, **kl)}
    return VAE(
        cases.SHAPE,
        100,
        latent_dim,
        encoder,
        decoder,
        parts,
        likelihood="discretized",
        optimizer=optimizer,
        scheduler=scheduler,
    )


BATCH = next(batch for kind, batch in cases.BATCHES.items() if kind.__name__ == "ImageBatch")


@pytest.mark.parametrize(
    "optimizer",
    [
        partial(torch.optim.SGD, lr=1e-4),
        partial(torch.optim.SGD, lr=1e-4, momentum=0.9),
        partial(torch.optim.Adam, lr=1e-2, amsgrad=True, fused=False),
        partial(torch.optim.AdamW, lr=1e-2),
        partial(torch.optim.Adamax, lr=1e-2),
        partial(torch.optim.NAdam, lr=1e-2),
        partial(torch.optim.RAdam, lr=1e-2),
        partial(torch.optim.RMSprop, lr=1e-3, momentum=0.5, centered=True),
        partial(torch.optim.Adagrad, lr=1e-2),
        partial(torch.optim.Adadelta, lr=1e-2),
    ],
    ids=lambda one: f"{one.func.__name__}-{len(one.keywords)}",
)
def test_optimisers_and_their_states_go_in_and_out(optimizer: Any) -> None:
    """Steps alone, stacked and alone again are the steps of a run that was alone all the time."""
    members, alone = (
        [made(partial(vae, optimizer=optimizer), run) for run in range(RUNS)] for _ in range(2)
    )
    for run, one in enumerate(members):
        train_alone(one, BATCH, run, 3)
    train_stacked(members, BATCH, 4, first=3)
    for run, one in enumerate(members):
        train_alone(one, BATCH, run, 3, first=7)
    for run, one in enumerate(alone):
        train_alone(one, BATCH, run, 10)
    assert_alike(members, alone)


def test_settings_may_differ_in_numbers() -> None:
    numbers: list[Any] = [
        {"beta": 1.0, "warmup_steps": 6},
        {"beta": 4.0, "warmup_steps": 6},
        {"beta": 0.5, "warmup_steps": 6},
    ]
    builds = [partial(vae, **one) for one in numbers]
    members, alone = ([made(build, run) for run, build in enumerate(builds)] for _ in range(2))
    train_stacked(members, BATCH, 8)
    for run, one in enumerate(alone):
        train_alone(one, BATCH, run, 8)
    assert_alike(members, alone)
    trained: list[Any] = [one.objective for one in members]
    assert [one.regularizers["kl"].beta for one in trained] == [1.0, 4.0, 0.5]


def test_settings_reach_the_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[Any] = []
    columns = stacking._columns

    def noted(values: Any, device: torch.device) -> Any:
        moved.append(values)
        return columns(values, device)

    monkeypatch.setattr(stacking, "_columns", noted)
    members = [made(partial(vae, beta=beta), run) for run, beta in enumerate((1.0, 4.0))]
    train_stacked(members, BATCH, 3)
    assert moved == [[1.0, 4.0]]


def test_channels_side_by_side_in_memory_stay_so() -> None:
    def build() -> Objective:
        encoder = load("encoders", "ConvCritic")
        model = vae(partial(encoder, channels=(4, 4), hidden=8))
        model.to(memory_format=torch.channels_last)
        return model

    members, alone = ([made(build, run) for run in range(RUNS)] for _ in range(2))
    train_stacked(members, BATCH, 3)
    for run, one in enumerate(members):
        train_alone(one, BATCH, run, 3, first=3)
    for run, one in enumerate(alone):
        train_alone(one, BATCH, run, 6)
    assert_alike(members, alone)


class Chance(Encoder):
    """Takes random numbers from torch's global generator."""

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, outputs), nn.Dropout(0.5))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers(image)
        return found


class Branching(Chance):
    """Looks at a value."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers[:2](image)
        return found if found.sum() > 0 else 2 * found


class Active(Encoder):
    """Keeps a function."""

    def __init__(self, image_shape: ImageShape, outputs: int, smooth: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(64, outputs)
        self.function = nn.functional.silu if smooth else nn.functional.relu

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.function(self.layer(image.flatten(1)))
        return found


class Strange(Active):
    """Gives NaN in a stack only."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found = super().forward(image)
        return found * torch.nan if torch._C._functorch.is_batchedtensor(found) else found


def schedule(step_size: int) -> Any:
    return partial(torch.optim.lr_scheduler.StepLR, step_size=step_size)


REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "another shape": ([{"latent_dim": 3}, {"latent_dim": 4}], "shape .* in run 0 and .* in run 1"),
    "another part": (
        [{}, {"encoder": partial(load("encoders", "ConvCritic"), channels=(4, 4), hidden=5)}],
        "encoder is a MLPEncoder in run 0 and a ConvCritic in run 1",
    ),
    "another learning rate": (
        [{}, {"optimizer": partial(torch.optim.Adam, lr=3e-2)}],
        "lr of the optimiser is 0.01 in run 0 and 0.03 in run 1",
    ),
    "another schedule": (
        [{"scheduler": schedule(5)}, {"scheduler": schedule(5000)}],
        "the scheduler is .*'step_size': 5.* in run 0 and .*'step_size': 5000.* in run 1",
    ),
    "a schedule in one run": ([{"scheduler": schedule(5)}, {}], "the scheduler is .* and None"),
    "another function": (
        [{"encoder": Active}, {"encoder": partial(Active, smooth=True)}],
        "encoder.function is <function relu .* in run 0 and <function silu .* in run 1",
    ),
    "another loss in the stack": (2 * [{"encoder": Strange}], "run 0 is nan in it and .* alone"),
    "a number that decides a branch": ([{"warmup_steps": 3}, {}], "vmap refuses"),
    "an optimiser of whole tensors": (
        2 * [{"optimizer": torch.optim.LBFGS}],
        "trained by LBFGS cannot be stacked",
    ),
    "random numbers of a part": (2 * [{"encoder": Chance}], "vmap refuses its losses .*random"),
    "a branch on values": (2 * [{"encoder": Branching}], "vmap refuses its losses .*control flow"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_stacked_is_refused(name: str) -> None:
    settings, message = REFUSED[name]
    members = [made(partial(vae, **one), run) for run, one in enumerate(settings)]
    with pytest.raises(PackError, match=message):
        train_stacked(members, BATCH, 1)
