"""Evaluation of one bank of codes by many scores: values, chance, intervals, parts, provenance."""

import math
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import torch
from torch import Tensor
from tqdm import tqdm

from dislab.base import Metric, MetricBuilder, Sample
from dislab.base.failures import described, parts_named
from dislab.base.metric import primary, reason_against
from dislab.base.parts import make_part
from dislab.codes.bank import CodeBank
from dislab.codes.information import entropies
from dislab.errors import InputError, warn
from dislab.factors import FactorSpace
from dislab.functional.random import host_generator
from dislab.metrics._intervals import Bootstrap, intervals
from dislab.naming.builders import origins, settings, versions

__all__ = ["Bootstrap", "Evaluation", "built", "score_bank"]

INFORMATION: Final = "mutual_information"
"""The part with the mutual information of latents and factors in nats."""
BY_CHANCE: Final = "_by_chance"
"""What the name of a part of codes of other images ends in."""
PER_FACTOR: Final = "_per_factor"
"""What the name of a part with one number per factor ends in."""
_STREAM: Final = 0xC4
_ROUNDING: Final = 1e-4
"""How far a score may leave its bounds by rounding."""


class Evaluation(NamedTuple):
    """Results of scores on one set of codes.

    Attributes:
        values: Scalars by name.
        intervals: Bounds of the interval of each scalar whose score is resampled.
        parts: Lists and nested lists by name, such as one number per factor.
        metrics: For each score, by the user's name: class, settings, the name of its primary scalar
            with direction and bounds, and versions of the libraries that it uses.
        provenance: Sample sizes, factors, seed, settings of the bootstrap, and versions.
        skipped: Reason for each skipped score, by the user's name.
        chance: Chance level by scalar name, from codes of other images; none for scores that do not
            use factors.
    """

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    parts: dict[str, Any]
    metrics: dict[str, dict[str, Any]]
    provenance: dict[str, Any]
    skipped: dict[str, str]
    chance: dict[str, float]

    def record(self) -> dict[str, Any]:
        """The evaluation as JSON values, with the keys of `scores.json`."""
        sample = {key: value for key, value in self.provenance.items() if key != "versions"}
        return {
            "scores": self.values,
            "intervals": self.intervals,
            "chance": self.chance,
            "parts": self.parts,
            "metrics": self.metrics,
            "skipped": self.skipped,
            "sample": sample,
            "versions": self.provenance["versions"],
        }


def score_bank(
    builders: Mapping[str, MetricBuilder],
    space: FactorSpace,
    bank: CodeBank,
    bootstrap: Bootstrap,
    optional: bool = False,
    chance: bool = False,
) -> Evaluation:
    """All scores of one bank of checked codes and factors.

    Nuisance factors are left out of the parts. If several scores use the same name, it gets the
    user's name of the score as a prefix, as in `fine/mig`. With `optional`, scores that cannot
    score these codes are skipped; with `chance`, the chance level of each score is computed, and as
    parts those of single factors and of the mutual information of latents and factors.

    Raises:
        InputError: A score cannot be built, or cannot score these codes and is not optional.
    """
    essential = list(space.essential)
    if 0 < len(essential) < len(space.factors):
        space = space.without_nuisance()
        bank = bank.of_factors(essential)
    metrics = {key: built(build, space) for key, build in builders.items()}
    results, skipped = _results(metrics, bank, optional)
    metrics = {key: metric for key, metric in metrics.items() if key in results}
    full = _full_names(results)
    tensors = {
        full[key, name]: value for key, result in results.items() for name, value in result.items()
    }
    shuffled = shuffled_results(metrics, full, bank, bootstrap.seed) if chance else {}
    parts = {name: tensor.tolist() for name, tensor in tensors.items() if tensor.ndim}
    parts |= {
        f"{name}{BY_CHANCE}": tensor.tolist()
        for name, tensor in shuffled.items()
        if name.rpartition("/")[2] == INFORMATION or name.endswith(PER_FACTOR)
    }
    return Evaluation(
        {name: float(tensor) for name, tensor in tensors.items() if tensor.ndim == 0},
        intervals(metrics, results, full, bank, bootstrap),
        parts,
        {
            key: _settings(builders[key], metric, full[key, primary(results[key])])
            for key, metric in metrics.items()
        },
        _provenance(space, bank, bootstrap),
        skipped,
        {name: float(tensor) for name, tensor in shuffled.items() if tensor.ndim == 0},
    )


def built(build: MetricBuilder, space: FactorSpace) -> Metric:
    """Builds a score.

    Raises:
        InputError: The builder makes no score, or a setting is invalid.
    """
    with parts_named():
        return make_part(Metric, build, space=space)


