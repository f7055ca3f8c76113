"""Base class of picture callbacks: decides when to draw and where to write."""

import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Final, Literal, get_args

import lightning.pytorch as pl
import numpy as np
from jaxtyping import UInt8
from lightning.pytorch.loggers import MLFlowLogger, TensorBoardLogger
from lightning.pytorch.plugins import Precision
from lightning.pytorch.utilities import rank_zero_info
from matplotlib.figure import Figure
from PIL import Image

from dislab import plots
from dislab.base import DataModule, Objective, is_vector
from dislab.callbacks._trainer import data_of, is_rehearsal, objective_of, run_folder
from dislab.errors import InputError
from dislab.functional.checks import check_choice
from dislab.plots.image_grid import ImageGrid
from dislab.runs import OpenRun
from dislab.storage import atomic

Labels = Literal["short", "full", "none"]
PAGE: Final = 6.75
"""Width in inches of the text of a page with two columns."""

_SPACING: Final = 1_000
"""Steps after which a validation draws in any case."""


class Picture(pl.Callback, ABC):
    """A picture of decoded images, drawn by the first process.

    Validations during training write `images/<name>_<steps>.png` into the run folder, if the last
    such picture is at least 1,000 steps old, or was drawn after at most half of the steps; the
    end of training, `validate` and `test` write `images/<name>.png`. Loggers that take pictures
    (TensorBoard, and those with a `log_image` such as Weights & Biases) get all of them under the
    number of optimiser steps; MLflow gets the files. If the model has not changed since the last
    picture of the same data, the file is copied instead of drawn again. A method without a required
    part, and data that are vectors, are skipped, with one line in the log.
    """

    name: ClassVar[str]
    in_training: bool = True
    """Whether to draw also in validations during training."""

    _reason: str | None = None
    """The printed reason for drawing nothing."""

    _last: tuple[Path, tuple[object, ...]] | None = None
    """The last file, with the model, weights and data that it shows."""

    @abstractmethod
    def missing(self, module: Objective) -> str | None:
        """The required part that the method lacks; None if it has all."""

    @abstractmethod
    def grid(self, data: DataModule, module: Objective, precision: Precision) -> ImageGrid:
        """Images of the objective in its current state, with their labels."""

    def figure(
        self, run: OpenRun, width: float = PAGE, labels: Labels = "short", title: str = ""
    ) -> Figure:
        """The picture of a finished run, of the size at which it is printed.

        Args:
            run: The opened run.
            width: Total width in inches; 3.25 for one of two columns.
            labels: Labels of rows and columns: `short` names, `full` ones with nats, or `none`.
            title: Above the figure.

        Raises:
            InputError: The method lacks a part, or the width is too small for the labels.
        """
        check_choice("labels", labels, get_args(Labels))
        self.check(run.model, run.folder)
        grid = self.grid(run.data, run.model, run.precision)
        if labels == "none":
            grid = grid._replace(row_labels=(), column_labels=(), axis="")
        elif labels == "short" and grid.short_labels:
            grid = grid._replace(row_labels=grid.short_labels)
        return grid._replace(title=title).figure(width)

    def check(self, module: Objective, folder: Path) -> None:
        """Raises `InputError` if the method of a run lacks a required part."""
        if missing := self.missing(module):
            raise InputError(
                f"{folder} has no {self.name} to draw, as {type(module).__name__} has no {missing}"
            )

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Prints one line, once, if the method lacks a required part."""
        module = objective_of(pl_module, type(self).__name__)
        if stage not in ("fit", "validate", "test"):
            return
        missing = self.missing(module)
        if _of_vectors(trainer):
            reason = "the data are vectors"
        elif missing:
            reason = f"{type(module).__name__} has no {missing}"
        else:
            return
        if reason != self._reason:
            self._reason = reason
            rank_zero_info(f"{type(self).__name__}: nothing to draw, as {reason}")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws the state of training, or of a checkpoint."""
        training = trainer.state.fn == "fit"
        if self.in_training or not training:
            self._publish(trainer, pl_module, training)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws the result of training."""
        self._publish(trainer, pl_module)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws the result of a resumed run without steps left, which has no end of training."""
        if self._last is None:
            self._publish(trainer, pl_module)

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws the state of a checkpoint."""
        self._publish(trainer, pl_module)

    def _is_due(self, folder: Path, steps: int) -> bool:
        """Whether the last picture is old enough; small data are validated every few steps."""
        pictures = (path.stem.rpartition("_")[2] for path in folder.glob(f"{self.name}_*.png"))
        before = [int(count) for count in pictures if count.isdecimal() and int(count) < steps]
        last = max(before, default=0)
        return steps - last >= min(last, _SPACING)

    def _publish(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, in_training: bool = False
    ) -> None:
        module = objective_of(pl_module, type(self).__name__)
        if is_rehearsal(trainer) or _of_vectors(trainer) or self.missing(module):
            return
        data, folder = data_of(trainer, type(self).__name__), run_folder(trainer)
        if not trainer.is_global_zero:
            return
        steps = int(module.steps)
        file = f"{self.name}_{steps:07d}.png" if in_training else f"{self.name}.png"
        path = folder / "images" / file
        if in_training and not self._is_due(path.parent, steps):
            return
        tensors = (*module.parameters(), *module.buffers())
        # memory address and version of each tensor; the number of steps covers replayed CUDA
        # graphs, which change weights without raising their version
        weights = [(tensor.data_ptr(), tensor._version) for tensor in tensors]
        state = module, data, steps, weights
        before, last_state = self._last or (path, None)
        is_known = last_state == state and before.parent == path.parent and before.is_file()
        if is_known and before == path:  # a test after training, whose end has drawn it already
            return
        if is_known:
            with atomic(path) as temporary:
                shutil.copyfile(before, temporary)
        else:
            grid = self.grid(data, module, trainer.precision_plugin)
            plots.save(grid.figure(), path)
        self._last = path, state
        self._send(trainer, path, steps, files_alone=is_known)

    def _send(self, trainer: pl.Trainer, path: Path, steps: int, files_alone: bool) -> None:
        """Sends a picture to all loggers, or only to those that keep files."""
        key = f"images/{self.name}"

        def pixels() -> UInt8[np.ndarray, "height width 3"]:
            with Image.open(path) as picture:  # faster than drawing again
                return np.asarray(picture.convert("RGB"))

        for logger in trainer.loggers:
            if isinstance(logger, MLFlowLogger):
                logger.experiment.log_artifact(str(logger.run_id), str(path), "images")
            elif files_alone:  # the others already have the picture of this step
                continue
            elif isinstance(logger, TensorBoardLogger):
                logger.experiment.add_image(key, pixels(), steps, dataformats="HWC")
            elif callable(show := getattr(logger, "log_image", None)):  # as of Weights & Biases
                show(key=key, images=[pixels()], step=steps)


def _of_vectors(trainer: pl.Trainer) -> bool:
    """Whether the data are vectors, of which there are no pictures."""
    data = getattr(trainer, "datamodule", None)
    return isinstance(data, DataModule) and is_vector(data.image_shape)
