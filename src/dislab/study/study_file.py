"""Study files: definition of the runs of a study and their stages."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.errors import InputError, suggestion
from dislab.plugins import configuration, configuration_hint
from dislab.storage import is_component, read_json
from dislab.study.samplers import Range, Search
from dislab.study.stages import checked_stages, option
from dislab.yaml_files import PLAN, parse_mapping, read_text

SEED: Final = "seed_everything"
"""The setting that the seeds of a study set."""
STUDY: Final = "study.yaml"
"""The copy of a study file in the folder of the study."""

_EXAMPLE: Final = "base: [betavae, rooms]"
_FOR_ALL: Final = (
    "an axis with one value, as in axes: {trainer.max_steps: [50]}, or a further file in base sets "
    "a value for all runs"
)
_RANGE: Final = ("low", "high", "log", "whole")
_SEARCH: Final = ("sampler", "trials", "maximize", "minimize", "seed")
_EXAMPLE_FILE: Final = f"{_EXAMPLE} with axes: {{model.latent_dim: [6, 10]}}"
_EXAMPLE_SEARCH: Final = "search: {sampler: random, trials: 60, maximize: mig}"
_RANKED: Final = 5
"""Number of seeds that UDR needs."""
_STARTS: Final = ("--config=", "--model=", "--model.class_path=")
"""Arguments of which a run needs one to start from."""
_KEYS: Final = (
    "name",
    "base",
    "axes",
    "seeds",
    "exclude",
    "search",
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
        label: The value as tables show it; a range if it is searched.
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
        search: The search in the ranges of the axes, if they have any.
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
    search: Search | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all axes, including those that belong to single values."""
        return tuple(_values(self.axes))

    def groups(self) -> list[Group]:
        """Combinations of the axes, in which the last axis varies fastest.

        An axis that a run does not have is None.

        Raises:
            InputError: An exclusion matches no combination, no combination remains, or a run starts
                from no configuration.
        """
        common = tuple(f"--config={path}" for path in self.base)
        rules = [{name: set(labels) for name, labels in rule.items()} for rule in self.exclude]
        unused = set(range(len(rules)))
        names, groups = self.names, []
        for group in _combined(self.axes):
            axes = {name: group.axes.get(name) for name in names}
            matching = {
                n
                for n, rule in enumerate(rules)
                if all(axes[name] in labels for name, labels in rule.items())
            }
            unused -= matching
            if not matching:
                groups.append(Group(axes, (*common, *group.arguments)))
        if unused:
            rule = {name: list(labels) for name, labels in self.exclude[min(unused)].items()}
            raise InputError(f"{self.path}: exclude has {_excerpt(rule)}, which is no combination")
        if not groups:
            raise InputError(f"{self.path}: exclude leaves no run; exclude less")
        for group in groups:
            if not any(argument.startswith(_STARTS) for argument in group.arguments):
                values = ", ".join(f"{name} {value}" for name, value in group.axes.items())
                runs = f"the runs with {values}" if values else "the runs"
                raise InputError(
                    f"{self.path}: {runs} start from no configuration; name one for all runs, such "
                    "as base: betavae, or one in each value of an axis"
                )
        return groups


def read_study_file(path: str | Path) -> StudyFile:
    """Reads a study file; values of axes are checked later by the parser of configurations.

    Raises:
        InputError: The file cannot be read, or an entry is unknown or malformed.
    """
    path = Path(path)
    text = read_text(path)
    content = parse_mapping(text, str(path), _EXAMPLE_FILE)
    if "axes" not in content and not content.keys().isdisjoint({"model", "data", "trainer"}):
        raise InputError(
            f"{path} is the configuration of a run, not a study: dislab fit --config {path} trains "
            "it; `dislab configs list studies` shows the studies"
        )
    if unknown := [str(key) for key in content if key not in _KEYS]:
        listed = ", ".join(f"{key!r}{_meant(key)}" for key in unknown)
        raise InputError(
            f"{path}: a study file has no key {listed}; it has {', '.join(_KEYS)}; {_FOR_ALL}"
        )
    reader = _Reader(path)
    axes = reader.axes(content.get("axes") or {})
    seeds = reader.seeds(content.get("seeds", 1))
    stages = _stages(content, path)
    search = reader.search(content.get("search"), axes, stages, seeds)
    if len(seeds) * _count(axes) * (search.trials if search else 1) > _MOST_RUNS:
        raise InputError(f"{path}: the axes have more than {_MOST_RUNS:,} combinations; use fewer")
    return StudyFile(
        path=path,
        text=text,
        name=reader.name(content.get("name", _usual_name(path))),
        base=reader.files(content["base"], "base") if content.get("base") else (),
        axes=axes,
        seeds=seeds,
        exclude=reader.exclude(content.get("exclude") or [], axes),
        stages=stages,
        resources=reader.resources(content.get("resources") or {}),
        failure=reader.failure(content.get("failure") or {}),
        search=search,
    )


