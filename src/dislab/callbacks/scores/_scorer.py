"""Scores of the codes of different objectives on the same images."""

import math
import statistics
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal, TypeVar

import lightning.pytorch as pl
import torch

from dislab.base import DataModule, Metric, MetricBuilder, Objective, Sample, Split
from dislab.base.datamodule import drawable
from dislab.base.failures import parts_named
from dislab.base.inference import evaluating, images_of
from dislab.base.metric import reason_against
from dislab.codes.bank import ConstantFactorWarning, checked
from dislab.codes.latent_order import ACTIVE
from dislab.errors import InputError
from dislab.factors import UNLABELLED, FactorSpace, Indices
from dislab.metrics.evaluation import PER_FACTOR, Bootstrap, Evaluation, score_bank
from dislab.runs.baselines import Baseline, baselines, untrained
from dislab.runs.codes import Encoded, encoded

_CONFIDENCE: Final = 0.95
"""Share of the resampled scores that an interval holds."""

Codes = Literal["mean", "sample", "both"]
"""Codes to score: means of the posteriors, samples of them, or both."""

SAMPLED: Final = "sampled/"
"""Prefix of the names of the scores of sampled codes."""

_Name = TypeVar("_Name", str, int)

_POINTS: Final = 500
"""Number of random codes that are scored to find the names of scores."""


@dataclass(frozen=True)
class Scorer:
    """Computes the same scores on the same images for any objective.

    Attributes:
        states: State numbers of the images.
        metrics: Builders of the scores, by the user's names.
        batch_size: Number of images encoded at a time.
        codes: Kind of codes to score.
        seed: Seed of sampled codes, resampling and fresh weights.
    """

    trainer: pl.Trainer
    data: DataModule
    states: Indices
    metrics: Mapping[str, MetricBuilder]
    batch_size: int
    codes: Codes
    seed: int

    def scores(self, module: Objective, resamples: int = 0, chance: bool = False) -> Evaluation:
        """Scores of an objective's codes; empty without codes or without varying factors."""
        return self._scores(module, self.codes, resamples, chance)

    def untrained(self, module: Objective, count: int) -> dict[str, Any]:
        """Seeds of copies with fresh weights, and mean and deviation of scores, also by factor."""
        seeds, copies = untrained(module, count if module.has_codes else 0, self.seed)
        scored = [self.scores(copy) for copy in copies]
        return {
            "seeds": seeds,
            "scores": _spread([evaluation.values for evaluation in scored]),
            "parts": _spread_by_factor([evaluation.parts for evaluation in scored]),
        }

    def baselines(
        self, module: Objective, names: Sequence[Baseline]
    ) -> dict[str, dict[str, float]]:
        """Scores of other codes of the same images, by the name of the baseline."""
        if not module.has_codes or without_factors(self.data, self.states):
            return {}
        precision = self.trainer.precision_plugin
        models = baselines(names, self.data, module, self.states, self.batch_size, precision)
        return {name: self._scores(model, "mean").values for name, model in models.items()}

    def _scores(
        self, module: Objective, codes: Codes, resamples: int = 0, chance: bool = False
    ) -> Evaluation:
        reason = without_factors(self.data, self.states) if module.has_codes else None
        if reason or not module.has_codes:
            skipped = dict.fromkeys(self.metrics, reason) if reason else {}
            return Evaluation({}, {}, {}, {}, {"versions": {}}, skipped, {})
        precision = self.trainer.precision_plugin
        images = self.data, module, self.states, self.batch_size, precision
        bootstrap = Bootstrap(resamples, _CONFIDENCE, self.seed)
        evaluations = []
        if codes != "sample":
            means = encoded(*images)
            evaluations.append(score(self.metrics, self.data, means, bootstrap, chance))
        if codes != "mean":
            samples = encoded(*images, sample_seed=self.seed)
            evaluations.append(score(self.metrics, self.data, samples, bootstrap, chance, SAMPLED))
        return reduce(_joined, evaluations)


def score(
    metrics: Mapping[str, MetricBuilder],
    data: DataModule,
    encoding: Encoded,
    bootstrap: Bootstrap,
    chance: bool = False,
    prefix: str = "",
) -> Evaluation:
    """All scores of one encoding and, for a method with posteriors, the KL of each latent.

    A score that does not apply to these codes is skipped. A factor that takes one value in all
    states, such as one that a selection fixes, is left out without a warning.
    """
    codes, factors = torch.from_numpy(encoding.codes), torch.from_numpy(encoding.factors)
    with warnings.catch_warnings():
        if not _varies_elsewhere(data, encoding.factors):
            warnings.simplefilter("ignore", ConstantFactorWarning)
        bank = checked([codes], [factors], data.factors, least=1)
    evaluation = score_bank(metrics, data.factors, bank, bootstrap, optional=True, chance=chance)
    evaluation = _prefixed(evaluation, prefix)
    if encoding.kl is None:
        return evaluation
    active = {"active_units": float((encoding.kl > ACTIVE).sum())}
    parts = evaluation.parts | {"kl_per_latent": encoding.kl.tolist()}
    return evaluation._replace(values=evaluation.values | active, parts=parts)


