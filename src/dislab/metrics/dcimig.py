"""The mutual information gap for disentanglement and completeness together."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.factors import FactorSpace


def exclusive_gaps(information: Float[Tensor, "latent factor"]) -> Float[Tensor, " factor"]:
    """For each factor, the largest gap to a second factor among its latents, in nats.

    A latent belongs to the factor about which it has most information. A factor without latents
    gets 0. Sepliarskaia et al. (2019), https://arxiv.org/abs/1910.05587.
    """
    padded = torch.cat([information, torch.zeros_like(information[:, :1])], dim=1)
    best, index = padded.topk(2, dim=1)
    gap = best[:, 0] - best[:, 1]
    factor_gaps = torch.zeros_like(padded).scatter(1, index[:, :1], gap[:, None])
    return factor_gaps[:, :-1].max(0).values


@final
class DCIMIG(Metric):
    """Exclusiveness of the information that latents have about single factors.

    Each latent belongs to the factor about which it has most information; its gap is the difference
    to its second factor. The largest gap among a factor's latents counts for the factor. The score
    is the sum over factors, divided by the sum of their entropies. A factor without latents counts
    0.

    Sepliarskaia et al. (2019), https://arxiv.org/abs/1910.05587, with the bins of `MIG`. Constant
    factors are left out.

    Args:
        space: The factors of the images.
        bins: Number of equal-width bins per latent.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The bins are not from 2 to 10,000.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import DCIMIG, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [DCIMIG]) for codes in (factors, turned)]
        >>> [round(score["dcimig"], 2) for score in scores]
        [1.0, 0.12]
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
        """The score `dcimig`, and `dcimig_per_factor` in nats, 0 for constant factors."""
        bank = bank.with_factor_bins(self.factor_bins)
        gaps = bank.information(self.bins)
        nats = exclusive_gaps(gaps.mutual_information)
        return {"dcimig": nats.sum() / gaps.entropy.sum(), "dcimig_per_factor": nats}