def _results(
    metrics: Mapping[str, Metric], bank: CodeBank, optional: bool
) -> tuple[dict[str, dict[str, Tensor]], dict[str, str]]:
    """Scalars and parts of each score, and the reasons for skipped scores."""
    results: dict[str, dict[str, Tensor]] = {}
    skipped: dict[str, str] = {}
    sample = Sample(len(bank), bank.codes.shape[1], int(bank.varied.sum()))
    bar = tqdm(metrics.items(), desc="scores", unit=" scores", leave=False, disable=None)
    for key, metric in bar:
        bar.set_description(key)
        try:
            results[key] = _result(key, metric, bank, sample)
        except InputError as error:
            if not optional:
                raise
            skipped[key] = str(error)
    return results, skipped


def _full_names(results: Mapping[str, Mapping[str, Tensor]]) -> dict[tuple[str, str], str]:
    """Names of the results; a name that several scores use gets the user's name as a prefix."""
    uses = Counter(name for result in results.values() for name in result)
    return {
        (key, name): name if uses[name] == 1 else f"{key}/{name}"
        for key, result in results.items()
        for name in result
    }


def _provenance(space: FactorSpace, bank: CodeBank, bootstrap: Bootstrap) -> dict[str, Any]:
    """Sample sizes, factors with their entropies in nats, settings of the bootstrap, versions."""
    continuous = [factor.name for factor in space.factors if factor.kind == "continuous"]
    return {
        "images": len(bank),
        "latents": bank.codes.shape[1],
        "factors": dict(zip(space.names, space.sizes, strict=True)),
        "entropy": dict(zip(space.names, entropies(bank.factors).tolist(), strict=True)),
        **({"continuous": continuous} if continuous else {}),
        "bootstrap": bootstrap._asdict() if bootstrap.resamples else None,
        "versions": versions(),
    }


def _result(key: str, metric: Metric, bank: CodeBank, sample: Sample) -> dict[str, Tensor]:
    """The scalars and parts of a score; refuses results of another form."""
    if reason := reason_against(metric, sample):
        raise InputError(reason)
    with parts_named():
        result: Any = metric.score(bank)
    wrong = f"a {type(result).__name__}"
    if isinstance(result, dict):
        wrong = ", ".join(
            f"{name} as {type(value).__name__}"
            for name, value in result.items()
            if not isinstance(value, Tensor)
        )
    if wrong or not any(value.ndim == 0 for value in result.values()):
        raise InputError(
            f"{described(metric)}, {key} of the scores, returns {wrong or 'no scalar'}; it must "
            "return a dictionary of tensors by name, at least one of them a scalar"
        )
    _warn_if_impossible(key, metric, result)
    return cast("dict[str, Tensor]", result)


def _warn_if_impossible(key: str, metric: Metric, result: Mapping[str, Tensor]) -> None:
    """Warns of a score of another package that is no number, or leaves the bounds that it names."""
    if type(metric).__module__.partition(".")[0] == "dislab":
        return
    value = float(result[primary(result)])
    low, high = metric.plot_lower_bound, metric.plot_upper_bound
    fault = ""
    if math.isnan(value):
        fault = "NaN"
    elif (low is not None and value < low - _ROUNDING) or (
        high is not None and value > high + _ROUNDING
    ):
        fault = f"{value:.4g}, outside of its bounds {low} and {high}"
    if fault:
        warn(
            f"{described(metric)}, {key} of the scores, is {fault}; check its formula, such as by "
            "dislab.testing.check_metric",
            UserWarning,
        )


def _settings(build: MetricBuilder, metric: Metric, name: str) -> dict[str, Any]:
    """The class and all settings of a score, and the meaning of its primary scalar."""
    return {
        **settings(build, metric, filled_in=1),
        "primary": name,
        "higher_is_better": metric.higher_is_better,
        "bounds": [metric.plot_lower_bound, metric.plot_upper_bound],
        "versions": origins("metrics", metric, metric.engines),
    }


def shuffled_results(
    metrics: Mapping[str, Metric],
    titles: Mapping[tuple[str, str], str],
    bank: CodeBank,
    seed: int,
) -> dict[str, Tensor]:
    """The chance level of each result that has one, by its final name.

    `titles` maps the name of a score and of its result to the final name; `seed` is that of the
    permutation of the codes.
    """
    if len(bank) < 2:
        return {}
    order = torch.from_numpy(host_generator(seed, _STREAM).permutation(len(bank)))
    shuffled = bank.with_codes(bank.codes[order.to(bank.codes.device)])
    levels = {}
    for key, metric in metrics.items():
        if not metric.compares:
            continue
        for name, value in _chance(metric, shuffled).items():
            if (key, name) in titles:
                levels[titles[key, name]] = value
    return levels


def _chance(metric: Metric, shuffled: CodeBank) -> dict[str, Tensor]:
    """Scores of shuffled codes; empty if the score cannot be computed."""
    try:
        with parts_named(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # already given for the codes
            return metric.chance(shuffled)
    except InputError:
        return {}
