"""Scores of a trained objective."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, ClassVar, Literal, final

import lightning.pytorch as pl
import numpy as np
from lightning.pytorch.utilities import rank_zero_info

from dislab import plots, runs
from dislab.base import DataModule, MetricBuilder, Objective, Split
from dislab.base.datamodule import draw_states, drawable, split_with_states
from dislab.base.inference import lacks
from dislab.callbacks._trainer import objective_of
from dislab.callbacks.scores._bounds import QUANTITIES, SPLITS, bound_images, bounds, bounds_table
from dislab.callbacks.scores._score_callback import ScoreCallback, Scored, Stages
from dislab.callbacks.scores._scorer import SAMPLED, Codes, Scorer, inapplicable, names_of
from dislab.codes.splits import TEST_FRACTION, train_count
from dislab.errors import InputError
from dislab.factors import UNLABELLED, FactorSpace, Indices
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator
from dislab.metrics.evaluation import Evaluation, built
from dislab.metrics.score_table import images_text, score_table, scored_on, title
from dislab.metrics.sheet import sheet
from dislab.naming.settings import checks_settings
from dislab.report.run_record import images_of, low_scores
from dislab.report.verdict import verdict
from dislab.runs.baselines import Baseline
from dislab.storage import WIDTH


@checks_settings
@final
class Evaluate(ScoreCallback):
    """Scores the codes at the end of `validate` and `test`, but not during training.

    A sample of states is drawn, its images are encoded once, and every score reads the same codes.
    The scalars go to the loggers as `scores/<name>` and to the terminal as a table; `scores.json`
    in the run folder gets them under `validate` or `test`, with intervals, per-factor parts,
    settings, draw, data, checkpoint, seed and versions. A score that does not apply, such as one
    that compares factors on data with a single factor, ends the command before training if the
    user named it; one of the command's default scores is skipped, with the reason under `skipped`.
    For a method with posteriors, the KL of each latent in nats and the number of active units (mean
    KL over the points above 0.01 nats) are recorded as well. With several processes, the first one
    scores and the others wait.

    For a method with posteriors and a pixel likelihood, `elbo_sample_<split>`,
    `elbo_mean_<split>`, `reconstruction_sample_<split>`, `reconstruction_mean_<split>` and
    `kl_<split>` are scores of each split, in nats per image: the evidence lower bound with a
    decoded sample of the posterior, and the same with its decoded mean, which is not a bound.
    `explained_variance_<split>` is the share of the variance of pixels that decoded means explain:
    0 for a model that draws the mean image, and for images that are all equal. For a
    method without codes, and for images without factors, only these and the losses are recorded.

    Args:
        metrics: The scores, each under a name of your choice; without any, nothing is scored.
        points: Number of states, drawn without replacement; all states if there are fewer.
        split: Split to draw states from: train, validation, test, or all.
        batch_size: Number of images encoded at a time.
        seed: Seed of the drawn states and of their order.
        untrained: Number of copies of the objective with fresh weights to score on the same points.
            Their mean and standard deviation are the baseline that training must beat.
        bootstrap: Number of resamples of the points, for 95 % intervals of the scores that fit no
            model; 0 for no intervals.
        codes: `mean` scores the codes of the method, the means of its posteriors; `sample` scores
            samples of the posteriors, under names with the prefix `sampled/`; `both` does both.
        chance: Whether to report the chance level of each score: the score of the same codes with
            factors shuffled over images and, for DCI, predicting the most frequent value.
        baselines: Other codes to score for comparison: `pixels` are grey pixels averaged over a
            grid of 8×8, `pca` the first principal components of the images, as many as there are
            latents. Each takes at least as long as the scores themselves.
        bound_points: Number of states of each split on which the evidence lower bound, the
            reconstruction and the KL are measured, in nats per image; 0 for none.
        sheet: Whether to draw a page with scores, importances, mutual information and KL into
            `images/scores.png` of the run folder.
        distribution: `uniform` draws all states of the split with equal probability; `correlated`
            draws them, with replacement, with the probabilities that the data module's
            `correlation` gives them in training; the last third of the draws, used to test scores,
            has no state in common with the others.

    Raises:
        InputError: A number is too small.
    """

    stages: ClassVar[Stages] = {"validate": "validate", "test": "test"}

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
        """Whether the user named the scores, so that an inapplicable one is an error; the command
        sets it to false for its default scores."""
        self._found: Evaluation | None = None
        self._left_out: set[str] = set()

    def names(self, module: Objective, space: FactorSpace) -> list[str] | None:
        """Names of all scores that a run may have; None if they are not known before training.

        Args:
            module: The objective.
            space: The factors of its data.
        """
        others = [f"{name}_{split}" for name in QUANTITIES for split in SPLITS]
        if not module.has_codes or space.names == (UNLABELLED,):
            return others
        scores = names_of(self.metrics, space, self.codes)
        return None if scores is None else [*scores, "active_units", *others]

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Builds every score before training, and prints those that do not apply.

        Raises:
            InputError: A score cannot be built, or does not apply and was named by the user.
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
                self._states(data)  # rejects data without correlation before training
            metrics = {name: built(build, data.factors) for name, build in self.metrics.items()}
            self._note(inapplicable(trainer, module, data, metrics, self.split, self.points))

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Ends the command with an error if scores that the user named failed.

        All other results are recorded by then.

        Raises:
            InputError: A score that the user named could not be computed.
        """
        evaluation, self._found = self._found, None
        if evaluation is not None and evaluation.skipped and self.asked:
            raise InputError(_listed(evaluation.skipped, "was not taken"))

    def applies(self, trainer: pl.Trainer, module: Objective) -> bool:
        """Whether scores were chosen."""
        return bool(self.metrics)

    def task(self, data: DataModule, module: Objective) -> str:
        """Number of images, scores, and other models and codes that are scored too."""
        if not module.has_codes or data.factors.names == (UNLABELLED,):
            return ""
        complete = drawable(data, self.split)
        count = min(self.points, len(complete))
        copies = f"{self.untrained} untrained model{'s' if self.untrained > 1 else ''}"
        others = ", ".join([*([copies] if self.untrained else []), *self.baselines])
        names = [title(name) for name in self.metrics if name not in self._left_out]
        split = split_with_states(data, self.split)
        available = len(data.indices(split))
        incomplete = available - len(complete)
        scored = scored_on(count, available, split)
        scored = images_text(count, scored, incomplete, data.dataset.equal_files)
        text = f"{scored} by {', '.join(names) or 'bounds alone'}"
        return f"{text}; then {others}" if others else text

    def scored_images(self, data: DataModule) -> str:
        """How many images of which split are scored."""
        count = min(self.points, len(drawable(data, self.split)))
        return images_of({"draw": self._sampling(data, count)})

    def score(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path
    ) -> Scored:
        """Scores and bounds, together with those of untrained copies and of baselines."""
        states = self._states(data)
        scorer = Scorer(trainer, data, states, self.metrics, self.batch_size, self.codes, self.seed)
        evaluation = scorer.scores(module, self.bootstrap, self.chance)
        floor = scorer.untrained(module, self.untrained)
        others = scorer.baselines(module, self.baselines)
        nats = bounds(trainer, data, module, self.bound_points, self.batch_size, self.seed)
        values = evaluation.values | nats
        record = {
            **evaluation._replace(values=values).record(),
            "draw": self._sampling(data, len(states)),
            "bound_images": bound_images(data, self.bound_points) if nats else {},
            **runs.origin(module, data, trainer.ckpt_path),
            "losses": {name: float(value) for name, value in trainer.callback_metrics.items()},
            "untrained": floor,
            "baselines": others,
        }
        self._found = evaluation
        parts = []
        if late := {
            name: reason
            for name, reason in evaluation.skipped.items()
            if name.removeprefix(SAMPLED) not in self._left_out
        }:
            parts.append(_listed(late, "was not taken"))
        if nats:
            parts.append(bounds_table(nats))
        if evaluation.values:
            chance, copies = evaluation.chance, floor["scores"]
            parts.append(
                score_table(evaluation.values, evaluation.intervals, copies, chance, others)
            )
        if sentence := low_scores(record):
            parts.append(fill(sentence, WIDTH))
        if sentence := verdict(record):
            parts.append(fill(sentence, WIDTH))
        logged = {f"scores/{name}": value for name, value in values.items()}
        return Scored(record, logged, "\n\n".join(parts))

    def plot(self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path) -> None:
        """The page of scores."""
        if not self.sheet or self._found is None or not self._found.values:
            return
        split = split_with_states(data, self.split)
        images = scored_on(self._found.provenance["images"], len(data.indices(split)), split)
        title = f"{'/'.join(folder.parts[-2:])}: {images}"
        plots.save(sheet(self._found, title), folder / "images" / "scores.png")

    def _states(self, data: DataModule) -> Indices:
        """The states to score."""
        draw = draw_correlated if self.distribution == "correlated" else draw_states
        return draw(data, self.split, self.points, self.seed)

    def _note(self, reasons: dict[str, str]) -> None:
        """Rejects named scores that do not apply; prints the others once."""
        if reasons and self.asked:
            raise InputError(
                f"{_listed(reasons, 'cannot be taken')}; leave it out of evaluate.metrics, which "
                "may be {}"
            )
        told = {name: why for name, why in reasons.items() if name not in self._left_out}
        for reason in sorted(set(told.values())):
            names = [title(name) for name, why in told.items() if why == reason]
            verb = "is" if len(names) == 1 else "are"
            rank_zero_info(f"{', '.join(names)} {verb} left out: {reason}")
        self._left_out |= set(reasons)

    def _sampling(self, data: DataModule, points: int) -> dict[str, Any]:
        """A description of the scored states, for the record."""
        split = split_with_states(data, self.split)
        sampling: dict[str, Any] = {"split": split, "points": points, "seed": self.seed}
        sampling["codes"] = self.codes
        if self.distribution != "uniform":
            sampling["distribution"] = self.distribution
        available, complete = len(data.indices(split)), len(drawable(data, self.split))
        sampling |= {"available": available, "incomplete": available - complete}
        return sampling | ({"equal_files": count} if (count := data.dataset.equal_files) else {})


