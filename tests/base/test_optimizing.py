"""The optimiser over parameter groups."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau, StepLR

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.base._optimizing import (
    clip_groups,
    groups_of,
    optimizer_of,
    scheduler_of,
    takes_scaled_gradients,
)
from dislab.errors import InputError


def groups(**settings: Any) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    return [
        {"params": list(nn.Linear(3, 4).parameters())},
        {"params": list(nn.Linear(2, 2).parameters()), **settings},
    ]


def trained(make: Any) -> list[Tensor]:
    optimizer = optimizer_of(make, groups(lr=1e-2))
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for step in range(20):
        optimizer.zero_grad()
        sum((one.sin() * (step + 1)).sum() for one in parameters).backward()
        optimizer.step()
    return parameters


@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_adam_is_fused_and_takes_the_same_steps(kind: type[Adam]) -> None:
    make = partial(kind, lr=1e-3)
    assert all(group["fused"] for group in optimizer_of(make, groups()).param_groups)
    loops = partial(kind, lr=1e-3, foreach=False, fused=False)
    assert not any(group["fused"] for group in optimizer_of(loops, groups()).param_groups)
    for one, other in zip(trained(make), trained(loops), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chosen", ["foreach", "capturable", "differentiable"])
def test_what_the_user_chose_stays(chosen: str) -> None:
    settings: Any = {chosen: True}
    make = partial(Adam, **settings)
    assert all(group["fused"] is None for group in optimizer_of(make, groups()).param_groups)


def test_other_optimisers_stay_as_they_are() -> None:
    assert all(not group["fused"] for group in optimizer_of(SGD, groups()).param_groups)
    with pytest.raises(InputError, match="SGD has no betas"):
        optimizer_of(SGD, groups(betas=(0.5, 0.9)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"lr": -1.0}, r"Invalid learning rate: -1\.0"), ({"fused": True, "foreach": True}, "fused")],
)
def test_settings_that_torch_refuses_are_a_users_mistake(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"the optimizer refuses its settings: .*{message}"):
        optimizer_of(partial(Adam, **settings), groups())


def test_a_schedule_sets_the_rates_of_every_group() -> None:
    optimizer = Adam(groups(lr=0.5), lr=1.0)
    scheduler = scheduler_of(partial(StepLR, step_size=1, gamma=0.1), optimizer)
    optimizer.step()
    scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.1, 0.05])


def test_a_schedule_that_cannot_be_stepped_with_the_optimiser_is_a_users_mistake() -> None:
    with pytest.raises(InputError, match=r"the scheduler refuses its settings: .*total_steps"):
        scheduler_of(partial(OneCycleLR, max_lr=1.0, total_steps=-1), Adam(groups()))
    with pytest.raises(InputError, match="ReduceLROnPlateau waits for a score"):
        scheduler_of(ReduceLROnPlateau, Adam(groups()))


def test_a_state_that_was_not_fused_goes_on_unfused() -> None:
    make = partial(Adam, lr=1e-3)
    old = Adam(groups(), lr=1e-3)
    for group in old.param_groups:
        for one in group["params"]:
            one.grad = torch.ones_like(one)
    old.step()
    new = optimizer_of(make, groups())
    new.load_state_dict(old.state_dict())
    assert all(group["fused"] is None for group in new.param_groups)


def test_each_group_is_clipped_by_itself() -> None:
    optimizer = Adam(groups())
    for factor, group in zip((1.0, 100.0), optimizer.param_groups, strict=True):
        for one in group["params"]:
            one.grad = torch.full_like(one, factor)
    clip_groups(optimizer, 2.0, "norm")
    for group in optimizer.param_groups:
        norm = torch.stack([one.grad.norm() for one in group["params"]]).norm()
        assert float(norm) == pytest.approx(2.0, rel=1e-4)
    clip_groups(optimizer, 0.25, "value")
    assert float(optimizer.param_groups[1]["params"][0].grad.max()) == pytest.approx(0.25)


def test_only_an_optimiser_fused_as_a_whole_takes_scaled_gradients() -> None:
    assert takes_scaled_gradients(Adam(groups(), fused=True))
    assert not takes_scaled_gradients(optimizer_of(Adam, groups()))


class Sized(Regularizer):
    """Its one parameter, which may be frozen, has a learning rate of its own."""

    def __init__(self, learns: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()), requires_grad=learns)

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        raise NotImplementedError

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.weight], "lr": 0.5}]


def test_regularisers_have_groups_of_their_own_and_frozen_parameters_none() -> None:
    model = nn.ModuleDict({"body": nn.Linear(2, 1), "on": Sized(True), "off": Sized(False)})
    weight, bias = model["body"].parameters()
    bias.requires_grad_(False)
    rest, own = groups_of(model)
    assert [id(one) for one in rest["params"]] == [id(weight)]
    assert own == {"params": [model["on"].weight], "lr": 0.5}
