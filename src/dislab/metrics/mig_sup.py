"""The mutual information gap of latents."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.information import informed_latents
from dislab.factors import FactorSpace


def gaps_per_latent(
    information: Float[Tensor, "latent factor"], entropy: Float[Tensor, " factor"]
) -> Float[Tensor, " latent"]:
    """Difference of a latent's two largest informations, each divided by its factor's entropy.

    With a single factor, the second share counts as 0. Li et al. (2020),
    https://arxiv.org/abs/2002.10549.
    """
    share = information / entropy
    best = torch.cat([share, torch.zeros_like(share[:, :1])], dim=1).topk(2, dim=1).values
    return best[:, 0] - best[:, 1]


@final
class MIGSup(Metric):
    """Information gap between a latent's best and second factor, averaged over latents.

    It is `MIG` with the roles of latents and factors exchanged; information is divided by each
    factor's entropy. Uninformative latents count 0 in the mean over all latents; the mean over
    informed latents, which carry at least a twentieth of some factor's entropy, is a separate
    score.

    Li et al. (2020), https://arxiv.org/abs/2002.10549. Constant factors are left out.

    Args:
        space: The factors of the images.
        bins: Number of equal-width bins per latent.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The bins are not from 2 to 10,000.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import MIGSup, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [MIGSup]) for codes in (factors, turned)]
        >>> [round(score["mig_sup"], 2) for score in scores]
        [1.0, 0.15]
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
        """The scores `mig_sup` and `mig_sup_active`, and the part `mig_sup_per_latent`."""
        bank = bank.with_factor_bins(self.factor_bins)
        gaps = bank.information(self.bins)
        information, entropy = gaps.mutual_information[:, bank.varied], gaps.entropy[bank.varied]
        per_latent = gaps_per_latent(information, entropy)
        active = informed_latents(information, entropy, 0.05)
        return {
            "mig_sup": per_latent.mean(),
            "mig_sup_active": per_latent[active].sum() / torch.clamp(active.sum(), min=1),
            "mig_sup_per_latent": per_latent,
        }
