"""Trains agents; on a CPU, a resumed training gives bit-identical results."""

import pickle
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, final

import numpy as np
import torch
from gymnasium.spaces import Discrete
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from dislab.errors import InputError, one_line
from dislab.functional.checks import naming
from dislab.runs import checkpoint_of, trained_alone
from dislab.signals import give_back, handle, interrupt
from dislab.storage import atomic, check_output, sha256
from dislab_control.agent_config import (
    CONFIG,
    AgentConfig,
    agent_config,
    check_settings,
    read_config,
)
from dislab_control.agent_progress import PROGRESS, Progress
from dislab_control.batch_env import BatchEnv
from dislab_control.observations import observer

Report = Callable[[int, float | None], None]
"""Receives the number of steps so far and the mean return of the last 100 episodes."""

AGENT: Final = "agent.zip"
"""The finished agent, as stable-baselines3 saves it."""

STATE: Final = "state.pt"
"""Complete state from which an unfinished training resumes."""

SAVE_EVERY: Final = 60.0
"""Minimum number of seconds between two writes of the state."""

_ALGORITHMS: Final[dict[str, type[BaseAlgorithm]]] = {"PPO": PPO, "A2C": A2C, "DQN": DQN}
_COUNTERS: Final = (
    "num_timesteps",
    "_n_updates",
    "_n_calls",
    "_episode_num",
    "_current_progress_remaining",
    "exploration_rate",
)
"""Attributes of an algorithm that its own files omit."""
_BUFFER: Final = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def fit_agent(
    out: str | Path,
    env: str = "dislab/SeekAvoid-v0",
    agent: str = "PPO",
    observations: str = "codes",
    steps: int = 80_000,
    seed: int = 0,
    encoder: str | Path | None = None,
    env_settings: Mapping[str, Any] | None = None,
    copies: int | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "cpu",
    report: Report | None = None,
) -> Path:
    """Trains an agent in its own folder; resumes an unfinished one with equal settings.

    The encoder is frozen: agents learn on its codes. Ctrl-C stops the training before the next
    rollout, and the state is saved in the folder.

    Args:
        out: Folder of all agents; this agent's folder is `<agent>-<observations>-<seed>`.
        env: The environment.
        agent: PPO, A2C or DQN, of stable-baselines3.
        observations: `codes` of the encoder, `untrained` for codes of the encoder with initial
            weights, `pixels`, or true `factors` of visible objects.
        steps: Number of training steps, over all copies together; rounded up to whole rollouts.
        seed: Seed of weights, episodes and actions.
        encoder: Run folder of the model that encodes.
        env_settings: Settings of the world.
        copies: Number of copies of the world; 16 for PPO and A2C and 4 for DQN unless given.
        settings: Arguments of the algorithm that replace those of `agent_config.SETTINGS`.
        device: Device of encoder and agent.
        report: Called after every rollout.

    Returns:
        The folder of the agent.

    Raises:
        InputError: A name or a setting does not exist, a number is out of range, the encoder does
            not fit the world or the agent its actions, or the folder contains another agent.
        KeyboardInterrupt: The training was interrupted; its state has been saved.
    """
    config = agent_config(
        env, agent, observations, steps, seed, encoder, env_settings or {}, copies, settings or {}
    )
    folder = Path(out) / config.name
    if (folder / "agent.json").is_file():
        _check_same(folder, config)
        return resume_agent(folder, device, report)
    check_output("--out", folder / CONFIG)
    if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise InputError(
            f"--out has a folder {folder.name} with files of something else than an agent; choose "
            "another --out"
        )
    model = _new_agent(config, device)
    config.write(folder)
    _train(folder, config, model, report)
    return folder


def resume_agent(folder: str | Path, device: str = "cpu", report: Report | None = None) -> Path:
    """Resumes the training of an agent; a finished agent is unchanged.

    On a CPU the agent is bit-identical to one trained without the interruption: the state includes
    weights, optimiser, buffers, worlds, counters and random numbers. TensorBoard events continue in
    a new file.

    Args:
        folder: The folder of the agent.
        device: Device of encoder and agent.
        report: Called after every rollout.

    Returns:
        The folder.

    Raises:
        InputError: The folder holds no agent, its state is damaged, or its encoder has changed.
        KeyboardInterrupt: The training was interrupted again.
    """
    folder = Path(folder)
    config = read_config(folder)
    if not (folder / AGENT).is_file():
        _train(folder, config, _new_agent(config, device), report)
    return folder


