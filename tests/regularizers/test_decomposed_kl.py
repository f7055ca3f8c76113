import pytest
import torch

from dislab.base import Posterior
from dislab.errors import InputError
from dislab.functional.losses import log_density, standard_log_density
from dislab.regularizers import DecomposedKL
from dislab.regularizers.decomposed_kl import Estimator


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
