"""Mutual information gap."""

from typing import final

from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.factors import FactorSpace


@final
class MIG(Metric):
    """Mutual information gap: difference between a factor's two most informative latents.

    Each latent is divided into equal-width bins between its smallest and its largest code; the
    mutual information is that of bin and value number, in nats. The score cannot reach 1 if there
    are fewer bins than values: perfect codes of dSprites get about 0.896 with 20 bins and 10,000
    images.

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 6, estimated with histograms as in
    Locatello et al. (2019), https://arxiv.org/abs/1811.12359. Constant factors are left out, and a
    missing second latent counts as uninformative.

    Args:
        space: The factors of the images.
        bins: Number of equal-width bins per latent.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The bins are not from 2 to 10,000.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import MIG, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [MIG]) for codes in (factors, turned)]
        >>> [round(score["mig"], 2) for score in scores]
        [1.0, 0.0]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(self, space: FactorSpace, bins: int = 20, factor_bins: int = FACTOR_BINS) -> None:
        super().__init__(space)
        check_bins("factor_bins", factor_bins)
        self.factor_bins = factor_bins
        check_bins("bins", bins)
        self.bins = bins

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The gap `mig`, and its parts.

        Parts are `mig_per_factor`, NaN for constant factors, and `mutual_information` (latent,
        factor) in nats.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        gaps = bank.information(self.bins)
        return {
            "mig": gaps.gap[bank.varied].mean(),
            "mig_per_factor": gaps.gap,
            "mutual_information": gaps.mutual_information,
        }
