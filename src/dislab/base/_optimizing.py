"""The optimiser of an objective, and the check that its loss stays finite."""

from typing import Any, Final

import torch
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from dislab.base.failures import described
from dislab.base.parts import Regularizer
from dislab.errors import DivergenceError, InputError, one_line

_FUSABLE: Final = (torch.optim.Adam, torch.optim.AdamW)


def groups_of(module: nn.Module) -> list[dict[str, Any]]:
    """Groups of the trainable parameters: the model's first, then those of its regularisers."""
    parts = [part for part in module.modules() if isinstance(part, Regularizer)]
    groups = [group for part in parts for group in part.parameter_groups()]
    trainable = [group for group in groups if any(p.requires_grad for p in group["params"])]
    theirs = {id(parameter) for group in trainable for parameter in group["params"]}
    others = [p for p in module.parameters() if p.requires_grad and id(p) not in theirs]
    return [{"params": others}, *trainable]


def optimizer_of(make: OptimizerCallable, groups: list[dict[str, Any]]) -> Optimizer:
    """The optimiser of parameter groups; Adam and AdamW update each group by one fused kernel.

    They do not if `fused`, `foreach`, `capturable` or `differentiable` is set. The choice is
    written into the groups instead of the constructor, because an optimiser constructed with
    `fused` would unscale the gradients itself, after they are clipped.
    """
    try:
        optimizer = make(groups)
    except (ValueError, TypeError, RuntimeError) as error:
        settings = getattr(make, "keywords", {})
        shown = ", ".join(f"{name}={value!r:.40}" for name, value in settings.items())
        raise InputError(
            f"the optimizer refuses its settings: {one_line(error)}; change them"
            + (f" ({shown})" if shown else "")
        ) from error
    unknown = {key for group in groups for key in group} - {"params", *optimizer.defaults}
    if unknown:
        raise InputError(
            f"{type(optimizer).__name__} has no {', '.join(sorted(unknown))}, which a "
            "part sets for its own parameters; choose a variant of Adam, such as AdamW"
        )
    if type(optimizer) in _FUSABLE:
        for group in optimizer.param_groups:
            chosen = [group[name] for name in ("foreach", "capturable", "differentiable")]
            if group["fused"] is None and not any(chosen):
                group["fused"] = True
    return optimizer


def scheduler_of(make: LRSchedulerCallable, optimizer: Optimizer) -> LRScheduler:
    """The learning-rate schedule of an optimiser; schedules that depend on a score are refused."""
    try:
        scheduler = make(optimizer)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(
            f"the scheduler refuses its settings: {one_line(error)}; change them"
        ) from error
    if isinstance(scheduler, ReduceLROnPlateau):
        raise InputError(
            f"{type(scheduler).__name__} waits for a score, but a schedule advances after each "
            "optimiser step; choose one that counts steps, such as CosineAnnealingLR"
        )
    return scheduler


def takes_scaled_gradients(optimizer: Optimizer) -> bool:
    """Whether an optimiser unscales float16 gradients itself, in its update step."""
    return bool(getattr(optimizer, "_step_supports_amp_scaling", False))


def clip_groups(optimizer: Optimizer, limit: int | float, algorithm: str | None) -> None:
    """Clips each parameter group by its own norm, or with algorithm `value` each gradient."""
    for group in optimizer.param_groups:
        if algorithm == "value":
            nn.utils.clip_grad_value_(group["params"], limit)
        else:
            nn.utils.clip_grad_norm_(group["params"], limit)


_MOST: Final = 1000
"""Largest number of steps between two checks."""


class Watch:
    """Loss terms of every step since the last check, kept on their device."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._values: list[list[Tensor]] = []
        self._names: tuple[str, ...] = ()

    def note(self, step: int, terms: dict[str, Tensor]) -> None:
        """Keeps the terms of a step, scalars by name; checks them after a thousand steps."""
        self._names = tuple(terms)
        self._steps.append(step)
        self._values.append([value.detach() for value in terms.values()])
        if len(self._steps) >= _MOST:
            self.look()

    def look_at_weights(self, step: int, module: nn.Module) -> None:
        """Looks at the noted terms, then at the weights after so many steps."""
        self.look(module)
        # zero times a weight is zero, or NaN for NaN and infinity
        zeros = [weight.detach().mul(0).sum().float() for weight in module.parameters()]
        if zeros:
            self.note(step, {"the weights": torch.stack(zeros).sum()})
            self.look()

    def look(self, module: nn.Module | None = None) -> None:
        """Raises a DivergenceError that names the first step with non-finite terms, and these.

        If all terms are finite and their sum is not, it names the regularisers of the module that
        log no term.
        """
        if not self._values:
            return
        values = torch.stack([value.float() for step in self._values for value in step])
        wrong = ~values.view(len(self._steps), -1).isfinite()
        if not wrong.any():
            self._steps, self._values = [], []
            return
        first = int(wrong.any(1).nonzero()[0])
        bad = [
            name for name, value in zip(self._names, wrong[first].tolist(), strict=True) if value
        ]
        terms = [name for name in bad if name not in ("objective", "loss")]
        silent = [] if terms or module is None else self._silent(module)
        step = self._steps[first]
        text = f"training stopped: {', '.join(terms or bad)} became NaN or infinite"
        if silent:
            when = f"optimiser step {step}" if step else "the first step"
            raise DivergenceError(
                f"{text} at {when}, and all logged terms are finite; check the formula of "
                f"{' or '.join(silent)}, whose penalty is not logged"
            )
        if not step:
            raise DivergenceError(
                f"{text} at the first step, before any weight changed; check the formula of the "
                "term and the values of the data"
            )
        raise DivergenceError(
            f"{text} at optimiser step {step}; saved checkpoints are from before; lower the "
            "learning rate or the weights of the penalties"
        )

    def _silent(self, module: nn.Module) -> list[str]:
        """The regularisers of a module of which no term was noted, each with its class."""
        return [
            described(part)
            for name, part in module.named_modules()
            if isinstance(part, Regularizer)
            and not any(key.startswith(f"{name.rpartition('.')[2]}/") for key in self._names)
        ]