def _usual_name(path: Path) -> Any:
    """The name of a study whose file sets none: the file's, or of a study's copy, the study's."""
    with suppress(InputError, OSError):
        if path.name == STUDY and "name" in (plan := read_json(path.parent / PLAN, "")):
            return plan["name"]
    return path.stem


def read_stages(path: Path) -> dict[str, dict[str, Any]]:
    """Settings of each stage in a study file, of which nothing else is read.

    Raises:
        InputError: The file cannot be read, or a stage is unknown or malformed.
    """
    content = parse_mapping(read_text(path), str(path), _EXAMPLE_FILE)
    return _stages(content, path)


def _stages(content: Mapping[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    stages = _Reader(path).mapping(content.get("stages", _STAGES), "stages")
    return checked_stages(stages, str(path))


def _meant(key: str) -> str:
    return suggestion("base" if key.startswith("config") else key, _KEYS)


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
        """Configuration files: paths relative to the study file, or names of configurations."""
        paths = [value] if isinstance(value, str) else value
        if (
            not isinstance(paths, list)
            or not paths
            or not all(isinstance(path, str) for path in paths)
        ):
            allowed = f"a list of configuration files, such as {_EXAMPLE}; {_FOR_ALL}"
            raise self._wrong(key, value, allowed)
        return tuple(self._file(path, key) for path in paths)

    def _file(self, path: str, key: str) -> Path:
        file = self._path.parent / path
        if file.is_file():
            return file
        if (installed := configuration(path)) is not None:
            return installed
        for folder in self._path.parents[:2]:  # whose study.yaml and plans/NAME.yaml are copies
            if (folder / PLAN).is_file():
                raise InputError(
                    f"{self._path} is a copy of a study file, and {key} names {path!r}, a path "
                    f"relative to the original file; give the folder {folder} for the study as it "
                    "was run, or the original file to change it"
                )
        raise InputError(
            f"{self._path}: {key} names {file}, which is no file, and {path!r} is no configuration"
            f"{configuration_hint(path, self._path.parent)}; give a path relative to the study "
            "file, or a name that `dislab configs list all` shows"
        )

    def axes(self, value: object) -> dict[str, tuple[Setting, ...]]:
        axes = self.mapping(value, "axes")
        settings_of = {name: self._axis(name, values) for name, values in axes.items()}
        for name, settings in settings_of.items():
            if name in (inner := {key for setting in settings for key in _values(setting.axes)}):
                raise InputError(f"{self._path}: axes.{name} has an axis of its own name inside")
            if both := sorted(inner & settings_of.keys()):
                raise InputError(
                    f"{self._path}: {both[0]} is an axis of all runs and one of axes.{name}; "
                    "rename one"
                )
        return settings_of

    def _axis(self, name: str, values: object) -> tuple[Setting, ...]:
        key = f"axes.{name}"
        if name in (SEED, "seed", "state"):
            raise InputError(f"{self._path}: {key} cannot be an axis; seeds are given by `seeds`")
        if isinstance(values, dict) and _is_range(values):
            return (Setting(self._range(key, values), (), {}),)
        if isinstance(values, list) and values:
            settings = [Setting(_label(value), (option(name, value),), {}) for value in values]
        elif isinstance(values, dict) and values:
            settings = [self._labelled(key, label, value) for label, value in values.items()]
        else:
            written = f", [{json.dumps(values)}]," if isinstance(values, str | int | float) else ","
            allowed = f"a list of values{written} a mapping from names to settings, or a range"
            raise self._wrong(key, values, f"{allowed}, such as {{low: 0.1, high: 100}}")
        seen: set[str] = set()
        for setting in settings:
            if (label := json.dumps(setting.label)) in seen:
                raise InputError(f"{self._path}: {key} has {label} twice; keep one of them")
            seen.add(label)
        return tuple(settings)

    def _range(self, key: str, value: Mapping[str, Any]) -> Range:
        settings = self._checked(value, key, _RANGE)
        low, high = (self._number(f"{key}.{name}", settings.get(name)) for name in ("low", "high"))
        log, whole = settings.get("log", False), settings.get("whole", False)
        for name, end in (("low", low), ("high", high)):
            if whole is True and not end.is_integer():
                raise self._wrong(f"{key}.{name}", end, "a whole number, as `whole` is true")
        for name, flag in (("log", log), ("whole", whole)):
            if not isinstance(flag, bool):
                raise self._wrong(f"{key}.{name}", flag, "true or false")
        if low >= high:
            raise self._wrong(f"{key}.low", settings["low"], f"less than high, which is {high:g}")
        if log and low <= 0:
            raise self._wrong(f"{key}.low", settings["low"], "greater than 0, as `log` is true")
        return Range(low, high, log, whole)

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            return float(value)
        raise self._wrong(key, value, "a number")

    def search(
        self,
        value: object,
        axes: Mapping[str, Sequence[Setting]],
        stages: Mapping[str, Any],
        seeds: Sequence[int],
    ) -> Search | None:
        settings = {} if value is None else self._checked(value, "search", _SEARCH)
        self._check_ranges(axes, searches=value is not None)
        if value is None:
            return None
        if not isinstance(sampler := settings.get("sampler", "random"), str):
            raise self._wrong("search.sampler", sampler, "the name of a sampler, such as random")
        trials: Any = settings.get("trials")
        if not _is_count(trials):
            raise self._wrong("search.trials", trials, "a whole number from 1 on")
        if not _is_count(seed := settings.get("seed", 0), 0) or seed >= 2**32:
            raise self._wrong("search.seed", seed, "a whole number from 0 on, below 2^32")
        maximize = "maximize" in settings
        if maximize == ("minimize" in settings):
            raise InputError(
                f"{self._path}: search has either maximize or minimize; as in {_EXAMPLE_SEARCH}"
            )
        key = "maximize" if maximize else "minimize"
        self._target(f"search.{key}", settings[key], stages, seeds)
        return Search(sampler, trials, settings[key], maximize, seed)

    def _check_ranges(self, axes: Mapping[str, Sequence[Setting]], searches: bool) -> None:
        """Refuses a range without a search, and a search without a range."""
        ranges = [
            name
            for name, labels in _values(axes).items()
            if any(isinstance(label, Range) for label in labels)
        ]
        if ranges and not searches:
            raise InputError(
                f"{self._path}: axes.{ranges[0]} is a range, which needs a search; add "
                f"{_EXAMPLE_SEARCH}"
            )
        if searches and not ranges:
            raise InputError(
                f"{self._path}: search needs a range, and no axis is one; write an axis as "
                "{low: 0.1, high: 100, log: true}, or leave search out"
            )

    def _target(
        self, key: str, value: object, stages: Mapping[str, Any], seeds: Sequence[int]
    ) -> None:
        """Refuses a target that no stage of the study computes."""
        if not isinstance(value, str) or not value:
            raise self._wrong(key, value, "udr, elbo, or a column of `study table`, such as mig")
        stage = value.partition(".")[0] if "." in value else "score"
        if value == "udr":
            stage = "codes"
            if len(seeds) < _RANKED:
                raise InputError(
                    f"{self._path}: {key} is udr, which compares {_RANKED} seeds of each setting; "
                    f"the study has {len(seeds)}: set seeds: {_RANKED}"
                )
        if stage not in stages:
            raise self._wrong(
                key,
                value,
                f"a result of a stage; add {stage} to stages, which has {', '.join(stages)}",
            )

    def _labelled(self, axis: str, label: object, value: object) -> Setting:
        if value is not None and not isinstance(value, Mapping):
            allowed = "a mapping of settings, such as {model.latent_dim: 10}; the values of one "
            allowed += "setting make an axis, such as axes: {model.latent_dim: [10, 20]}"
            raise self._wrong(f"{axis}.{label}", value, allowed)
        settings = dict(self.mapping(value or {}, f"{axis}.{label}"))
        files, axes = settings.pop("config", None), self.axes(settings.pop("axes", {}))
        paths = self.files(files, f"{axis}.{label}.config") if files is not None else ()
        if SEED in settings:
            raise InputError(
                f"{self._path}: {axis}.{label} sets {SEED}; seeds are given by `seeds`"
            )
        configs = tuple(f"--config={path}" for path in paths)
        return Setting(
            label, (*configs, *(option(name, setting) for name, setting in settings.items())), axes
        )

    def seeds(self, value: object) -> tuple[int, ...]:
        allowed = "a number of seeds from 1 on, or a list of different seeds from 0 on"
        if _is_count(value) and value > _MOST_RUNS:  # type: ignore[operator]
            raise self._wrong("seeds", value, f"{allowed}, at most {_MOST_RUNS:,}")
        seeds = list(range(value)) if _is_count(value) else value  # type: ignore[call-overload]
        if (
            not isinstance(seeds, list)
            or not seeds
            or not all(_is_count(seed, 0) for seed in seeds)
        ):
            raise self._wrong("seeds", value, allowed)
        if len(set(seeds)) < len(seeds) or max(seeds) >= 2**32:
            raise self._wrong("seeds", value, f"{allowed}, all below 2^32")
        return tuple(seeds)

    def exclude(
        self, value: object, axes: Mapping[str, Sequence[Setting]]
    ) -> tuple[dict[str, tuple[Any, ...]], ...]:
        if not isinstance(value, list):
            raise self._wrong("exclude", value, "a list of combinations, each a mapping")
        return tuple(self._rule(rule, axes) for rule in value)

    def _rule(
        self, value: object, axes: Mapping[str, Sequence[Setting]]
    ) -> dict[str, tuple[Any, ...]]:
        rule = {}
        by_axis = {name: dict.fromkeys(labels) for name, labels in _values(axes).items()}
        for name, chosen in self.mapping(value, "exclude").items():
            if name not in by_axis:
                raise InputError(
                    f"{self._path}: exclude has {name}, which is no axis"
                    f"{suggestion(name, by_axis)}; "
                    f"the axes are {', '.join(by_axis) or 'none'}"
                )
            labels = by_axis[name]
            rule[name] = tuple(map(_label, chosen if isinstance(chosen, list) else [chosen]))
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
        settings = self._checked(value, "resources", ("cpus", "gpus"))
        cpus, gpus = settings.get("cpus", 1), settings.get("gpus", 0)
        if not _is_count(cpus):
            raise self._wrong("resources.cpus", cpus, "a whole number from 1 on")
        is_number = isinstance(gpus, int | float) and not isinstance(gpus, bool)
        if not is_number or not (0 <= gpus <= 1 or (1 < gpus < 2**16 and gpus == int(gpus))):
            raise self._wrong("resources.gpus", gpus, "a share of one GPU, or whole GPUs")
        return Resources(cpus, float(gpus))

    def failure(self, value: object) -> Failure:
        settings = self._checked(value, "failure", ("retries", "stop_after"))
        retries, stop_after = settings.get("retries", 2), settings.get("stop_after", 5)
        if not _is_count(retries, 0):
            raise self._wrong("failure.retries", retries, "a whole number from 0 on")
        if not _is_count(stop_after):
            raise self._wrong("failure.stop_after", stop_after, "a whole number from 1 on")
        return Failure(retries, stop_after)

    def mapping(self, value: object, key: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "a mapping")
        return {str(name): setting for name, setting in value.items()}

    def _checked(self, value: object, key: str, keys: Sequence[str]) -> dict[str, Any]:
        settings = self.mapping(value, key)
        for name in settings:
            if name not in keys:
                raise InputError(
                    f"{self._path}: {key} has no {name!r}{suggestion(name, keys)}; it has "
                    f"{', '.join(keys)}"
                )
        return settings

    def _wrong(self, key: str, value: object, allowed: str) -> InputError:
        return InputError(f"{self._path}: {key} is {_excerpt(value)}; it must be {allowed}")


def _combined(axes: Mapping[str, Sequence[Setting]]) -> Iterator[Group]:
    """All combinations of the axes, including axes that belong to single values."""
    parts = [
        [
            Group({name: setting.label, **inner.axes}, (*setting.arguments, *inner.arguments))
            for setting in settings
            for inner in _combined(setting.axes)
        ]
        for name, settings in axes.items()
    ]
    for chosen in itertools.product(*parts):
        labels = {name: label for setting in chosen for name, label in setting.axes.items()}
        yield Group(
            labels, tuple(itertools.chain.from_iterable(setting.arguments for setting in chosen))
        )


def _count(axes: Mapping[str, Sequence[Setting]]) -> int:
    """Number of combinations."""
    return math.prod(
        sum(_count(setting.axes) for setting in settings) for settings in axes.values()
    )


def _values(axes: Mapping[str, Sequence[Setting]]) -> dict[str, list[Any]]:
    """The labels of every axis."""
    labels_of: dict[str, list[Any]] = {}
    for name, settings in axes.items():
        labels_of.setdefault(name, []).extend(setting.label for setting in settings)
        for setting in settings:
            for inner, labels in _values(setting.axes).items():
                labels_of.setdefault(inner, []).extend(labels)
    return labels_of


def _label(value: Any) -> Any:
    """A value as tables show it: a scalar as it is, anything else as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _is_range(values: Mapping[Any, Any]) -> bool:
    """Whether an axis is a range rather than groups of settings that are called low and high."""
    groups = any(isinstance(value, Mapping) for value in values.values())
    return not groups and not values.keys().isdisjoint(("low", "high"))


def _is_count(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _excerpt(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
