"""Trials: groups of runs at a point in the ranges of a search."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dislab.study.samplers import Number, Range
from dislab.study.schedule import Schedule, ScheduledGroup, ScheduledRun


def ranges_of(axes: Mapping[str, Any]) -> dict[str, Range]:
    """The axes that are ranges."""
    return {name: label for name, label in axes.items() if isinstance(label, Range)}


def trial_of(space: ScheduledGroup, point: Mapping[str, Number]) -> ScheduledGroup:
    """The runs of a point in the ranges of a space."""
    from lightning.pytorch import Trainer

    from dislab.study.identity import training_of  # both import torch

    config = with_point(space.config, point)
    return ScheduledGroup(
        {**space.axes, **point},
        config,
        training_of(config, Trainer),
        space.stages,
        hashlib.sha256(json.dumps([space.read, point]).encode()).hexdigest(),
    )


def point_in(group: ScheduledGroup, space: ScheduledGroup) -> dict[str, Number] | None:
    """The point of a group in the ranges of a space; None if it does not lie there."""
    ranges = ranges_of(space.axes)
    if ranges_of(group.axes) or group.axes.keys() != space.axes.keys():
        return None
    for name, label in group.axes.items():
        if name not in ranges:
            if label != space.axes[name]:
                return None
        elif not isinstance(label, int | float) or label != ranges[name].nearest(label):
            return None
    return {name: group.axes[name] for name in ranges}


def still_in(group: ScheduledGroup, space: ScheduledGroup) -> ScheduledGroup | None:
    """A trial of an earlier schedule in a space, if it would still train the same model."""
    point = point_in(group, space)
    if point is None:
        return None
    trial = trial_of(space, point)
    return trial if trial.training == group.training else None


def expected(schedule: Schedule) -> Schedule:
    """A schedule that has the missing trials of its search too, with ranges as their settings."""
    search = schedule.search
    if search is None:
        return schedule
    runs = [*schedule.runs]
    for space in search.spaces:
        axes = {n: str(v) if isinstance(v, Range) else v for n, v in space.axes.items()}
        group = replace(space, axes=axes)
        present = {r.group.read for r in schedule.runs if point_in(r.group, space) is not None}
        missing = search.settings.trials - len(present)
        runs += [ScheduledRun("", seed, group) for seed in search.seeds] * max(missing, 0)
    return replace(schedule, runs=tuple(runs))


def with_point(config: dict[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """A complete configuration with other values of settings, as options name them."""
    for name, value in point.items():
        config = _with(config, name.split("."), value)
    return config


def _with(settings: Any, keys: Sequence[str], value: Any) -> dict[str, Any]:
    settings = settings if isinstance(settings, dict) else {}
    first, *rest = keys
    if first not in settings and "init_args" in settings:
        return {**settings, "init_args": _with(settings["init_args"], keys, value)}
    return {**settings, first: _with(settings.get(first), rest, value) if rest else value}
