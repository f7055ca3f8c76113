"""Copies of a world that are stepped together, without rendering."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils.seeding import np_random

from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab_control.world import States, World


class Moved(NamedTuple):
    """Outcome of one step of all copies.

    Attributes:
        rewards: Reward of each copy.
        ended: Whether the task of each copy is done.
        over: Whether each copy reached the time limit.
        last: Numbers of the copies whose episode ended and that have started the next one.
        final: Last states of these copies' episodes, in the same order.
    """

    rewards: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]
    over: npt.NDArray[np.bool_]
    last: npt.NDArray[np.int64]
    final: States


@final
class Copies:
    """Copies of a world, each with its own random numbers.

    When an episode ends, the next one starts within the same step.

    Args:
        world: The world.
        count: Number of copies.

    Raises:
        InputError: The number of copies is not from 1 to 65,536.
    """

    def __init__(self, world: World, count: int) -> None:
        check_count("num_envs", count, 1, 2**16)
        self.world = world
        self.count = count
        self._draws = [np_random(None)[0] for _ in range(count)]
        self._steps = np.zeros(count, np.int64)
        self._states: States | None = None

    @property
    def states(self) -> States:
        """Values of the factors, one row per copy.

        Raises:
            gymnasium.error.ResetNeeded: No episode has been started.
        """
        if self._states is None:
            raise gym.error.ResetNeeded("call reset before step")
        return self._states

    def start(self, seeds: Sequence[int | None] | None = None) -> None:
        """Starts an episode in every copy.

        Args:
            seeds: One seed per copy; None continues the copy's random numbers.

        Raises:
            InputError: The number of seeds is not the number of copies.
        """
        if seeds is not None and len(seeds) != self.count:
            raise InputError(
                f"there are {len(seeds)} seeds for {self.count} copies; give one number, or one "
                "for each copy"
            )
        for copy, seed in enumerate(seeds or ()):
            if seed is not None:
                self._draws[copy] = np_random(seed)[0]
        self._states = np.concatenate([self.world.start(draws) for draws in self._draws])
        self._steps = np.zeros(self.count, np.int64)

    def step(self, actions: npt.NDArray[Any]) -> Moved:
        """Steps every copy, and starts the next episode in copies whose episode ended.

        Args:
            actions: One action per copy.

        Raises:
            gymnasium.error.ResetNeeded: No episode has been started.
        """
        states, rewards, ended = self.world.step(self.states, np.asarray(actions), self._draws)
        self._steps += 1
        over = self._steps >= self.world.length
        last = np.flatnonzero(ended | over)
        final = states[last]
        if len(last):
            states = states.copy()
            for copy in last:
                states[copy] = self.world.start(self._draws[copy])[0]
            self._steps[last] = 0
        self._states = states
        return Moved(rewards, ended, over, last, final)

    def record(self) -> dict[str, Any]:
        """States, steps and random numbers as lists and numbers, for `restore`."""
        return {
            "states": self.states.tolist(),
            "steps": self._steps.tolist(),
            "draws": [draws.bit_generator.state for draws in self._draws],
        }

    def restore(self, record: Mapping[str, Any]) -> None:
        """Restores the state of an object with the same number of copies.

        Args:
            record: Result of that object's `record`.
        """
        self._states = np.array(record["states"], np.float64)
        self._steps = np.array(record["steps"], np.int64)
        for draws, state in zip(self._draws, record["draws"], strict=True):
            draws.bit_generator.state = state
