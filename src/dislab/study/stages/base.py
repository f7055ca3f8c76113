"""The contract of a stage."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from dislab.errors import InputError
from dislab.plugins import STAGES
from dislab.study.declared import load_declared

FIRST: Final = "train"
"""The stage that makes a run; every other stage reads its results."""

_TEST: Final[dict[str, dict[str, Any]]] = {
    "evaluate": {"metrics": {}},
    "transfer": {"scenarios": None},
    "generalisation": {"examples": 0},
}
"""For each section that `dislab test` reads, settings that make it do nothing."""


class Stage(ABC):
    """A unit of work on one run, done in a process of its own and repeatable alone.

    A stage is a `dislab` command, dislab's own or a plugin's, that reads the run folder and writes
    its results there.
    """

    section: ClassVar[str] = ""
    """The section of a configuration that the settings of the stage are, such as `evaluate`, which
    dislab's parser then checks; empty for a stage with settings of its own."""

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that a study file gives, in the form that `arguments` takes.

        Args:
            settings: The settings under the stage's word in the study file.

        Raises:
            InputError: A setting is unknown or malformed.
        """
        return dict(settings)

    @abstractmethod
    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """The command line of the stage, without `dislab`.

        Args:
            run: The run folder.
            settings: Settings of the stage, complete where they are a section.
            config: The complete configuration of the run.
        """

    @abstractmethod
    def scores(self, run: Path) -> dict[str, float | None]:
        """The results of the command by name; the columns of a table start with the stage's word.

        Args:
            run: The run folder, after the command has succeeded.
        """


def load_stage(word: str) -> Stage:
    """The stage of a word.

    Args:
        word: As in a study file.

    Raises:
        InputError: There is no such stage, or it cannot be imported.
    """
    found: Stage = load_declared(STAGES, word, Stage)
    return found


def checked_stages(given: Mapping[str, Any], origin: str) -> dict[str, dict[str, Any]]:
    """The settings of each stage of a study, training first.

    Args:
        given: What stands under `stages`.
        origin: The study file, for messages.

    Raises:
        InputError: A stage does not exist, or its settings are malformed.
    """
    found: dict[str, dict[str, Any]] = {FIRST: {}}
    for word, settings in given.items():
        if not isinstance(settings, Mapping | None):
            raise InputError(f"{origin}: stages.{word} is {settings!r}; it holds settings, or {{}}")
        try:
            found[word] = load_stage(word).checked(settings or {})
        except InputError as error:
            raise InputError(f"{origin}: stages: {error}") from error
    return found


def option(name: str, value: object) -> str:
    """A setting as the command line takes it.

    Args:
        name: Dotted.
        value: Plain data.
    """
    return f"--{name}={value if isinstance(value, str) else json.dumps(value)}"


def of_section(run: Path, section: str, settings: Mapping[str, Any], test: str) -> list[str]:
    """A command line that carries out one section of a configuration, and draws no pictures.

    Training has drawn the pictures of the run already.

    Args:
        run: The run folder.
        section: Such as `evaluate`.
        settings: All settings of that section.
        test: `test` or `validate`.
    """
    wanted = {name: off for name, off in _TEST.items() if name != section} | {section: settings}
    options = [
        option(f"{name}.{key}", value) for name, one in wanted.items() for key, value in one.items()
    ]
    return [test, f"--run={run}", "--pictures=false", *options]
