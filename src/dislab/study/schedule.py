"""Schedules: every run of a study with its settings, in the form that workers read."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.errors import InputError, one_line, suggestion
from dislab.storage import atomic, check_fields, check_inside, is_component, read_json, record_of
from dislab.study.samplers import Number, Range, Search, load_sampler
from dislab.study.stages import Stage, load_stage, option
from dislab.study.study_file import SEED, Failure, Group, Resources, StudyFile
from dislab.yaml_files import read_text

PLAN: Final = "plan.json"
"""File in the folder of a study with the schedule that was last run there."""
_PLANS: Final = "plans"
"""Folder with the plans of all studies that share a folder, named after the studies."""
_FORMAT: Final = 1
_UNLESS_SET: Final = ("--report=false",)
"""Defaults for all runs, which the study file or its configurations may override. A run page takes
1.7 MB, too much for each of a thousand runs."""
_NAMED: Final = re.compile(r"[\w./+-]+\.ya?ml\b")

OF_NO_SCORE: Final[Mapping[str, tuple[str, ...]]] = {
    "udr": ("agreement.udr_lasso_pooled",),
    "elbo": ("score.elbo_sample_validation", "score.elbo_sample_test"),
}
"""Columns of the targets of a search that need no labels; the first one that the study has counts.
"""


class Resolved(NamedTuple):
    """A configuration as the parser returns it."""

    config: dict[str, Any]
    """Complete, with classes as `class_path` and `init_args`."""
    training: dict[str, Any]
    """Settings that determine the trained weights, without defaults and the seed."""
    sections: dict[str, dict[str, Any]]
    """Settings of each section that belongs to a stage, without defaults."""
    scores: Callable[[], Sequence[str] | None] | None = None
    """Returns the names of the scores that a run will have; None if that is not known."""


Resolver = Callable[[Sequence[str]], Resolved]
"""Parses arguments of `dislab fit` and rejects those that `dislab fit` would reject."""


@dataclass(frozen=True)
class StageSettings:
    """A stage of a group of runs.

    Args:
        settings: As `Stage.arguments` takes them.
        digest: Digest of the settings without defaults; results with another digest are stale.
    """

    settings: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class ScheduledGroup:
    """Runs that differ only in the seed.

    Args:
        axes: The value of each axis, as tables show it.
        config: The complete configuration, with an arbitrary seed.
        training: The settings that determine the trained weights, without defaults and the seed.
        stages: Settings of each stage.
        read: Digest of all texts that the configuration was made from.
    """

    axes: dict[str, Any]
    config: dict[str, Any]
    training: dict[str, Any]
    stages: dict[str, StageSettings]
    read: str


@dataclass(frozen=True)
class SearchPlan:
    """The search of a study.

    Args:
        settings: Its settings.
        seeds: Seeds of the runs of each trial.
        spaces: Groups whose axes hold ranges, each of which is searched; their configurations have
            the low ends of the ranges.
    """

    settings: Search
    seeds: tuple[int, ...]
    spaces: tuple[ScheduledGroup, ...]


@dataclass(frozen=True)
class ScheduledRun:
    """One run: its name (a digest of its settings), its seed, and the group that it belongs to."""

    id: str
    seed: int
    group: ScheduledGroup

    @property
    def config(self) -> dict[str, Any]:
        """The complete configuration."""
        return {**self.group.config, SEED: self.seed}


@dataclass(frozen=True)
class Schedule:
    """All runs of a study.

    Args:
        name: Name of the study.
        axes: Names of the axes.
        stages: Names of the stages, training first.
        runs: All runs in the order of the study file.
        resources: Processor cores and graphics cards of one run.
        failure: Handling of failed runs.
        versions: Versions of the distributions that made the schedule.
        search: The search that adds runs, if there is one.
    """

    name: str
    axes: tuple[str, ...]
    stages: tuple[str, ...]
    runs: tuple[ScheduledRun, ...]
    resources: Resources
    failure: Failure
    versions: dict[str, str]
    search: SearchPlan | None = None

    def method_names(self) -> dict[str, dict[str, str]]:
        """Methods by axis and value, for values that name the configuration of a method.

        The value `betavae` of runs of `configs/betavae.yaml` stands for β-VAE. An axis is left out
        if two of its values would get one name.
        """
        names: dict[str, dict[str, str]] = {}
        for group in {id(run.group): run.group for run in self.runs}.values():
            name, method = group.config.get("name"), group.config.get("method")
            for axis, value in group.axes.items():
                if method and value == name:
                    names.setdefault(axis, {})[value] = str(method)
        others = {axis: {str(run.group.axes[axis]) for run in self.runs} for axis in names}
        return {
            axis: of_values
            for axis, of_values in names.items()
            if len({*of_values.values(), *(others[axis] - set(of_values))}) == len(others[axis])
        }

    def write(self, folder: Path, is_last: bool = True) -> None:
        """Writes the schedule into the folder of a study under its name, and as the last one.

        Workers of this study read the first file, so that another study started in the same
        folder does not change their runs.
        """
        groups: dict[str, int] = {}
        rows = []
        records: list[dict[str, Any]] = []
        for run in self.runs:
            if run.group.read not in groups:
                groups[run.group.read] = len(records)
                records.append(asdict(run.group))
            rows.append([run.id, run.seed, groups[run.group.read]])
        record = {
            "format": _FORMAT,
            "name": self.name,
            "axes": self.axes,
            "stages": self.stages,
            "resources": asdict(self.resources),
            "failure": asdict(self.failure),
            "versions": self.versions,
            "groups": records,
            "runs": rows,
        }
        if self.search is not None:
            record["search"] = asdict(self.search)
        text = json.dumps(record)
        for path in (_schedule_of(folder, self.name), *([folder / PLAN] if is_last else [])):
            check_inside(folder, path)
            with atomic(path) as temporary:
                temporary.write_text(text, encoding="utf-8")


def _schedule_of(folder: Path, study: str) -> Path:
    return folder / _PLANS / f"{study}.json"


def read_schedule(folder: Path, study: str | None = None) -> Schedule:
    """Reads the schedule of a study from a folder; by default the one that was last run there.

    Raises:
        InputError: The folder has no plan, or none of that study, or the plan is damaged or was
            made by a later dislab.
    """
    last = folder / PLAN
    path = last if study is None else _schedule_of(folder, study)
    if not path.is_file():
        if study is None or not last.is_file():
            name = path.relative_to(folder)
            raise InputError(
                f"{folder} is no folder of a study: it has no {name}; "
                "`dislab study run FILE` makes one"
            )
        schedule = _read_schedule(last)  # older dislab versions kept only the last plan
        if schedule.name != study:
            raise InputError(
                f"{folder} has no plan of the study {study}, only that of {schedule.name} and "
                "perhaps others; `dislab study run FILE --folder FOLDER` makes one"
            )
        return schedule
    return _read_schedule(path)


def is_schedule(path: Path) -> bool:
    """Whether a file is the schedule of a study, also one of another version or a damaged one."""
    if (path.parent / _PLANS).is_dir():
        return True
    record = json.loads(path.read_text(encoding="utf-8"))  # older versions kept no copies
    return isinstance(record, dict) and {"format", "groups", "runs"} <= record.keys()


def study_file_of(folder: Path, study: str) -> Path:
    """Path of the copy of a study's file, as it was last run."""
    return folder / _PLANS / f"{study}.yaml"


