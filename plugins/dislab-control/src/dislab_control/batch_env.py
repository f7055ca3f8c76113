"""A batch of worlds as a vectorised environment of stable-baselines3."""

from collections.abc import Mapping
from typing import Any, final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from dislab_control.copies import Copies
from dislab_control.observations import Observer
from dislab_control.world import World


@final
class BatchEnv(VecEnv):
    """Copies of a world that are stepped, rendered and encoded together.

    When an episode ends, the next one starts within the same step. The information of its copy then
    contains the last observation as `terminal_observation`, whether the time limit was reached as
    `TimeLimit.truncated`, and return and length as `episode`. Images are rendered only for
    observations that need them.

    Args:
        world: The world.
        observer: Computes the observations.
        copies: Number of copies.
    """

    render_mode: str | None = None

    def __init__(self, world: World, observer: Observer, copies: int) -> None:
        self._copies = Copies(world, copies)
        self._observer = observer
        self._actions: npt.NDArray[Any] = np.zeros(0)
        self._returns = np.zeros(copies)
        self._lengths = np.zeros(copies, np.int64)
        super().__init__(copies, observer.space, world.actions)

    def reset(self) -> npt.NDArray[Any]:
        """Starts an episode in every copy, with the seeds of the last call of `seed`."""
        self._copies.start(self._seeds)
        self._reset_seeds()
        self._returns[:], self._lengths[:] = 0, 0
        return self.observe()

    def observe(self) -> npt.NDArray[Any]:
        """Current observations of all copies."""
        return self._observer.observe(self._copies.states)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Stores the actions for `step_wait`.

        Args:
            actions: One action per copy.
        """
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Any]]:
        """Returns observations, rewards, whether episodes ended, and information of each copy."""
        moved = self._copies.step(self._actions)
        self._returns += moved.rewards
        self._lengths += 1
        information: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if len(moved.last):
            final = self._observer.observe(moved.final)
            for copy, last in zip(moved.last.tolist(), final, strict=True):
                information[copy] = {
                    "terminal_observation": last,
                    "TimeLimit.truncated": bool(moved.over[copy] and not moved.ended[copy]),
                    "episode": {"r": float(self._returns[copy]), "l": int(self._lengths[copy])},
                }
            self._returns[moved.last], self._lengths[moved.last] = 0, 0
        done = moved.ended | moved.over
        return self.observe(), moved.rewards.astype(np.float32), done, information

    def record(self) -> dict[str, Any]:
        """State that the next steps depend on, as lists and numbers, for `restore`."""
        returns, lengths = self._returns.tolist(), self._lengths.tolist()
        return {"copies": self._copies.record(), "returns": returns, "lengths": lengths}

    def restore(self, record: Mapping[str, Any]) -> None:
        """Restores the state of a batch with the same number of copies.

        Args:
            record: Result of that batch's `record`.
        """
        self._copies.restore(record["copies"])
        self._returns = np.array(record["returns"], np.float64)
        self._lengths = np.array(record["lengths"], np.int64)

    def close(self) -> None:
        """Does nothing, as there are no resources to release."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Value of an attribute of the batch, repeated for each copy.

        Args:
            attr_name: Name of the attribute.
            indices: Numbers of copies; all unless given.
        """
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses any change, as the copies share their settings.

        Args:
            attr_name: Name of an attribute.
            value: Its value.
            indices: Numbers of copies.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("copies of a world share their settings")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Refuses any call, as the copies have no methods of their own.

        Args:
            method_name: Name of a method.
            method_args: Its arguments.
            indices: Numbers of copies.
            method_kwargs: Its arguments by name.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("copies of a world have no methods of their own")

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: Any = None
    ) -> list[bool]:
        """Returns False for every copy, as no copy is wrapped.

        Args:
            wrapper_class: A wrapper.
            indices: Numbers of copies.
        """
        return [False for _ in self._get_indices(indices)]
