"""Contract of the objectives, and the training loop that they share."""

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Final, Literal, NamedTuple, cast

import lightning.pytorch as pl
import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import Optimizer

from dislab.base._batches import (
    CUT,
    check_batch_size,
    check_batches,
    check_later_batch,
    check_values,
    count_of,
    first_batch,
    has_values,
    received,
    warn_of_train_size,
)
from dislab.base._optimizing import (
    Watch,
    clip_groups,
    groups_of,
    optimizer_of,
    scheduler_of,
    takes_scaled_gradients,
)
from dislab.base._representation import Representation, takes_arrays
from dislab.base.datamodule import DataModule, ImageBatch, offered
from dislab.base.parts import Draws, check_registered
from dislab.base.trainer_counters import batches_trained, log_at, logs_now
from dislab.errors import InputError
from dislab.functional.runtime import alone, check_precision, own_rows, world
from dislab.functional.streams import Stream
from dislab.naming.hyperparameters import classes_in, describe, warn_of_lost
from dislab.naming.rebuilding import build, check_checkpoint, warn_of_replaced
from dislab.naming.settings import Part, checks_fields
from dislab.plugins import check_methods

Stage = Literal["train", "validation", "test"]
LEARNING_RATE: Final = 1e-4
"""Of Adam, where no optimiser is set."""


_OF_DRAW: Final = "a dictionary of tensors by name, empty for a method without random numbers"
_OF_LOSSES: Final = (
    "Terms(loss, log): the loss a scalar tensor, the log a dictionary of scalars by name"
)


@checks_fields
class Terms(NamedTuple):
    """Result of an objective on one batch.

    Attributes:
        loss: The scalar that is minimised, in nats per image.
        log: Scalars to log, by name.
    """

    loss: Tensor
    log: dict[str, Tensor]


