"""Stages of a study for fairness and abstract reasoning."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final

from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_choice, check_count
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

_REASONING: Final[Mapping[str, int | type]] = {
    "sources": str,
    "samples": int,
    "factors": str,
    "test": 1,
    "steps": 1,
    "values": 3,
    "answers": str,
    "seed": 0,
}


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


@final
class ReasoningStage(Stage):
    """Measures abstract reasoning on the codes of a run.

    The settings are those of `dislab reasoning`.
    """

    measures: ClassVar[Mapping[str, Literal["highest", "lowest"]]] = {"codes/*": "highest"}

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings; refuses unknown names and values."""
        checked = _checked("reasoning", settings, _REASONING)
        for source in checked.get("sources", []):
            check_choice("reasoning.sources", source, ("codes", "pixels", "factors"))
        for answers in checked.get("answers", []):
            check_choice("reasoning.answers", answers, ("easy", "hard"))
        if len(checked.get("answers", [])) > 1:
            raise InputError("reasoning.answers is a list; it is one word, easy or hard")
        return checked

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """Arguments of `dislab reasoning`."""
        return ["reasoning", str(run), *_options(self.checked(settings))]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Accuracies by input of the relation network and number of training matrices."""
        return read_scores(run / "reasoning.json")


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
