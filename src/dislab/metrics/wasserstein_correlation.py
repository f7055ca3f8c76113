"""Wasserstein correlation of codes, under a Gaussian assumption."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.statistics import covariance


def gaussian_wasserstein_correlation(
    covariance: Float[Tensor, "latent latent"],
) -> Float[Tensor, ""]:
    """Squared 2-Wasserstein distance of this covariance's Gaussian from its marginals' product.

    It has the unit of squared codes. Dowson & Landau (1982),
    https://doi.org/10.1016/0047-259X(82)90077-X.
    """
    spread = covariance.diagonal().sqrt()
    middle = covariance * torch.outer(spread, spread)
    roots: Tensor = torch.linalg.eigvalsh(middle).clamp(min=0.0).sqrt()
    return (2 * covariance.diagonal().sum() - 2 * roots.sum()).clamp(min=0.0)


@final
class WassersteinCorrelation(Metric):
    """Squared 2-Wasserstein distance of Gaussian codes from independent codes; 0 is best.

    It needs no factors and measures only linear dependence. It has the unit of squared codes; the
    normalised variant is divided by the sum of the codes' variances.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359.

    Args:
        space: The factors of the images, which are not used.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import WassersteinCorrelation, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(z, factors, [WassersteinCorrelation]) for z in (factors, turned)]
        >>> [round(score["gaussian_wasserstein_correlation"], 2) for score in scores]
        [0.0, 0.09]
    """

    higher_is_better = False
    compares = False
    plot_lower_bound = 0.0

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """`gaussian_wasserstein_correlation` and `gaussian_wasserstein_correlation_normalized`."""
        moments = covariance(bank.codes)
        distance = gaussian_wasserstein_correlation(moments)
        total = moments.diagonal().sum()
        return {
            "gaussian_wasserstein_correlation": distance,
            "gaussian_wasserstein_correlation_normalized": distance
            / torch.where(total > 0, total, 1.0),
        }
