"""A training step that the device records once and then replays without the host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NoReturn, Protocol, cast

import lightning.pytorch as pl
import torch
from lightning.pytorch.plugins.precision import MixedPrecision, Precision
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.utils._pytree import tree_flatten, tree_unflatten

from dislab.base import Objective
from dislab.base.trainer_counters import batches_trained
from dislab.training.plain_step import AFTER_BACKWARD, Arrival, addition_of, drop_gradients


class OwnLogError(RuntimeError):
    """An objective calls `log` in a recording or a stack, where values would be lost or mixed."""


@contextmanager
def _no_logging(objective: Objective) -> Iterator[None]:
    """Refuses the objective's `log`: Lightning sees no single steps in a recording or a stack.

    Raises:
        OwnLogError: The objective calls `log`; values in its terms are allowed.
    """

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OwnLogError(f"{type(objective).__name__} logs by itself while it computes its losses")

    vars(objective)["log"] = refuse
    try:
        yield
    finally:
        del vars(objective)["log"]


_WARM_UP: Final = 3
"""Number of steps before a recording, in which libraries and the optimiser allocate their state."""


class Recording(Protocol):
    """Device work that is recorded once and replayed."""

    def warm_up(self, work: Callable[[], None]) -> None:
        """Does the work immediately, under the conditions of a recording."""

    def record(self, work: Callable[[], None]) -> None:
        """Records the work without executing it; a RuntimeError names what cannot be recorded."""

    def replay(self) -> None:
        """Replay the recorded work with the current content of its tensors."""


class CudaRecording:
    """A CUDA graph, https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs."""

    def __init__(self) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._aside: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def warm_up(self, work: Callable[[], None]) -> None:
        """Does the work on a side stream, as CUDA graphs require before a recording."""
        self._aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._aside):
            work()
        torch.cuda.current_stream().wait_stream(self._aside)

    def record(self, work: Callable[[], None]) -> None:
        """Records the kernels of the work without starting them."""
        stream, failed = torch.cuda.current_stream(), None
        try:
            with torch.cuda.graph(self._graph):
                try:
                    work()
                except RuntimeError as error:
                    failed = error
                    raise
        except RuntimeError as error:
            # ending a failed capture fails as well, with a less specific error
            raise (failed or error) from None
        finally:
            torch.cuda.set_stream(stream)  # a failed end leaves the capture stream active

    def replay(self) -> None:
        """Launch all recorded kernels by one call."""
        self._graph.replay()


RECORDINGS: Final[dict[str, Callable[[], Recording]]] = {"cuda": CudaRecording}
"""Makes a recording, by the type of the device."""


def obstacle_to_capture(trainer: pl.Trainer) -> str | None:
    """Reason why a trainer's steps cannot be recorded; None if none is known."""
    module, precision = trainer.lightning_module, trainer.precision_plugin
    optimizer, kind = trainer.optimizers[0], trainer.strategy.root_device.type
    addition = addition_of(module, AFTER_BACKWARD)
    if kind not in RECORDINGS:
        return f"a {kind} device has no CUDA graphs"
    if type(trainer.strategy) is not SingleDeviceStrategy:
        return f"{type(trainer.strategy).__name__} takes part in every step"
    casts = type(precision) is MixedPrecision and precision.scaler is None
    if type(precision) is not Precision and not casts:
        return f"precision {precision.precision} scales gradients by a factor that the host knows"
    if addition is not None:
        return f"{type(module).__name__} has its own {addition}"
    if not _keeps_to_the_device(optimizer):
        return f"{type(optimizer).__name__} is not Adam, AdamW or SGD with fused: true"
    return None


