"""Stages of a study that train agents on the codes of a run, and test them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final

import numpy as np

from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_choice, check_count
from dislab.study.stages import Stage

FOLDER: Final = "act"
"""Name of the folder of agents in a run folder."""

_FIT: Final = (
    "env",
    "env_settings",
    "agent",
    "observations",
    "steps",
    "seed",
    "copies",
    "settings",
    "device",
)
_TEST: Final = ("domains", "episodes", "seed", "greedy", "device")
_LISTS: Final = ("agent", "observations", "seed", "domains")


@final
class ActStage(Stage):
    """Trains agents on the codes of a run, in the run's folder.

    The settings are those of `dislab act fit` without `encoder`, `out` and `resume`; `agent`,
    `observations` and `seed` may be lists. `env_settings` and `settings` are mappings.
    """

    measures: ClassVar[Mapping[str, Literal["highest", "lowest"]]] = {"*/return": "highest"}

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings; refuses unknown names and values."""
        from dislab_control.agent_config import AGENTS, environment_world
        from dislab_control.observations import OBSERVATIONS

        options = _checked_options("act", settings, _FIT)
        for agent in options.get("agent", []):
            check_choice("act.agent", agent, AGENTS)
        for observations in options.get("observations", []):
            check_choice("act.observations", observations, OBSERVATIONS)
        if "steps" in options:
            check_count("act.steps", options["steps"], 1)
        for seed in options.get("seed", []):
            check_count("act.seed", seed, 0)
        if "env" in options:
            environment_world(options["env"])
        for name in ("env_settings", "settings"):
            if not isinstance(options.get(name, {}), Mapping):
                raise InputError(f"act.{name} is {options[name]!r}; it is a mapping of settings")
        return options

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """Arguments of `dislab act fit`."""
        return ["act", "fit", f"--encoder={run}", f"--out={run / FOLDER}", *_options(settings)]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Mean return of the last 100 training episodes, averaged over seeds, by agent."""
        from dislab_control.agent_progress import last_return

        return _means(run, lambda folder: {"return": last_return(folder)})


@final
class ActTransferStage(Stage):
    """Tests the agents of a run in other domains, without learning.

    The settings are those of `dislab act test`.
    """

    measures: ClassVar[Mapping[str, Literal["highest", "lowest"]]] = {"*/return": "highest"}

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings; refuses unknown names and values."""
        options = _checked_options("act-transfer", settings, _TEST)
        if "episodes" in options:
            check_count("act-transfer.episodes", options["episodes"], 2)
        if isinstance(options.get("seed"), list):
            raise InputError(f"act-transfer.seed is {options['seed']}; it is one number")
        return options

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """Arguments of `dislab act test`."""
        return ["act", "test", str(run / FOLDER), *_options(settings)]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Mean return and ratio in each domain, averaged over seeds, by agent."""
        from dislab_control.returns import read_returns

        def of(folder: Path) -> dict[str, float | None]:
            domains = read_returns(folder)
            returns = {f"{domain}/return": summary["mean"] for domain, summary in domains.items()}
            return returns | {
                f"{domain}/ratio": summary["ratio"] for domain, summary in domains.items()
            }

        return _means(run, of)


def _checked_options(
    word: str, settings: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in names:
            raise InputError(
                f"{word} has no setting {name!r}{suggestion(name, names)}; it has "
                f"{', '.join(names)}"
            )
        single = word == "act-transfer" and name == "seed"
        alone = name in _LISTS and not single and not isinstance(value, list)
        options[name] = [value] if alone else value
    return options


def _options(settings: Mapping[str, Any]) -> list[str]:
    """Settings as command-line arguments."""
    words: list[str] = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            value = [f"{key}={setting}" for key, setting in value.items()]
        if isinstance(value, bool):
            words += [f"--{name}"] if value else []
        elif isinstance(value, list):
            words += [f"--{name}", *map(str, value)] if value else []
        else:
            words.append(f"--{name}={value}")
    return words


def _means(run: Path, of: Any) -> dict[str, float | None]:
    """Means over seeds of the scores of each kind of agent; None if one agent lacks the score."""
    series: dict[str, list[float | None]] = {}
    for config in sorted((run / FOLDER).glob("*/agent.json")):
        kind = config.parent.name.rpartition("-")[0].replace("-", "/")
        for name, value in of(config.parent).items():
            series.setdefault(f"{kind}/{name}", []).append(value)
    return {
        name: None if None in values else float(np.mean(np.array(values, np.float64)))
        for name, values in series.items()
    }
