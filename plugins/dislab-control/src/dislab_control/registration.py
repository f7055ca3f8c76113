"""Registers the environments of this plugin in gymnasium."""

from typing import Any

import gymnasium as gym

from dislab_control.env import WorldEnv
from dislab_control.vector import WorldVectorEnv
from dislab_control.worlds import WORLDS, world_of


def make(world: str, render_mode: str | None = None, **settings: Any) -> WorldEnv:
    """Creates an environment; entry point of `gymnasium.make`.

    Args:
        world: Name of the world.
        render_mode: `rgb_array`, or nothing.
        settings: Settings of the world.

    Raises:
        InputError: There is no such world or setting, or a value is refused.
    """
    return WorldEnv(world_of(world, settings), render_mode)


def make_vec(
    world: str, num_envs: int = 1, render_mode: str | None = None, **settings: Any
) -> WorldVectorEnv:
    """Creates a batch of environments; entry point of `gymnasium.make_vec`.

    Args:
        world: Name of the world.
        num_envs: Number of copies.
        render_mode: `rgb_array`, or nothing.
        settings: Settings of the world.

    Raises:
        InputError: There is no such world or setting, or a value is refused.
    """
    return WorldVectorEnv(world_of(world, settings), num_envs, render_mode)


def register() -> None:
    """Registers every environment once; called when the package is imported."""
    for world in WORLDS:
        if environment(world) not in gym.registry:
            gym.register(
                environment(world),
                entry_point=f"{__name__}:make",
                vector_entry_point=f"{__name__}:make_vec",
                kwargs={"world": world},
            )


def environment(world: str) -> str:
    """Name of the environment of a world.

    Args:
        world: Name of the world.
    """
    return f"dislab/{world}-v0"
