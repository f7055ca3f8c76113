"""Bootstrap intervals of scores, with the counts of many resamples in one pass."""

import math
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from dislab.base import Metric
from dislab.base.metric import primary
from dislab.codes.bank import CodeBank
from dislab.codes.information import InformationGaps, gaps_of_counts
from dislab.errors import InputError
from dislab.functional.random import host_generator

NUMBERS_AT_ONCE: Final = 2**23
"""Largest number of row weights and count-table cells in memory at once."""


class Bootstrap(NamedTuple):
    """Settings of bootstrap intervals.

    Attributes:
        resamples: Number of resamples of the images; 0 for no intervals.
        confidence: Share of the resampled scores inside the interval.
        seed: Seed of the draws.
    """

    resamples: int
    confidence: float
    seed: int


def intervals(
    built: Mapping[str, Metric],
    results: Mapping[str, Mapping[str, Tensor]],
    titles: Mapping[tuple[str, str], str],
    bank: CodeBank,
    bootstrap: Bootstrap,
) -> dict[str, tuple[float, float]]:
    """Bounds of the interval of each scalar, by its final name, for scores with `bootstraps`.

    `titles` maps the name of a score and of its result to the final name.
    """
    cheap = {key: metric for key, metric in built.items() if metric.bootstraps}
    scalars = [
        (key, name) for key in cheap for name, value in results[key].items() if value.ndim == 0
    ]
    if not bootstrap.resamples or not scalars:
        return {}
    rows = []
    resampled_banks = resamples(bank, bootstrap.resamples, bootstrap.seed)
    bar = tqdm(
        resampled_banks, "bootstrap", bootstrap.resamples, False, unit=" resamples", disable=None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # already given for the images
        for resampled in bar:
            values = {key: _attempt(metric, resampled) for key, metric in cheap.items()}
            rows.append([float(values[key].get(name, math.nan)) for key, name in scalars])
    found_ends = {}
    for (key, name), column in zip(scalars, np.array(rows).T, strict=True):
        ends = _percentiles(float(results[key][name]), column, bootstrap.confidence)
        if name == primary(results[key]):
            ends = _within(ends, cheap[key].plot_lower_bound, cheap[key].plot_upper_bound)
        found_ends[titles[key, name]] = ends
    return found_ends


def _percentiles(
    value: float, resampled: Float[np.ndarray, " resample"], confidence: float
) -> tuple[float, float]:
    """Percentiles around a value; NaN if the score failed on at least half of the resamples.

    Resamples repeat images, which biases scores estimated from counts. Therefore their median is
    shifted to the value, and only their spread is used.
    """
    finite = resampled[np.isfinite(resampled)]
    if 2 * len(finite) <= len(resampled):
        return math.nan, math.nan
    tail = (1 - confidence) / 2
    low, middle, high = np.quantile(finite, [tail, 0.5, 1 - tail])
    return float(value + low - middle), float(value + high - middle)


def _within(
    ends: tuple[float, float], lower: float | None, upper: float | None
) -> tuple[float, float]:
    low, high = (float(np.clip(end, lower, upper)) for end in ends)
    return low, high


def _attempt(metric: Metric, bank: CodeBank) -> dict[str, Tensor]:
    """The scores of a resample; empty if the score fails, for example if no value repeats."""
    try:
        return metric.score(bank)
    except InputError:
        return {}


def resamples(bank: CodeBank, count: int, seed: int) -> Iterator[CodeBank]:
    """Draws resamples of a bank, uniformly and with replacement, each with as many images.

    Each uses the bins of the original bank. Counts and mutual information are computed for many
    resamples together, as one sparse product of cells and weights; the weight of a row is its
    number of draws.
    """
    generator = host_generator(seed)
    together = max(1, NUMBERS_AT_ONCE // (len(bank) + 1))
    for start in range(0, count, together):
        rows = generator.integers(len(bank), size=(min(together, count - start), len(bank)))
        shared = _Informed(bank, rows)
        for index, images in enumerate(torch.from_numpy(rows).to(bank.codes.device)):
            yield bank.resampled(images, partial(shared.information, index))


class _Informed:
    """Mutual information of several resamples, computed on first use for each number of bins."""

    def __init__(self, bank: CodeBank, rows: npt.NDArray[np.int64]) -> None:
        self.bank = bank
        self.rows = rows
        self.computed: dict[tuple[int, int], InformationGaps] = {}

    def information(self, resample: int, bins: int, factor_bins: int) -> InformationGaps:
        key = bins, factor_bins
        if key not in self.computed:
            self.computed[key] = self._all(self.bank.with_factor_bins(factor_bins), bins)
        return InformationGaps(*(part[resample] for part in self.computed[key]))

    def _all(self, bank: CodeBank, bins: int) -> InformationGaps:
        images = len(bank)
        # the narrowest integers that hold a count: memory limits the speed of the product
        width = np.uint16 if images < 2**16 else np.int32
        weights = np.stack([np.bincount(row, minlength=images) for row in self.rows]).T
        weights = np.ascontiguousarray(weights.astype(width))
        latents, factors = bank.codes.shape[1], bank.factors.shape[1]
        values = int(bank.factors.max()) + 1
        step = max(1, NUMBERS_AT_ONCE // (latents * bins * values * factors))
        parts = []
        for start in range(0, len(self.rows), step):
            part = np.ascontiguousarray(weights[:, start : start + step])
            parts.append(gaps_of_counts(_weighted_counts(bank, bins, part)))
        device = bank.codes.device
        return InformationGaps(
            *(torch.cat(chunks).to(device) for chunks in zip(*parts, strict=True))
        )


def _weighted_counts(
    bank: CodeBank, bins: int, weights: npt.NDArray[np.integer[Any]]
) -> list[Int[Tensor, "resample latent bin _"]]:
    """Counts of each resample's images by latent bin and value, one table per factor.

    `weights` is the number of draws of each row, shape (image, resample).
    """
    from scipy.sparse import csr_matrix

    binned, factors = bank.binned(bins).cpu().numpy(), bank.factors.cpu().numpy()
    images, latents = binned.shape
    cells = binned + np.arange(latents) * bins
    ones = np.ones(cells.size, dtype=weights.dtype)
    ends = np.arange(0, cells.size + 1, latents)
    tables = []
    for column in factors.T:
        values = int(column.max()) + 1
        shape = images, latents * bins * values
        table = csr_matrix((ones, (cells * values + column[:, None]).ravel(), ends), shape)
        counts = (table.T.tocsr() @ weights).T.astype(np.int64)
        tables.append(torch.from_numpy(counts.reshape(-1, latents, bins, values)))
    return tables
