"""Transfer scores of a trained objective."""

from pathlib import Path
from typing import ClassVar, final

import lightning.pytorch as pl
from lightning.pytorch.utilities import rank_zero_info

from dislab.base import DataModule, Objective, PredictorBuilder
from dislab.callbacks._trainer import data_of, objective_of
from dislab.callbacks.scores._score_callback import ScoreCallback, Scored, Stages
from dislab.functional.checks import check_count, naming
from dislab.naming.settings import checks_settings
from dislab.transfer.choices import builders
from dislab.transfer.images import Sizes, check_sizes
from dislab.transfer.run import (
    TransferBaseline,
    check_predictors,
    compared,
    plot_reconstructions,
    record_of,
)
from dislab.transfer.scenario import load_scenarios
from dislab.transfer.shifts import Shifts, shifts_of
from dislab.transfer.table import Transfer, transfer_table


@checks_settings
@final
class TransferScores(ScoreCallback):
    """Scores predictors, trained on codes, on shifted images, after `validate` and `test`.

    States are drawn for each scenario, and all images are encoded once. For each factor, a
    predictor is fitted to labels of one distribution and tested on held-back images of it and on
    shifted ones. `scores.json` gets the mean absolute errors of factors scaled to [0, 1] under
    `validate_transfer` or `test_transfer`, with those of each factor, and together with those of
    `chance`, which predicts the median or the most frequent class without codes; the loggers get
    them as `transfer/<scenario>/<predictor>`. For a method with posterior and decoder, some images
    of both distributions are drawn above their reconstructions in `images/transfer_<scenario>.png`.
    A scenario that contradicts the training data of the encoder, or a predictor that cannot be
    built, ends the command before training. With several processes, the first one scores and the
    others wait.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4.

    Args:
        scenarios: Names of scenarios that come with dislab, or paths of YAML files; without any,
            nothing is scored.
        predictors: The predictors, each under a name of your choice; boosted trees and an MLP
            unless given.
        labels: Number of labelled images to train predictors on; all of them if there are fewer.
        tested: Number of test images of each distribution; all of them if there are fewer.
        batch_size: Number of images encoded at a time.
        seed: Seed of the drawn states, and of predictors without a seed of their own, which those
            in a configuration have.
        reconstructions: Number of images of each distribution to draw with their reconstructions; 0
            for none.
        baselines: Other codes to train the same predictors on, for comparison: `untrained`, a copy
            of the method with fresh weights; `pixels`, grey pixels averaged over a grid of 8×8;
            `pca`, the first principal components of the images, as many as there are latents. Each
            takes at least as long as the scores themselves.

    Raises:
        InputError: A number is too small, or a scenario or predictor does not exist.
    """

    stages: ClassVar[Stages] = {"validate": "validate_transfer", "test": "test_transfer"}

    def __init__(
        self,
        scenarios: list[str] | None = None,
        predictors: dict[str, PredictorBuilder] | None = None,
        labels: int = 10_000,
        tested: int = 5_000,
        batch_size: int = 256,
        seed: int = 0,
        reconstructions: int = 8,
        baselines: list[TransferBaseline] | None = None,
    ) -> None:
        self.sizes = Sizes(labels, tested, seed)
        check_sizes(self.sizes)
        check_count("batch_size", batch_size, 1)
        check_count("reconstructions", reconstructions, 0, most=100)
        with naming("scenarios"):
            self.scenarios = load_scenarios(scenarios) if scenarios else []
        self.predictors = builders(predictors, seed) if scenarios else {}
        self.batch_size = batch_size
        self.reconstructions = reconstructions
        self.baselines: list[TransferBaseline] = list(dict.fromkeys(baselines or ()))
        self._shifts: Shifts | None = None
        self.found: Transfer | None = None
        """The latest scores."""

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Checks that data and encoder fit the scenarios, and that all other parts are available.

        Raises:
            InputError: They do not fit, or another data set or a predictor is not available.
        """
        if not self.scenarios or stage not in ("fit", "validate", "test"):
            return
        module = objective_of(pl_module, "TransferScores")
        if not module.has_codes:
            owner = type(module).__name__
            rank_zero_info(f"TransferScores: nothing to score, as {owner} has no codes")
            return
        check_predictors(self.predictors)
        data = data_of(trainer, "TransferScores")
        rehearsed = getattr(trainer, "fast_dev_run", False)
        chosen = [scenario for scenario in self.scenarios if not (rehearsed and scenario.dataset)]
        if self._shifts is None or self._shifts.data is not data:
            self._shifts = shifts_of(data, chosen, self.sizes)

    def applies(self, trainer: pl.Trainer, module: Objective) -> bool:
        """Whether scenarios were chosen, and the objective has codes."""
        return bool(self.scenarios) and module.has_codes

    def task(self, data: DataModule, module: Objective) -> str:
        """Predictors and scenarios."""
        scenarios = ", ".join(scenario.name for scenario in self.scenarios)
        return f"{', '.join(self.predictors)} in {scenarios}"

    def score(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path
    ) -> Scored:
        """Errors of the predictors in every scenario."""
        precision = trainer.precision_plugin
        shifts = self._prepared(data)
        self.found = compared(
            module, shifts, self.predictors, self.batch_size, self.baselines, precision
        )
        record = record_of(module, data, self.found, trainer.ckpt_path)
        logged = {f"transfer/{name}": value for name, value in self.found.values.items()}
        return Scored(record, logged, transfer_table({str(folder): self.found}))

    def plot(self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path) -> None:
        """Images of both distributions above their reconstructions."""
        precision = trainer.precision_plugin
        shifts = self._prepared(data)
        plot_reconstructions(folder, module, shifts, self.reconstructions, precision)

    def _prepared(self, data: DataModule) -> Shifts:
        """The images of the scenarios, which are drawn once."""
        if self._shifts is None or self._shifts.data is not data:
            self._shifts = shifts_of(data, self.scenarios, self.sizes)
        return self._shifts
