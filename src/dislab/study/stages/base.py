"""The contract of a stage."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from dislab.errors import InputError
from dislab.plugins import STAGES, load_declared

FIRST: Final = "train"
"""The stage that creates a run; every other stage reads its results."""

_TEST: Final[dict[str, dict[str, Any]]] = {
    "evaluate": {"metrics": {}},
    "transfer": {"scenarios": None},
    "generalisation": {"examples": 0},
}
"""Settings that disable each section that `dislab test` reads."""


class Stage(ABC):
    """A unit of work on one run, done in a separate process and repeatable independently.

    A stage is a `dislab` command, dislab's own or a plugin's, that reads the run folder and writes
    its results there.
    """

    section: ClassVar[str] = ""
    """Section of a configuration that holds the stage's settings, such as `evaluate`; dislab's
    parser then checks them. Empty for a stage that defines its own settings."""
    measures: ClassVar[Mapping[str, Literal["highest", "lowest"]]] = {}
    """Names of scores that tables of a study compare and correlate, each with the direction in
    which it improves; `*` in a name matches any text, as in `codes/*`."""

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the settings in a study file and returns them in the form `arguments` takes.

        Args:
            settings: The settings under the stage's name in the study file.

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
            settings: Settings of the stage; complete if they are a section of the configuration.
            config: The complete configuration of the run.
        """

    @abstractmethod
    def scores(self, run: Path) -> dict[str, float | None]:
        """Results of the command by name; in tables, the stage's name prefixes their columns.

        Args:
            run: The run folder, after the command has succeeded.
        """


def load_stage(word: str) -> Stage:
    """Loads a stage by its name in a study file; raises `InputError` if it cannot."""
    stage: Stage = load_declared(STAGES, word, Stage)
    return stage


def checked_stages(stages: Mapping[str, Any], origin: str) -> dict[str, dict[str, Any]]:
    """Checks and returns the settings under `stages` of a study file, `origin`, training first.

    Raises:
        InputError: A stage does not exist, or its settings are malformed.
    """
    checked: dict[str, dict[str, Any]] = {FIRST: {}}
    for word, settings in stages.items():
        if not isinstance(settings, Mapping | None):
            raise InputError(f"{origin}: stages.{word} is {settings!r}; it holds settings, or {{}}")
        try:
            checked[word] = load_stage(word).checked(settings or {})
        except InputError as error:
            raise InputError(f"{origin}: stages: {error}") from error
    return checked


def option(name: str, value: object) -> str:
    """A setting of plain data, under its dotted name, as a command-line option."""
    return f"--{name}={value if isinstance(value, str) else json.dumps(value)}"


def of_section(run: Path, section: str, settings: Mapping[str, Any], test: str) -> list[str]:
    """Command line that runs one section of a configuration without drawing pictures.

    Training has already drawn the pictures of the run. `settings` are all settings of the section,
    such as `evaluate`, and `test` is the command, `test` or `validate`.
    """
    sections = {name: off for name, off in _TEST.items() if name != section} | {section: settings}
    options = [
        option(f"{name}.{key}", value)
        for name, values in sections.items()
        for key, value in values.items()
    ]
    return [test, f"--run={run}", "--pictures=false", *options]
