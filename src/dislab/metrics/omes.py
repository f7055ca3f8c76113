"""Overlap and multiple encoding of factors, from pairs of images that differ in one factor."""

from typing import Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.splits import spread_columns
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_at_least

Pooling = Literal["mean", "max"]
"""Mean over the latents, weighted by their association with a factor, or the best latent."""


def pair_correlations(
    codes: Float[Tensor, "image latent"], factors: Int[Tensor, "image factor"], column: int
) -> Float[Tensor, " latent"] | None:
    """Correlation of the codes of two images that differ in one factor alone.

    It is taken over all such pairs, each in both orders; None if there are none. A latent that none
    of the pairs moves gets 1.
    """
    shared = factors.clone()
    shared[:, column] = 0
    group, cell = (
        torch.unique(table, dim=0, return_inverse=True)[1] for table in (shared, factors)
    )
    partners = (group.bincount()[group] - cell.bincount()[cell]).double()
    if not partners.any():
        return None
    centred = codes - partners @ codes / partners.sum()
    products, others = (
        torch.zeros_like(codes).index_add_(0, rows, centred).square().sum(0)
        for rows in (group, cell)
    )
    squares = partners @ centred.square()
    moving = (codes != codes[:1]).any(0) & (squares > 0)
    return torch.where(moving, (products - others) / torch.where(moving, squares, 1.0), 1.0)


def overlap_and_multiplicity(
    association: Float[Tensor, "latent factor"], pooling: Pooling
) -> tuple[Float[Tensor, " factor"], Float[Tensor, " factor"]]:
    """How alone each factor is in its latents, and how few latents it has; 1 is best.

    A latent's row should be 1 for one factor, a factor's column 1 for one latent, and 0 elsewhere:
    the scores are 1 minus the mean distance from that. Dapueto et al. (2024),
    https://arxiv.org/abs/2409.18017.
    """
    latents, factors = association.shape
    rest = 1 - 2 * association
    overlap = 1 - (association.sum(1, keepdim=True) + rest) / factors
    multiplicity = 1 - (association.sum(0) + rest) / latents
    weight = association if pooling == "mean" else torch.ones_like(association)
    pooled = [weight * association * scores for scores in (overlap, multiplicity)]
    if pooling == "max":
        return pooled[0].amax(0), pooled[1].amax(0)
    total = association.sum(0)
    total = torch.where(total > 0, total, 1.0)
    return pooled[0].sum(0) / total, pooled[1].sum(0) / total


@final
class OMES(Metric):
    """Overlap and multiple encoding of factors, from pairs of images that differ in one alone.

    A latent is associated with a factor as far as its codes of such pairs are uncorrelated: 1 minus
    the correlation, which is 1 for a latent that the factor does not move. The overlap score falls
    with other factors in the latents of a factor, the multiple encoding score with other latents of
    the factor; both are weighted by `share` and averaged over factors.

    Dapueto et al. (2024), https://arxiv.org/abs/2409.18017; the published code was read. That code
    draws pairs; here all pairs count. It takes the absolute correlation, so that a factor of two
    values, whose pairs correlate by -1, appears in no latent; here a negative correlation counts 0.
    Constant factors are left out.

    Args:
        space: The factors of the images.
        share: Weight of the overlap score, from 0 to 1; the multiple encoding score gets the rest.
        pooling: `mean` over latents, weighted by their association, or `max` for the best one.
        active: Smallest standard deviation of a latent that takes part.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The share is not from 0 to 1, the deviation is negative, or the bins are not
            from 2 to 10,000.

    Examples:
        Codes that are the factors, each of them twice, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import OMES, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(10, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> kinds = (factors, factors.repeat(2, axis=1), turned)
        >>> [round(evaluate(codes, factors, [OMES])["omes"], 2) for codes in kinds]
        [1.0, 0.88, 0.36]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # a resample may lack the pairs of a factor

    def __init__(
        self,
        space: FactorSpace,
        share: float = 0.5,
        pooling: Pooling = "mean",
        active: float = 0.05,
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        super().__init__(space)
        if not 0 <= share <= 1:
            raise InputError(f"share is {share}; it must be from 0 to 1")
        check_at_least("active", active, 0)
        check_bins("factor_bins", factor_bins)
        self.share = share
        self.pooling: Pooling = pooling
        self.active = active
        self.factor_bins = factor_bins

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `omes`, and its parts.

        Parts are `omes_per_factor`, NaN for constant factors, and `omes_association` (latent,
        factor), 0 for inactive latents and constant factors.

        Raises:
            InputError: No two images differ in one of the factors alone.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        varied, count = bank.varied.nonzero().flatten().tolist(), len(self.space.factors)
        correlations = []
        for row, column in enumerate(varied):
            correlation = pair_correlations(bank.codes, bank.factors[:, varied], row)
            if correlation is None:
                raise InputError(
                    f"no two images differ in factor {self.space.names[column]} alone, which OMES "
                    "compares; score more images, or fewer factors"
                )
            correlations.append(correlation)
        active = bank.codes.std(0, correction=0) > self.active
        association = (1 - torch.stack(correlations, dim=1)).clamp(0.0, 1.0) * active[:, None]
        # inactive latents do not count as latents of the table either
        used = association[active] if active.any() else association
        overlap, multiplicity = overlap_and_multiplicity(used, self.pooling)
        scores = self.share * overlap + (1 - self.share) * multiplicity
        return {
            "omes": scores.mean(),
            "omes_per_factor": spread_columns(scores, varied, count, torch.nan),
            "omes_association": spread_columns(association, varied, count, 0.0),
        }
