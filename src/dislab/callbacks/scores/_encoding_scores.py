"""Scores of an encoding, and their mean and deviation over several models."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl
import torch

from dislab.base import DataModule, Metric, MetricBuilder, Objective, Sample, Split
from dislab.base.failures import parts_named
from dislab.base.inference import evaluating, images_of
from dislab.base.metric import reason_against
from dislab.base.state_draws import drawable
from dislab.callbacks._encoding import Encoding
from dislab.codes.bank import checked
from dislab.codes.latent_order import ACTIVE
from dislab.factors import UNLABELLED, FactorSpace, Indices
from dislab.metrics.evaluation import Bootstrap, Evaluation, score_bank


def score(
    metrics: Mapping[str, MetricBuilder],
    space: FactorSpace,
    encoding: Encoding,
    bootstrap: Bootstrap,
    chance: bool = False,
    prefix: str = "",
) -> Evaluation:
    """All scores of one encoding and, for a method with posteriors, the KL of each latent.

    A score that does not apply to these codes is skipped.
    """
    bank = checked([encoding.codes], [encoding.factors], space, least=1)
    evaluation = score_bank(metrics, space, bank, bootstrap, optional=True, chance=chance)
    evaluation = _prefixed(evaluation, prefix)
    if encoding.kl is None:
        return evaluation
    active = {"active_units": float((encoding.kl > ACTIVE).sum())}
    parts = evaluation.parts | {"kl_per_latent": encoding.kl.tolist()}
    return evaluation._replace(values=evaluation.values | active, parts=parts)


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


def joined(first: Evaluation, second: Evaluation) -> Evaluation:
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


def spread(copies: list[dict[str, float]]) -> dict[str, dict[str, Any]]:
    """Mean and standard deviation of each score over several models.

    The standard deviation divides by the number of models minus one; for a single model it is NaN.
    """
    by_name = {name: [copy[name] for copy in copies] for name in copies[0]} if copies else {}
    return {
        name: {
            "mean": statistics.fmean(values),
            "std": statistics.stdev(values) if len(values) > 1 else math.nan,
            "values": values,
        }
        for name, values in by_name.items()
    }
