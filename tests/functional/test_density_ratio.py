from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.functional.density_ratio import SLOPE, judge


class Apart(NamedTuple):
    """Both losses from networks of their own, each with what it may train."""

    tc: Tensor
    loss: Tensor


def network(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers = [nn.Linear(3, 7), nn.LeakyReLU(SLOPE), nn.Linear(7, 5), nn.LeakyReLU(SLOPE)]
        return nn.Sequential(*layers, nn.Linear(5, 2)).to(dtype)


def samples(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    codes, permuted = 2 * torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(2))
    return codes.to(dtype).requires_grad_(), permuted.to(dtype)


def apart(discriminator: nn.Sequential, codes: Tensor, permuted: Tensor) -> Apart:
    logits = discriminator(codes)
    judged = discriminator(torch.cat([codes.detach(), permuted]))
    truth = torch.tensor([0] * len(codes) + [1] * len(permuted))
    return Apart((logits[:, 0] - logits[:, 1]).mean(), F.cross_entropy(judged, truth))


def test_it_equals_two_passes() -> None:
    discriminator, (codes, permuted) = network(), samples()
    parameters = list(discriminator.parameters())
    one, two = judge(codes, permuted, parameters), apart(discriminator, codes, permuted)
    torch.testing.assert_close(one.tc, two.tc)
    torch.testing.assert_close(one.loss, two.loss)
    weighted = 3 * one.tc - 0.7 * one.loss
    of_codes, *of_parameters = torch.autograd.grad(weighted, [codes, *parameters])
    torch.testing.assert_close(of_codes, torch.autograd.grad(3 * two.tc, codes)[0])
    expected = torch.autograd.grad(-0.7 * two.loss, parameters)
    for gradient, other in zip(of_parameters, expected, strict=True):
        torch.testing.assert_close(gradient, other)


def test_a_certain_discriminator_still_moves_the_codes() -> None:
    """Where the loss has no gradient left, that of the total correlation is whole."""
    discriminator, (codes, permuted) = network(torch.float32), samples(torch.float32)
    with torch.no_grad():
        list(discriminator.parameters())[-2].mul_(1e4)
    one = judge(codes, permuted, list(discriminator.parameters()))
    two = apart(discriminator, codes, permuted)
    (gradient,) = torch.autograd.grad(one.tc + one.loss, codes)
    torch.testing.assert_close(gradient, torch.autograd.grad(two.tc, codes)[0])
    assert gradient.abs().amax(1).min() > 1


def test_the_log_ratio_is_of_each_row() -> None:
    discriminator, (codes, permuted) = network(), samples()
    log_ratio = judge(codes, permuted, list(discriminator.parameters())).log_ratio
    logits = discriminator(torch.cat([codes, permuted]))
    torch.testing.assert_close(log_ratio, logits[:, 0] - logits[:, 1])
    assert not log_ratio.requires_grad


def test_second_derivatives_are_refused() -> None:
    """The pass knows the first ones only, and must not give others that are wrong."""
    discriminator, (codes, permuted) = network(), samples()
    tc = judge(codes, permuted, list(discriminator.parameters())).tc
    (gradient,) = torch.autograd.grad(tc.square(), codes, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        torch.autograd.backward(gradient.sum())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_computes_in_half_precision_and_averages_in_float32(dtype: torch.dtype) -> None:
    discriminator, (codes, permuted) = network(torch.float32), samples(torch.float32)
    parameters = list(discriminator.parameters())
    with torch.autocast("cpu", dtype):
        one = judge(codes, permuted, parameters)
    two = apart(discriminator, codes, permuted)
    assert one.tc.dtype == one.loss.dtype == torch.float32
    of_codes, *of_parameters = torch.autograd.grad(one.tc + one.loss, [codes, *parameters])
    expected = [*torch.autograd.grad(two.tc, codes), *torch.autograd.grad(two.loss, parameters)]
    for gradient, other in zip([of_codes, *of_parameters], expected, strict=True):
        assert gradient.dtype == torch.float32
        assert not torch.equal(gradient, other)
        torch.testing.assert_close(gradient, other, atol=0.02 * other.abs().max().item(), rtol=0)
