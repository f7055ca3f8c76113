"""Bootstrap intervals of scores."""

import math
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor
from tqdm import tqdm

from dislab.base import Metric
from dislab.base.metric import primary
from dislab.codes.bank import CodeBank
from dislab.codes.resamples import resamples
from dislab.errors import InputError


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
