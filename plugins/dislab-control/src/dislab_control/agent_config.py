"""Configuration of an agent, and its file."""

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_choice, check_count
from dislab.runs import checkpoint_of
from dislab.storage import atomic, json_text, read_json, record_of, sha256
from dislab_control.observations import OBSERVATIONS
from dislab_control.registration import environment
from dislab_control.world import World
from dislab_control.worlds import WORLDS, world_of

Agent = Literal["PPO", "A2C", "DQN"]
"""Algorithms of stable-baselines3."""

AGENTS: Final[tuple[str, ...]] = get_args(Agent)

CONFIG: Final = "agent.json"
"""Name of the configuration file in the folder of an agent."""

COPIES: Final[dict[str, int]] = {"PPO": 16, "A2C": 16, "DQN": 4}
"""Default number of copies of the world that each agent acts in."""

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "PPO": {"n_steps": 128, "batch_size": 256, "n_epochs": 6, "learning_rate": 1e-3},
    "A2C": {"n_steps": 16, "learning_rate": 1e-3},
    "DQN": {
        "learning_rate": 5e-4,
        "buffer_size": 20_000,
        "learning_starts": 1_000,
        "train_freq": 1,
    },
}
"""Settings of each agent that differ from the defaults of stable-baselines3; in addition, all of
them have a discount of 0.95, and PPO and A2C an entropy bonus of 0.01."""

_OWN: Final = ("self", "policy", "env", "seed", "device", "verbose", "tensorboard_log")
"""Arguments of an algorithm that are not settings."""


@dataclass(frozen=True)
class AgentConfig:
    """Complete configuration of an agent.

    Args:
        env: The environment, such as `dislab/SeekAvoid-v0`.
        agent: PPO, A2C or DQN.
        observations: pixels, codes, factors or untrained.
        steps: Minimum number of training steps, over all copies together.
        seed: Seed of weights, episodes and actions.
        encoder: Run folder of the model that encodes.
        checkpoint: SHA-256 of this model's checkpoint.
        env_settings: Settings of the world.
        copies: Number of copies of the world to act in.
        settings: Arguments of the algorithm.

    Raises:
        InputError: A name does not exist, or a number is out of range.
    """

    env: str
    agent: str
    observations: str
    steps: int
    seed: int
    encoder: str | None = None
    checkpoint: str | None = None
    env_settings: dict[str, Any] = field(default_factory=dict)
    copies: int = 16
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses names that do not exist and numbers out of range."""
        check_choice("agent", self.agent, AGENTS)
        check_choice("observations", self.observations, OBSERVATIONS)
        check_count("steps", self.steps, 1)
        check_count("seed", self.seed, 0, 2**32 - 1)
        check_count("copies", self.copies, 1, 1024)
        self.world()

    @property
    def name(self) -> str:
        """Name of the agent's folder, such as `PPO-codes-0`."""
        return f"{self.agent}-{self.observations}-{self.seed}"

    def world(self, domain: str | None = None) -> World:
        """World that the agent is trained in, or the same world in another domain.

        Args:
            domain: Name of the domain; the training domain unless given.

        Raises:
            InputError: There is no such world, setting or domain, or the world has no task.
        """
        world = environment_world(self.env)
        domains = domains_of(world)
        if not domains:
            others = [environment(name) for name in WORLDS if domains_of(name)]
            raise InputError(
                f"{self.env} has no task: every reward is 0; choose {' or '.join(others)}"
            )
        settings = dict(self.env_settings)
        if domain is not None:
            check_choice("domain", domain, domains)
            settings["domain"] = domain
        return world_of(world, settings)

    @property
    def domain(self) -> str:
        """The domain that the agent is trained in."""
        return str(self.env_settings.get("domain", self.domains[0]))

    @property
    def domains(self) -> tuple[str, ...]:
        """All domains of the world."""
        return domains_of(environment_world(self.env))

    def write(self, folder: Path) -> None:
        """Writes the configuration into the folder of an agent.

        Args:
            folder: The folder.

        Raises:
            InputError: It cannot be written.
        """
        with atomic(folder / CONFIG) as temporary:
            temporary.write_text(json_text(dataclasses.asdict(self)), encoding="utf-8")


def read_config(folder: Path) -> AgentConfig:
    """Reads the configuration of an agent.

    Args:
        folder: The folder of the agent.

    Raises:
        InputError: The folder contains no agent, or the file is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(
            f"{folder} holds no agent: it has no {CONFIG}; `dislab act fit` makes such folders"
        )
    try:
        return record_of(AgentConfig, read_json(path, "train the agent again"), str(path))
    except InputError as error:
        message = str(error)
        raise InputError(message if str(path) in message else f"{path}: {message}") from error


def agent_config(
    env: str,
    agent: str,
    observations: str,
    steps: int,
    seed: int,
    encoder: str | Path | None,
    env_settings: Mapping[str, Any],
    copies: int | None,
    settings: Mapping[str, Any],
) -> AgentConfig:
    """Completes a configuration with default values.

    Args:
        env: The environment.
        agent: PPO, A2C or DQN.
        observations: pixels, codes, factors or untrained.
        steps: Number of training steps.
        seed: Seed of weights, episodes and actions.
        encoder: Run folder of the model that encodes; ignored if the observations need none.
        env_settings: Settings of the world.
        copies: Number of copies of the world; the default of the agent unless given.
        settings: Arguments of the algorithm that replace the default ones.

    Raises:
        InputError: A name does not exist, or the encoder is no run folder.
    """
    check_choice("agent", agent, AGENTS)
    check_choice("observations", observations, OBSERVATIONS)
    usual = {"gamma": 0.95, **({} if agent == "DQN" else {"ent_coef": 0.01}), **SETTINGS[agent]}
    path, checksum = None, None
    if encoder is not None and observations in ("codes", "untrained"):
        path, checksum = str(Path(encoder).resolve()), sha256(checkpoint_of(encoder))
    return AgentConfig(
        env,
        agent,
        observations,
        steps,
        seed,
        path,
        checksum,
        dict(env_settings),
        COPIES[agent] if copies is None else copies,
        {**usual, **settings},
    )


def check_settings(algorithm: Any, settings: Mapping[str, Any]) -> None:
    """Refuses settings that an algorithm does not have.

    Args:
        algorithm: Class of the algorithm.
        settings: Values by name.

    Raises:
        InputError: The algorithm has no such setting.
    """
    names = [
        name
        for name in inspect.signature(algorithm).parameters
        if name not in _OWN and not name.startswith("_")
    ]
    for name in settings:
        if name not in names:
            raise InputError(
                f"{algorithm.__name__} has no setting {name!r}{suggestion(name, names)}; it has "
                f"{', '.join(names)}"
            )


def environment_world(env: str) -> str:
    """Name of the world of an environment.

    Args:
        env: Name of the environment, such as `dislab/SeekAvoid-v0`.

    Raises:
        InputError: There is no such environment.
    """
    names = {environment(world): world for world in WORLDS}
    check_choice("env", env, tuple(names))
    return names[env]


def domains_of(world: str) -> tuple[str, ...]:
    """Domains of a world; empty for a world without a task.

    Args:
        world: Name of the world.
    """
    return world_of(world, {}).domains
