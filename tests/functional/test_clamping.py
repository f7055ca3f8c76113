import pytest
import torch
from torch import Tensor

from dislab.functional import clamping
from dislab.functional.clamping import clamp_to_mean

ACTIVE = torch.tensor([[True, False], [True, False]])


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
    monkeypatch.setattr(clamping, "gather_rows", lambda rows: z)
    parts = [result(z[share], share) for share in (slice(0, 4), slice(4, 8))]
    torch.testing.assert_close(torch.cat([part[0] for part in parts]), whole[0])
    # DDP averages the gradients of two processes
    torch.testing.assert_close(torch.cat([part[1] for part in parts]) / 2, whole[1])
