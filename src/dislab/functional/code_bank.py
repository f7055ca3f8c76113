"""Codes and the factors behind them, checked once, with the tables that scores share."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from dislab.errors import InputError
from dislab.factors import UNLABELLED, FactorSpace
from dislab.functional.code_checks import (
    ConstantFactorWarning,
    check_images,
    checked_codes,
    checked_factors,
    varied_factors,
)
from dislab.functional.mutual_information import (
    InformationGaps,
    bin_numbers,
    gaps_of_counts,
    joint_counts,
)
from dislab.functional.value_rows import ValueRows, rows_of

__all__ = ["CodeBank", "ConstantFactorWarning", "Drawn", "checked"]


class Drawn(NamedTuple):
    """How a bank was drawn from another one.

    Attributes:
        bank: The other bank.
        rows: Its rows that were drawn, in order and with repeats, shape (image,).
        information: Gives the mutual information for a number of bins where it is computed for
            many draws together; None where each computes its own.
    """

    bank: "CodeBank"
    rows: Tensor
    information: Callable[[int], InformationGaps] | None


@final
class CodeBank:
    """Checked codes and factors of the same images, and tables of them.

    A table is computed when it is first asked for, and kept: all scores that need the counts of
    20 bins count once.

    Args:
        codes: Finite codes in float64; of the other bank where the rows are drawn from one.
        factors: Positions in int64, within the space; likewise.
        varied: Which factors take more than one value and are no nuisance; likewise.
        drawn: Where the rows come from, if they are drawn from another bank.
    """

    def __init__(
        self,
        codes: Float[Tensor, "image latent"],
        factors: Int[Tensor, "image factor"],
        varied: Bool[Tensor, " factor"],
        drawn: Drawn | None = None,
    ) -> None:
        self._given = (codes, factors, varied)
        self._drawn = drawn
        self._binned: dict[int, Tensor] = {}
        self._counts: dict[int, list[Tensor]] = {}
        self._information: dict[int, InformationGaps] = {}
        self._value_rows: dict[int, ValueRows] = {}

    @cached_property
    def codes(self) -> Float[Tensor, "image latent"]:
        """Finite codes in float64."""
        codes = self._given[0]
        return codes if self._drawn is None else codes[self._drawn.rows]

    @cached_property
    def factors(self) -> Int[Tensor, "image factor"]:
        """Positions in int64, within the space."""
        factors = self._given[1]
        return factors if self._drawn is None else factors[self._drawn.rows]

    @cached_property
    def varied(self) -> Bool[Tensor, " factor"]:
        """Which factors take more than one value and are no nuisance."""
        if self._drawn is None:
            return self._given[2]
        return (self.factors != self.factors[:1]).any(0) & self._given[2]

    def __len__(self) -> int:
        """Number of images."""
        return len(self._given[0] if self._drawn is None else self._drawn.rows)

    @cached_property
    def std(self) -> Float[Tensor, " latent"]:
        """Standard deviation of each latent, unbiased; exactly 0 where a latent stands still."""
        still = (self.codes == self.codes[:1]).all(0)
        return self.codes.std(0).masked_fill(still, 0.0)

    @cached_property
    def covariance(self) -> Float[Tensor, "column column"]:
        """Unbiased covariance of latents and factors, latents first; factors by value number."""
        columns = torch.cat([self.codes, self.factors.to(self.codes.dtype)], dim=1)
        centred = columns - columns.mean(0)
        return centred.T @ centred / max(len(self) - 1, 1)

    @cached_property
    def squared_correlation(self) -> Float[Tensor, "latent factor"]:
        """Share of a factor's variance that a line through a latent explains, in [0, 1].

        It is 0 for a latent or a factor that stands still.
        """
        latents = len(self.std)
        variance = self.covariance.diagonal()
        still = torch.cat([self.std == 0, ~self.varied])
        scale = torch.where(still, torch.inf, variance)
        products = scale[:latents, None] * scale[latents:]
        return (self.covariance[:latents, latents:].square() / products).clamp(0.0, 1.0)

    def binned(self, bins: int) -> Int[Tensor, "image latent"]:
        """Which equal-width bin of its latent each code is in; drawn rows keep their bins.

        Args:
            bins: Number of bins a latent.
        """
        if bins not in self._binned:
            drawn = self._drawn
            self._binned[bins] = (
                bin_numbers(self.codes, bins)
                if drawn is None
                else drawn.bank.binned(bins)[drawn.rows]
            )
        return self._binned[bins]

    def counts(self, bins: int) -> list[Int[Tensor, "latent bin value"]]:
        """How often each bin of each latent meets each value, one table a factor.

        Args:
            bins: Number of bins a latent.
        """
        if bins not in self._counts:
            self._counts[bins] = joint_counts(self.binned(bins), self.factors, bins)
        return self._counts[bins]

    def information(self, bins: int) -> InformationGaps:
        """Mutual information of latents and factors, entropies and gaps, in nats.

        Args:
            bins: Number of bins a latent.
        """
        if bins not in self._information:
            drawn = self._drawn
            self._information[bins] = (
                gaps_of_counts(self.counts(bins))
                if drawn is None or drawn.information is None
                else drawn.information(bins)
            )
        return self._information[bins]

    def value_rows(self, factor: int) -> ValueRows:
        """The rows of each value of a factor.

        Args:
            factor: Which column of the factors.
        """
        if factor not in self._value_rows:
            self._value_rows[factor] = rows_of(self.factors[:, factor])
        return self._value_rows[factor]

    def rows(self, index: Int[Tensor, " image"]) -> "CodeBank":
        """The bank of some rows, such as those of a resample; codes are gathered when asked for.

        Args:
            index: Rows of this bank; they may repeat.
        """
        return CodeBank(self.codes, self.factors, self.varied, Drawn(self, index, None))


def checked(
    codes: Sequence[Shaped[Tensor, "..."]],
    factors: Sequence[Shaped[Tensor, "..."]],
    space: FactorSpace,
    least: int,
) -> CodeBank:
    """The batches put together, or an error that says what is wrong with them.

    Args:
        codes: Batches of codes, shape (batch, latent).
        factors: Batches of positions, shape (batch, factor), one for each batch of codes.
        space: The factors behind the images.
        least: The fewest images that the score can do with.

    Raises:
        InputError: The images have no factors, the shapes do not fit, the codes hold NaN or
            infinity, the factors are no integers or no value numbers of the space, there are too
            few images, or no factor takes more than one value.

    Warns:
        ConstantFactorWarning: Some factors take one value only.
    """
    if space.names == (UNLABELLED,):
        raise InputError(
            "a score compares codes with factors, and these images have none; give the data set "
            "a table of factors, or score nothing by metrics: {}"
        )
    latent_codes = checked_codes(codes)
    positions = checked_factors(factors, space).to(latent_codes.device)
    if len(latent_codes) != len(positions):
        raise InputError(
            f"there are {len(latent_codes)} codes, but the factors of {len(positions)} images; "
            "give one row of factors for each code"
        )
    check_images(len(positions), least)
    return CodeBank(latent_codes, positions, varied_factors(positions, space))
