"""Several objectives of one class as one stacked model."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, Final, NamedTuple

import lightning.pytorch as pl
import torch
from lightning.pytorch.plugins.precision import Precision
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.batchnorm import _NormBase
from torch.optim import Optimizer

from dislab.base import Objective
from dislab.errors import DivergenceError, PackError, lacks_memory, one_line
from dislab.functional.streams import Stream
from dislab.training.no_logging import OwnLogError, no_logging
from dislab.training.plain_step import AFTER_BACKWARD, addition_of
from dislab.training.stack_checks import check_alike, check_schedules, differing, is_number

_BY_ELEMENT: Final = (
    torch.optim.SGD,
    torch.optim.Adam,
    torch.optim.AdamW,
    torch.optim.Adamax,
    torch.optim.NAdam,
    torch.optim.RAdam,
    torch.optim.RMSprop,
    torch.optim.Adagrad,
    torch.optim.Adadelta,
)
"""Optimisers that update each element of a parameter from its own gradients only."""

_OF_STEPS: Final = ("step", "mu_product")
"""Entries of their states that depend only on the number of steps."""

_SAME: Final = 1e-3
"""Largest allowed relative difference between a run's loss in the stack and alone: rounding is far
below, wrong results are far above."""


class Member(NamedTuple):
    """One of the runs of a stack.

    Attributes:
        objective: Method of the run.
        optimizer: Optimiser of the run.
        clip: Limit of the norm or of the values of the gradients; None or 0 clips nothing.
        algorithm: `norm` or `value`; None means `norm`.
    """

    objective: Objective
    optimizer: Optimizer
    clip: int | float | None = None
    algorithm: str | None = None


class Stack:
    """Objectives whose parameters are stacked, so that one pass trains them all.

    `load` copies the state of the runs into the stack, `step` trains, `store` copies the state
    back; between `store` and the next `load`, each run may continue alone. A parameter of shape S
    becomes one of shape (runs, *S); `torch.func.vmap` maps `draw` and `losses` over the first axis,
    so that each run has its own draws, and the sum of the losses gives each run its own gradients.
    Numeric settings may differ between the runs.

    Args:
        members: The runs, all on one device and at the same step number.

    Raises:
        PackError: The runs differ in more than numeric settings, or a part of them cannot be
            stacked.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._first = members[0]
        models = [one.objective for one in members]
        self._differing = differing(models)
        check_schedules(models)
        self._parameters = [dict(one.named_parameters()) for one in models]
        self._buffers = [dict(one.named_buffers()) for one in models]
        check_alike(self._parameters)
        check_alike(self._buffers)
        self._pass = _Pass(self._first.objective)
        self._mapped = vmap(self._of_one, in_dims=(0, 0, 0, 0, None, 0))
        self._seeds = torch.tensor([int(one.draw_seed) for one in models]).to(models[0].device)
        self._settings = [_columns(values, self._seeds.device) for _, _, values in self._differing]
        self._verified = False
        self._terms: list[tuple[int, dict[str, Tensor]]] = []

    def load(self) -> None:
        """Copies parameters, buffers and optimiser states from the runs.

        Raises:
            PackError: The optimisers have different settings.
        """
        self._check_optimizers()
        for member in self._members:
            # otherwise a schedule warns that its optimiser, which the stacked one replaces, made no
            # step
            member.optimizer._opt_called = True  # type: ignore[attr-defined]
        self._params = {
            name: _stacked([one[name].detach() for one in self._parameters]).requires_grad_(
                parameter.requires_grad
            )
            for name, parameter in self._parameters[0].items()
        }
        self._values = {
            name: _stacked([one[name] for one in self._buffers]) for name in self._buffers[0]
        }
        self._optimizer = self._stacked_optimizer()

    def store(self) -> None:
        """Copies parameters, buffers and optimiser states back into the runs.

        Non-finite loss terms are recorded in the run to which they belong.
        """
        for number, member in enumerate(self._members):
            with torch.no_grad():
                for name, parameter in self._parameters[number].items():
                    parameter.copy_(self._params[name][number])
                for name, buffer in self._buffers[number].items():
                    buffer.copy_(self._values[name][number])
            for name, parameter in self._parameters[number].items():
                state = self._optimizer.state.get(self._params[name])
                if state:
                    member.optimizer.state[parameter] = {
                        key: _own(key, value, number, parameter) for key, value in state.items()
                    }
        self._note_terms()

    def step(self, batches: Sequence[Any], number: int) -> None:
        """Makes one optimiser step of every run.

        Args:
            batches: A batch for each run.
            number: Number of the batch, the same for all.

        Raises:
            PackError: The losses cannot be mapped over runs, or differ from those of the single
                runs.
        """
        batch = _together(batches)
        with self._kept_settings(), no_logging(self._first.objective):
            loss, terms = self._losses(batch, number)
        if not self._verified:
            self._verify(batches, number, loss)
        seen = {name: one.detach() for name, one in {**terms, "loss": loss}.items()}
        self._terms.append((number, seen))
        for parameter in self._params.values():
            parameter.grad = None
        torch.autograd.backward(loss.sum())
        self._clip()
        self._follow_schedules()
        self._optimizer.step()
        self._values["steps"] += 1

    def _losses(self, batch: Any, number: int) -> tuple[Tensor, dict[str, Tensor]]:
        given = (self._params, self._values, batch, self._seeds, number, self._settings)
        if self._verified:
            return self._mapped(*given)
        try:
            return self._mapped(*given)
        except OwnLogError as error:
            raise PackError(
                f"the runs cannot be trained as one stacked model: {error}; put the values into "
                "the log of its terms, or train the runs one by one"
            ) from error
        except (RuntimeError, TypeError, ValueError) as error:
            if lacks_memory(error):
                raise
            raise PackError(
                f"{type(self._first.objective).__name__} cannot be trained as one stacked model: "
                f"torch.func.vmap refuses its losses ({one_line(error)[:160]}); train its runs "
                "one by one"
            ) from error

    def _of_one(
        self,
        parameters: dict[str, Tensor],
        buffers: dict[str, Tensor],
        batch: Any,
        seed: Tensor,
        number: int,
        settings: list[Any],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss and terms of one run, for `vmap`."""
        state = {f"model.{name}": one for name, one in (parameters | buffers).items()}
        for (module, name, _), value in zip(self._differing, settings, strict=True):
            setattr(module, name, value)
        found: tuple[Tensor, dict[str, Tensor]] = functional_call(
            self._pass, state, (batch, seed, number, buffers["steps"])
        )
        return found

    @contextmanager
    def _kept_settings(self) -> Iterator[None]:
        """Restores the settings of the first run, which `_of_one` replaces by tensors."""
        before = [getattr(module, name) for module, name, _ in self._differing]
        try:
            yield
        finally:
            for (module, name, _), value in zip(self._differing, before, strict=True):
                setattr(module, name, value)

    def _verify(self, batches: Sequence[Any], number: int, loss: Tensor) -> None:
        """Refuses losses that differ from those of the single runs."""
        self._verified = True
        for run, member in enumerate(self._members):
            model, seed = member.objective, int(self._seeds[run])
            with torch.no_grad():
                alone, _ = _Pass(model)(batches[run], seed, number, self._values["steps"][run])
            together = loss[run].detach()
            close = (together - alone).abs() <= _SAME * alone.abs().clamp(min=1)
            if alone.isfinite() and not close:  # a NaN in the stack is not close
                raise PackError(
                    f"{type(model).__name__} cannot be trained as one stacked model: the loss of "
                    f"run {run} is {float(together):.6g} in it and {float(alone):.6g} alone; "
                    "train its runs one by one"
                )

    def _note_terms(self) -> None:
        """Passes non-finite terms to the run's watch, which ends the run."""
        terms, self._terms = self._terms, []
        if not terms:
            return
        values = torch.stack([one.float() for _, step in terms for one in step.values()])
        for number, finite in enumerate(values.isfinite().all(0).tolist()):
            if not finite:
                watch = self._members[number].objective._watch
                for step, named in terms:
                    with suppress(DivergenceError):  # the run itself raises it later
                        watch.note(step, {name: one[number] for name, one in named.items()})

    def _clip(self) -> None:
        """Clips the gradients of each parameter group of each run by their own norm."""
        limit = self._first.clip
        if not limit:
            return
        for group in self._optimizer.param_groups:
            gradients = [one.grad for one in group["params"] if one.grad is not None]
            if self._first.algorithm == "value":
                nn.utils.clip_grad_value_(group["params"], limit)
            elif gradients:
                rows = [one.reshape(len(one), -1) for one in gradients]
                norms = [torch.linalg.vector_norm(one, dim=1) for one in rows]
                norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
                factor = (limit / (norm + 1e-6)).clamp(max=1.0)  # as in clip_grad_norm_
                for one in gradients:
                    one.mul_(factor.view(-1, *(1,) * (one.ndim - 1)))

    def _check_optimizers(self) -> None:
        first = self._first.optimizer
        if type(first) not in _BY_ELEMENT:
            names = ", ".join(one.__name__ for one in _BY_ELEMENT)
            raise PackError(
                f"runs trained by {type(first).__name__} cannot be stacked, as an update may "
                f"depend on the other runs; choose one of {names}, or train the runs one by one"
            )
        for number, member in enumerate(self._members):
            groups, others = first.param_groups, member.optimizer.param_groups
            if len(groups) != len(others):
                raise PackError(
                    f"run 0 has {len(groups)} groups of parameters and run {number} has "
                    f"{len(others)}; runs of one pack have equal ones"
                )
            for group, other in zip(groups, others, strict=True):
                for key, value in group.items():
                    if key != "params" and other.get(key) != value:
                        raise PackError(
                            f"{key} of the optimiser is {value!r} in run 0 and {other.get(key)!r} "
                            f"in run {number}; runs of one pack share the optimiser's settings"
                        )

    def _stacked_optimizer(self) -> Optimizer:
        """An optimiser of the stacked parameters, with the state of the runs' optimisers."""
        optimizer = copy(self._first.optimizer)
        names = [{id(one): name for name, one in found.items()} for found in self._parameters]
        optimizer.param_groups = [
            {**group, "params": [self._params[names[0][id(one)]] for one in group["params"]]}
            for group in self._first.optimizer.param_groups
        ]
        optimizer.state = defaultdict(dict)
        for name, parameter in self._parameters[0].items():
            if parameter not in self._first.optimizer.state:
                continue
            states = [
                member.optimizer.state[found[name]]
                for member, found in zip(self._members, self._parameters, strict=True)
            ]
            optimizer.state[self._params[name]] = {
                key: _joint(key, [one[key] for one in states]) for key in states[0]
            }
        return optimizer

    def _follow_schedules(self) -> None:
        """Copies settings that schedules changed from the runs' optimisers."""
        for group, own in zip(
            self._optimizer.param_groups, self._first.optimizer.param_groups, strict=True
        ):
            group.update({key: value for key, value in own.items() if key != "params"})


class _Pass(nn.Module):
    """Draws and losses of an objective as a module, for `functional_call`."""

    def __init__(self, model: Objective) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, batch: Any, seed: int | Tensor, number: int, step: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss and terms of a training batch."""
        model = self.model
        draws = model.draw(len(batch[0]), Stream(seed, number, model.device).of("train"))
        terms = model.losses(batch, draws, step)
        return terms.loss, dict(terms.log)


def obstacle_to_stacking(trainer: pl.Trainer) -> str | None:
    """Reason why the steps of a run cannot be stacked with others; None if none is known.

    Args:
        trainer: The running trainer.
    """
    if type(trainer.precision_plugin) is not Precision:
        return f"precision is {trainer.precision}, and 32-true is needed"
    if type(trainer.strategy) is not SingleDeviceStrategy:
        return f"the strategy is {type(trainer.strategy).__name__}, and a single device is needed"
    model = trainer.lightning_module
    if (own := addition_of(model, AFTER_BACKWARD)) is not None:
        return f"{type(model).__name__} has its own {own}"
    for name, module in model.named_modules():
        if isinstance(module, _NormBase) and module.track_running_stats:
            return f"{name} ({type(module).__name__}) keeps statistics of earlier batches"
    return None


def _columns(values: Sequence[Any], device: torch.device) -> Any:
    """A setting of all runs as a tensor, or a tuple of tensors, with one number per run."""
    if is_number(values[0]):
        whole = all(isinstance(one, int) for one in values)
        return torch.tensor(values, dtype=torch.int64 if whole else None).to(device)
    return tuple(_columns(column, device) for column in zip(*values, strict=True))


def _together(batches: Sequence[Any]) -> Any:
    """The batches as one batch with the runs as its first axis."""
    kind = type(batches[0])
    return kind(*(torch.stack(rows) for rows in zip(*batches, strict=True)))


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack([one.detach() for one in tensors]).contiguous()


def _joint(key: str, values: Sequence[Any]) -> Any:
    """Combine an entry of the runs' optimiser states for the stacked parameter."""
    if not isinstance(values[0], Tensor):
        return values[0]
    return values[0].clone() if key in _OF_STEPS else _stacked(values)


def _own(key: str, value: Any, number: int, parameter: Tensor) -> Any:
    """A run's entry of its optimiser's state, laid out in memory like its parameter."""
    if not isinstance(value, Tensor):
        return value
    if key in _OF_STEPS:
        return value.clone()
    return torch.empty_like(parameter, requires_grad=False).copy_(value[number])
