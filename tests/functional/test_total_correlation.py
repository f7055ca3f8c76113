import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.functional.losses import log_density, standard_log_density
from dislab.regularizers.decomposed_kl import Estimator, decompose_kl, log_weights
from dislab.regularizers.total_correlation import SLOPE, judge, permute_latents

ESTIMATORS: list[Estimator] = ["mws", "mss", "mws-unnormalised"]


def batch(count: int, latents: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    mean, noise = torch.randn(2, count, latents, generator=generator, dtype=torch.float64)
    log_var = torch.rand(count, latents, generator=generator, dtype=torch.float64) - 1
    return mean + (0.5 * log_var).exp() * noise, mean, log_var


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_terms_sum_to_the_sampled_kl(estimator: Estimator) -> None:
    z, mean, log_var = batch(6, 3)
    parts = decompose_kl(z, mean, log_var, estimator, 100)
    sampled = (log_density(z, mean, log_var) - standard_log_density(z)).sum(1).mean()
    torch.testing.assert_close(sum(parts), sampled)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_estimates_equal_plain_sums_over_the_batch(estimator: Estimator) -> None:
    z, mean, log_var = batch(5, 2)
    weights = log_weights(5, 100, estimator, z).exp()
    density = log_density(z[:, None], mean[None], log_var[None]).exp()
    joint = (weights * density.prod(2)).sum(1).log()
    marginals = (weights[:, :, None] * density).sum(1).log().sum(1)
    own = density.diagonal().T.prod(1).log()
    parts = decompose_kl(z, mean, log_var, estimator, 100)
    torch.testing.assert_close(parts.index_code_mi, (own - joint).mean())
    torch.testing.assert_close(parts.total_correlation, (joint - marginals).mean())


def test_stratified_weights_hit_the_diagonal_and_the_cyclic_successor() -> None:
    others, size = 4, 100
    expected = torch.full((5, 5), 1 / others, dtype=torch.float64)
    for row in range(5):
        expected[row, row] = 1 / size
        expected[row, (row + 1) % 5] = (size - others) / (size * others)
    weights = log_weights(5, size, "mss", torch.zeros((), dtype=torch.float64)).exp()
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(weights.sum(1), torch.ones(5, dtype=torch.float64))


def test_weights_of_the_whole_training_set_are_uniform() -> None:
    weights = log_weights(5, 5, "mss", torch.zeros((), dtype=torch.float64)).exp()
    assert weights.diagonal().tolist() == pytest.approx([0.2] * 5)
    torch.testing.assert_close(weights.sum(1), torch.ones(5, dtype=torch.float64))


def test_a_single_image_has_no_total_correlation_to_speak_of() -> None:
    z, mean, log_var = batch(1, 3)
    parts = decompose_kl(z, mean, log_var, "mss", 100)
    assert parts.index_code_mi.item() == pytest.approx(0.0, abs=1e-12)
    assert parts.total_correlation.item() == pytest.approx(0.0, abs=1e-12)


def test_slices_of_a_global_batch_average_to_the_whole() -> None:
    z, mean, log_var = batch(8, 3)
    whole = decompose_kl(z, mean, log_var, "mss", 100)
    halves = [
        decompose_kl(z[at : at + 4], mean, log_var, "mss", 100, first_row=at) for at in (0, 4)
    ]
    for term, first, second in zip(whole, *halves, strict=True):
        torch.testing.assert_close(term, (first + second) / 2)


def test_chunks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    z, mean, log_var = batch(10, 3)
    whole = decompose_kl(z, mean, log_var, "mss", 100)
    monkeypatch.setattr("dislab.regularizers.decomposed_kl.ROWS_AT_ONCE", 3)
    for term, chunked in zip(whole, decompose_kl(z, mean, log_var, "mss", 100), strict=True):
        torch.testing.assert_close(term, chunked)


def test_only_stratified_sampling_recovers_the_total_correlation_of_the_aggregate() -> None:
    """20,000 narrow posteriors whose population has none: the finite aggregate has 2.6 nats."""
    size, latents, std, count = 20_000, 10, 0.3, 64
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    mean = math.sqrt(1 - std**2) * normal(size, latents)
    log_var = torch.full_like(mean, 2 * math.log(std))
    chosen = torch.randint(size, (500,), generator=generator)
    z = mean[chosen] + std * normal(500, latents)
    exact = torch.cat([_exact(rows, mean, log_var) for rows in torch.split(z, 50)])
    estimates: dict[str, Tensor] = {}
    for estimator in ESTIMATORS:
        values = []
        for _ in range(300):
            rows = torch.randperm(size, generator=generator)[:count]
            sampled = mean[rows] + std * normal(count, latents)
            parts = decompose_kl(sampled, mean[rows], log_var[rows], estimator, size)
            values.append(parts.total_correlation)
        estimates[estimator] = torch.stack(values).mean()
    error = 3 * exact.std() / math.sqrt(len(exact))
    assert abs(estimates["mss"] - exact.mean()) < error + 0.1
    assert exact.mean().item() == pytest.approx(2.62, abs=0.4)
    assert estimates["mws"].item() == pytest.approx(96.6, abs=0.5)
    assert estimates["mws-unnormalised"].item() == pytest.approx(-29.9, abs=0.5)


def _exact(z: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    pairs = log_density(z[:, None], mean[None], log_var[None])
    normaliser = math.log(len(mean))
    joint = torch.logsumexp(pairs.sum(2), 1) - normaliser
    return joint - (torch.logsumexp(pairs, 1) - normaliser).sum(1)


def test_permuted_latents_keep_each_marginal() -> None:
    z = torch.arange(12.0).view(4, 3)
    permutation = torch.tensor([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]])
    permuted = permute_latents(z, permutation)
    assert permuted.tolist() == [[0, 4, 8], [3, 7, 11], [6, 10, 2], [9, 1, 5]]


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
