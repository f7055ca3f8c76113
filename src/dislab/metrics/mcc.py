"""Mean correlation coefficient."""

from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.correlations import average_ranks, pearson
from dislab.codes.splits import spread_columns
from dislab.factors import FactorSpace

Correlation = Literal["pearson", "spearman"]
"""Correlation of the numbers themselves, or of their ranks."""


@final
class MCC(Metric):
    """Mean absolute correlation of each factor with a latent of its own.

    Latents are given to factors, at most one each, such that the sum of the absolute
    correlations is largest. A factor that gets none, because there are fewer latents than
    factors, counts 0. The kind of correlation is part of every result's name.

    Hyvärinen & Morioka (2016), https://arxiv.org/abs/1605.06336. The paper pairs as many latents
    as sources; here latents may be left over. Assignment and correlation use the same images.
    Factors are taken by value number, continuous ones by their numbers; those that never vary are
    left out.

    Args:
        space: The factors behind the images.
        correlation: `pearson`, or `spearman` for monotone instead of linear relations.

    Raises:
        InputError: The kind of correlation is unknown.
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    engines = ("scipy",)

    def __init__(self, space: FactorSpace, correlation: Correlation = "pearson") -> None:
        super().__init__(space)
        self.correlation: Correlation = correlation

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score, `mcc_pearson` or `mcc_spearman`, and its parts.

        Parts have the score's name in front: `per_factor`, which is NaN for factors that never
        vary, and `correlation` (latent, factor), signed, 0 for them.

        Args:
            bank: Checked codes and factors.
        """
        varied = bank.varied.nonzero().flatten().tolist()
        codes, factors = bank.codes, bank.numbers[:, varied]
        if self.correlation == "spearman":
            codes, factors = average_ranks(codes), average_ranks(factors)
        signed = pearson(codes, factors)
        own = _assigned(signed.abs())
        count, name = len(self.space.factors), f"mcc_{self.correlation}"
        return {
            name: own.mean(),
            f"{name}_per_factor": spread_columns(own, varied, count, torch.nan),
            f"{name}_correlation": spread_columns(signed, varied, count, 0.0),
        }


def _assigned(strength: Float[Tensor, "latent varied"]) -> Float[Tensor, " varied"]:
    from scipy.optimize import linear_sum_assignment

    latents, factors = linear_sum_assignment(strength.cpu().numpy(), maximize=True)
    own = torch.zeros_like(strength[0])
    own[factors] = strength[latents, factors]
    return own
