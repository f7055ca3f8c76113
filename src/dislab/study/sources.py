"""Source files of plugins that the stages of a run depend on, so that later changes are noticed."""

import hashlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dislab import plugins
from dislab.errors import InputError
from dislab.naming.classes import find_object, method_of
from dislab.study.identity import LENGTH, SECTIONS
from dislab.study.results import DONE, RUNS, STAGES, StudyFolder
from dislab.study.schedule import Schedule, ScheduledRun
from dislab.study.stages import FIRST

_DISLAB: Final = "dislab"
_MORE: Final = 3
"""Number of methods that a sentence names."""


class Sources:
    """Digests of the source files of plugins.

    Files of modules that are imported are read at once, so that a change of a file between the
    import and the end of a stage does not count as used.
    """

    def __init__(self) -> None:
        self._packages = set(plugins.packages()) - {_DISLAB}
        self._digests = {name: _digest_of(name) for name in list(sys.modules) if self._has(name)}

    def of(self, run: ScheduledRun, stage: str) -> dict[str, str]:
        """Digests by module of the classes of plugins that a stage of a run uses."""
        config: Mapping[str, Any] = run.group.stages[stage].settings
        if stage == FIRST:
            config = {name: run.config.get(name) for name in SECTIONS}
        modules = {name for path in _classes(config) for name in self._modules(path)}
        for name in modules - self._digests.keys():
            self._digests[name] = _digest_of(name)
        return {name: self._digests[name] for name in sorted(modules) if self._digests[name]}

    def _modules(self, path: str) -> Iterator[str]:
        """The modules that define a class and its bases in plugins."""
        cls = None
        with suppress(InputError):  # of a module that fails to be imported
            cls = find_object(path)
        for base in getattr(cls, "__mro__", (cls,)):
            if self._has(name := getattr(base, "__module__", "")):
                yield name

    def _has(self, module: str) -> bool:
        return module.partition(".")[0] in self._packages


def _classes(settings: object) -> Iterator[str]:
    """The paths of all classes in settings."""
    if isinstance(settings, Mapping):
        if isinstance(path := settings.get("class_path"), str):
            yield path
        settings = [*settings.values()]
    for part in settings if isinstance(settings, list | tuple) else ():
        yield from _classes(part)


def changed_sources(folder: StudyFolder, schedule: Schedule) -> list[str]:
    """Sentences on source files of plugins that have changed since stages of runs were done.

    Records of older versions of dislab have no digests, and files that are missing are not
    compared.

    Args:
        folder: The folder of the study.
        schedule: Its runs.
    """
    now: dict[str, str] = {}
    changed: dict[tuple[str, str], list[ScheduledRun]] = {}
    for stage in schedule.stages:
        for run in schedule.runs:
            done = folder.done(run, stage)
            for module, digest in done.sources.items() if done else ():
                if module not in now:
                    now[module] = _digest_of(module)
                if now[module] not in ("", digest):
                    changed.setdefault((stage, module), []).append(run)
    return [
        _sentence(folder, len(schedule.runs), stage, module, runs)
        for (stage, module), runs in changed.items()
    ]


def _sentence(
    folder: StudyFolder, count: int, stage: str, module: str, runs: Sequence[ScheduledRun]
) -> str:
    methods = list(dict.fromkeys(method_of(run.config) for run in runs))
    named = ", ".join(methods[:_MORE]) + ", …" * (len(methods) > _MORE)
    names = [run.id for run in runs]
    since = f"{len(runs)} of {count} run{'s' * (count != 1)}"
    if stage == FIRST:
        since += f" {'were' if len(runs) > 1 else 'was'} trained"
        again, remove = "train", "rm -r"
    else:
        since = f"stage {stage} of {since} was done"
        again, remove = f"do {stage}", "rm"
        names = [f"{name}/{STAGES}/{stage}/{DONE}" for name in names]
    return (
        f"{_shown_name(module)} has changed since {since} ({named}); to {again} again, remove "
        f"the old results, then run the study: (cd {shlex.quote(str(folder.path / RUNS))} && "
        f"{remove} {' '.join(names)})"
    )


def _source_file(module: str) -> Path | None:
    """The file of a module, found without an import; None if it is missing."""
    if not all(part.isidentifier() for part in module.split(".")):
        return None
    with suppress(ImportError, ValueError):
        file = plugins.source_of(module)
        return file if file and file.is_file() else None
    return None


def _digest_of(module: str) -> str:
    """Digest of the source file of a module; empty if there is none."""
    file = _source_file(module)
    with suppress(OSError):
        return hashlib.sha256(file.read_bytes()).hexdigest()[:LENGTH] if file else ""
    return ""


def _shown_name(module: str) -> str:
    """The source file of a module as messages name it, such as `dislab_sparse/sparse.py`."""
    file = _source_file(module)
    depth = module.count(".") + 1 + (file is not None and file.stem == "__init__")
    return "/".join(file.parts[-depth:]) if file else module
