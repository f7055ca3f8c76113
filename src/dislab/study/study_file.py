"""Study files: definition of the runs of a study and their stages."""

import itertools
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.errors import InputError, suggestion
from dislab.storage import is_component
from dislab.study.stages import checked_stages, option
from dislab.yaml_files import parse_mapping, read_text

SEED: Final = "seed_everything"
"""The setting that the seeds of a study set."""

_EXAMPLE: Final = "base: [../betavae.yaml]"
_KEYS: Final = (
    "name",
    "base",
    "axes",
    "seeds",
    "exclude",
    "stages",
    "resources",
    "failure",
)
_MOST_RUNS: Final = 1_000_000
_STAGES: Final[Mapping[str, Mapping[str, Any]]] = {"train": {}, "score": {}}


@dataclass(frozen=True)
class Resources:
    """Hardware resources that one run needs.

    Args:
        cpus: Number of processor cores, and of threads of a run.
        gpus: Number of graphics cards; 0.5 lets two runs share one, 0 hides all.
    """

    cpus: int = 1
    gpus: float = 0.0


@dataclass(frozen=True)
class Failure:
    """Handling of failed runs.

    Args:
        retries: Number of retries of a stage after a crash or an out-of-memory error.
        stop_after: Stop the study when this many runs failed in the same way and none succeeded.
    """

    retries: int = 2
    stop_after: int = 5


class Setting(NamedTuple):
    """One of the values of an axis.

    Attributes:
        label: The value as tables show it.
        arguments: Its arguments of `dislab fit`.
        axes: Additional axes of runs with this value.
    """

    label: Any
    arguments: tuple[str, ...]
    axes: "dict[str, tuple[Setting, ...]]"


class Group(NamedTuple):
    """Runs that differ only in the seed."""

    axes: dict[str, Any]
    """The value of each axis, as tables show it."""
    arguments: tuple[str, ...]
    """Arguments of `dislab fit`."""


