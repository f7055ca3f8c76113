import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from dislab.errors import InputError
from dislab.functional.losses import kl_between, kl_per_latent
from dislab.functional.pairs import (
    labelled_latents,
    mean_of_gaussians,
    pair_divergence,
    product_of_gaussians,
    shared_latents,
)


def row(*numbers: float) -> Tensor:
    return torch.tensor([numbers], dtype=torch.float64)


def logs(*variances: float) -> Tensor:
    return row(*variances).log()


def test_divergence_equals_torch_distributions_and_the_one_to_the_prior() -> None:
    mean, log_var, other, other_log_var = torch.randn(4, 7, 5, dtype=torch.float64)
    first, second = Normal(mean, (log_var / 2).exp()), Normal(other, (other_log_var / 2).exp())
    there, back = kl_divergence(first, second), kl_divergence(second, first)
    torch.testing.assert_close(kl_between(mean, log_var, other, other_log_var), there)
    arguments = (mean, log_var, other, other_log_var)
    torch.testing.assert_close(pair_divergence(*arguments, "forward"), there)
    torch.testing.assert_close(pair_divergence(*arguments, "symmetric"), (there + back) / 2)
    prior = torch.zeros_like(mean)
    torch.testing.assert_close(
        kl_between(mean, log_var, prior, prior), kl_per_latent(mean, log_var)
    )


def test_hand_worked_divergences() -> None:
    arguments = (row(0.0), logs(1.0), row(1.0), logs(4.0))
    there, back = 0.5 * (0.25 + 0.25 - 1 + math.log(4)), 0.5 * (4 + 1 - 1 - math.log(4))
    assert pair_divergence(*arguments, "forward").item() == pytest.approx(there, abs=1e-12)
    mean = (there + back) / 2
    assert pair_divergence(*arguments, "symmetric").item() == pytest.approx(mean, abs=1e-12)


def test_the_mean_of_two_gaussians_averages_variances_not_their_logarithms() -> None:
    mean, log_var = mean_of_gaussians(row(1.0, 0.0), logs(1.0, 2.0), row(3.0, 0.0), logs(4.0, 2.0))
    torch.testing.assert_close(mean, row(2.0, 0.0))
    torch.testing.assert_close(log_var.exp(), row(2.5, 2.0))


def test_the_product_weights_means_by_precision_and_has_the_harmonic_mean_of_variances() -> None:
    mean, log_var = product_of_gaussians(
        row(1.0, 5.0), logs(1.0, 3.0), row(3.0, 5.0), logs(4.0, 3.0)
    )
    # precisions 1 and 1/4: (1·1 + 3·1/4) / (5/4) and 2·1·4/(1 + 4)
    torch.testing.assert_close(mean, row(float(Fraction(7, 5)), 5.0))
    torch.testing.assert_close(log_var.exp(), row(1.6, 3.0))


@pytest.mark.parametrize("average", [mean_of_gaussians, product_of_gaussians])
def test_averages_do_not_depend_on_the_order_and_leave_equals_alone(average: object) -> None:
    assert callable(average)
    one, other = torch.randn(2, 2, 6, 3, dtype=torch.float64)
    torch.testing.assert_close(average(*one, *other), average(*other, *one))
    torch.testing.assert_close(average(*one, *one), tuple(one))
    extreme = average(row(0.0), row(-2000.0), row(1.0), row(2000.0))
    assert all(part.isfinite().all() for part in extreme)


def test_latents_below_halfway_between_least_and_most_different_are_shared() -> None:
    """The midpoint of the first pair is 2, the mean of its divergences 2.5, the median 2.1."""
    divergence = torch.tensor([[0.0, 4.0, 1.9, 2.0, 2.1, 3.6, 3.9], [7.0] * 7])
    expected = [[True, False, True, False, False, False, False], [False] * 7]
    assert shared_latents(divergence).tolist() == expected


def test_half_of_every_divergence_shares_the_same_latents() -> None:
    """The reference code leaves out the ½ of the divergence."""
    divergence = torch.rand(50, 10)
    assert torch.equal(shared_latents(2 * divergence), shared_latents(divergence))


def test_known_changes_decide_over_the_latents_of_the_factors_only() -> None:
    shared = torch.tensor([[True, True, False, True, False]])
    changed = torch.tensor([[True, False, False]])
    assert labelled_latents(shared, changed).tolist() == [[False, True, True, True, False]]
    with pytest.raises(InputError, match=r"5 latents for 6 factors; set latent_dim to at least 6"):
        labelled_latents(shared, torch.zeros(1, 6, dtype=torch.bool))