def _read_schedule(path: Path) -> Schedule:
    remedy = "make it again: dislab study run FILE"
    record = read_json(path, remedy, finite=False)
    if record.get("format") != _FORMAT:
        there = record.get("versions")
        version = there.get("dislab") if isinstance(there, dict) else None
        raise InputError(
            f"{path} is of another dislab ({version}); use that one, or make the plan again: "
            "dislab study run FILE"
        )
    try:
        groups = [_group(group, str(path)) for group in record["groups"]]
        numbers = range(len(groups))  # which has no -1
        runs = tuple(
            ScheduledRun(name, seed, groups[numbers.index(k)]) for name, seed, k in record["runs"]
        )
        parts = {
            "runs": runs,
            "resources": record_of(Resources, record["resources"], str(path)),
            "failure": record_of(Failure, record["failure"], str(path)),
            "search": _search(record.get("search"), str(path)),
        }
        schedule = record_of(Schedule, {**record, **parts}, str(path))
        _check_schedule(schedule, str(path))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, InputError):
            raise InputError(f"{error}; {remedy}") from error
        reason = str(error) if type(error) is ValueError else repr(error)
        raise InputError(f"{path} is damaged: {one_line(reason)[:200]}; {remedy}") from error
    return schedule


def _group(record: Mapping[str, Any], origin: str) -> ScheduledGroup:
    stages = {
        name: record_of(StageSettings, stage, origin) for name, stage in record["stages"].items()
    }
    return record_of(ScheduledGroup, {**record, "stages": stages}, origin)