@dataclass(frozen=True)
class StudyFile:
    """The content of a study file.

    Args:
        path: The file.
        text: Its text.
        name: Name of the study.
        base: Configuration files of every run, in this order.
        axes: The values of each axis.
        seeds: Seeds, with one run per seed and combination of the axes.
        exclude: Excluded combinations, as labels by axis.
        stages: Settings of each stage.
        resources: Hardware resources that one run needs.
        failure: Handling of failed runs.
    """

    path: Path
    text: str
    name: str
    base: tuple[Path, ...]
    axes: dict[str, tuple[Setting, ...]]
    seeds: tuple[int, ...]
    exclude: tuple[dict[str, tuple[Any, ...]], ...]
    stages: dict[str, dict[str, Any]]
    resources: Resources = field(default_factory=Resources)
    failure: Failure = field(default_factory=Failure)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all axes, including those that belong to single values."""
        return tuple(_values(self.axes))

    def groups(self) -> list[Group]:
        """Combinations of the axes, in which the last axis varies fastest.

        An axis that a run does not have is None.

        Raises:
            InputError: An exclusion matches no combination, or no combination remains.
        """
        common = tuple(f"--config={path}" for path in self.base)
        rules = [{name: set(one) for name, one in rule.items()} for rule in self.exclude]
        unused = set(range(len(rules)))
        names, found = self.names, []
        for one in _combined(self.axes):
            axes = {name: one.axes.get(name) for name in names}
            matching = {n for n, rule in enumerate(rules) if _matches(axes, rule)}
            unused -= matching
            if not matching:
                found.append(Group(axes, (*common, *one.arguments)))
        if unused:
            rule = {name: list(one) for name, one in self.exclude[min(unused)].items()}
            raise InputError(f"{self.path}: exclude has {_shown(rule)}, which is no combination")
        if not found:
            raise InputError(f"{self.path}: exclude leaves no run; exclude less")
        return found


def read_study_file(path: str | Path) -> StudyFile:
    """Reads a study file; values of axes are checked later by the parser of configurations.

    Raises:
        InputError: The file cannot be read, or an entry is unknown or malformed.
    """
    path = Path(path)
    text = read_text(path)
    content = parse_mapping(text, str(path), _EXAMPLE)
    for key in content:
        if key not in _KEYS:
            hint = suggestion(str(key), _KEYS)
            raise InputError(
                f"{path}: a study file has no key {key!r}{hint}; it has {', '.join(_KEYS)}"
            )
    reader = _Reader(path)
    axes = reader.axes(content.get("axes") or {})
    seeds = reader.seeds(content.get("seeds", 1))
    if len(seeds) * _count(axes) > _MOST_RUNS:
        raise InputError(f"{path}: the axes have more than {_MOST_RUNS:,} combinations; use fewer")
    return StudyFile(
        path=path,
        text=text,
        name=reader.name(content.get("name", path.stem)),
        base=reader.files(content["base"], "base") if content.get("base") else (),
        axes=axes,
        seeds=seeds,
        exclude=reader.exclude(content.get("exclude") or [], axes),
        stages=checked_stages(reader.mapping(content.get("stages", _STAGES), "stages"), str(path)),
        resources=reader.resources(content.get("resources") or {}),
        failure=reader.failure(content.get("failure") or {}),
    )


class _Reader:
    """Reads entries of one study file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def name(self, value: object) -> str:
        if isinstance(value, str) and is_component(value):
            return value
        allowed = "letters, digits and . _ + = , - without slashes, at most 200"
        raise self._wrong("name", value, allowed)

    def files(self, value: object, key: str) -> tuple[Path, ...]:
        """Configuration files, whose paths are relative to the study file."""
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list) or not given or not _all(given, str):
            raise self._wrong(key, value, f"a list of configuration files, such as {_EXAMPLE}")
        found = tuple(self._path.parent / one for one in given)
        for file in found:
            if not file.is_file():
                raise InputError(
                    f"{self._path}: {key} names {file}, which is no file; paths are relative to "
                    "the study file"
                )
        return found

    def axes(self, value: object) -> dict[str, tuple[Setting, ...]]:
        axes = self.mapping(value, "axes")
        found = {name: self._axis(name, values) for name, values in axes.items()}
        for name, settings in found.items():
            if name in (inner := {key for one in settings for key in _values(one.axes)}):
                raise InputError(f"{self._path}: axes.{name} has an axis of its own name inside")
            if both := sorted(inner & found.keys()):
                raise InputError(
                    f"{self._path}: {both[0]} is an axis of all runs and one of axes.{name}; "
                    "rename one"
                )
        return found

    def _axis(self, name: str, values: object) -> tuple[Setting, ...]:
        key = f"axes.{name}"
        if name in (SEED, "seed", "state"):
            raise InputError(f"{self._path}: {key} cannot be an axis; seeds are given by `seeds`")
        if isinstance(values, list) and values:
            settings = [Setting(_label(one), (option(name, one),), {}) for one in values]
        elif isinstance(values, dict) and values:
            settings = [self._named(key, label, one) for label, one in values.items()]
        else:
            raise self._wrong(key, values, "a list of values, or a mapping from names to settings")
        seen: set[str] = set()
        for one in settings:
            if (label := json.dumps(one.label)) in seen:
                raise InputError(f"{self._path}: {key} has {label} twice; keep one of them")
            seen.add(label)
        return tuple(settings)

    def _named(self, axis: str, label: object, value: object) -> Setting:
        settings = dict(self.mapping(value if value is not None else {}, f"{axis}.{label}"))
        files, axes = settings.pop("config", None), self.axes(settings.pop("axes", {}))
        found = self.files(files, f"{axis}.{label}.config") if files is not None else ()
        if SEED in settings:
            raise InputError(
                f"{self._path}: {axis}.{label} sets {SEED}; seeds are given by `seeds`"
            )
        configs = tuple(f"--config={path}" for path in found)
        return Setting(
            label, (*configs, *(option(name, one) for name, one in settings.items())), axes
        )

    def seeds(self, value: object) -> tuple[int, ...]:
        allowed = "a number of seeds from 1 on, or a list of different seeds from 0 on"
        if _is_count(value) and value > _MOST_RUNS:  # type: ignore[operator]
            raise self._wrong("seeds", value, f"{allowed}, at most {_MOST_RUNS:,}")
        seeds = list(range(value)) if _is_count(value) else value  # type: ignore[call-overload]
        if not isinstance(seeds, list) or not seeds or not all(_is_count(one, 0) for one in seeds):
            raise self._wrong("seeds", value, allowed)
        if len(set(seeds)) < len(seeds) or max(seeds) >= 2**32:
            raise self._wrong("seeds", value, f"{allowed}, all below 2^32")
        return tuple(seeds)

    def exclude(
        self, value: object, axes: Mapping[str, Sequence[Setting]]
    ) -> tuple[dict[str, tuple[Any, ...]], ...]:
        if not isinstance(value, list):
            raise self._wrong("exclude", value, "a list of combinations, each a mapping")
        return tuple(self._rule(one, axes) for one in value)

    def _rule(
        self, value: object, axes: Mapping[str, Sequence[Setting]]
    ) -> dict[str, tuple[Any, ...]]:
        rule = {}
        known = {name: dict.fromkeys(labels) for name, labels in _values(axes).items()}
        for name, given in self.mapping(value, "exclude").items():
            if name not in known:
                raise InputError(
                    f"{self._path}: exclude has {name}, which is no axis{suggestion(name, known)}; "
                    f"the axes are {', '.join(known) or 'none'}"
                )
            labels = known[name]
            rule[name] = tuple(map(_label, given if isinstance(given, list) else [given]))
            for label in rule[name]:
                if label not in labels:
                    raise InputError(
                        f"{self._path}: exclude has {name}: {label}, which is no value of that "
                        f"axis; it has {', '.join(map(str, labels))}"
                    )
        if not rule:
            raise self._wrong("exclude", value, "mappings from axes to values")
        return rule

    def resources(self, value: object) -> Resources:
        given = self._known(value, "resources", ("cpus", "gpus"))
        cpus, gpus = given.get("cpus", 1), given.get("gpus", 0)
        if not _is_count(cpus):
            raise self._wrong("resources.cpus", cpus, "a whole number from 1 on")
        number = isinstance(gpus, int | float) and not isinstance(gpus, bool)
        if not number or not (0 <= gpus <= 1 or (1 < gpus < 2**16 and gpus == int(gpus))):
            raise self._wrong("resources.gpus", gpus, "a share of one GPU, or whole GPUs")
        return Resources(cpus, float(gpus))

    def failure(self, value: object) -> Failure:
        given = self._known(value, "failure", ("retries", "stop_after"))
        retries, stop_after = given.get("retries", 2), given.get("stop_after", 5)
        if not _is_count(retries, 0):
            raise self._wrong("failure.retries", retries, "a whole number from 0 on")
        if not _is_count(stop_after):
            raise self._wrong("failure.stop_after", stop_after, "a whole number from 1 on")
        return Failure(retries, stop_after)

    def mapping(self, value: object, key: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "a mapping")
        return {str(name): one for name, one in value.items()}

    def _known(self, value: object, key: str, known: Sequence[str]) -> dict[str, Any]:
        given = self.mapping(value, key)
        for name in given:
            if name not in known:
                raise InputError(
                    f"{self._path}: {key} has no {name!r}{suggestion(name, known)}; it has "
                    f"{', '.join(known)}"
                )
        return given

    def _wrong(self, key: str, value: object, allowed: str) -> InputError:
        return InputError(f"{self._path}: {key} is {_shown(value)}; it must be {allowed}")


