import math

import pytest
import torch
from torch import Tensor

from dislab.base import Posterior
from dislab.errors import InputError
from dislab.functional.losses import log_density, standard_log_density
from dislab.regularizers import DecomposedKL
from dislab.regularizers.decomposed_kl import Estimator, decompose_kl, log_weights

ESTIMATORS: list[Estimator] = ["mws", "mss", "mws-unnormalised"]


@pytest.mark.parametrize("estimator", ["mws", "mss", "mws-unnormalised"])
def test_unit_weights_give_the_sampled_kl(posterior: Posterior, estimator: Estimator) -> None:
    z = posterior.mean + 0.3
    regularizer = DecomposedKL(4, 100, beta=1.0, estimator=estimator)
    penalty, _, _ = regularizer(posterior, z, {}, torch.tensor(0))
    sampled = (log_density(z, *posterior) - standard_log_density(z)).sum(1).mean()
    torch.testing.assert_close(penalty, sampled)


def test_each_weight_multiplies_its_term(posterior: Posterior) -> None:
    regularizer = DecomposedKL(4, 100, beta=3.0, alpha=2.0, gamma=5.0)
    penalty, _, terms = regularizer(posterior, posterior.mean + 0.1, {}, torch.tensor(0))
    expected = (
        2 * terms["index_code_mi"] + 3 * terms["total_correlation"] + 5 * terms["dimension_wise_kl"]
    )
    torch.testing.assert_close(penalty, expected)


def test_the_analytic_form_adds_to_the_closed_form_kl(posterior: Posterior) -> None:
    regularizer = DecomposedKL(4, 100, beta=3.0, form="analytic")
    penalty, _, terms = regularizer(posterior, posterior.mean + 0.1, {}, torch.tensor(0))
    torch.testing.assert_close(penalty, terms["kl"] + 2 * terms["total_correlation"])


def test_weighted_estimates_have_equal_gradients_with_and_without_constants(
    posterior: Posterior,
) -> None:
    gradients = []
    for estimator in ("mws", "mws-unnormalised"):
        regularizer = DecomposedKL(4, 100, estimator=estimator)
        penalty, _, _ = regularizer(posterior, posterior.mean + 0.1, {}, torch.tensor(0))
        gradients.append(torch.autograd.grad(penalty, list(posterior)))
    for with_constants, without in zip(*gradients, strict=True):
        torch.testing.assert_close(with_constants, without)


def test_far_apart_posteriors_stay_finite() -> None:
    mean = 1e3 * torch.arange(6.0)[:, None].repeat(1, 3)
    mean.requires_grad_()
    posterior = Posterior(mean, torch.full((6, 3), -8.0))
    penalty, _, _ = DecomposedKL(3, 100)(posterior, mean, {}, torch.tensor(0))
    (gradient,) = torch.autograd.grad(penalty, mean)
    assert penalty.isfinite()
    assert gradient.isfinite().all()


def test_it_refuses_what_has_no_meaning(posterior: Posterior) -> None:
    with pytest.raises(InputError, match="analytic form"):
        DecomposedKL(4, 100, alpha=2.0, form="analytic")
    with pytest.raises(InputError, match="beta is -1"):
        DecomposedKL(4, 100, beta=-1.0)
    with pytest.raises(InputError, match="larger than the training set of 5"):
        DecomposedKL(4, 5)(posterior, posterior.mean, {}, torch.tensor(0))


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


@pytest.mark.slow
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
