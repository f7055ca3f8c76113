"""Scores different objectives on the same set of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal

import lightning.pytorch as pl

from dislab.base import DataModule, MetricBuilder, Objective
from dislab.callbacks._encoding import encode_states, sample_states
from dislab.callbacks.scores._encoding_scores import joined, score, spread, without_factors
from dislab.factors import Indices
from dislab.metrics.evaluation import Bootstrap, Evaluation
from dislab.runs.baselines import Baseline, baselines, untrained

CONFIDENCE: Final = 0.95
"""Share of the resampled scores that an interval holds."""

Codes = Literal["mean", "sample", "both"]
"""Codes to score: means of the posteriors, samples of them, or both."""

SAMPLED: Final = "sampled/"
"""Prefix of the names of the scores of sampled codes."""


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
        """Seeds of copies with fresh weights, and mean and deviation of their scores."""
        seeds, copies = untrained(module, count if module.has_codes else 0, self.seed)
        return {
            "seeds": seeds,
            "scores": spread([self.scores(copy).values for copy in copies]),
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
        images = self.trainer, self.data, module, self.states, self.batch_size
        bootstrap, space = Bootstrap(resamples, CONFIDENCE, self.seed), self.data.factors
        evaluations = []
        if codes != "sample":
            means = encode_states(*images)
            evaluations.append(score(self.metrics, space, means, bootstrap, chance))
        if codes != "mean":
            samples = sample_states(*images, self.seed)
            evaluations.append(score(self.metrics, space, samples, bootstrap, chance, SAMPLED))
        return reduce(joined, evaluations)
