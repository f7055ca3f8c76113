"""Derivatives of the loss: those of autograd, and where differences would vanish."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from dislab.codes.learners.logit_gradients import logit_gradients


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_derivatives_are_those_of_autograd(kinds: int) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(7, kinds, generator=generator, dtype=torch.float64)
    logits.requires_grad_()
    labels = torch.randint(max(kinds, 2), (7,), generator=generator)

    if kinds == 1:
        loss = binary_cross_entropy_with_logits(logits[:, 0], labels.double(), reduction="sum")
    else:
        loss = cross_entropy(logits, labels, reduction="sum")
    (first,) = torch.autograd.grad(loss, logits, create_graph=True)
    rows = [torch.autograd.grad(one.sum(), logits, retain_graph=True)[0] for one in first.T]
    second = torch.stack([row[:, kind] for kind, row in enumerate(rows)], 1)
    own = logit_gradients(logits.detach(), labels)
    torch.testing.assert_close(own[0], first.detach())
    torch.testing.assert_close(own[1], second)


@pytest.mark.parametrize("kinds", [1, 2])
def test_what_is_left_of_a_certain_label_is_not_rounded_away(kinds: int) -> None:
    logits = torch.tensor([[30.0]]) if kinds == 1 else torch.tensor([[-30.0, 0.0]])
    first, second = logit_gradients(logits, torch.tensor([1]))
    rest = torch.tensor(-30.0).exp().item()
    assert first[0, -1].item() == pytest.approx(-rest, rel=1e-5)
    assert second[0, -1].item() == pytest.approx(rest, rel=1e-5)
