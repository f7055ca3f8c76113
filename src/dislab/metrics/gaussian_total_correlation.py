"""Total correlation of codes, taken for Gaussian."""

from typing import final

from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.correlations import covariance, gaussian_total_correlation


@final
class GaussianTotalCorrelation(Metric):
    """Total correlation of a Gaussian with the covariance of the codes, in nats; 0 is best.

    It needs no factors and sees linear dependence only. Constant latents are left out;
    one that is a linear function of others counts about 17 nats instead of infinitely many.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359.

    Args:
        space: The factors behind the images, which do not matter.
    """

    higher_is_better = False
    compares = False
    plot_lower_bound = 0.0

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `gaussian_total_correlation`, nats.

        Args:
            bank: Checked codes and factors.
        """
        return {"gaussian_total_correlation": gaussian_total_correlation(covariance(bank.codes))}
