"""The mutual information gap that asks for disentanglement and completeness at once."""

from typing import final

from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.information import exclusive_gaps
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count


@final
class DCIMIG(Metric):
    """How exclusively the latents that know of a factor know of it alone.

    Each latent belongs to the factor that it knows most of and counts by how much it is ahead of
    its second factor; the best of a factor's latents counts for it. The score is the sum over
    factors, in units of their entropies. A factor to which no latent belongs counts 0.

    Sepliarskaia et al. (2019), https://arxiv.org/abs/1910.05587, with the bins of `MIG`. Factors
    that never vary are left out.

    Args:
        space: The factors behind the images.
        bins: Number of equal-width bins a latent.
        factor_bins: Number of equal-width bins that a continuous factor is cut into.

    Raises:
        InputError: There are fewer than two bins.
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(self, space: FactorSpace, bins: int = 20, factor_bins: int = FACTOR_BINS) -> None:
        super().__init__(space)
        check_count("factor_bins", factor_bins, 2)
        self.factor_bins = factor_bins
        check_count("bins", bins, 2)
        self.bins = bins

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `dcimig`, and `dcimig_per_factor` in nats, 0 for factors that never vary.

        Args:
            bank: Checked codes and factors.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        gaps = bank.information(self.bins)
        nats = exclusive_gaps(gaps.mutual_information)
        return {"dcimig": nats.sum() / gaps.entropy.sum(), "dcimig_per_factor": nats}
