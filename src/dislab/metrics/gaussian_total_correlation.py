"""Total correlation of codes, under a Gaussian assumption."""

from typing import final

from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.correlations import covariance, gaussian_total_correlation


@final
class GaussianTotalCorrelation(Metric):
    """Total correlation of a Gaussian with the covariance of the codes, in nats; 0 is best.

    It needs no factors and measures only linear dependence. Constant latents are left out; a latent
    that is a linear function of others adds about 17 nats instead of infinity.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359.

    Args:
        space: The factors of the images, which are not used.
    """

    higher_is_better = False
    compares = False
    plot_lower_bound = 0.0

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `gaussian_total_correlation`, in nats.

        Args:
            bank: Checked codes and factors.
        """
        return {"gaussian_total_correlation": gaussian_total_correlation(covariance(bank.codes))}