def _combined(axes: Mapping[str, Sequence[Setting]]) -> Iterator[Group]:
    """All combinations of the axes, including axes that belong to single values."""
    parts = [
        [
            Group({name: one.label, **inner.axes}, (*one.arguments, *inner.arguments))
            for one in settings
            for inner in _combined(one.axes)
        ]
        for name, settings in axes.items()
    ]
    for chosen in itertools.product(*parts):
        labels = {name: label for one in chosen for name, label in one.axes.items()}
        yield Group(labels, tuple(itertools.chain.from_iterable(one.arguments for one in chosen)))


def _count(axes: Mapping[str, Sequence[Setting]]) -> int:
    """Number of combinations."""
    return math.prod(sum(_count(one.axes) for one in settings) for settings in axes.values())


def _values(axes: Mapping[str, Sequence[Setting]]) -> dict[str, list[Any]]:
    """The labels of every axis."""
    found: dict[str, list[Any]] = {}
    for name, settings in axes.items():
        found.setdefault(name, []).extend(one.label for one in settings)
        for one in settings:
            for inner, labels in _values(one.axes).items():
                found.setdefault(inner, []).extend(labels)
    return found


def _matches(axes: Mapping[str, Any], rule: Mapping[str, Collection[Any]]) -> bool:
    return all(axes[name] in values for name, values in rule.items())


def _label(value: Any) -> Any:
    """A value as tables show it: a scalar as it is, anything else as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _is_count(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _all(values: Sequence[object], kind: type) -> bool:
    return all(isinstance(one, kind) for one in values)


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
