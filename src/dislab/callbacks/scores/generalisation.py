"""Compares the loss on training states with that on held-out states."""

import math
from pathlib import Path
from typing import ClassVar, Final, final

import lightning.pytorch as pl
import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from dislab import runs
from dislab.base import DataModule, Draws, Objective, Split
from dislab.base.inference import evaluating
from dislab.callbacks.scores._score_callback import ScoreCallback, Scored, Stages
from dislab.functional.checks import check_count
from dislab.functional.runtime import alone
from dislab.functional.streams import Stream
from dislab.naming.settings import checks_settings

SPLITS: Final[tuple[Split, ...]] = ("train", "test")
NAME: Final = "reconstruction"
"""Loss term to compare: −log p(image | code) in nats per image."""
_MEAN: Final = "mean"
_SAMPLE: Final = "sample"
"""Decoded codes: means or samples of the posterior."""


@checks_settings
@final
class Generalisation(ScoreCallback):
    """Compares the losses of training states with those of held-out ones, after `test`.

    If the data module has a `hold_out`, some examples of the training and of the test split are
    drawn, the same in every run on these splits, and every term of the loss is averaged over them
    in evaluation mode: once with the decoded means of the posteriors, once with decoded samples.
    `scores.json` gets the terms of both splits under `test_generalisation`, with the negative log
    likelihoods `mean_train` and `mean_test` of the images in nats, their ratio `mean_ratio` and
    their difference `mean_excess` (test minus training), and the same four for samples as
    `sample_train` and so on; the loggers get these eight. The mean is left out for a method that
    does not declare which of its draws are code noise (`code_noise`). Nothing is compared without
    `hold_out`, for a data module without `sample_loader`, and for a method whose loss has no term
    `reconstruction`.

    Montero et al. (2021), https://openreview.net/forum?id=qbH974jKUVy, figure 3. The authors' code
    decodes the mean; the sample gives the term of the evidence lower bound, which is larger.

    Args:
        examples: Number of examples per split; all of them if there are fewer; 0 for no
            comparison.
        seed: Seed of the choice of examples and of the noise of the codes.

    Raises:
        InputError: The number of examples is negative.
    """

    stages: ClassVar[Stages] = {"test": "test_generalisation"}

    def __init__(self, examples: int = 5_000, seed: int = 0) -> None:
        check_count("examples", examples, 0)
        self.examples = examples
        self.seed = seed
        self._noted = False

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Prints one line before training if the data module cannot draw the examples."""
        data = getattr(trainer, "datamodule", None)
        if not isinstance(data, DataModule) or stage not in ("fit", "test") or self._noted:
            return
        if not self.examples:
            return
        if data.hold_out is not None and not _compares(data):
            owner = type(data).__name__
            rank_zero_info(f"Generalisation: nothing to compare, as {owner} has no sample_loader")
            self._noted = True

    def applies(self, trainer: pl.Trainer, module: Objective) -> bool:
        """Whether the loss of the objective has the term to compare."""
        return bool(self.examples) and f"test/{NAME}" in trainer.callback_metrics

    def score(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path
    ) -> Scored | None:
        """The mean of every term on both splits; None without held-out states."""
        if not _compares(data):
            return None
        losses = {split: self._losses(trainer, module, data, split) for split in SPLITS}
        scores: dict[str, float] = {}
        lines = []
        for decoded in losses["train"]:
            train, test = (losses[split][decoded][NAME] for split in SPLITS)
            ratio = test / train if train else math.nan
            values = {"train": train, "test": test, "ratio": ratio, "excess": test - train}
            scores |= {f"{decoded}_{name}": value for name, value in values.items()}
            lines.append(
                f"reconstruction, decoded posterior {decoded}: {train:.2f} nats on training "
                f"states, {test:.2f} on test states (ratio {ratio:.2f})"
            )
        record = {
            "scores": scores,
            "losses": {
                decoded: {split: losses[split][decoded] for split in SPLITS}
                for decoded in losses["train"]
            },
            "draw": {"examples": self.examples, "seed": self.seed}
            | {"available": {split: len(data.indices(split)) for split in SPLITS}},
            "steps": int(module.steps),
            **runs.origin(module, data, trainer.ckpt_path),
        }
        logged = {f"generalisation/{name}": value for name, value in scores.items()}
        return Scored(record, logged, "\n".join(lines))

    def _losses(
        self, trainer: pl.Trainer, module: Objective, data: DataModule, split: Split
    ) -> dict[str, dict[str, float]]:
        """Mean over the examples of every term of the loss, for each kind of decoded code."""
        sums: dict[str, dict[str, Tensor]] = {decoded: {} for decoded in _decoded(module)}
        count = 0
        loader = data.sample_loader(split, self.examples, self.seed)
        with evaluating(module, trainer.precision_plugin), alone():
            for index, raw in enumerate(loader):
                batch = data.on_after_batch_transfer(
                    data.transfer_batch_to_device(raw, module.device, 0), 0
                )
                size = len(batch[0])
                stream = Stream(self.seed, index, module.device).of("generalisation")
                draws = module.draw(size, stream)
                for decoded, means in sums.items():
                    used = draws if decoded == _SAMPLE else _without_noise(module, draws)
                    for name, value in module.losses(batch, used, module.steps).log.items():
                        means[name] = means.get(name, 0) + value.double() * size
                count += size
        return {
            decoded: {name: float(total / count) for name, total in means.items()}
            for decoded, means in sums.items()
        }


def _decoded(module: Objective) -> tuple[str, ...]:
    """Kinds of codes that can be decoded: without `code_noise` only samples."""
    return (_SAMPLE,) if module.code_noise is None else (_MEAN, _SAMPLE)


def _without_noise(module: Objective, draws: Draws) -> Draws:
    """The draws with zeros for the noise of codes."""
    silenced = module.code_noise or ()
    return {
        name: torch.zeros_like(rows) if name in silenced else rows for name, rows in draws.items()
    }


def _compares(data: DataModule) -> bool:
    """Whether a data module holds out states and can draw examples of its splits."""
    draws = type(data).sample_loader is not DataModule.sample_loader
    return data.hold_out is not None and draws
