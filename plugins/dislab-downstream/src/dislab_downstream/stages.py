"""Stages of a study for fairness and abstract reasoning."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final

from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_count
from dislab.study.stages import Stage
from dislab_downstream.records import read_scores

_FAIRNESS: Final[Mapping[str, int | type]] = {
    "targets": str,
    "sensitive": str,
    "train": 10,
    "test": 10,
    "seed": 0,
}
"""Settings: the least value of a number, or the type of the items of a list."""


@final
class FairnessStage(Stage):
    """Measures the unfairness of predictions from the codes of a run.

    The settings are those of `dislab fairness`.
    """

    measures: ClassVar[Mapping[str, Literal["highest", "lowest"]]] = {"unfairness": "lowest"}

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings; refuses unknown names and values."""
        return _checked("fairness", settings, _FAIRNESS)

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """Arguments of `dislab fairness`."""
        return ["fairness", str(run), *_options(self.checked(settings))]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Mean and largest unfairness, accuracy, and the unfairness of every pair of factors."""
        return read_scores(run / "fairness.json")


def _checked(
    stage: str, settings: Mapping[str, Any], allowed: Mapping[str, int | type]
) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in allowed:
            raise InputError(
                f"{stage} has no setting {name!r}{suggestion(name, allowed)}; it has "
                f"{', '.join(allowed)}"
            )
        kind = allowed[name]
        if not isinstance(kind, type):
            check_count(f"{stage}.{name}", value, kind)
            checked[name] = value
            continue
        items = value if isinstance(value, list) else [value]
        if not items or any(type(item) is not kind or str(item).startswith("-") for item in items):
            raise InputError(
                f"{stage}.{name} is {value!r:.80}; it is a list such as "
                f"{['scale', 'shape'] if kind is str else [100, 1000]}"
            )
        checked[name] = items
    return checked


def _options(settings: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in settings.items():
        if isinstance(value, list):
            words += [f"--{name}", *map(str, value)]
        else:
            words.append(f"--{name}={value}")
    return words
