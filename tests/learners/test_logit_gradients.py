"""Derivatives of the loss: those of autograd, and where differences would vanish."""

import pytest
import torch
from torch.func import hessian, jacrev
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from dislab.learners.logit_gradients import logit_gradients


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_derivatives_are_those_of_autograd(kinds: int) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(7, kinds, generator=generator, dtype=torch.float64)
    labels = torch.randint(max(kinds, 2), (7,), generator=generator)

    def loss(at: torch.Tensor) -> torch.Tensor:
        if kinds == 1:
            return binary_cross_entropy_with_logits(at[:, 0], labels.double(), reduction="sum")
        return cross_entropy(at, labels, reduction="sum")

    first = jacrev(loss)(logits)
    second = hessian(loss)(logits).flatten(2).flatten(0, 1).diagonal()
    own = logit_gradients(logits, labels)
    torch.testing.assert_close(own[0], first)
    torch.testing.assert_close(own[1], second.view_as(logits))


@pytest.mark.parametrize("kinds", [1, 2])
def test_what_is_left_of_a_certain_label_is_not_rounded_away(kinds: int) -> None:
    logits = torch.tensor([[30.0]]) if kinds == 1 else torch.tensor([[-30.0, 0.0]])
    first, second = logit_gradients(logits, torch.tensor([1]))
    rest = torch.tensor(-30.0).exp().item()
    assert first[0, -1].item() == pytest.approx(-rest, rel=1e-5)
    assert second[0, -1].item() == pytest.approx(rest, rel=1e-5)
