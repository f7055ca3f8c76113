"""Interventional robustness score."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.information import bin_numbers
from dislab.codes.splits import spread_columns
from dislab.errors import InputError
from dislab.factors import FactorSpace


def held_deviations(
    codes: Float[Tensor, "image latent"], column: Int[Tensor, " image"], quantile: float
) -> Float[Tensor, " latent"]:
    """A quantile of the distances of a value's codes from their mean, averaged over the values.

    Each value counts once, regardless of its number of images. The quantile, in [0, 1], is
    interpolated between neighbouring distances; 1 takes the largest distance.
    """
    order = column.argsort(stable=True)
    counts = torch.unique(column, return_counts=True)[1].tolist()
    parts = torch.split(codes[order], counts)
    return torch.stack([_quantile((part - part.mean(0)).abs(), quantile) for part in parts]).mean(0)


def _quantile(distances: Float[Tensor, "row latent"], quantile: float) -> Float[Tensor, " latent"]:
    ascending = distances.sort(dim=0).values
    position = quantile * (len(ascending) - 1)
    low = int(position)
    high = min(low + 1, len(ascending) - 1)
    return torch.lerp(ascending[low], ascending[high], position - low)


@final
class IRS(Metric):
    """Stability of each latent while its own factor is fixed and the others vary.

    For each value of a factor, the largest distance of a latent's codes from their mean is
    computed, averaged over the values, and divided by the largest distance over all images. One
    minus the smallest such ratio over the factors is the latent's robustness. The score is the mean
    over latents, weighted by their largest distances, so that it depends on their scales. Constant
    latents are left out.

    Suter et al. (2019), https://arxiv.org/abs/1811.00007, with a quantile in place of the largest
    distance within a value, and binned values, as in Locatello et al. (2019),
    https://arxiv.org/abs/1811.12359. Constant factors are left out.

    Args:
        space: The factors of the images.
        quantile: Quantile of the distances within a value that replaces the largest one.
        bins: Number of equal-width bins of the value numbers of a factor; values of one bin are
            treated as one value. Null uses single values, as in the paper. Continuous factors are
            binned by their values and need bins.

    Raises:
        InputError: The quantile is not between 0 and 1, or there are fewer than two bins, or none
            for a continuous factor.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import IRS, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [IRS]) for codes in (factors, turned)]
        >>> [round(score["irs"], 2) for score in scores]
        [1.0, 0.6]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # resamples miss the largest distance: intervals would be too narrow

    def __init__(self, space: FactorSpace, quantile: float = 0.99, bins: int | None = 20) -> None:
        super().__init__(space)
        if not 0 <= quantile <= 1:
            raise InputError(f"quantile is {quantile}; it must lie between 0 and 1")
        if bins is not None:
            check_bins("bins", bins)
        elif names := [factor.name for factor in space.factors if factor.kind == "continuous"]:
            raise InputError(
                "bins is null, which holds each value by itself, but of continuous factors hardly "
                f"any value repeats, and {names[0]} is one; set bins"
            )
        self.quantile = quantile
        self.bins = bins

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `irs`, and its parts.

        Parts are `irs_per_latent`, 0 for constant latents, and `irs_matrix` (latent, factor), 0 for
        constant latents and factors. If all latents are constant, the score is 0.
        """
        codes, varied = bank.codes, bank.varied.nonzero().flatten().tolist()
        factors = bank.factors
        if self.bins is not None:
            factors = bin_numbers(bank.numbers, self.bins)
        moving = (codes != codes[:1]).any(0)
        largest = (codes - codes.mean(0)).abs().amax(0) * moving
        deviations = torch.stack(
            [held_deviations(codes, factors[:, column], self.quantile) for column in varied],
            dim=1,
        )
        scale = torch.where(moving, largest, 1.0)
        matrix = (1 - deviations / scale[:, None]).clamp(0.0, 1.0) * moving[:, None]
        per_latent = matrix.max(1).values
        total = largest.sum()
        return {
            "irs": (per_latent * largest).sum() / torch.where(total > 0, total, 1.0),
            "irs_per_latent": per_latent,
            "irs_matrix": spread_columns(matrix, varied, len(self.space.factors), 0.0),
        }
