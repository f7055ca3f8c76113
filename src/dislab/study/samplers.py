"""Searches of a study: ranges of settings, and samplers that propose points in them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

from dislab.plugins import SAMPLERS, load_declared

Number: TypeAlias = int | float


@dataclass(frozen=True)
class Range:
    """Limits of a setting that is searched.

    Args:
        low: Smallest value.
        high: Largest value.
        log: Whether its logarithm is searched instead.
        whole: Whether its values are whole numbers.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __str__(self) -> str:
        """The limits, as plans show them."""
        kinds = ", ".join(name for name in ("log", "whole") if getattr(self, name))
        return f"{self.low:g} to {self.high:g}{f' ({kinds})' if kinds else ''}"

    def nearest(self, value: Number) -> Number:
        """The value of the range next to a number: a whole one, or one of six digits."""
        rounded = round(value) if self.whole else float(f"{value:.6g}")
        limits = (int(self.low), int(self.high)) if self.whole else (self.low, self.high)
        return min(max(rounded, limits[0]), limits[1])


@dataclass(frozen=True)
class Search:
    """The search of a study.

    Args:
        sampler: Name of the sampler.
        trials: Number of points in the ranges, for each combination of the other axes.
        target: Column of the results that is improved, or `udr` or `elbo`.
        maximize: Whether higher is better.
        seed: Seed of the proposals.
    """

    sampler: str
    trials: int
    target: str
    maximize: bool = True
    seed: int = 0


class Trial(NamedTuple):
    """A point in the ranges.

    Attributes:
        point: The value of each searched setting.
        value: Its result, averaged over seeds; None if it has not ended, failed or diverged.
        has_ended: Whether all of its runs have ended.
    """

    point: dict[str, Number]
    value: float | None
    has_ended: bool


class Sampler(ABC):
    """Proposes points; it keeps no state, which is in the folder of the study."""

    @abstractmethod
    def propose(
        self, ranges: Mapping[str, Range], trials: Sequence[Trial], maximize: bool, seed: int
    ) -> dict[str, Number]:
        """A value in each range; equal arguments give equal values.

        Args:
            ranges: Ranges by setting.
            trials: All trials so far, in the order in which they were proposed.
            maximize: Whether higher values of trials are better.
            seed: Seed of random numbers, which differs in each call.
        """


def load_sampler(word: str) -> Sampler:
    """Loads a sampler by its name in a study file; raises `InputError` if it cannot."""
    sampler: Sampler = load_declared(SAMPLERS, word, Sampler)
    return sampler


@final
class RandomSampler(Sampler):
    """Draws points at random, evenly over each range."""

    def propose(
        self, ranges: Mapping[str, Range], trials: Sequence[Trial], maximize: bool, seed: int
    ) -> dict[str, Number]:
        """A random point, whatever the results so far."""
        from dislab.functional.random import host_generator  # imports torch

        shares = host_generator(seed).random(len(ranges))
        return {
            name: _between(limits, float(share))
            for (name, limits), share in zip(ranges.items(), shares, strict=True)
        }


def _between(limits: Range, share: float) -> float:
    """The value at a share of the way through a range."""
    ends = (limits.low, limits.high)
    if limits.whole:  # each whole number gets an equal part
        ends = (limits.low - 0.5, limits.high + 0.5)
    if limits.log:
        low, high = map(math.log, ends)
        return math.exp(low + share * (high - low))
    return ends[0] + share * (ends[1] - ends[0])
