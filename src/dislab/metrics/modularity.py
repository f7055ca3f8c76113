"""Modularity."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.importance import check_enough, too_few
from dislab.codes.information import informed_latents
from dislab.errors import InputError
from dislab.factors import FactorSpace


def modularity_per_latent(
    information: Float[Tensor, "latent factor"],
) -> Float[Tensor, " latent"]:
    """One minus the squared information about other factors, relative to the largest possible.

    It is 1 for a latent with information about one factor only, 0 for equal information about all,
    and 0 for no information. Ridgeway & Mozer (2018), https://arxiv.org/abs/1802.05312. There are
    at least two factors.
    """
    squared = information.square()
    best = squared.max(1).values
    others = (squared.sum(1) - best) / (squared.shape[1] - 1)
    return torch.where(best > 0, 1 - others / torch.where(best > 0, best, 1.0), 0.0)


@final
class Modularity(Metric):
    """Degree to which each latent has information about one factor only.

    A latent's modularity is one minus the mean squared information about the factors other than its
    best, divided by the squared information about its best. As published, the score is the mean
    over all latents; uninformative latents lower it, because their chance information is similar
    for all factors. With `active_only` it is the mean over the informed latents, with a different
    name.

    Ridgeway & Mozer (2018), https://arxiv.org/abs/1802.05312, with the histograms of `MIG` as in
    Locatello et al. (2019), https://arxiv.org/abs/1811.12359. A latent without any information
    counts 0. Constant factors are left out.

    Args:
        space: The factors of the images.
        bins: Number of equal-width bins per latent.
        active_only: Whether to leave out latents without information about any factor.
        active_share: Smallest share of a factor's entropy at which a latent counts as informed.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The bins are not from 2 to 10,000, or the share is not between 0 and 1.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import Modularity, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [Modularity]) for codes in (factors, turned)]
        >>> [round(score["modularity"], 2) for score in scores]
        [1.0, 0.72]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        space: FactorSpace,
        bins: int = 20,
        active_only: bool = False,
        active_share: float = 0.05,
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        super().__init__(space)
        check_bins("factor_bins", factor_bins)
        self.factor_bins = factor_bins
        check_bins("bins", bins)
        if not 0 <= active_share <= 1:
            raise InputError(f"active_share is {active_share}; it must lie between 0 and 1")
        self.bins = bins
        self.active_only = active_only
        self.active_share = active_share

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against a single factor, which cannot be compared with others."""
        return too_few(max(2, sample.latents), sample.varied)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `modularity` or `modularity_active`, and the part `modularity_per_latent`.

        With `active_only`, the number of informed latents, `modularity_num_active`, is among the
        scores, and the score is 0 if there are none.

        Raises:
            InputError: There are fewer than two factors that vary.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        check_enough(max(2, bank.codes.shape[1]), int(bank.varied.sum()))
        gaps = bank.information(self.bins)
        information, entropy = gaps.mutual_information[:, bank.varied], gaps.entropy[bank.varied]
        per_latent = modularity_per_latent(information)
        if not self.active_only:
            return {"modularity": per_latent.mean(), "modularity_per_latent": per_latent}
        active = informed_latents(information, entropy, self.active_share)
        mean = per_latent[active].mean() if active.any() else torch.zeros_like(per_latent[0])
        return {
            "modularity_active": mean,
            "modularity_num_active": active.sum(),
            "modularity_per_latent": per_latent,
        }
