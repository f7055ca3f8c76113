"""Total correlation of codes, under a Gaussian assumption."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.statistics import covariance


def gaussian_total_correlation(covariance: Float[Tensor, "latent latent"]) -> Float[Tensor, ""]:
    """KL divergence of a Gaussian with this covariance from the product of its marginals, in nats.

    It is minus half the log-determinant of the correlation matrix, without constant latents.
    Eigenvalues are clipped at the rounding error of float64, so that a latent that is a linear
    function of others adds about 17 nats instead of infinity.
    """
    spread = covariance.diagonal().sqrt()
    moving = spread > 0
    correlation = (covariance / torch.outer(spread, spread))[moving][:, moving]
    least = torch.finfo(covariance.dtype).eps * max(len(correlation), 1)
    eigenvalues: Tensor = torch.linalg.eigvalsh(correlation).clamp(min=least)
    return (-eigenvalues.log().sum() / 2).clamp(min=0.0)


@final
class GaussianTotalCorrelation(Metric):
    """Total correlation of a Gaussian with the covariance of the codes, in nats; 0 is best.

    It needs no factors and measures only linear dependence. Constant latents are left out; a latent
    that is a linear function of others adds about 17 nats instead of infinity.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359.

    Args:
        space: The factors of the images, which are not used.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import GaussianTotalCorrelation, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(z, factors, [GaussianTotalCorrelation]) for z in (factors, turned)]
        >>> [round(score["gaussian_total_correlation"], 2) for score in scores]
        [0.0, 0.05]
    """

    higher_is_better = False
    compares = False
    plot_lower_bound = 0.0

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `gaussian_total_correlation`, in nats."""
        return {"gaussian_total_correlation": gaussian_total_correlation(covariance(bank.codes))}
