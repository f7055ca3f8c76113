"""A world as a gymnasium environment."""

from typing import Any, Final, final

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from dislab.functional.checks import check_choice
from dislab_control.world import Frames, States, World

RENDER_MODES: Final = ("rgb_array",)


@final
class WorldEnv(gym.Env[Frames, Any]):
    """One copy of a world, with its image as the observation.

    Every `info` contains `factors`, the values of the factors as float64, in the order of
    `factor_names`. An episode is truncated after the world's `length` steps.

    Args:
        world: The world.
        render_mode: `rgb_array`, or nothing.

    Raises:
        InputError: There is no such mode.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  gymnasium declares it like this
        "render_modes": list(RENDER_MODES),
        "render_fps": 10,
    }

    def __init__(self, world: World, render_mode: str | None = None) -> None:
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self.world = world
        self.render_mode = render_mode
        self.observation_space = frame_space(world)
        self.action_space = world.actions
        self._states: States | None = None
        self._steps = 0

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the factors, in the order of `info["factors"]`."""
        return self.world.names

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Frames, dict[str, Any]]:
        """Starts an episode; returns the image and the information.

        Args:
            seed: Seed of all following random numbers; None continues the current ones.
            options: Not used.
        """
        super().reset(seed=seed)
        self._states, self._steps = self.world.start(self.np_random), 0
        return self._frame(), self._info()

    def step(self, action: Any) -> tuple[Frames, float, bool, bool, dict[str, Any]]:
        """Returns image, reward, whether the task is done, whether time is up, and information.

        Args:
            action: An element of the action space.

        Raises:
            gymnasium.error.ResetNeeded: No episode has been started.
        """
        if self._states is None:
            raise gym.error.ResetNeeded("call reset before step")
        actions = np.asarray(action)[None]
        self._states, rewards, ended = self.world.step(self._states, actions, [self.np_random])
        self._steps += 1
        over = self._steps >= self.world.length
        return self._frame(), float(rewards[0]), bool(ended[0]), over, self._info()

    def render(self) -> Any:
        """Returns the image if the render mode is `rgb_array`, else None.

        Raises:
            gymnasium.error.ResetNeeded: No episode has been started.
        """
        if self.render_mode is None:
            return None
        frame = self._frame()
        return frame.repeat(3, axis=2) if frame.shape[2] == 1 else frame

    def _frame(self) -> Frames:
        if self._states is None:
            raise gym.error.ResetNeeded("call reset before render")
        return self.world.draw(self._states)[0]

    def _info(self) -> dict[str, npt.NDArray[np.float64]]:
        assert self._states is not None
        return {"factors": self._states[0].copy()}


def frame_space(world: World) -> gym.Space[Any]:
    """Observation space of a world's images.

    Args:
        world: The world.
    """
    return gym.spaces.Box(0, 255, world.image_shape, np.uint8)
