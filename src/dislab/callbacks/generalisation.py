"""The loss on the states of training beside that on the states that were held out."""

import math
from pathlib import Path
from typing import Final, final

import lightning.pytorch as pl
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from dislab import runs
from dislab.base import DataModule, Objective, Split
from dislab.callbacks._trainer import data_of, evaluating, is_rehearsal, objective_of, run_folder
from dislab.functional.checks import check_count
from dislab.functional.collectives import alone
from dislab.functional.draws import device_generator
from dislab.functional.settings import checks_settings

SPLITS: Final[tuple[Split, ...]] = ("train", "test")
NAME: Final = "reconstruction"
"""The term of the loss that is compared: −log p(image | code) in nats per image."""


@checks_settings
@final
class Generalisation(pl.Callback):
    """Compares the losses of training states with those of held-out ones, after `test`.

    Where the data module has a `hold_out`, some examples of the training and of the test split are
    drawn, the same in every run on these splits, and every term of the loss is averaged over them,
    in evaluation mode. `scores.json` gets the terms of both splits under `test_generalisation`,
    with the negative log likelihoods `train` and `test` of the images in nats, their `ratio`, and
    `excess`, the test split's less that of training; the loggers get these four. Without
    `hold_out`, for a data module without `sample_loader`, and for a method whose loss has no term
    `reconstruction`, nothing is compared.

    Montero et al. (2021), https://openreview.net/forum?id=qbH974jKUVy, figure 3.

    Args:
        examples: How many examples of either split; fewer if there are fewer.
        seed: Decides which, and the noise of the codes.

    Raises:
        InputError: No example is asked for.
    """

    def __init__(self, examples: int = 5_000, seed: int = 0) -> None:
        check_count("examples", examples, 1)
        self.examples = examples
        self.seed = seed
        self._noted = False

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Says before training when the data module cannot draw the examples."""
        data = getattr(trainer, "datamodule", None)
        if not isinstance(data, DataModule) or stage not in ("fit", "test") or self._noted:
            return
        if data.hold_out is not None and not _compares(data):
            owner = type(data).__name__
            rank_zero_info(f"Generalisation: nothing to compare, as {owner} has no sample_loader")
            self._noted = True

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Compares; every process goes through all examples, and the first one writes."""
        if is_rehearsal(trainer) or f"test/{NAME}" not in trainer.callback_metrics:
            return
        module, data = objective_of(pl_module, "Generalisation"), data_of(trainer, "Generalisation")
        if not _compares(data):
            return
        folder = run_folder(trainer)
        terms = {split: self._losses(trainer, module, data, split) for split in SPLITS}
        if trainer.is_global_zero:
            self._write(trainer, module, data, folder, terms)
        trainer.strategy.barrier("generalisation")

    def _losses(
        self, trainer: pl.Trainer, module: Objective, data: DataModule, split: Split
    ) -> dict[str, float]:
        """Means over the examples of every term of the loss."""
        sums: dict[str, Tensor] = {}
        count = 0
        loader = data.sample_loader(split, self.examples, self.seed)
        with evaluating(trainer, module), alone():
            for number, raw in enumerate(loader):
                batch = data.on_after_batch_transfer(
                    data.transfer_batch_to_device(raw, module.device, 0), 0
                )
                size = len(batch[0])
                generator = device_generator(module.device, self.seed, number)
                draws = module.draw(size, generator)
                for name, value in module.losses(batch, draws, module.steps).log.items():
                    sums[name] = sums.get(name, 0) + value.double() * size
                count += size
        return {name: float(total / count) for name, total in sums.items()}

    def _write(
        self,
        trainer: pl.Trainer,
        module: Objective,
        data: DataModule,
        folder: Path,
        terms: dict[Split, dict[str, float]],
    ) -> None:
        train, test = terms["train"][NAME], terms["test"][NAME]
        ratio = test / train if train else math.nan
        scores = {"train": train, "test": test, "ratio": ratio, "excess": test - train}
        record = {
            "scores": scores,
            "losses": terms,
            "draw": {"examples": self.examples, "seed": self.seed}
            | {"available": {split: len(data.indices(split)) for split in SPLITS}},
            "objective": type(module).__name__,
            "steps": int(module.steps),
            "versions": runs.versions(),
        }
        path = runs.write_scores(folder, "test_generalisation", record)
        logged = {f"generalisation/{name}": value for name, value in scores.items()}
        for logger in trainer.loggers:
            logger.log_metrics(logged, step=int(module.steps))
            logger.save()
        print(
            f"\nreconstruction: {train:.2f} nats on training states, {test:.2f} on test states "
            f"(ratio {ratio:.2f})\n{path}"
        )


def _compares(data: DataModule) -> bool:
    """Whether a data module holds states out and draws examples of its splits."""
    draws = type(data).sample_loader is not DataModule.sample_loader
    return data.hold_out is not None and draws
