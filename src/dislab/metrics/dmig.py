"""Mutual information gap for factors that depend on each other."""

from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.information import gaps_of_counts, joint_counts
from dislab.codes.statistics import assignment
from dislab.errors import InputError
from dislab.factors import FactorSpace

_EQUAL: Final = 1e-9
"""Difference in information, in nats, up to which two latents are equally informative."""


def reachable_entropy(
    information: Float[Tensor, "latent factor"],
    factor_information: Float[Tensor, "factor factor"],
) -> Float[Tensor, " factor"]:
    """The largest gap that each factor can have, given the factor of its second latent, in nats.

    It is the entropy of the factor that the factor of the second latent leaves open, or the whole
    entropy if that latent belongs to no other factor. Latents are assigned to factors one to one
    such that the sum of their information is largest. Watcharasupat & Lerch (2021),
    https://arxiv.org/abs/2110.05587.
    """
    entropy = factor_information.diagonal()
    if len(information) < 2:
        return entropy
    latents, every = assignment(information), torch.arange(len(entropy), device=entropy.device)
    best = information.max(0)
    is_best = (latents >= 0) & (information[latents, every] >= best.values - _EQUAL)
    others = information.clone()
    others[torch.where(is_best, latents, best.indices), every] = -1.0
    belongs = others.argmax(0)[:, None] == latents
    belongs[every, every] = False
    return entropy - (factor_information * belongs).sum(1)


@final
class DMIG(Metric):
    """Mutual information gap, in units of what the factor of the second latent leaves open.

    Factors that depend on each other keep the gap of `MIG` small even if codes are perfect: the
    second latent knows about the factor through its own one. Here the gap is divided by the entropy
    of the factor given the factor of the second latent, H(vᵢ | vₗ), instead of H(vᵢ). If the second
    latent belongs to no other factor, the score is `MIG`.

    Watcharasupat & Lerch (2021), https://arxiv.org/abs/2110.05587, whose latents are trained to
    hold one factor each; here they are assigned one to one such that the sum of their information
    is largest. A ratio above 1, where the second latent holds less than its factor, counts 1.
    Factors that another one determines have no ratio and are left out, as constant ones are.

    Args:
        space: The factors of the images.
        bins: Number of equal-width bins per latent.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The bins are not from 2 to 10,000.

    Examples:
        Codes that are two dependent factors:

        >>> import numpy as np
        >>> from dislab.metrics import DMIG, MIG, evaluate
        >>> factors = np.indices((4, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> factors = factors[abs(factors[:, 0] - factors[:, 1]) < 2]
        >>> scores = evaluate(factors, factors, [DMIG, MIG])
        >>> round(scores["dmig"], 2), round(scores["mig"], 2)
        (1.0, 0.69)
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
        """The score `dmig`, and its part `dmig_per_factor`, NaN for factors that are left out.

        Raises:
            InputError: Each factor is determined by another one.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        gaps = bank.information(self.bins)
        between = gaps_of_counts(joint_counts(bank.factors, bank.factors)).mutual_information
        varied = bank.varied
        reachable = torch.zeros_like(gaps.entropy)
        reachable[varied] = reachable_entropy(
            gaps.mutual_information[:, varied], between[varied][:, varied]
        )
        scored = reachable > _EQUAL
        if not scored.any():
            raise InputError(
                "DMIG has no factor to score, as each is determined by another one; "
                "leave copies of factors out, or use MIG"
            )
        share = (gaps.gap * gaps.entropy / reachable).clamp(max=1.0).where(scored, torch.nan)
        return {"dmig": share[scored].mean(), "dmig_per_factor": share}