def load_agent(folder: Path, config: AgentConfig, env: BatchEnv, device: str = "cpu") -> Any:
    """Loads the finished agent of a folder, as an algorithm of stable-baselines3.

    Only tensors are read from its file.

    Args:
        folder: The folder of the agent.
        config: Its configuration.
        env: A batch of worlds with the agent's observations.
        device: Device of the agent.

    Raises:
        InputError: The agent is not finished, or its file is damaged.
    """
    path = folder / AGENT
    if not path.is_file():
        raise InputError(
            f"{folder} is not fully trained; resume it: dislab act fit --resume {folder}"
        )
    model = _algorithm(config, env, device)
    try:
        model.set_parameters(str(path), device=device)
    except (OSError, ValueError, KeyError, RuntimeError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{path} is damaged or of another agent ({one_line(error)[:200]}); remove it, and "
            f"train the agent again: dislab act fit --resume {folder}"
        ) from error
    return model


def batch(config: AgentConfig, domain: str | None, copies: int, device: str) -> BatchEnv:
    """Creates copies of an agent's world with the agent's observations.

    Args:
        config: Configuration of the agent.
        domain: Domain of the world; the training domain if None.
        copies: Number of copies.
        device: Device of the encoder.

    Raises:
        InputError: The encoder does not fit the world, or has changed since the agent's training.
    """
    world = config.world(domain)
    if config.encoder is not None and sha256(checkpoint_of(config.encoder)) != config.checkpoint:
        raise InputError(
            f"the checkpoint in {config.encoder} has changed since the agent {config.name} "
            "began to learn on its codes; train the agent again in another --out"
        )
    seen = observer(world, config.observations, config.encoder, config.seed, device)
    return BatchEnv(world, seen, copies)


def _new_agent(config: AgentConfig, device: str) -> BaseAlgorithm:
    """Creates a new agent in its world."""
    check_settings(_ALGORITHMS[config.agent], config.settings)
    actions = config.world().actions
    if config.agent == "DQN" and not isinstance(actions, Discrete):
        raise InputError(
            f"DQN chooses among numbered actions, but those of {config.env} are {actions}; choose "
            "PPO or A2C"
        )
    return _algorithm(config, batch(config, None, config.copies, device), device)


def _algorithm(config: AgentConfig, env: BatchEnv, device: str) -> BaseAlgorithm:
    policy = "CnnPolicy" if config.observations == "pixels" else "MlpPolicy"
    with naming("settings"):
        try:
            return _ALGORITHMS[config.agent](
                policy, env, seed=config.seed, device=device, **config.settings
            )
        except (TypeError, ValueError, AssertionError) as error:
            raise InputError(f"{config.agent} refuses them: {one_line(error)}") from error


def _check_same(folder: Path, config: AgentConfig) -> None:
    """Refuses a folder whose agent has other settings."""
    there = read_config(folder)
    for name, value in vars(config).items():
        if (stored := vars(there)[name]) != value:
            raise InputError(
                f"{folder} holds an agent whose {name} is {stored!r}, not {value!r}; choose "
                "another --out, or remove the folder"
            )


def _train(folder: Path, config: AgentConfig, model: BaseAlgorithm, report: Report | None) -> None:
    with trained_alone(folder), _asked_to_stop() as signals:
        progress = Progress(folder)
        model.set_logger(Logger(None, []))
        done = 0
        if (folder / STATE).is_file():
            done = _restore(model, folder / STATE)
            progress.forget_after(done)
        watch = _Watch(folder, progress, signals, report)
        model.learn(
            max(config.steps - done, 0),
            watch,
            log_interval=None,  # type: ignore[arg-type,unused-ignore]
            reset_num_timesteps=not done,
        )
        watch.note()
        progress.close()
        with atomic(folder / AGENT) as temporary, temporary.open("wb") as stream:
            model.save(stream)
        (folder / STATE).unlink(missing_ok=True)


@contextmanager
def _asked_to_stop() -> Iterator[list[int]]:
    """Yields a list that receives the first stop signal; a second signal stops at once."""
    signals: list[int] = []

    def note(signal_number: int, frame: FrameType | None) -> None:
        if signals:
            interrupt(signal_number, frame)
        signals.append(signal_number)
        print("dislab: finishing the current steps; interrupt again to stop now", file=sys.stderr)

    previous = handle(note)
    try:
        yield signals
    finally:
        give_back(previous)