def _search(record: Mapping[str, Any] | None, origin: str) -> SearchPlan | None:
    if record is None:
        return None
    spaces = []
    for group in (_group(part, origin) for part in record["spaces"]):
        axes = {
            name: record_of(Range, label, origin) if isinstance(label, dict) else label
            for name, label in group.axes.items()
        }
        spaces.append(replace(group, axes=axes))
    parts = {
        "settings": record_of(Search, record["settings"], origin),
        "spaces": tuple(spaces),
        "seeds": tuple(record["seeds"]),
    }
    return record_of(SearchPlan, parts, origin)


def _check_schedule(schedule: Schedule, origin: str) -> None:
    """Refuses what no schedule of dislab holds, such as a name that leads to another folder."""
    for name in (schedule.name, *schedule.stages, *(run.id for run in schedule.runs)):
        if not is_component(name):
            raise ValueError(f"{name!r:.80} cannot name a study, a stage or a run")
    if len({run.id for run in schedule.runs}) < len(schedule.runs):
        raise ValueError("a run is listed twice")
    for run in schedule.runs:
        check_fields({"seed": run.seed}, {"seed": int}, origin)
    spaces = schedule.search.spaces if schedule.search else ()
    for group in [*(run.group for run in schedule.runs), *spaces]:
        lacks = [
            *(set(schedule.axes) - set(group.axes)),
            *(set(schedule.stages) - set(group.stages)),
        ]
        if lacks:
            raise ValueError(f"a group has no {lacks[0]!r}")
        for section in ("model", "data", "trainer"):
            if not isinstance(group.config.get(section, {}), dict):
                raise ValueError(f"{section} of a group is no mapping")
    if schedule.resources.cpus < 1 or schedule.resources.gpus < 0:
        raise ValueError("cpus or gpus is too small")


def make_schedule(
    file: StudyFile,
    resolver: Callable[[], Resolver],
    versions: Mapping[str, str],
    earlier: Iterable[ScheduledGroup] = (),
) -> Schedule:
    """Resolves the configuration of every run of a study, so that errors show before training.

    `resolver` creates a parser of configurations and is called only if one must be parsed;
    `versions` are those of the distributions involved. Groups of an earlier schedule are reused if
    nothing has changed.

    Raises:
        InputError: A configuration is wrong, two runs are the same, or a stage is not available.
    """
    before = {group.read: group for group in earlier}
    stages = {word: load_stage(word) for word in file.stages}
    overlay = _options(stages, file.stages)
    texts: dict[str, str] = {}
    resolver = cache(resolver)
    groups: list[ScheduledGroup] = []
    spaces: list[ScheduledGroup] = []
    if file.search is not None:
        load_sampler(file.search.sampler)
    for group in file.groups():
        group = group._replace(arguments=(*_UNLESS_SET, *group.arguments))
        read = _read(group, overlay, file.stages, versions, texts)
        is_space = bool(ranges_of(group.axes))
        if read not in before or is_space:
            resolved = _resolved(group, overlay, resolver(), file)
            parts = _stages(stages, file.stages, resolved)
            before[read] = ScheduledGroup(
                group.axes, resolved.config, resolved.training, parts, read
            )
        (spaces if is_space else groups).append(before[read])
    for space in spaces:
        groups += filter(None, (still_in(group, space) for group in [*before.values()]))
    return Schedule(
        name=file.name,
        axes=file.names,
        stages=tuple(file.stages),
        runs=_runs(groups, file),
        resources=file.resources,
        failure=file.failure,
        versions=dict(versions),
        search=SearchPlan(file.search, file.seeds, tuple(spaces)) if file.search else None,
    )


