"""Codes and the factors behind them, checked once, with the tables that scores share."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from dislab.codes.checks import (
    ConstantFactorWarning,
    check_images,
    checked_codes,
    checked_factors,
    rows_advice,
    varied_factors,
)
from dislab.codes.information import InformationGaps, bin_numbers, gaps_of_counts, joint_counts
from dislab.errors import InputError
from dislab.factors import UNLABELLED, FactorSpace

__all__ = ["FACTOR_BINS", "CodeBank", "ConstantFactorWarning", "Measured", "Resampled", "checked"]

FACTOR_BINS: Final = 20
"""Number of equal-width bins of a continuous factor, for scores that compare its levels."""


class Measured(NamedTuple):
    """The continuous factors of some images.

    Attributes:
        columns: Columns of the continuous factors.
        places: Value of each image, scaled from 0 for the factor's smallest value to 1 for its
            largest, shape (image, column).
    """

    columns: tuple[int, ...]
    places: Tensor


class Resampled(NamedTuple):
    """Origin of a bank whose rows were drawn from another bank.

    Attributes:
        bank: The other bank.
        rows: The drawn rows, in order and with repeats, shape (image,).
        information: Function from the numbers of bins of latents and of continuous factors to the
            mutual information, if many draws compute it together; None if each bank computes its
            own.
    """

    bank: "CodeBank"
    rows: Tensor
    information: Callable[[int, int], InformationGaps] | None


class ValueRows(NamedTuple):
    """The rows of value v are `order[first[v] : first[v] + size[v]]`, ascending.

    Attributes:
        order: All rows, sorted by value, shape (image,).
        first: Place in `order` of the first row of each value, shape (value,).
        size: Number of images of each value, shape (value,).
    """

    order: Tensor
    first: Tensor
    size: Tensor


def rows_of(column: Int[Tensor, " image"]) -> ValueRows:
    """The rows of each value of one factor, from its value numbers."""
    size = torch.bincount(column)
    return ValueRows(column.argsort(stable=True), size.cumsum(0) - size, size)


@final
class CodeBank:
    """Checked codes and factors of the same images, with cached tables.

    A table is computed on first use and kept: all scores that need counts with 20 bins share one
    table.

    Args:
        codes: Finite codes in float64; those of the original bank if rows are drawn from one.
        factors: Positions in int64, within the space; likewise.
        varied: Which factors take more than one value and are not nuisance factors; likewise.
        resampled: Origin of the rows if they are drawn from another bank.
        measured: The continuous factors, if there are any; likewise.
        factor_bins: Number of equal-width bins of each continuous factor in `factors`.
    """

    def __init__(
        self,
        codes: Float[Tensor, "image latent"],
        factors: Int[Tensor, "image factor"],
        varied: Bool[Tensor, " factor"],
        resampled: Resampled | None = None,
        measured: Measured | None = None,
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        self._arrays = (codes, factors, varied)
        self._resampled = resampled
        self._measured = measured
        self._factor_bins = factor_bins
        self._rebinned: dict[int, CodeBank] = {}
        self._binned: dict[int, Tensor] = {}
        self._counts: dict[int, list[Tensor]] = {}
        self._information: dict[int, InformationGaps] = {}
        self._value_rows: dict[int, ValueRows] = {}

    @cached_property
    def codes(self) -> Float[Tensor, "image latent"]:
        """Finite codes in float64."""
        codes = self._arrays[0]
        return codes if self._resampled is None else codes[self._resampled.rows]

    @cached_property
    def factors(self) -> Int[Tensor, "image factor"]:
        """Positions in int64, within the space; bin numbers for continuous factors.

        The bins divide the range from the smallest to the largest value among the images; drawn
        rows keep the bins of the original bank.
        """
        if self._resampled is not None:
            return self._resampled.bank.factors[self._resampled.rows]
        if self._measured is None:
            return self._arrays[1]
        factors = self._arrays[1].clone()
        columns = list(self._measured.columns)
        factors[:, columns] = bin_numbers(self._measured.places, self._factor_bins)
        return factors

    @cached_property
    def numbers(self) -> Float[Tensor, "image factor"]:
        """Factors as numbers: continuous ones scaled to [0, 1], others as positions."""
        if self._resampled is not None:
            return self._resampled.bank.numbers[self._resampled.rows]
        numbers = self._arrays[1].to(self.codes.dtype)
        if self._measured is not None:
            numbers[:, list(self._measured.columns)] = self._measured.places
        return numbers

    @property
    def continuous(self) -> tuple[int, ...]:
        """Columns of the continuous factors."""
        return () if self._measured is None else self._measured.columns

    @cached_property
    def varied(self) -> Bool[Tensor, " factor"]:
        """Which factors take more than one value and are not nuisance factors."""
        if self._resampled is None:
            return self._arrays[2]
        return (self.factors != self.factors[:1]).any(0) & self._arrays[2]

    def __len__(self) -> int:
        """Number of images."""
        return len(self._arrays[0] if self._resampled is None else self._resampled.rows)

    @cached_property
    def std(self) -> Float[Tensor, " latent"]:
        """Standard deviation of each latent, unbiased; exactly 0 for a constant latent."""
        still = (self.codes == self.codes[:1]).all(0)
        return self.codes.std(0).masked_fill(still, 0.0)

    @cached_property
    def covariance(self) -> Float[Tensor, "column column"]:
        """Unbiased covariance of latents and factors, latents first; factors as `numbers`."""
        columns = torch.cat([self.codes, self.numbers], dim=1)
        centred = columns - columns.mean(0)
        return centred.T @ centred / max(len(self) - 1, 1)

    @cached_property
    def squared_correlation(self) -> Float[Tensor, "latent factor"]:
        """Share of each factor's variance explained by a linear function of each latent, in [0, 1].

        It is 0 for a constant latent or factor.
        """
        latents = len(self.std)
        variance = self.covariance.diagonal()
        still = torch.cat([self.std == 0, ~self.varied])
        scale = torch.where(still, torch.inf, variance)
        products = scale[:latents, None] * scale[latents:]
        return (self.covariance[:latents, latents:].square() / products).clamp(0.0, 1.0)

    def binned(self, bins: int) -> Int[Tensor, "image latent"]:
        """Number of the equal-width bin of each code; drawn rows keep the original bank's bins.

        Args:
            bins: Number of bins per latent.
        """
        if bins not in self._binned:
            resampled = self._resampled
            self._binned[bins] = (
                bin_numbers(self.codes, bins)
                if resampled is None
                else resampled.bank.binned(bins)[resampled.rows]
            )
        return self._binned[bins]

    def counts(self, bins: int) -> list[Int[Tensor, "latent bin value"]]:
        """Number of images in each bin of a latent with each value, one table per factor.

        Args:
            bins: Number of bins per latent.
        """
        if bins not in self._counts:
            self._counts[bins] = joint_counts(self.binned(bins), self.factors, bins)
        return self._counts[bins]

    def information(self, bins: int) -> InformationGaps:
        """Mutual information of latents and factors, entropies and gaps, in nats.

        Args:
            bins: Number of bins per latent.
        """
        if bins not in self._information:
            resampled = self._resampled
            self._information[bins] = (
                gaps_of_counts(self.counts(bins))
                if resampled is None or resampled.information is None
                else resampled.information(bins, self._factor_bins)
            )
        return self._information[bins]

    def value_rows(self, factor: int) -> ValueRows:
        """The rows of each value of a factor.

        Args:
            factor: Column of the factor.
        """
        if factor not in self._value_rows:
            self._value_rows[factor] = rows_of(self.factors[:, factor])
        return self._value_rows[factor]

    def with_codes(self, codes: Float[Tensor, "image latent"]) -> "CodeBank":
        """The bank with other codes of the same images.

        Args:
            codes: Finite codes in float64.
        """
        if self._resampled is not None:
            return self._resampled.bank.in_order(self._resampled.rows).with_codes(codes)
        return CodeBank(codes, self._arrays[1], self.varied, measured=self._measured)

    def rows(self, index: Int[Tensor, " image"]) -> "CodeBank":
        """The bank of some rows, such as a resample; codes are gathered on first use.

        Args:
            index: Rows of this bank; they may repeat.
        """
        return self.resampled(index, None)

    def resampled(
        self,
        index: Int[Tensor, " image"],
        information: Callable[[int, int], InformationGaps] | None,
    ) -> "CodeBank":
        """The bank of some rows, with mutual information that may be computed elsewhere.

        Args:
            index: Rows of this bank; they may repeat.
            information: As in `Resampled`.
        """
        resampled = Resampled(self, index, information)
        return CodeBank(
            self.codes, self._arrays[1], self.varied, resampled, self._measured, self._factor_bins
        )

    def in_order(self, index: Int[Tensor, " image"]) -> "CodeBank":
        """A new bank of some rows with bins of its own, such as all rows in another order.

        Args:
            index: Rows of this bank.
        """
        measured = self._measured
        if measured is not None:
            measured = Measured(measured.columns, measured.places[index])
        factors = self._arrays[1][index]
        return CodeBank(self.codes[index], factors, self.varied, measured=measured)

    def of_factors(self, chosen: Sequence[int]) -> "CodeBank":
        """The bank with only some of the factors.

        Args:
            chosen: Columns of the factors that stay, ascending.
        """
        measured = self._measured
        if measured is not None:
            indices = [index for index, column in enumerate(measured.columns) if column in chosen]
            columns = tuple(list(chosen).index(measured.columns[index]) for index in indices)
            measured = Measured(columns, measured.places[:, indices]) if columns else None
        columns_kept = list(chosen)
        factors, varied = self._arrays[1][:, columns_kept], self.varied[columns_kept]
        return CodeBank(self.codes, factors, varied, measured=measured)

    def with_factor_bins(self, bins: int) -> "CodeBank":
        """The bank with another number of bins per continuous factor; itself if it has none.

        Args:
            bins: Number of equal-width bins.
        """
        if self._measured is None or bins == self._factor_bins:
            return self
        if bins not in self._rebinned:
            resampled = self._resampled
            if resampled is not None:
                resampled = resampled._replace(bank=resampled.bank.with_factor_bins(bins))
            rebinned = CodeBank(*self._arrays, resampled, self._measured, bins)
            rebinned._binned = self._binned
            self._rebinned[bins] = rebinned
        return self._rebinned[bins]


def checked(
    codes: Sequence[Shaped[Tensor, "..."]],
    factors: Sequence[Shaped[Tensor, "..."]],
    space: FactorSpace,
    least: int,
) -> CodeBank:
    """Joins the batches into a bank, after checks.

    Args:
        codes: Batches of codes, shape (batch, latent).
        factors: Batches of positions, shape (batch, factor), one for each batch of codes.
        space: The factors behind the images.
        least: Smallest number of images that the score accepts.

    Raises:
        InputError: The images have no factors, the shapes do not match, the codes hold NaN or
            infinity, the factors are not value numbers of the space, there are too few images, or
            no factor takes more than one value.

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
            f"{rows_advice(latent_codes.shape, positions.shape)}"
        )
    check_images(len(positions), least)
    varied = varied_factors(positions, space)
    return CodeBank(latent_codes, positions, varied, measured=_measured(positions, space))


def _measured(positions: Int[Tensor, "image factor"], space: FactorSpace) -> Measured | None:
    """The continuous factors of some images."""
    columns = tuple(
        column for column, factor in enumerate(space.factors) if factor.kind == "continuous"
    )
    if not columns:
        return None
    places = [
        torch.from_numpy(space.factors[column].places).to(positions.device)[positions[:, column]]
        for column in columns
    ]
    return Measured(columns, torch.stack(places, dim=1))