@final
class _Watch(BaseCallback):
    """Records progress, and saves the state, between rollouts."""

    def __init__(
        self, folder: Path, progress: Progress, signals: list[int], report: Report | None
    ) -> None:
        super().__init__()
        self._folder = folder
        self._progress = progress
        self._asked = signals
        self._report = report
        self._saved = time.monotonic()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.note()
        if self._asked or time.monotonic() - self._saved > SAVE_EVERY:
            _save(self.model, self._folder / STATE)
            self._progress.write()
            self._saved = time.monotonic()
        if self._asked:
            raise KeyboardInterrupt(f"after {self.model.num_timesteps} steps")

    def note(self) -> None:
        """Records returns and losses."""
        model = self.model
        episodes = model.ep_info_buffer or ()
        mean = float(np.mean([episode["r"] for episode in episodes])) if episodes else None
        self._progress.note(model.num_timesteps, mean, dict(model.logger.name_to_value))
        if self._report is not None:
            self._report(model.num_timesteps, mean)


def _save(model: BaseAlgorithm, path: Path) -> None:
    """Saves everything that the next steps depend on, as plain data and tensors."""
    state: dict[str, Any] = {
        "parameters": model.get_parameters(),
        "counters": {name: getattr(model, name) for name in _COUNTERS if hasattr(model, name)},
        "episodes": list(model.ep_info_buffer or ()),
        "starts": torch.from_numpy(np.asarray(model._last_episode_starts)),
        "logged": {name: float(value) for name, value in model.logger.name_to_value.items()},
        "env": model.env.record(),  # type: ignore[union-attr,unused-ignore]
        "random": _random_states(model),
    }
    if (buffer := getattr(model, "replay_buffer", None)) is not None:
        rows = buffer.buffer_size if buffer.full else buffer.pos
        arrays = {name: torch.from_numpy(getattr(buffer, name)[:rows]) for name in _BUFFER}
        state["buffer"] = {"pos": buffer.pos, "full": buffer.full, **arrays}
    with atomic(path) as temporary, temporary.open("wb") as stream:
        torch.save(state, stream)


def _restore(model: Any, path: Path) -> int:
    """Restores a saved state into a new agent, and returns its number of steps."""
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
        model.set_parameters(state["parameters"])
        for name, value in state["counters"].items():
            setattr(model, name, value)
        model.env.restore(state["env"])
        model.ep_info_buffer = deque(state["episodes"], maxlen=model._stats_window_size)
        model.ep_success_buffer = deque(maxlen=model._stats_window_size)
        model.logger.name_to_value.update(state["logged"])
        model._last_obs = model.env.observe()
        model._last_episode_starts = state["starts"].numpy()
        if (stored := state.get("buffer")) is not None:
            buffer = model.replay_buffer
            buffer.pos, buffer.full = stored["pos"], stored["full"]
            for name in _BUFFER:
                rows = stored[name].numpy()
                getattr(buffer, name)[: len(rows)] = rows
        _set_random_states(model, state["random"])
    except (OSError, EOFError, KeyError, ValueError, RuntimeError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{path} is damaged ({one_line(error)[:200]}); remove it, and restart the training: "
            f"dislab act fit --resume {path.parent}"
        ) from error
    return int(model.num_timesteps)


def _random_states(model: BaseAlgorithm) -> dict[str, Any]:
    name, keys, *position = np.random.get_state(legacy=True)  # noqa: NPY002  of the library
    assert model.action_space.np_random is not None
    return {
        "torch": torch.get_rng_state(),
        "numpy": [name, torch.from_numpy(np.asarray(keys, np.int64)), *position],
        "python": random.getstate(),
        "actions": model.action_space.np_random.bit_generator.state,
    }


def _set_random_states(model: BaseAlgorithm, stored: Mapping[str, Any]) -> None:
    name, keys, *position = stored["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *position))  # noqa: NPY002
    torch.set_rng_state(stored["torch"])
    version, internal, gauss = stored["python"]
    random.setstate((version, tuple(internal), gauss))
    model.action_space.np_random.bit_generator.state = stored["actions"]


__all__ = ["AGENT", "PROGRESS", "STATE", "batch", "fit_agent", "load_agent", "resume_agent"]
