"""Mean correlation coefficient."""

from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.splits import (
    TEST_FRACTION,
    check_fraction,
    spread_columns,
    standardized,
    train_count,
)
from dislab.codes.statistics import assigned, average_ranks
from dislab.factors import FactorSpace

Correlation = Literal["pearson", "spearman"]
"""Correlation of the values, or of their ranks."""

Alignment = Literal["none", "linear"]
"""Unchanged latents and factors, or linear combinations of them."""

Average = Literal["factors", "pairs"]
"""Mean over factors, 0 for a factor without a latent, or over pairs of a factor and a latent."""


def pearson(
    codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image factor"]
) -> Float[Tensor, "latent factor"]:
    """Correlation of each latent with each factor, in [-1, 1]; 0 if either is constant."""
    unit_codes, right = _unit(codes), _unit(factors)
    return (unit_codes.T @ right).clamp(-1.0, 1.0)


def canonical_variates(
    codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image factor"], train: int
) -> tuple[Float[Tensor, "image pair"], Float[Tensor, "image pair"]]:
    """Pairs of linear combinations of latents and of factors with the largest correlations.

    The combinations are fitted on the first `train` images, where each pair has the largest
    possible correlation and is uncorrelated with the other pairs. The number of pairs is the
    smaller of the two ranks. Columns must have similar scales. Hotelling (1936),
    https://doi.org/10.1093/biomet/28.3-4.321.
    """
    white_codes, white_factors = _whitened(codes, train), _whitened(factors, train)
    turn, _, factor_turn = torch.linalg.svd(
        white_codes[:train].T @ white_factors[:train], full_matrices=False
    )
    return white_codes @ turn, white_factors @ factor_turn.T


def _unit(columns: Float[Tensor, "image column"]) -> Float[Tensor, "image column"]:
    centred = columns - columns.mean(0)
    # exactly 0 for a constant column, whose mean may have a rounding error
    moving = (columns != columns[:1]).any(0)
    length = torch.where(moving, centred.norm(dim=0), 1.0)
    return centred * moving / torch.where(length > 0, length, 1.0)


def _whitened(columns: Float[Tensor, "image column"], train: int) -> Float[Tensor, "image part"]:
    """Uncorrelated combinations of columns, of norm 1 over the first `train` images."""
    centred = columns - columns[:train].mean(0)
    _, lengths, directions = torch.linalg.svd(centred[:train], full_matrices=False)
    tiny = lengths.max() * max(columns.shape) * torch.finfo(lengths.dtype).eps
    nonzero = lengths > tiny
    weights: Tensor = directions[nonzero] / lengths[nonzero, None]
    return centred @ weights.T


@final
class MCC(Metric):
    """Mean absolute correlation of each factor with its assigned latent.

    Latents are assigned one to one to factors such that the sum of the absolute correlations is
    largest. A factor without a latent, if there are fewer latents than factors, counts 0; with an
    average over `pairs` it does not count, so that codes without most factors may get 1. The names
    of all results contain the kind of correlation.

    With `linear` alignment, latents and factors are first replaced by their canonical variates, the
    linear combinations with the largest correlations, which are fitted on the first images; the
    last images are scored. This tests identification of the factors up to a linear map (weak
    instead of strong identifiability). `BlockMCC` tests this for each factor separately.

    Hyvärinen & Morioka (2016), https://arxiv.org/abs/1605.06336; `linear` is that of Khemakhem et
    al. (2020), https://arxiv.org/abs/2002.11537, whose code scores the last half. The papers have
    as many latents as sources; here latents may be unassigned. Without alignment, assignment and
    correlation use the same images. Factors enter as value numbers, continuous ones as their
    values; constant factors are left out.

    Args:
        space: The factors of the images.
        correlation: `pearson`, or `spearman` for monotone instead of linear relations.
        alignment: `none`, or `linear` for canonical variates.
        test_fraction: Share of the images, the last ones, on which aligned latents are scored.
        average: `factors`, or `pairs` for the mean over the assigned pairs, as many as there are
            factors or latents, whichever are fewer.

    Raises:
        InputError: The kind of correlation or alignment is unknown, or the fraction is not between
            0 and 1.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import MCC, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [MCC]) for codes in (factors, turned)]
        >>> [round(score["mcc_pearson"], 2) for score in scores]
        [1.0, 0.7]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    engines = ("scipy",)

    def __init__(
        self,
        space: FactorSpace,
        correlation: Correlation = "pearson",
        alignment: Alignment = "none",
        test_fraction: float = TEST_FRACTION,
        average: Average = "factors",
    ) -> None:
        super().__init__(space)
        check_fraction(test_fraction)
        self.correlation: Correlation = correlation
        self.alignment: Alignment = alignment
        self.test_fraction = test_fraction
        self.average: Average = average
        self.bootstraps = alignment == "none"  # repeated images would leak into the test part

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score, `mcc_pearson` or `mcc_spearman`, and its parts.

        Averages over pairs are `mcc_pairs_…` and `mcc_linear_pairs_…`. Parts have the score's name
        as a prefix: `per_factor`, NaN for constant factors, 0 for those without a latent, and
        `correlation` (latent, factor), signed, 0 for constant factors. `mcc_linear_…` has no parts,
        because a canonical variate belongs to no single latent or factor.
        """
        varied = bank.varied.nonzero().flatten().tolist()
        codes, factors = bank.codes, bank.numbers[:, varied]
        over_pairs = self.average == "pairs"
        terms = min(codes.shape[1], len(varied)) if over_pairs else len(varied)
        kind = f"pairs_{self.correlation}" if over_pairs else self.correlation
        if self.alignment == "linear":
            matched = assigned(self._correlations(*self._aligned(codes, factors)).abs())
            return {f"mcc_linear_{kind}": matched.sum() / terms}
        signed = self._correlations(codes, factors)
        matched = assigned(signed.abs())
        count, name = len(self.space.factors), f"mcc_{kind}"
        return {
            name: matched.sum() / terms,
            f"{name}_per_factor": spread_columns(matched, varied, count, torch.nan),
            f"{name}_correlation": spread_columns(signed, varied, count, 0.0),
        }

    def _correlations(
        self, codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image varied"]
    ) -> Float[Tensor, "latent varied"]:
        if self.correlation == "spearman":
            codes, factors = average_ranks(codes), average_ranks(factors)
        return pearson(codes, factors)

    def _aligned(
        self, codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image varied"]
    ) -> tuple[Float[Tensor, "test pair"], Float[Tensor, "test pair"]]:
        """Canonical variates of the test images."""
        cut = train_count(len(codes), self.test_fraction)
        units = standardized(codes, cut), standardized(factors, cut)
        code_variates, factor_variates = canonical_variates(*units, cut)
        return code_variates[cut:], factor_variates[cut:]
