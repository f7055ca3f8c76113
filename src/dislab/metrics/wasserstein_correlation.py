"""Wasserstein correlation of codes, taken for Gaussian."""

from typing import final

import torch
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.correlations import covariance, gaussian_wasserstein_correlation


@final
class WassersteinCorrelation(Metric):
    """Squared 2-Wasserstein distance of Gaussian codes from independent ones; 0 is best.

    It needs no factors and sees linear dependence only. Its unit is that of the squared codes;
    the normalised variant is divided by the sum of their variances.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359.

    Args:
        space: The factors behind the images, which do not matter.
    """

    higher_is_better = False
    compares = False
    plot_lower_bound = 0.0

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """`gaussian_wasserstein_correlation` and `gaussian_wasserstein_correlation_normalized`.

        Args:
            bank: Checked codes and factors.
        """
        moments = covariance(bank.codes)
        distance = gaussian_wasserstein_correlation(moments)
        total = moments.diagonal().sum()
        return {
            "gaussian_wasserstein_correlation": distance,
            "gaussian_wasserstein_correlation_normalized": distance
            / torch.where(total > 0, total, 1.0),
        }
