"""Schedules: every run of a study with its settings, in the form that workers read."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from dislab.errors import InputError, one_line, suggestion
from dislab.storage import atomic, check_fields, check_inside, is_component, read_json, record_of
from dislab.study.samplers import Range, Search
from dislab.study.study_file import SEED, Failure, Resources
from dislab.yaml_files import PLAN, study_hint

_PLANS: Final = "plans"
"""Folder with the plans of all studies that share a folder, named after the studies."""
_FORMAT: Final = 1
_EXACT: Final = 1e15
"""Size from which a whole number is not written out."""
_LARGE: Final = 1e9
"""Size from which a number with a short exponent is not written out."""


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

    @property
    def fixed_axes(self) -> tuple[str, ...]:
        """The axes that no search has as a range: a table of means has rows of their values."""
        spaces = self.search.spaces if self.search else ()
        searched = {
            axis
            for space in spaces
            for axis, label in space.axes.items()
            if isinstance(label, Range)
        }
        return tuple(axis for axis in self.axes if axis not in searched)

    def varies(self, axis: str) -> bool:
        """Whether an axis has several values; lines on a run leave it out if it has not."""
        groups = [run.group for run in self.runs]
        groups += self.search.spaces if self.search else ()
        return len({repr(group.axes.get(axis)) for group in groups}) > 1

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


def plain(setting: Any) -> Any:
    """A whole number without a point, 1 for 1.0; any other value of an axis unchanged."""
    is_whole = isinstance(setting, float) and setting.is_integer() and abs(setting) < _EXACT
    return int(setting) if is_whole else setting


def spelt(setting: Any) -> str:
    """A value of an axis as text: 1 for 1.0, and 1e+10 for 10000000000.0."""
    is_large = isinstance(setting, int | float) and abs(setting) >= _LARGE
    if is_large and float(short := f"{setting:g}") == setting:
        return short
    return str(plain(setting))


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
            lacks = f"has no {path.relative_to(folder)}" if folder.exists() else "does not exist"
            raise InputError(
                f"{folder} is no folder of a study: it {lacks}{study_hint(folder)}; `dislab study "
                "run` with its file or name makes it, and --folder FOLDER names that of a study "
                "that ran elsewhere"
            )
        schedule = _read_schedule(last)  # older dislab versions kept only the last plan
        if schedule.name != study:
            names = sorted({schedule.name, *(plan.stem for plan in path.parent.glob("*.json"))})
            raise InputError(
                f"{folder} has no plan of the study {study}{suggestion(study, names)}, only of "
                f"{', '.join(names)}; `dislab study run FILE --folder FOLDER` makes one"
            )
        return schedule
    return _read_schedule(path)


def shared_notice(folder: Path, study: str, is_next: bool = False) -> str:
    """Names the other studies of a folder, which commands do not show; empty if there are none.

    Args:
        folder: The folder of a study.
        study: The study that is shown, or that begins.
        is_next: Whether it begins.
    """
    others = sorted({plan.stem for plan in (folder / _PLANS).glob("*.json")} - {study})
    if not others:
        return ""
    named = f"stud{'ies' if len(others) > 1 else 'y'} {', '.join(others)}"
    if is_next:
        return (
            f"{folder} also holds the {named}; commands on this folder will show {study} instead; "
            "another --folder keeps them apart"
        )
    return (
        f"{folder} holds several studies; this is {study}, the one that was last run; for the "
        f"{named} give its study file, as in `FILE --folder {folder}`"
    )


def other_schedules(folder: Path, study: str) -> list[Schedule]:
    """The readable schedules of the other studies of a folder, in the order of their names."""
    schedules = []
    for path in sorted((folder / _PLANS).glob("*.json")):
        if path.stem != study:
            with suppress(InputError):  # a damaged one, or one of another version
                schedules.append(_read_schedule(path))
    return schedules


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
