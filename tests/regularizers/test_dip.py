import numpy as np
import pytest
import torch

from dislab.base import Posterior
from dislab.errors import InputError
from dislab.regularizers import DIP
from dislab.regularizers.dip import DIPKind, code_covariance


@pytest.mark.parametrize(("kind", "lambda_d"), [("I", 50.0), ("II", 5.0)])
def test_dip_equals_numpy(posterior: Posterior, kind: DIPKind, lambda_d: float) -> None:
    penalty, auxiliary, terms = DIP(4, 100, kind=kind, lambda_od=5.0)(
        posterior, posterior.mean, {}, torch.tensor(0)
    )
    mean, log_var = (part.detach().double().numpy() for part in posterior)
    covariance = np.cov(mean, rowvar=False, bias=True)
    if kind == "II":
        covariance += np.diag(np.exp(log_var).mean(0))
    diagonal = np.diag(covariance)
    off_diagonal = (covariance**2).sum() - (diagonal**2).sum()
    assert terms["off_diagonal"].item() == pytest.approx(off_diagonal, rel=1e-5)
    expected = 5 * off_diagonal + lambda_d * ((diagonal - 1) ** 2).sum()
    assert penalty.item() == pytest.approx(expected, rel=1e-5)
    assert auxiliary is None


def test_identity_covariance_costs_nothing() -> None:
    mean = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    posterior = Posterior(mean, torch.full_like(mean, -20.0))
    for kind in ("I", "II"):
        penalty, _, _ = DIP(2, 100, kind=kind)(posterior, mean, {}, torch.tensor(0))
        assert penalty.item() == pytest.approx(0.0, abs=1e-5)


def test_dip_refuses_negative_weights() -> None:
    with pytest.raises(InputError, match="lambda_od is -1"):
        DIP(4, 100, lambda_od=-1.0)


def test_covariance_of_the_means_is_the_biased_one() -> None:
    mean = torch.randn(9, 4, dtype=torch.float64)
    expected = torch.from_numpy(np.cov(mean.numpy(), rowvar=False, bias=True))
    torch.testing.assert_close(code_covariance(mean, torch.zeros_like(mean), "I"), expected)


def test_variances_are_added_to_the_diagonal_alone() -> None:
    mean = torch.zeros(2, 3, dtype=torch.float64)
    log_var = torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], dtype=torch.float64).log()
    expected = torch.diag(torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64))
    torch.testing.assert_close(code_covariance(mean, log_var, "II"), expected)
