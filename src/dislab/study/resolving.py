"""Makes the schedule of a study file: resolves the configuration of every run before training."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.errors import InputError, suggestion
from dislab.study.samplers import load_sampler
from dislab.study.schedule import Schedule, ScheduledGroup, ScheduledRun, SearchPlan, StageSettings
from dislab.study.stages import Stage, load_stage, option
from dislab.study.study_file import Group, StudyFile
from dislab.study.trials import ranges_of, still_in, with_point
from dislab.yaml_files import read_mapping, read_text

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
    resolver = cache(resolver)
    groups, spaces = list[ScheduledGroup](), list[ScheduledGroup]()
    for group, read in _groups(file, overlay, versions):
        is_space = bool(ranges_of(group.axes))
        if read not in before or is_space:
            resolved = _resolved(group, overlay, resolver(), file)
            settings = {
                word: _stage(stages[word].section, values, resolved)
                for word, values in file.stages.items()
            }
            before[read] = ScheduledGroup(
                group.axes, resolved.config, resolved.training, settings, read
            )
        (spaces if is_space else groups).append(before[read])
    if file.search is not None:  # last, as a missing plugin would hide wrong settings
        load_sampler(file.search.sampler)
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


def changes(
    file: StudyFile, schedule: Schedule, before: Mapping[str, dict[str, Any]] | None = None
) -> str:
    """Says how a study file differs from the schedule that was made of it before; else empty.

    A change of the files that it names counts, too; one of comments, resources or retries does not.

    Args:
        file: The study file.
        schedule: The schedule of the study's name.
        before: Settings of each stage in the file that the schedule was made of, if known.
    """
    settings = file.stages
    file = replace(file, stages=dict(settings if before is None else before))
    stages = {word: load_stage(word) for word in file.stages}
    spaces, wanted = set[str](), set[tuple[str, int]]()
    for group, read in _groups(file, _options(stages, file.stages), schedule.versions):
        if ranges_of(group.axes):
            spaces.add(read)
        else:
            wanted |= {(read, seed) for seed in file.seeds}
    search = schedule.search
    there = {(run.group.read, run.seed) for run in schedule.runs}
    of_stages = list(_stage_changes(settings, file.stages, len(there)))
    if search or file.search:
        planned = search and (
            search.settings,
            search.seeds,
            {space.read for space in search.spaces},
        )
        is_same = planned == (file.search, file.seeds, spaces) and wanted <= there
        if is_same and not of_stages:
            return ""
        counts = "; ".join(of_stages)
    elif wanted == there:
        if not of_stages:
            return ""
        counts = "; ".join(["0 new", *of_stages])
    else:
        new = len(wanted - there)
        listed = f", {new} of them new" if new and there - wanted else ""
        of_stages = list(_stage_changes(settings, file.stages, len(wanted & there)))
        counts = "; ".join([f"{len(there)} runs, {len(wanted)} in the file{listed}", *of_stages])
    in_brackets = f" ({counts})" if counts else ""
    return f"{file.path} differs from the study that was run{in_brackets}"


def _stage_changes(
    settings: Mapping[str, dict[str, Any]], before: Mapping[str, dict[str, Any]], runs: int
) -> Iterator[str]:
    """Says which stages of runs that are trained already have changed."""
    changed = [word for word in settings if word in before and settings[word] != before[word]]
    parts = {
        "repeated, without training": changed,
        "added, without training": [word for word in settings if word not in before],
        "left out": [word for word in before if word not in settings],
    }
    for what, words in parts.items():
        if words and runs:
            some = f"stage{'s' * (len(words) > 1)} {', '.join(words)}"
            of = f"{runs} run{'s' * (runs != 1)}"
            yield f"{some} of {of} {'are' if len(words) > 1 else 'is'} {what}"


def _groups(
    file: StudyFile, overlay: Sequence[str], versions: Mapping[str, str]
) -> Iterator[tuple[Group, str]]:
    """The groups of a study file with what is set unless they set it, and what was read of each."""
    texts: dict[str, str] = {}
    for group in file.groups():
        complete = group._replace(arguments=(*_UNLESS_SET, *group.arguments))
        yield complete, _read(complete, overlay, file.stages, versions, texts)


def _options(stages: Mapping[str, Stage], settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The settings of stages with a section of the configuration, as options."""
    return [
        option(f"{stages[word].section}.{key}", value)
        for word, values in settings.items()
        if stages[word].section
        for key, value in values.items()
    ]


