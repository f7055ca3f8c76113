"""Scores during training."""

from typing import Any, Final, final

import lightning.pytorch as pl
import torch
from torch import Tensor

from dislab.base import DataModule, MetricBuilder, Objective, Split
from dislab.base.datamodule import draw_states
from dislab.callbacks._trainer import is_rehearsal, objective_of
from dislab.callbacks.scores._scorer import inapplicable, score, without_factors
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.metrics import MIG
from dislab.metrics.evaluation import Bootstrap, built
from dislab.naming.settings import checks_settings
from dislab.runs.codes import encoded

PREFIX: Final = "curves/"
"""Prefix of the names of scores during training."""


@checks_settings
@final
class ScoreCurves(pl.Callback):
    """Scores the codes every `steps` optimiser steps, for learning curves and model selection.

    The scalars go to the loggers and to `trainer.callback_metrics` as `curves/<name>`, such as
    `curves/mig`, so that checkpoints and early stopping can monitor them: `checkpoint.monitor:
    curves/mig`. The first scores are those of the untrained model. The same images are scored each
    time, fewer than by `Evaluate`, whose final scores keep the prefix `scores/`. Scoring does not
    use the random streams of training, and a resumed run restores the latest scores, so results
    are bit-identical with and without scoring or resuming. With several processes, the first one
    scores and the others receive the scalars.

    A method without codes, and images without factors, get no curves.

    Args:
        steps: Interval between scorings in optimiser steps; 0 for none.
        metrics: The scores, each under a name of your choice; null for MIG, which fits no model.
        points: Number of states, drawn without replacement; all states if there are fewer.
        split: Split to draw states from: train, validation, test, or all.
        batch_size: Number of images encoded at a time.
        seed: Seed of the drawn states and of their order.

    Raises:
        InputError: A number is too small.
    """

    def __init__(
        self,
        steps: int = 0,
        metrics: dict[str, MetricBuilder] | None = None,
        points: int = 2_000,
        split: Split = "all",
        batch_size: int = 256,
        seed: int = 0,
    ) -> None:
        check_count("score_curves.steps", steps, 0)
        check_count("score_curves.points", points, 1)
        check_count("score_curves.batch_size", batch_size, 1)
        self.steps = self._every_n_train_steps = steps  # the latter as in ModelCheckpoint
        self.metrics: dict[str, MetricBuilder] = {"mig": MIG} if metrics is None else metrics
        self.points = points
        self.split: Split = split
        self.batch_size = batch_size
        self.seed = seed
        self._asked = metrics is not None
        self._latest: dict[str, float] = {}
        self._step = 0

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Builds every score before training.

        Raises:
            InputError: A score cannot be built, or was named by the user and does not apply.
        """
        module = objective_of(pl_module, "ScoreCurves")
        data = getattr(trainer, "datamodule", None)
        if stage != "fit" or not self._applies(module, data):
            return
        assert isinstance(data, DataModule)
        metrics = {name: built(build, data.factors) for name, build in self.metrics.items()}
        reasons = inapplicable(trainer, module, data, metrics, self.split, self.points)
        if reasons and self._asked:
            name, reason = next(iter(reasons.items()))
            raise InputError(
                f"{name} cannot be taken during training: {reason}; leave it out of "
                "score_curves.metrics"
            )

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Scores the model before training, or restores the latest scores of a resumed run."""
        self._step = trainer.global_step
        if self._latest and trainer.global_step:
            self._tell(trainer, self._latest)
        else:
            self._run(trainer, pl_module, trainer.global_step)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Scores if due; steps count from the start of training, also in a resumed run."""
        before, self._step = self._step, trainer.global_step
        if self.steps and self._step // self.steps > before // self.steps:
            # log rows are numbered by the steps completed before them
            self._run(trainer, pl_module, self._step - 1)

    def state_dict(self) -> dict[str, Any]:
        """The latest scores, which a resumed run may need before it scores again."""
        return {"latest": dict(self._latest)} if self._latest else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the latest scores.

        Args:
            state_dict: Result of `state_dict`.
        """
        self._latest = dict(state_dict.get("latest", {}))

    def _applies(self, module: Objective, data: object) -> bool:
        """Whether the method has codes and the images have factors to compare."""
        if not self.steps or not self.metrics or not module.has_codes:
            return False
        if not isinstance(data, DataModule):
            return False
        return without_factors(data, draw_states(data, self.split, self.points, self.seed)) is None

    def _run(self, trainer: pl.Trainer, pl_module: pl.LightningModule, row: int) -> None:
        module = objective_of(pl_module, "ScoreCurves")
        data = getattr(trainer, "datamodule", None)
        if is_rehearsal(trainer) or not self._applies(module, data):
            return
        assert isinstance(data, DataModule)
        values: dict[str, float] = {}
        if trainer.is_global_zero:
            values = self._scores(trainer, data, module)
            for logger in trainer.loggers:
                logger.log_metrics(values, step=row)
        self._latest = trainer.strategy.broadcast(values)
        self._tell(trainer, self._latest)

    def _scores(self, trainer: pl.Trainer, data: DataModule, module: Objective) -> dict[str, float]:
        """Scalars of all scores by their names in the log."""
        states = draw_states(data, self.split, self.points, self.seed)
        precision = trainer.precision_plugin
        encoding = encoded(data, module, states, self.batch_size, precision, with_kl=False)
        evaluation = score(self.metrics, data, encoding, Bootstrap(0, 0.95, self.seed))
        return {f"{PREFIX}{name}": value for name, value in evaluation.values.items()}

    def _tell(self, trainer: pl.Trainer, values: dict[str, float]) -> None:
        """Publishes the scores to checkpoints and other callbacks."""
        metrics: dict[str, Tensor] = trainer.callback_metrics
        metrics.update({name: torch.tensor(value) for name, value in values.items()})
