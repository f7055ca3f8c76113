"""A batch of copies of a world as a vectorised gymnasium environment."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dislab.functional.checks import check_choice
from dislab_control.copies import Copies
from dislab_control.env import RENDER_MODES, frame_space
from dislab_control.world import Frames, States, World


@final
class WorldVectorEnv(VectorEnv[Frames, npt.NDArray[Any], npt.NDArray[Any]]):
    """Copies of a world that are stepped and rendered together, each with its own random numbers.

    Copy k of a batch with seed s behaves like a single `WorldEnv` with seed s + k. When an episode
    ends, the next one starts within the same step: the returned image is the first one of the new
    episode, and `info` has the last image as `final_obs` and the last factors in `final_info`, as
    with `gymnasium.vector.AutoresetMode.SAME_STEP`.

    Args:
        world: The world.
        num_envs: Number of copies.
        render_mode: `rgb_array`, or nothing.

    Raises:
        InputError: The number of copies is not from 1 to 65,536, or there is no such mode.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  gymnasium declares it like this
        "render_modes": list(RENDER_MODES),
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(self, world: World, num_envs: int = 1, render_mode: str | None = None) -> None:
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self._copies = Copies(world, num_envs)
        self.world = world
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = frame_space(world)
        self.single_action_space = world.actions
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(world.actions, num_envs)

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the factors, in the order of the columns of `info["factors"]`."""
        return self.world.names

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Frames, dict[str, Any]]:
        """Starts an episode in every copy; returns the images and the information.

        Args:
            seed: Seed of the first copy, from which the others count up, or one seed per copy; None
                continues the current random numbers.
            options: Not used.

        Raises:
            InputError: The number of seeds is not the number of copies.
        """
        if isinstance(seed, int | np.integer):
            seed = [int(seed) + copy for copy in range(self.num_envs)]
        self._copies.start(seed)
        return self.world.draw(self._copies.states), self._info()

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[
        Frames, npt.NDArray[Any], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
    ]:
        """Returns images, rewards, whether tasks are done, whether time is up, and information.

        Args:
            actions: One action per copy.

        Raises:
            gymnasium.error.ResetNeeded: No episode has been started.
        """
        moved = self._copies.step(actions)
        info = self._final(moved.last, moved.final) if len(moved.last) else {}
        images = self.world.draw(self._copies.states)
        return images, moved.rewards, moved.ended, moved.over, {**self._info(), **info}

    def render(self) -> Any:
        """Returns one image per copy if the render mode is `rgb_array`, else None.

        Raises:
            gymnasium.error.ResetNeeded: No episode has been started.
        """
        if self.render_mode is None:
            return None
        frames = self.world.draw(self._copies.states)
        return tuple(frames.repeat(3, axis=3) if frames.shape[3] == 1 else frames)

    def _info(self) -> dict[str, Any]:
        factors = self._copies.states.copy()
        return {"factors": factors, "_factors": np.ones(self.num_envs, np.bool_)}

    def _final(self, last: npt.NDArray[np.int64], states: States) -> dict[str, Any]:
        """Last images and factors of the episodes that ended, in the layout of gymnasium."""
        mask = np.zeros(self.num_envs, np.bool_)
        mask[last] = True
        images = np.full(self.num_envs, None, dtype=object)
        for copy, image in zip(last, self.world.draw(states), strict=True):
            images[copy] = image
        factors = np.zeros((self.num_envs, states.shape[1]))
        factors[last] = states
        final = {"factors": factors, "_factors": mask.copy()}
        return {
            "final_obs": images,
            "_final_obs": mask,
            "final_info": final,
            "_final_info": mask.copy(),
        }
