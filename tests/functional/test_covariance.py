import numpy as np
import torch

from dislab.functional.covariance import code_covariance


def test_covariance_of_the_means_is_the_biased_one() -> None:
    mean = torch.randn(9, 4, dtype=torch.float64)
    expected = torch.from_numpy(np.cov(mean.numpy(), rowvar=False, bias=True))
    torch.testing.assert_close(code_covariance(mean, torch.zeros_like(mean), "I"), expected)


def test_variances_are_added_to_the_diagonal_alone() -> None:
    mean = torch.zeros(2, 3, dtype=torch.float64)
    log_var = torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], dtype=torch.float64).log()
    expected = torch.diag(torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64))
    torch.testing.assert_close(code_covariance(mean, log_var, "II"), expected)
