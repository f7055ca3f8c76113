"""Scores of a trained objective."""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, Final, Literal, final

import lightning.pytorch as pl
import torch
from lightning.pytorch.utilities import rank_zero_info

from dislab import plots, runs
from dislab.base import DataModule, MetricBuilder, Objective, Split
from dislab.base.inference import lacks
from dislab.callbacks._encoding import (
    draw_correlated,
    draw_states,
    encode_states,
    sample_states,
    split_with_states,
)
from dislab.callbacks._trainer import data_of, is_rehearsal, objective_of, run_folder
from dislab.callbacks.scores._bounds import bounds, bounds_table
from dislab.callbacks.scores._scoring import inapplicable, joined, score, spread, without_factors
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_count
from dislab.functional.settings import checks_settings
from dislab.metrics.evaluation import Bootstrap, Evaluation, built
from dislab.metrics.score_table import score_table
from dislab.metrics.sheet import sheet
from dislab.runs.baselines import Baseline, baselines, untrained

CONFIDENCE: Final = 0.95
"""Share of the resampled scores that an interval holds."""

Codes = Literal["mean", "sample", "both"]
"""Which codes are scored: means of the posteriors, samples of them, or both."""

SAMPLED: Final = "sampled/"
"""Stands before the names of the scores of sampled codes."""


