"""Joint entropy minus mutual information gap."""

import math
from typing import Final, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.factors import FactorSpace

_EQUAL: Final = 1e-9
"""Difference in information, in nats, up to which two latents are equally informative."""


def joint_entropy_excess(
    information: Float[Tensor, "latent factor"],
    entropy: Float[Tensor, " factor"],
    latent_entropy: Float[Tensor, " latent"],
) -> Float[Tensor, " factor"]:
    """Joint entropy of a factor and its most informative latent, minus the gap, in nats.

    It is 0 at best: the latent then holds the factor and nothing else, and no other latent has
    information about it. Of equally informative latents, the one of smallest joint entropy counts.
    Do & Tran (2020), https://arxiv.org/abs/1908.09961.
    """
    padded = torch.cat([information, torch.zeros_like(information[:1])])
    best = padded.topk(2, dim=0).values
    tied = information >= best[0] - _EQUAL
    best_entropy = torch.where(tied, latent_entropy[:, None], torch.inf).amin(0)
    joint = best_entropy + entropy - best[0]
    return (joint - best[0] + best[1]).clamp(min=0.0)


def bin_entropies(binned: Int[Tensor, "image latent"], bins: int) -> Float[Tensor, " latent"]:
    """Entropy of the bin numbers of each latent, in nats."""
    shift = torch.arange(binned.shape[1], device=binned.device) * bins
    counts = torch.bincount((binned + shift).flatten(), minlength=bins * binned.shape[1])
    wide = counts.view(-1, bins).double()
    entropy = math.log(len(binned)) - torch.xlogy(wide, wide).sum(1) / len(binned)
    return entropy.clamp(min=0.0) * (wide < len(binned)).all(1)  # exactly 0 for a single bin


@final
class JEMMIG(Metric):
    """Joint entropy of a factor and its most informative latent, minus the gap to the second.

    In nats, 0 is best. The primary score is one minus this value divided by its upper bound, the
    factor's entropy plus the logarithm of the number of bins: 1 is best. Unlike `MIG`, it decreases
    if the most informative latent holds more than the factor. Constant codes score about half, more
    than useful ones with noise.

    Do & Tran (2020), https://arxiv.org/abs/1908.09961, who bin samples of the posterior; here the
    codes themselves are binned, as in `MIG`. Constant factors are left out.

    Args:
        space: The factors of the images.
        bins: Number of equal-width bins per latent.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The bins are not from 2 to 10,000.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import JEMMIG, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [JEMMIG]) for codes in (factors, turned)]
        >>> [round(score["jemmig"], 2) for score in scores]
        [1.0, 0.41]
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
        """The scores `jemmig` (normalised) and `jemmig_nats`, and the part `jemmig_per_factor`.

        The part is normalised, and NaN for constant factors.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        gaps = bank.information(self.bins)
        entropies = bin_entropies(bank.binned(self.bins), self.bins)
        nats = joint_entropy_excess(gaps.mutual_information, gaps.entropy, entropies)
        share = (1 - nats / (gaps.entropy + math.log(self.bins))).clamp(min=0.0)
        share = share.masked_fill(~bank.varied, math.nan)
        return {
            "jemmig": share[bank.varied].mean(),
            "jemmig_nats": nats[bank.varied].mean(),
            "jemmig_per_factor": share,
        }