class CapturedStep:
    """Makes whole optimiser steps, from gathering images to the update, by replaying a recording.

    The first steps are ordinary ones under the conditions of a recording, so that libraries and the
    optimiser allocate their state and no warm-up has to be undone. This starts again for a batch of
    another shape, and after tensors of the model or the optimiser are replaced.

    Args:
        trainer: The running trainer, for which `obstacle_to_capture` is None.
        eager: Makes an ordinary step from a batch as the objective receives it and the batch's
            number.
    """

    def __init__(self, trainer: pl.Trainer, eager: Callable[[Any, int], None]) -> None:
        self.obstacle: str | None = None
        """Reason why all steps are ordinary ones again; None while steps may be captured."""
        self.replays = 0
        """Number of replayed steps."""
        self._trainer = trainer
        self._eager = eager
        self._arrival = Arrival(trainer)
        self._objective = trainer.lightning_module
        self._optimizer = trainer.optimizers[0]
        self._shape: Any = None
        self._warm = 0
        self._is_new = True
        self._recorded: _RecordedStep | None = None

    def serves(self, trainer: pl.Trainer) -> bool:
        """Whether the trainer still trains the same objective with the same optimiser."""
        same = self._objective is trainer.lightning_module
        return same and self._optimizer is trainer.optimizers[0]

    def look_around(self) -> None:
        """Drop an outdated recording; call this after other code may have changed tensors."""
        if self._recorded is not None and self._recorded.is_outdated():
            self._recorded, self._warm = None, 0

    def receive(self, batch: Any) -> Any:
        """The batch on the device, as input of `update`."""
        return self._arrival.moved(batch)

    def update(self, batch: Any, index: int) -> None:
        """Makes one optimiser step."""
        leaves, form = tree_flatten(batch)
        shape = (
            form,
            [(leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else leaf for leaf in leaves],
        )
        if shape != self._shape:
            self._shape, self._recorded, self._warm = shape, None, 0
        if self.obstacle is None and self._recorded is None and self._warm == _WARM_UP:
            self._record(batch)
        if self._recorded is not None and self._recorded.has_new_settings():
            self._give_up("the optimiser's settings change from step to step")
        if self._recorded is not None:
            self._replay(leaves)
        if self._recorded is not None:
            return
        if self.obstacle is None:
            RECORDINGS[self._trainer.strategy.root_device.type]().warm_up(
                partial(self._ordinary, batch, index)
            )
            self._warm += 1
        else:
            self._ordinary(batch, index)

    def _replay(self, leaves: list[Any]) -> None:
        """Makes a step by replaying; checks that the first replay of a recording had an effect."""
        assert self._recorded is not None
        self._recorded.replay(leaves)
        if self._is_new and not self._recorded.works():
            self._give_up("the recording does nothing when it is replayed")
            return
        self._is_new = False
        self._recorded.watch()
        self.replays += 1

    def _ordinary(self, batch: Any, index: int) -> None:
        self._eager(self._arrival.ready(batch), index)

    def _record(self, batch: Any) -> None:
        try:
            self._recorded = _RecordedStep(self._trainer, self._arrival, batch)
            self._is_new = True
        except RuntimeError as error:
            drop_gradients(self._optimizer)
            self._give_up(str(error).splitlines()[0] if str(error) else type(error).__name__)

    def _give_up(self, reason: str) -> None:
        self._recorded, self.obstacle = None, reason


class _RecordedStep:
    """A recording of a step, with the tensors that it reads and writes.

    Raises:
        RuntimeError: The step cannot be recorded.
    """

    def __init__(self, trainer: pl.Trainer, arrival: Arrival, batch: Any) -> None:
        self._trainer = trainer
        self._arrival = arrival
        self._objective = cast("Objective", trainer.lightning_module)
        self._groups = trainer.optimizers[0].param_groups
        device = trainer.strategy.root_device
        leaves, form = tree_flatten(batch)
        self._inputs = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self._batch = tree_unflatten(self._inputs, form)
        self._number = torch.zeros((), dtype=torch.int64, device=device)
        self._next = -1
        self._rates = [torch.zeros((), device=device) for _ in self._groups]
        self._written = [0.0 for _ in self._groups]
        self._settings = self._present_settings()
        self._places = self._present_places()
        self._names: tuple[str, ...] = ()
        self._terms = torch.zeros(0)
        self._recording = RECORDINGS[device.type]()
        self._recording.record(self._step)

    def is_outdated(self) -> bool:
        """Whether tensors of the model or the optimiser have been replaced since the recording."""
        return self._present_places() != self._places

    def has_new_settings(self) -> bool:
        """Whether a setting of the optimiser other than the learning rate has changed."""
        return self._present_settings() != self._settings

    def works(self) -> bool:
        """Whether the last replay increased the step counter on the device; waits for it."""
        return int(self._number) == self._next

    def replay(self, leaves: list[Any]) -> None:
        """Makes one step of a batch whose parts besides `leaves` equal those of the recording."""
        for mine, leaf in zip(self._inputs, leaves, strict=True):
            if isinstance(mine, Tensor):
                mine.copy_(leaf)
        for index, group in enumerate(self._groups):
            if group["lr"] != self._written[index]:
                self._rates[index].fill_(group["lr"])
                self._written[index] = group["lr"]
        step = batches_trained(self._trainer)
        if step != self._next:
            self._number.fill_(step)
        self._next = step + 1
        self._recording.replay()

    def watch(self) -> None:
        """Passes the terms of the last replay to the objective's check for finite values."""
        terms = self._terms.clone().unbind()
        self._objective.watch(dict(zip(self._names, terms, strict=True)))

    def _step(self) -> None:
        objective, optimizer, trainer = self._objective, self._trainer.optimizers[0], self._trainer
        batch = self._arrival.ready(self._batch)
        with trainer.precision_plugin.train_step_context(), _no_logging(objective):
            terms = objective.terms_of(batch, "train", self._number)
        drop_gradients(optimizer)
        torch.autograd.backward(terms.loss)
        objective.configure_gradient_clipping(
            optimizer, trainer.gradient_clip_val, trainer.gradient_clip_algorithm
        )
        with self._rates_on_the_device():
            optimizer.step()
        objective.steps.add_(1)
        self._number.add_(1)
        watched = {**terms.log, "loss": terms.loss}
        self._names = tuple(watched)
        self._terms = torch.stack([term.detach().float() for term in watched.values()])

    @contextmanager
    def _rates_on_the_device(self) -> Iterator[None]:
        """Keeps learning rates in tensors, which a replay reads; checkpoints store numbers."""
        before = [dict(group) for group in self._groups]
        for group, rate in zip(self._groups, self._rates, strict=True):
            group["lr"] = rate
            if "capturable" in group:
                group["capturable"] = True
        try:
            yield
        finally:
            for group, settings in zip(self._groups, before, strict=True):
                group.update(settings)

    def _present_settings(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in group.items() if name not in ("params", "lr")}
            for group in self._groups
        ]

    def _present_places(self) -> list[int]:
        state = self._trainer.optimizers[0].state.values()
        moments = [
            tensor for of_one in state for tensor in of_one.values() if isinstance(tensor, Tensor)
        ]
        tensors = [*self._objective.parameters(), *self._objective.buffers(), *moments]
        return [tensor.data_ptr() for tensor in tensors]


def _keeps_to_the_device(optimizer: Optimizer) -> bool:
    """Whether an update reads nothing from the host once learning rates are on the device."""
    fused = all(group.get("fused") for group in optimizer.param_groups)
    return fused and type(optimizer) in (SGD, Adam, AdamW)