def _stage(section: str, settings: dict[str, Any], resolved: Resolved) -> StageSettings:
    from dislab.study.identity import digest  # imports torch, which `study --help` needs not

    if section:
        return StageSettings(resolved.config[section], digest(resolved.sections[section]))
    return StageSettings(settings, digest(settings))


def _resolved(group: Group, overlay: Sequence[str], resolve: Resolver, file: StudyFile) -> Resolved:
    """The configuration of a group of a study file; errors name the file and the group."""
    try:
        resolved = _low_end(group, overlay, resolve)
        if ranges_of(group.axes) and file.search is not None:
            _check_target(file.search.target, resolved)
    except InputError as error:
        where = ", ".join(f"{name}: {label}" for name, label in group.axes.items())
        fault = _of_axis(group, str(error), file)
        raise InputError(f"{file.path}{f', {where}' if where else ''}: {fault}") from error
    return resolved


def _of_axis(group: Group, fault: str, file: StudyFile) -> str:
    """The message of an error.

    It has the remedy for a list axis whose name is like no setting, or whose setting belongs to a
    part that other values of an axis have alone.
    """
    for axis in group.axes:
        part, lacks, _ = fault.partition(": no class is named; ")
        if lacks and axis.startswith(f"{part}.") and (lacking := _with_part(part, group, file)):
            value, others = lacking
            return (
                f"{value} has no {part}; move this setting into `axes:` of {' and '.join(others)}"
            )
        head = f"no setting at the top level is named {axis!r}"
        if fault.startswith(f"{head}; the settings are "):
            return (
                f"{head}; an axis with a list or a range has the dotted name of a setting, such as "
                "model.latent_dim: [10, 20]; an axis with another name has a group of settings for "
                f"each value, such as {axis}: {{low: {{model.latent_dim: 10}}}}, also as `axes:` "
                "inside a method"
            )
    return re.sub(r"\b(use|or) --(?=\w+\.)", r"\1 ", fault)  # as study files name settings


def _with_part(part: str, group: Group, file: StudyFile) -> tuple[Any, list[str]] | None:
    """The value of a group without a part, and values of the same axis whose files have it."""
    from dislab.study.comparison import flat_settings  # which imports this module

    for axis, settings in file.axes.items():
        others = [
            str(setting.label)
            for setting in settings
            for option, _, path in (argument.partition("=") for argument in setting.arguments)
            if option == "--config" and part in flat_settings(read_mapping(Path(path), ""))
        ]
        if others:
            return group.axes[axis], list(dict.fromkeys(others))
    return None


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
    if first.sections != last.sections or with_point(first.config, high) != last.config:
        raise InputError(
            f"{' or '.join(ranges)} cannot be a range: it is no single number that training "
            "depends on; list its values instead"
        )
    return first


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


def _runs(groups: Sequence[ScheduledGroup], file: StudyFile) -> tuple[ScheduledRun, ...]:
    from dislab.study.identity import run_id  # imports torch

    seen: dict[str, ScheduledGroup] = {}
    runs = []
    for group in groups:
        for seed in file.seeds:
            name = run_id(group.training, seed)
            if (twin := seen.setdefault(name, group)) is not group:
                pairs = {axis: (group.axes[axis], twin.axes[axis]) for axis in group.axes}
                differ = [axis for axis, (a, b) in pairs.items() if repr(a) != repr(b)]  # 1 and 1.0
                texts = [
                    ", ".join(f"{axis}: {member.axes[axis]}" for axis in differ)
                    for member in (twin, group)
                ]
                shared = [f"{k}: {value}" for k, value in group.axes.items() if k not in differ]
                both = f", both with {', '.join(shared)}," if shared else ""
                raise InputError(
                    f"{file.path}: {texts[0]} and {texts[1]}{both} are the same run, as they "
                    "differ in nothing that training depends on (paths of published data, devices, "
                    "precision, scores and pictures do not count); leave one out"
                )
            runs.append(ScheduledRun(name, seed, group))
    return tuple(runs)