def _listed(reasons: Mapping[str, str], verb: str) -> str:
    """One line with the scores and their reasons."""
    return "; ".join(f"{name} {verb}: {reason}" for name, reason in reasons.items())


def draw_correlated(data: DataModule, split: Split, points: int, seed: int) -> Indices:
    """Draws state numbers from a split with replacement, with the probabilities of training.

    The states are first partitioned at random: the first two thirds of the draws come from two
    thirds of the states, the rest from the others, so that a score fitted on the former and tested
    on the latter never sees an image in both. A split with fewer than `points` states gives fewer
    numbers. Rejects data without correlation, or with only one likely state.
    """
    states = drawable(data, split)
    weights = data.likelihoods(states)
    if weights is None:
        raise InputError(
            "evaluate.distribution is correlated, but the data are not; set data.correlation, or "
            "distribution to uniform"
        )
    likely = np.flatnonzero(weights)
    if len(likely) < 2:
        raise InputError(
            "one state alone is likely under data.correlation, and scores learn from some and are "
            "tested on others; raise its strength, or set evaluate.distribution to uniform"
        )
    generator = host_generator(seed)
    count, order = min(points, len(states)), generator.permutation(likely)
    parts = np.split(order, [train_count(len(order), TEST_FRACTION)])
    train = train_count(count, TEST_FRACTION)
    rows = [
        generator.choice(part, size=size, p=weights[part] / weights[part].sum())
        for part, size in zip(parts, (train, count - train), strict=True)
    ]
    indices: Indices = states[np.concatenate(rows)]
    return indices
