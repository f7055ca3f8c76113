import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.linalg import sqrtm
from sklearn.cross_decomposition import CCA
from sklearn.metrics import roc_auc_score

from dislab.codes.statistics import average_ranks, covariance, roc_auc
from dislab.metrics.gaussian_total_correlation import gaussian_total_correlation
from dislab.metrics.mcc import canonical_variates, pearson
from dislab.metrics.wasserstein_correlation import gaussian_wasserstein_correlation


def test_correlations_equal_numpys() -> None:
    codes = torch.randn(60, 3, dtype=torch.float64) * torch.tensor([1, 100, 0.01]) + 5
    factors = torch.randint(4, (60, 2)).double() + codes[:, :1]
    expected = np.corrcoef(codes.numpy().T, factors.numpy().T)[:3, 3:]
    np.testing.assert_allclose(pearson(codes, factors).numpy(), expected, atol=1e-12)


def test_what_stands_still_correlates_with_nothing() -> None:
    codes = torch.stack([torch.full((50,), 0.1), torch.arange(50.0)], dim=1).double()
    factors = torch.stack([torch.arange(50.0), torch.full((50,), 0.3)], dim=1).double()
    expected = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(pearson(codes, factors), expected)


def test_ranks_equal_scipys() -> None:
    columns = torch.randint(5, (40, 3)).double()
    assert (average_ranks(columns).numpy() == stats.rankdata(columns.numpy(), axis=0)).all()


def test_areas_equal_scikit_learns() -> None:
    scores = torch.randint(6, (80, 2)).double()
    positive = torch.rand(80, 2) < 0.3
    expected = [roc_auc_score(positive[:, one], scores[:, one]) for one in range(2)]
    assert roc_auc(scores, positive).tolist() == pytest.approx(expected, abs=1e-12)


def test_an_area_needs_both_answers() -> None:
    positive = torch.tensor([[True, False, True], [True, False, False]])
    assert roc_auc(torch.tensor([[2.0] * 3, [1.0] * 3]), positive).tolist() == pytest.approx(
        [torch.nan, torch.nan, 1.0], nan_ok=True
    )


def random_covariance(latents: int) -> torch.Tensor:
    root = torch.randn(latents, latents, dtype=torch.float64)
    return root @ root.T + 0.1 * torch.eye(latents, dtype=torch.float64)


def test_two_latents_by_hand() -> None:
    # correlation 0.6: -log(1 - 0.36) / 2; roots of the eigenvalues 1 ± 0.6
    moments = torch.tensor([[1.0, 0.6], [0.6, 1.0]], dtype=torch.float64)
    assert gaussian_total_correlation(moments).item() == pytest.approx(-math.log(0.64) / 2)
    expected = 4 - 2 * (math.sqrt(1.6) + math.sqrt(0.4))
    assert gaussian_wasserstein_correlation(moments).item() == pytest.approx(expected)


def test_the_published_formulas() -> None:
    moments = random_covariance(5)
    array = moments.numpy()
    log_det = np.linalg.slogdet(array)[1]
    expected = (np.log(np.diag(array)).sum() - log_det) / 2
    assert gaussian_total_correlation(moments).item() == pytest.approx(expected, abs=1e-9)
    roots = np.trace(sqrtm(array * np.diag(array))).real
    expected = 2 * np.trace(array) - 2 * roots
    assert gaussian_wasserstein_correlation(moments).item() == pytest.approx(expected, abs=1e-9)


def test_units_matter_for_one_of_them() -> None:
    moments = random_covariance(4)
    scaled = moments * 9.0
    torch.testing.assert_close(
        gaussian_total_correlation(scaled), gaussian_total_correlation(moments)
    )
    torch.testing.assert_close(
        gaussian_wasserstein_correlation(scaled), 9 * gaussian_wasserstein_correlation(moments)
    )


def test_independent_and_idle_latents_share_nothing() -> None:
    moments = torch.diag(torch.tensor([4.0, 0.0, 1e-8], dtype=torch.float64))
    assert gaussian_total_correlation(moments).item() == pytest.approx(0.0, abs=1e-12)
    assert gaussian_wasserstein_correlation(moments).item() == pytest.approx(0.0, abs=1e-12)
    nothing = torch.zeros(3, 3, dtype=torch.float64)
    assert gaussian_total_correlation(nothing).item() == 0.0
    assert gaussian_wasserstein_correlation(nothing).item() == 0.0


def test_a_repeated_latent_counts_about_seventeen_nats() -> None:
    codes = torch.randn(500, 1, dtype=torch.float64)
    repeated = covariance(torch.cat([codes, 3 * codes], dim=1))
    assert 16 < gaussian_total_correlation(repeated).item() < 19


def test_covariance_equals_numpys() -> None:
    codes = torch.randn(30, 3, dtype=torch.float64) + 100
    codes[:, 1] = 0.1
    expected = np.cov(codes.numpy(), rowvar=False)
    np.testing.assert_allclose(covariance(codes).numpy(), expected, atol=1e-12)
    assert covariance(codes)[1].tolist() == [0.0, 0.0, 0.0]


def test_canonical_variates_equal_scikit_learns() -> None:
    generator = torch.Generator().manual_seed(0)
    codes = torch.randn(200, 4, generator=generator, dtype=torch.float64)
    noise = torch.randn(200, 2, generator=generator, dtype=torch.float64)
    factors = torch.stack([codes[:, 0] + codes[:, 1], codes[:, 2]], 1) + noise * torch.tensor(
        [1, 3]
    )
    left, right = canonical_variates(codes, factors, 120)
    model = CCA(2, tol=1e-12, max_iter=10_000).fit(codes[:120].numpy(), factors[:120].numpy())
    for own, other in zip(
        (left, right), model.transform(codes.numpy(), factors.numpy()), strict=True
    ):
        assert pearson(own, torch.from_numpy(other)).abs().diagonal().tolist() == pytest.approx(
            [1.0, 1.0], abs=1e-6
        )


def test_copies_and_dead_columns_have_no_variates_of_their_own() -> None:
    codes = torch.randn(50, 1, dtype=torch.float64)
    copies = torch.cat([codes, 2 * codes, torch.full((50, 1), 0.3).double()], dim=1)
    left, right = canonical_variates(copies, torch.randn(50, 3, dtype=torch.float64), 40)
    assert left.shape == right.shape == (50, 1)