def _varies_elsewhere(data: DataModule, positions: Indices) -> bool:
    """Whether a factor that takes one value in some states takes others in the remaining ones."""
    constant = (positions == positions[:1]).all(0)
    if not constant.any():
        return False
    others = data.factors.positions(drawable(data, "all"))[:, constant]
    return bool((others != others[:1]).any())


def names_of(
    metrics: Mapping[str, MetricBuilder], space: FactorSpace, codes: Codes
) -> list[str] | None:
    """Names of the scores of codes, from those of a few random codes.

    None if a score does not apply to random codes, so that its names are not known.
    """
    draws = torch.Generator().manual_seed(0)
    sizes = torch.tensor(space.sizes)
    positions = (torch.rand(_POINTS, len(sizes), generator=draws) * sizes).long()
    latents = torch.randn(_POINTS, 1 + len(sizes), generator=draws)
    try:
        bank = checked([latents], [positions], space, least=1)
        scored = score_bank(metrics, space, bank, Bootstrap(0, _CONFIDENCE, 0), optional=True)
    except InputError:
        return None
    if scored.skipped:
        return None
    means = list(scored.values) if codes != "sample" else []
    return [*means, *(f"{SAMPLED}{name}" for name in scored.values if codes != "mean")]


def _prefixed(evaluation: Evaluation, prefix: str) -> Evaluation:
    """The evaluation with a prefix before each score's name."""
    return evaluation._replace(
        values={f"{prefix}{name}": value for name, value in evaluation.values.items()},
        intervals={f"{prefix}{name}": value for name, value in evaluation.intervals.items()},
        parts={f"{prefix}{name}": value for name, value in evaluation.parts.items()},
        metrics={
            f"{prefix}{name}": value | {"primary": f"{prefix}{value['primary']}"}
            for name, value in evaluation.metrics.items()
        },
        skipped={f"{prefix}{name}": value for name, value in evaluation.skipped.items()},
        chance={f"{prefix}{name}": value for name, value in evaluation.chance.items()},
    )


def _joined(first: Evaluation, second: Evaluation) -> Evaluation:
    """Merges two evaluations of the same images; only the names of the KL may coincide."""
    return Evaluation(
        first.values | second.values,
        first.intervals | second.intervals,
        first.parts | second.parts,
        first.metrics | second.metrics,
        first.provenance,
        first.skipped | second.skipped,
        first.chance | second.chance,
    )


def without_factors(data: DataModule, states: Indices) -> str | None:
    """Reason why no score can compare codes with factors; None if scores can."""
    if data.factors.names == (UNLABELLED,):
        return "a score compares codes with factors, and these images have none"
    if not _varied(data, states):
        return f"no factor takes more than one value in the {len(states):,} states to score"
    return None


def inapplicable(
    trainer: pl.Trainer,
    module: Objective,
    data: DataModule,
    metrics: Mapping[str, Metric],
    split: Split,
    points: int,
) -> dict[str, str]:
    """Reasons why scores do not apply, by name, as far as known before encoding images."""
    states = drawable(data, split)
    if reason := without_factors(data, states):
        return dict.fromkeys(metrics, reason)
    latents = _latents(trainer, module, data, states) if any(map(_asks, metrics.values())) else 0
    sample = Sample(min(points, len(states)), latents, _varied(data, states))
    reasons = {name: reason_against(metric, sample) for name, metric in metrics.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _varied(data: DataModule, states: Indices) -> int:
    """Number of factors with more than one value, without nuisance factors."""
    positions = data.factors.positions(states)
    varied = (positions != positions[:1]).any(0)
    return sum(
        bool(varies) and not factor.nuisance
        for varies, factor in zip(varied, data.factors.factors, strict=True)
    )


def _asks(metric: Metric) -> bool:
    """Whether a score checks requirements of its own."""
    return type(metric).inapplicable is not Metric.inapplicable


def _latents(trainer: pl.Trainer, module: Objective, data: DataModule, states: Indices) -> int:
    """Number of latents, found by encoding one image."""
    # a module may cache tensors of inference mode, which training could not use
    precision = trainer.precision_plugin
    with evaluating(module, precision), torch.inference_mode(False), torch.no_grad(), parts_named():
        return module.codes(images_of(data, module, states[:1], precision)).shape[1]


def _spread(copies: Sequence[Mapping[_Name, float]]) -> dict[_Name, dict[str, Any]]:
    """Mean and standard deviation of each score over several models.

    The standard deviation divides by the number of models minus one; it is NaN for a single model,
    and where a score is NaN, as that of a factor of one value.
    """
    by_name = {name: [copy[name] for copy in copies] for name in copies[0]} if copies else {}
    return {
        name: {
            "mean": statistics.fmean(values),
            "std": _deviation(values),
            "values": values,
        }
        for name, values in by_name.items()
    }


def _deviation(values: Sequence[float]) -> float:
    is_known = len(values) > 1 and all(map(math.isfinite, values))
    return statistics.stdev(values) if is_known else math.nan


def _spread_by_factor(copies: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """Mean and standard deviation over several models of each score of single factors."""
    spreads = {}
    for name in copies[0] if copies else ():
        if not name.endswith(PER_FACTOR):
            continue
        by_factor = [dict(enumerate(copy[name])) for copy in copies]
        columns = _spread(by_factor).values()
        spreads[name] = {key: [column[key] for column in columns] for key in ("mean", "std")}
    return spreads