@checks_settings
@final
class Evaluate(pl.Callback):
    """Scores the codes at the end of `validate` and `test`; training is left alone.

    Some states are drawn, their images encoded once, and every score reads the same codes. The
    scalars go to the loggers as `scores/<name>` and to the terminal as a table; `scores.json` in
    the run folder gets them under `validate` or `test`, with intervals, per-factor parts, settings,
    draw, data, checkpoint, seed and versions. A score that cannot be taken, such as one that
    compares factors where there is one only, ends the command before training if it was asked for
    by name; one of the command's default scores is skipped, with its reason under `skipped`. Of a
    method with posteriors the KL of each latent in nats and the number of active units (KL above
    0.01 nats, the mean over the points) are recorded as well. Several processes: the first one
    scores, the others wait.

    Of a method with posteriors and a likelihood of pixels, `elbo_sample_<split>`,
    `elbo_mean_<split>`, `reconstruction_sample_<split>`, `reconstruction_mean_<split>` and
    `kl_<split>` are scores of each split, in nats per image: the evidence lower bound with a
    decoded sample of the posterior, and the same with its decoded mean, which is no bound. Of a
    method that makes no codes, and of images without factors, only these and the losses are
    recorded.

    Args:
        metrics: The scores by the name you give each; without any, nothing is scored.
        points: How many states are drawn, without replacement; all of them if there are fewer.
        split: Where they are drawn from: train, validation, test, or all.
        batch_size: Images encoded at a time.
        seed: Decides which states are drawn, and in what order.
        untrained: How many copies of the objective with fresh weights are scored on the same
            points. Their mean and standard deviation are the floor that training must beat.
        bootstrap: How many times the points are resampled, for 95 % intervals of the scores that
            fit no model; with 0 there are none.
        codes: `mean` scores the codes of the method, the means of its posteriors; `sample` scores
            samples of the posteriors, whose names begin with `sampled/`; `both` does both.
        chance: Whether the level of chance stands beside each score: the same codes, each with the
            factors of another image, and of DCI the most frequent value as every prediction.
        baselines: Other codes whose scores stand beside: `pixels` are grey pixels averaged over a
            grid of 8×8, `pca` the first principal components of the images, as many as there are
            latents. Each takes as long as the scores themselves, or longer.
        bound_points: On how many states of each split the evidence lower bound, the reconstruction
            and the KL are measured, in nats per image; 0 for none.
        sheet: Whether a page with scores, importances, mutual information and KL is drawn into
            `images/scores.png` of the run folder.
        distribution: `uniform` draws every state of the split alike; `correlated` as often as the
            data module's `correlation` makes training draw it, with replacement; the last third of
            the draws are of states that the others are not of, as scores are tested on them.

    Raises:
        InputError: A number is below what makes sense.
    """

    def __init__(
        self,
        metrics: dict[str, MetricBuilder] | None = None,
        points: int = 15_000,
        split: Split = "all",
        batch_size: int = 256,
        seed: int = 0,
        untrained: int = 0,
        bootstrap: int = 0,
        sheet: bool = True,
        codes: Codes = "mean",
        chance: bool = True,
        baselines: list[Baseline] | None = None,
        bound_points: int = 1_000,
        distribution: Literal["uniform", "correlated"] = "uniform",
    ) -> None:
        check_count("points", points, 1)
        check_count("batch_size", batch_size, 1)
        check_count("untrained", untrained, 0, most=1000)
        check_count("bootstrap", bootstrap, 0, most=1_000_000)
        check_count("bound_points", bound_points, 0)
        self.metrics = metrics or {}
        self.points = points
        self.split: Split = split
        self.batch_size = batch_size
        self.seed = seed
        self.untrained = untrained
        self.bootstrap = bootstrap
        self.sheet = sheet
        self.codes: Codes = codes
        self.chance = chance
        self.baselines: list[Baseline] = list(dict.fromkeys(baselines or ()))
        self.bound_points = bound_points
        self.distribution: Literal["uniform", "correlated"] = distribution
        self.asked = True
        """Whether the scores were asked for by name, so that one that cannot be taken is an error;
        the command's default ones were not."""
        self._skipped: dict[str, str] = {}
        self._noted: set[str] = set()

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Says once what will not be scored, and makes every score.

        Raises:
            InputError: A score cannot be made, or cannot be taken and was asked for by name; better
                said before training than after it.
        """
        module = objective_of(pl_module, "Evaluate")
        if not self.metrics or stage not in ("fit", "validate", "test"):
            return
        if self.codes != "mean" and module.has_codes and lacks(module, "encode"):
            raise InputError(
                f"evaluate.codes is {self.codes}, and {type(module).__name__} has no posterior to "
                "sample from; set it to mean"
            )
        if not module.has_codes:
            rank_zero_info(f"Evaluate: nothing to score, as {type(module).__name__} has no codes")
        elif isinstance(data := getattr(trainer, "datamodule", None), DataModule):
            if self.distribution == "correlated":
                self._states(data)  # refuses, before training, data without a correlation
            metrics = {name: built(name, one, data.factors) for name, one in self.metrics.items()}
            self._note(inapplicable(trainer, module, data, metrics, self.split, self.points))

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Ends the command when scores that were asked for could not be taken.

        By now everything else is done and recorded.

        Raises:
            InputError: A score was asked for by name and could not be taken.
        """
        skipped, self._skipped = self._skipped, {}
        if skipped and self.asked:
            raise InputError(_listed(skipped, "was not taken"))

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Scores, unless the validation is a part of training."""
        if trainer.state.fn == "validate":
            self._run(trainer, pl_module, "validate")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Scores."""
        self._run(trainer, pl_module, "test")

    def _run(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: runs.ScoreStage
    ) -> None:
        if not self.metrics or is_rehearsal(trainer):
            return
        module, data = objective_of(pl_module, "Evaluate"), data_of(trainer, "Evaluate")
        folder = run_folder(trainer)
        if trainer.is_global_zero:
            states = self._states(data)
            # The trainer runs its loops in inference mode; a score may need to fit a model.
            with torch.inference_mode(False), torch.enable_grad():
                scores = self._score(
                    trainer, data, module, states, self.codes, self.bootstrap, self.chance
                )
                seeds, floor = self._score_untrained(trainer, data, module, states)
                others = self._score_baselines(trainer, data, module, states)
            nats = bounds(trainer, data, module, self.bound_points, self.batch_size, self.seed)
            scored = scores._replace(values=scores.values | nats)
            record = self._record(trainer, data, module, scored, len(states))
            measured = trainer.callback_metrics
            record["losses"] = {name: float(value) for name, value in measured.items()}
            record["untrained"] = {"seeds": seeds, "scores": floor}
            record["baselines"] = others
            path = runs.write_scores(folder, stage, record)
            self._skipped = scores.skipped
            self._log(trainer, module, scored)
            if self.sheet and scores.values:
                self._draw(folder, split_with_states(data, self.split), scores)
            if scores.skipped and set(scores.skipped.values()) - self._noted:
                print(f"\n{_listed(scores.skipped, 'was not taken')}")
            if scores.values:
                given = scores.values, scores.intervals, floor, scores.chance, others
                print(f"\n{score_table(*given)}")
            if nats:
                print(f"\n{bounds_table(nats)}")
            if scored.values:
                print(path)
        trainer.strategy.barrier("scores")

    def _states(self, data: DataModule) -> Indices:
        """The states to score."""
        draw = draw_correlated if self.distribution == "correlated" else draw_states
        return draw(data, self.split, self.points, self.seed)

    def _score(
        self,
        trainer: pl.Trainer,
        data: DataModule,
        module: Objective,
        states: Indices,
        codes: Codes,
        bootstrap: int = 0,
        chance: bool = False,
    ) -> Evaluation:
        reason = without_factors(data, states) if module.has_codes else None
        if reason or not module.has_codes:
            skipped = dict.fromkeys(self.metrics, reason) if reason else {}
            return Evaluation({}, {}, {}, {}, {"versions": {}}, skipped, {})
        resampling = Bootstrap(bootstrap, CONFIDENCE, self.seed)
        found = []
        if codes != "sample":
            means = encode_states(trainer, data, module, states, self.batch_size)
            found.append(score(self.metrics, data.factors, means, resampling, chance))
        if codes != "mean":
            drawn = sample_states(trainer, data, module, states, self.batch_size, self.seed)
            found.append(score(self.metrics, data.factors, drawn, resampling, chance, SAMPLED))
        return reduce(joined, found)

    def _note(self, reasons: dict[str, str]) -> None:
        """Refuses scores that were asked for and cannot be taken; mentions others once."""
        if reasons and self.asked:
            raise InputError(
                f"{_listed(reasons, 'cannot be taken')}; leave it out of evaluate.metrics, which "
                "may be {}"
            )
        for reason in sorted(set(reasons.values()) - self._noted):
            names = ", ".join(name for name, one in reasons.items() if one == reason)
            rank_zero_info(f"Evaluate: {names} will not be taken: {reason}")
        self._noted |= set(reasons.values())

    def _score_untrained(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, states: Indices
    ) -> tuple[list[int], dict[str, dict[str, Any]]]:
        """Seeds of untrained models, and the spread of their scores."""
        count = self.untrained if module.has_codes else 0
        seeds, copies = untrained(module, count, self.seed)
        scores = [self._score(trainer, data, copy, states, self.codes).values for copy in copies]
        return seeds, spread(scores)

    def _score_baselines(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, states: Indices
    ) -> dict[str, dict[str, float]]:
        """Scores of other codes of the same images, by the name of the baseline."""
        if not module.has_codes or without_factors(data, states):
            return {}
        precision = trainer.precision_plugin
        made = baselines(self.baselines, data, module, states, self.batch_size, precision)
        return {
            name: self._score(trainer, data, one, states, "mean").values
            for name, one in made.items()
        }

    def _record(
        self,
        trainer: pl.Trainer,
        data: DataModule,
        module: Objective,
        scores: Evaluation,
        points: int,
    ) -> dict[str, Any]:
        split = split_with_states(data, self.split)
        drawn: dict[str, Any] = {"split": split, "points": points, "seed": self.seed}
        drawn["codes"] = self.codes
        if self.distribution != "uniform":
            drawn["distribution"] = self.distribution
        return {
            **scores.record(),
            "draw": drawn | {"available": len(data.indices(split))},
            "data": {
                "datamodule": type(data).__name__,
                "dataset": type(data.dataset).__name__,
                "factors": list(data.factors.names),
                "provenance": data.dataset.provenance(),
            },
            "objective": type(module).__name__,
            "checkpoint": {
                "path": str(trainer.ckpt_path) if trainer.ckpt_path else None,
                "steps": int(module.steps),
            },
            "seed": int(module.draw_seed),
            "versions": runs.versions(),
        }

    def _draw(self, folder: Path, split: Split, scores: Evaluation) -> None:
        images = scores.provenance["images"]
        states = "all states" if split == "all" else f"the {split} split"
        title = f"{'/'.join(folder.parts[-2:])}: {images:,} images of {states}"
        plots.save(sheet(scores, title), folder / "images" / "scores.png")

    def _log(self, trainer: pl.Trainer, module: Objective, scores: Evaluation) -> None:
        logged = {f"scores/{name}": value for name, value in scores.values.items()}
        for logger in trainer.loggers:
            logger.log_metrics(logged, step=int(module.steps))
            logger.save()


def _listed(reasons: Mapping[str, str], verb: str) -> str:
    """The scores with their reasons in one line."""
    return "; ".join(f"{name} {verb}: {reason}" for name, reason in reasons.items())
