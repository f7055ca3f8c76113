"""Estimates the training effort of a plan: optimiser steps, and hours at a measured rate."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

from dislab.study.plan import Plan


def training_steps(config: Mapping[str, Any]) -> int | None:
    """Optimiser steps of training a configuration; None if they depend on the data."""
    trainer = config.get("trainer") or {}
    data = (config.get("data") or {}).get("init_args") or {}
    limits = []
    steps, epochs = trainer.get("max_steps", -1), trainer.get("max_epochs")
    length, batches = data.get("steps_per_epoch"), trainer.get("accumulate_grad_batches", 1)
    if isinstance(steps, int) and steps >= 0:
        limits.append(steps)
    if (
        isinstance(epochs, int)
        and isinstance(length, int)
        and isinstance(batches, int)
        and epochs >= 0
        and length > 0
        and batches > 0
    ):
        limits.append(epochs * ceil(length / batches))
    return min(limits, default=None)


def estimate(plan: Plan, steps_per_second: float | None = None) -> Iterator[str]:
    """Lines that describe the training effort of a plan.

    `steps_per_second` is the rate of one worker, measured on the machine that will train; without
    it, hours are not estimated.
    """
    steps = [n for run in plan.runs if (n := training_steps(run.group.config)) is not None]
    others = len(plan.runs) - len(steps)
    if not steps:
        yield "training: all runs count epochs, whose steps depend on the data"
        return
    least, most = min(steps), max(steps)
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    more = f"; {others} more runs count epochs, whose steps depend on the data" if others else ""
    yield f"training: {sum(steps):,} steps, {each} a run{more}"
    if steps_per_second is None:
        return
    hours = sum(steps) / steps_per_second / 3600
    cards = f", {hours * plan.resources.gpus:,.1f} hours of one GPU" if plan.resources.gpus else ""
    stages = f"; without {', '.join(plan.stages[1:])}" if plan.stages[1:] else ""
    yield f"at {steps_per_second:g} steps a second: {hours:,.1f} hours of one worker{cards}{stages}"