class Objective(pl.LightningModule, Representation, Part):
    """A method: its loss, and the codes that it gives images.

    A concrete class implements `losses`, `draw` and `codes`, and overrides `encode` and `decode` if
    it has a posterior and a decoder. With an attribute `latent_dim`, its number of latents, such a
    class generates images from the standard normal prior. `codes`, `encode` and `reconstruct` also
    accept NumPy arrays: floats in [0, 1], booleans, or bytes, which are divided by 255, and
    `decode` arrays of latents; no gradients are then recorded. They refuse pixels out of [0, 1].

    A method that learns from single images also trains on batches of PyTorch loaders: a tensor of
    images, or a list that begins with one. All random numbers of a step are a function of the run's
    seed and the number of the batch. They are drawn for the global batch, and each process takes
    its rows. Therefore a resumed run continues exactly, the result does not depend on the number of
    processes, and every device draws the same numbers.

    Args:
        optimizer: Makes the optimiser from parameter groups; None is Adam with a learning rate
            of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.
    """

    batch_types: ClassVar[tuple[type, ...]] = (ImageBatch,)
    """Batch types that the method accepts."""
    code_noise: ClassVar[tuple[str, ...] | None] = None
    """Names of the draws that turn posterior means into samples, empty for a method without noise;
    if they are zeros, `losses` decodes the means. None means unknown."""
    smallest_batch: int = 1
    """Fewest examples of a training batch, over all processes; more than 1 for a loss that compares
    images with each other. Smaller batches are refused."""
    checks_pixels: bool = True
    """Whether encoding methods refuse images out of range; not within the loss of another model."""
    computes_losses: bool = False
    """Whether a call of `losses` is under way without a trainer."""

    steps: Tensor
    draw_seed: Tensor

    def __init_subclass__(cls) -> None:
        """Makes methods of images and latents accept NumPy arrays, too."""
        super().__init_subclass__()
        takes_arrays(cls)

    def __init__(
        self,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        check_methods(type(self))
        super().__init__()
        self._make_optimizer = optimizer or partial(torch.optim.Adam, lr=LEARNING_RATE)
        self._make_scheduler = scheduler
        self._seed = 0
        self._watch = Watch()
        self._tried: set[str] = set()
        self.own_classes: dict[str, type] = {}
        self._parts_checked = False
        for name in ("steps", "draw_seed"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))

    @abstractmethod
    def losses(self, batch: Any, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """The loss of one batch, a pure function of parameters, batch, draws and step.

        Without a trainer the first batch is checked, and the pixels of all others that are on the
        CPU; batches of any loader and a step as an int are converted before the method is called.

        Args:
            batch: A batch of the data module.
            draws: This process's rows of the result of `draw`.
            step: Optimiser steps done so far.

        Raises:
            InputError: The batch has the wrong type or shape, or pixels out of [0, 1].
        """

    @abstractmethod
    def draw(self, count: int, stream: Stream) -> Draws:
        """All random numbers of one step.

        Args:
            count: Images in the global batch, over all processes.
            stream: Source of the numbers, on the device of the step; a caller may give a seed.
        """

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The same as `codes`."""
        return self.codes(image)

    def terms_of(self, batch: Any, stage: Stage, index: int | Int[Tensor, ""]) -> Terms:
        """The loss of one batch, with the random numbers of that batch.

        Args:
            batch: A batch of the data module.
            stage: Split of the batch.
            index: Number of the batch; a scalar tensor if it stays on the device.
        """
        stream = Stream(self._seed, index, self.device).of(stage)
        global_draws: Any = self.draw(batch[0].shape[0] * world()[1], stream)
        self._check_result("draw", isinstance(global_draws, dict), global_draws, _OF_DRAW)
        draws = {name: own_rows(rows) for name, rows in global_draws.items()}
        terms: Any = self.losses(batch, draws, self.steps)
        self._check_result("losses", isinstance(terms, Terms), terms, _OF_LOSSES)
        loss, log = terms
        is_scalar = isinstance(loss, Tensor) and not loss.ndim
        self._check_result("losses", is_scalar, loss, _OF_LOSSES, "loss")
        self._check_result("losses", isinstance(log, dict), log, _OF_LOSSES, "log")
        is_stepped = stage == "train" and self.automatic_optimization and torch.is_grad_enabled()
        if is_stepped and not loss.requires_grad and has_values(loss):
            name = type(self).__name__
            raise InputError(f"{name}.losses returns a loss without a gradient; {CUT}")
        return cast("Terms", terms)

    def _check_result(
        self, method: str, is_right: bool, result: object, contract: str, field: str = ""
    ) -> None:
        """Refuses what a method of a derived class returns."""
        if is_right:
            return
        shape = f" of shape {tuple(result.shape)}" if isinstance(result, Tensor) else ""
        place = f" as {field}" if field else ""
        raise InputError(
            f"{type(self).__name__}.{method} returns a {type(result).__name__}{shape}{place}; it "
            f"must return {contract}"
        )

    def checked_first(
        self, stage: str, batch: Any, data: object = None, accepted: tuple[type, ...] = ()
    ) -> AbstractContextManager[None]:
        """Checks the first batch of a stage, and the output of every part during its step.

        Args:
            stage: Whose batch it is: a split, `predict`, or `plain` for a loop without a trainer.
            batch: The batch. Of a later batch in a `plain` loop the pixels are checked, and
                nothing of one in another stage.
            data: The data module that it comes from, if any.
            accepted: Batch types; those of the method unless given.

        Raises:
            InputError: The batch or a part breaks its contract; the message names it.
        """
        if stage in self._tried:
            if stage == "plain":
                check_later_batch(batch)
            return nullcontext()
        self._tried.add(stage)
        return first_batch(
            self, accepted or self.batch_types, data, batch, by_loader=stage != "plain"
        )

    def watch(self, terms: dict[str, Tensor]) -> None:
        """Records the terms of a step for `check_finite`, without waiting for the device.

        Args:
            terms: Scalars by name; they must not change afterwards.
        """
        self._watch.note(self.trainer.global_step, terms)

    def check_finite(self) -> None:
        """Checks that every term of the loss has been finite so far.

        Raises:
            TrainingError: A term was not finite; the message names it and the step.
        """
        self._watch.look(self)

    def save_hyperparameters(
        self,
        *args: Any,
        ignore: Sequence[str] | str | None = None,
        frame: FrameType | None = None,
        logger: bool = True,
    ) -> None:
        """Stores the constructor arguments as plain data, so that a checkpoint can rebuild them.

        Raises:
            InputError: An argument is a function or another object that cannot be stored.
        """
        caller = frame or cast("FrameType", inspect.currentframe()).f_back
        with warnings.catch_warnings():  # objects are refused below
            warnings.filterwarnings("ignore", "Attribute .* is an instance of `nn.Module`")
            super().save_hyperparameters(*args, ignore=ignore, frame=caller, logger=logger)
        self.own_classes = classes_in(self.hparams.values())
        self.hparams.update(describe(dict(self.hparams)))
        warn_of_lost(type(self), self.hparams)
        # the command line passes all offered properties, whether or not the class takes them
        for name in set(offered()) - set(inspect.signature(type(self)).parameters):
            self.hparams.pop(name, None)

    @classmethod
    def load_from_checkpoint(
        cls,
        checkpoint_path: Any,
        map_location: Any = None,
        hparams_file: str | Path | None = None,
        strict: bool | None = None,
        weights_only: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Lightning's method, after a check of the named classes; `load_run` takes run folders too.

        Raises:
            InputError: The checkpoint names a class, function or module that is not a part, or
                `hparams_file` is given.
        """
        if hparams_file is not None:
            raise InputError(
                f"the settings of a model come from its checkpoint, not from {hparams_file}; give "
                "those that differ as arguments"
            )
        found = check_checkpoint(cls, checkpoint_path)
        if found is not None:  # Lightning's parser takes no final class
            stored = torch.load(checkpoint_path, map_location, weights_only=True)
            module: Objective = build(found, {**stored["hyper_parameters"], **kwargs})
            module.on_load_checkpoint(stored)
            module.load_state_dict(stored["state_dict"], strict is not False)
            return module
        return super().load_from_checkpoint(
            checkpoint_path, map_location, None, strict, weights_only, **kwargs
        )

    def setup(self, stage: str) -> None:
        """Sets the seed of the run; a resumed checkpoint brings its own.

        Raises:
            InputError: The method does not accept the data module's batches or images without a
                value of some factor, the batches are too small for a part, no weight takes
                gradients, or the weights themselves would be kept in half precision.
        """
        self._tried = set()
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, DataModule) and stage != "predict":
            check_batches(type(self).__name__, self.batch_types, data)
            check_values(type(self), data)
        check_precision(self.trainer.precision)
        if stage == "fit":
            self._check_trainable()
            self._check_parts()
            check_registered(self)
            if isinstance(data, DataModule) and (size := data.train_batch()) is not None:
                check_batch_size(self, size)
            seed = self.trainer.strategy.broadcast(torch.initial_seed())
            self.draw_seed.fill_(seed & (2**63 - 1))

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """One step of training."""
        batch = self._received(batch)
        return self._step(batch, "train", batches_trained(self.trainer), count_of(batch))

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """The loss of one batch of the validation split, with the same noise every time."""
        self._evaluate(batch, "validation", batch_idx)

    def test_step(self, batch: Any, batch_idx: int) -> None:
        """The loss of one batch of the test split, with the same noise every time."""
        self._evaluate(batch, "test", batch_idx)

    def predict_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Codes and factors of one batch."""
        batch = self._received(batch, ImageBatch)
        data = getattr(self.trainer, "datamodule", None)
        with self.checked_first("predict", batch, data, (ImageBatch,)):
            return {"codes": self.codes(batch.image), "factors": batch.factors}

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Count the optimiser steps, for schedules and annealing."""
        super().optimizer_step(*args, **kwargs)
        self.steps.add_(1)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Optimiser parameter groups; regularisers with parameters have their own settings.

        Frozen parameters, which require no gradient, are left out.
        """
        return groups_of(self)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """One optimiser over the parameter groups.

        Raises:
            InputError: The optimiser refuses its settings or does not know a setting of a group, or
                the scheduler refuses its settings or depends on a score.
        """
        optimizer = optimizer_of(self._make_optimizer, self.parameter_groups())
        if self._make_scheduler is None:
            return optimizer
        scheduler = scheduler_of(self._make_scheduler, optimizer)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: int | float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips each parameter group by its own norm, so that a critic does not scale the model.

        Raises:
            InputError: The gradients are scaled for half precision, and the optimiser unscales them
                only in its step.
        """
        if not gradient_clip_val:
            return
        if takes_scaled_gradients(optimizer) and self.trainer.precision == "16-mixed":
            raise InputError(
                f"gradients cannot be clipped: {type(optimizer).__name__} with fused: true takes "
                "them scaled under 16-mixed; leave fused out, and dislab fuses what can be fused"
            )
        clip_groups(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def on_fit_start(self) -> None:
        """Lets the log go on from the latest step, after a test in between."""
        log_at(self.trainer, self.trainer.global_step)

    def on_train_start(self) -> None:
        """Reads the seed back from a checkpoint, once."""
        self._seed = int(self.draw_seed)
        self._watch = Watch()

    def on_train_end(self) -> None:
        """Looks at the terms of the last steps, which no log row or checkpoint has followed.

        Raises:
            TrainingError: A term of the loss or a weight is not finite.
        """
        self._watch.look_at_weights(int(self.steps), self)

    def on_validation_start(self) -> None:
        """Reads the seed back from a checkpoint and, outside training, logs at the model's step."""
        self._seed = int(self.draw_seed)
        if self.trainer.state.fn != "fit":
            log_at(self.trainer, int(self.steps))

    def on_test_start(self) -> None:
        """Reads the seed back from a checkpoint, and logs at the model's step."""
        self._seed = int(self.draw_seed)
        log_at(self.trainer, int(self.steps))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Stores the class of the model, and a mark that its arguments are plain data.

        Raises:
            TrainingError: A term of the loss was not finite since the last checkpoint, or a weight
                is not; saving would replace a good checkpoint by a useless one.
        """
        self._watch.look_at_weights(int(self.steps), self)
        self._check_parts()
        checkpoint.setdefault(self.CHECKPOINT_HYPER_PARAMS_KEY, {}).update(
            _class_path=f"{type(self).__module__}.{type(self).__qualname__}",
            _instantiator="lightning.pytorch.cli.instantiate_module",
        )

    def _check_trainable(self) -> None:
        weights = list(self.parameters())
        if weights and not any(weight.requires_grad for weight in weights):
            raise InputError(
                f"no weight of {type(self).__name__} takes gradients, as in a model of open_run, "
                "which is for encoding; to train on, fit the model of load_run(FOLDER).train()"
            )

    def _check_parts(self) -> None:
        if not self._parts_checked:
            self._parts_checked = True
            warn_of_replaced(self, self.own_classes)

    def _received(self, batch: Any, *accepted: type) -> Any:
        """Converts a batch of any loader; batches of dislab's data modules stay unchanged."""
        if isinstance(getattr(self.trainer, "datamodule", None), DataModule):
            return batch
        return received(accepted or self.batch_types, batch)

    def _evaluate(self, batch: Any, stage: Literal["validation", "test"], batch_idx: int) -> None:
        """Logs the loss of a whole batch, computed in one process; repeated ones get weight 0."""
        batch = self._received(batch)
        rank, size = world()
        index = batch_idx * size + rank
        data = getattr(self.trainer, "datamodule", None)
        batches = data.eval_batches(stage) if isinstance(data, DataModule) else None
        # times the number of processes, because Lightning rounds the mean of their weights down
        weight = count_of(batch) * size if batches is None or index < batches else 0
        with alone():
            self._step(batch, stage, index, weight)

    def _step(self, batch: Any, stage: Stage, index: int, weight: int) -> Tensor:
        begins = stage == "train" and stage not in self._tried
        with self.checked_first(stage, batch, getattr(self.trainer, "datamodule", None)):
            if begins:
                check_batch_size(self, count_of(batch) * world()[1])
                warn_of_train_size(self, getattr(self.trainer, "datamodule", None))
            terms = self.terms_of(batch, stage, index)
        if stage == "train":
            self.watch({**terms.log, "loss": terms.loss})
        # Lightning would hold values of other steps until the next log row
        if stage != "train" or logs_now(self.trainer):
            if stage == "train":
                self.check_finite()
            values = {f"{stage}/{name}": value.detach() for name, value in terms.log.items()}
            values[f"{stage}/loss"] = terms.loss.detach()
            self.log_dict(values, batch_size=weight, sync_dist=stage != "train")
        return terms.loss