def _options(stages: Mapping[str, Stage], settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The settings of stages with a section of the configuration, as options."""
    return [
        option(f"{stages[word].section}.{key}", value)
        for word, values in settings.items()
        if stages[word].section
        for key, value in values.items()
    ]


def _stages(
    stages: Mapping[str, Stage], settings: Mapping[str, dict[str, Any]], resolved: Resolved
) -> dict[str, StageSettings]:
    return {
        word: _stage(stages[word].section, values, resolved) for word, values in settings.items()
    }


def _check_target(target: str, resolved: Resolved) -> None:
    """Refuses a search for a score that no run will have."""
    stage, _, name = target.rpartition(".")
    if target in OF_NO_SCORE or stage not in ("", "score") or resolved.scores is None:
        return
    scores = resolved.scores()
    if scores is not None and name not in scores:
        raise no_target(target, scores)


def no_target(target: str, results: Iterable[str]) -> InputError:
    """The error of a search for a result that the study does not have."""
    names = list(results)
    return InputError(
        f"search: the study has no result {target!r}{suggestion(target, names)}; its results are "
        f"{', '.join(names) or 'none'}"
    )


def ranges_of(axes: Mapping[str, Any]) -> dict[str, Range]:
    """The axes that are ranges."""
    return {name: label for name, label in axes.items() if isinstance(label, Range)}


def _resolved(group: Group, overlay: Sequence[str], resolve: Resolver, file: StudyFile) -> Resolved:
    """The configuration of a group of a study file; errors name the file and the group."""
    try:
        resolved = _low_end(group, overlay, resolve)
        if ranges_of(group.axes) and file.search is not None:
            _check_target(file.search.target, resolved)
    except InputError as error:
        where = ", ".join(f"{name}: {label}" for name, label in group.axes.items())
        raise InputError(f"{file.path}{f', {where}' if where else ''}: {error}") from error
    return resolved


def _low_end(group: Group, overlay: Sequence[str], resolve: Resolver) -> Resolved:
    """The configuration of a group; of a group with ranges, that of their low ends.

    The high ends are resolved too, and must differ in the ranges alone.
    """
    ranges = ranges_of(group.axes)
    if not ranges:
        return resolve([*group.arguments, *overlay])
    low = {name: limits.nearest(limits.low) for name, limits in ranges.items()}
    high = {name: limits.nearest(limits.high) for name, limits in ranges.items()}
    first, last = (
        resolve([*group.arguments, *(option(*item) for item in point.items()), *overlay])
        for point in (low, high)
    )
    if first.sections != last.sections or _changed(first.config, high) != last.config:
        raise InputError(
            f"{' or '.join(ranges)} cannot be a range: it is no single number that training "
            "depends on; list its values instead"
        )
    return first


def _changed(config: dict[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
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


def trial_of(space: ScheduledGroup, point: Mapping[str, Number]) -> ScheduledGroup:
    """The runs of a point in the ranges of a space."""
    from lightning.pytorch import Trainer

    from dislab.study.identity import training_of  # both import torch

    config = _changed(space.config, point)
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


def still_in(group: ScheduledGroup, space: ScheduledGroup) -> ScheduledGroup | None:
    """A trial of an earlier schedule in a space, if it would still train the same model."""
    point = point_in(group, space)
    if point is None:
        return None
    trial = trial_of(space, point)
    return trial if trial.training == group.training else None


def _read(
    group: Group,
    overlay: Sequence[str],
    stages: Mapping[str, Any],
    versions: Mapping[str, str],
    texts: dict[str, str],
) -> str:
    """Digest of everything that determines a configuration, including the content of its files."""
    parts = [json.dumps([group.axes, overlay, stages, versions], default=repr)]
    for argument in group.arguments:
        option, _, value = argument.partition("=")
        if option == "--config":
            if value not in texts:
                texts[value] = _with_named_files(Path(value))
            parts.append(texts[value])
        else:
            parts.append(argument)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _with_named_files(path: Path) -> str:
    """The text of a configuration and of the YAML files it refers to."""
    text = read_text(path)
    files = [path.parent / word for word in _NAMED.findall(text)]
    return "\0".join([text, *(read_text(file) for file in files if file.is_file())])


def _stage(section: str, settings: dict[str, Any], resolved: Resolved) -> StageSettings:
    from dislab.study.identity import (
        digest,
    )  # imports torch, which reading a schedule does not need

    if section:
        return StageSettings(resolved.config[section], digest(resolved.sections[section]))
    return StageSettings(settings, digest(settings))


def _runs(groups: Sequence[ScheduledGroup], file: StudyFile) -> tuple[ScheduledRun, ...]:
    from dislab.study.identity import (
        run_id,
    )  # imports torch, which reading a schedule does not need

    seen: dict[str, ScheduledGroup] = {}
    runs = []
    for group in groups:
        for seed in file.seeds:
            name = run_id(group.training, seed)
            if (twin := seen.setdefault(name, group)) is not group:
                differ = [axis for axis in group.axes if group.axes[axis] != twin.axes[axis]]
                texts = [
                    ", ".join(f"{axis}: {member.axes[axis]}" for axis in differ)
                    for member in (twin, group)
                ]
                raise InputError(
                    f"{file.path}: {texts[0]} and {texts[1]} are the same run, as they differ in "
                    "nothing that training depends on (paths of published data, devices, "
                    "precision, scores and pictures do not count); leave one out"
                )
            runs.append(ScheduledRun(name, seed, group))
    return tuple(runs)
