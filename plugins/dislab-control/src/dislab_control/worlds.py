"""The worlds by name."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_choice
from dislab_control.finger_reach import FingerReach
from dislab_control.grid_objects import GridObjects
from dislab_control.seek_avoid import SeekAvoid
from dislab_control.shapes_room import ShapesRoom
from dislab_control.world import World

WORLDS: Final[dict[str, Callable[..., World]]] = {
    "GridObjects": GridObjects,
    "GridMaze": partial(GridObjects, objects=1, maze=True),
    "SeekAvoid": SeekAvoid,
    "FingerReach": FingerReach,
    "ShapesRoom": ShapesRoom,
}
"""The worlds; each is the environment `dislab/<name>-v0`."""


def world_of(name: str, settings: Mapping[str, Any]) -> World:
    """Creates a world by name.

    Args:
        name: Name of the world.
        settings: Arguments of its constructor; the others keep their defaults.

    Raises:
        InputError: There is no such world or setting, or the world refuses a value.
    """
    check_choice("world", name, tuple(WORLDS))
    allowed = tuple(inspect.signature(WORLDS[name]).parameters)
    for setting in settings:
        if setting not in allowed:
            raise InputError(
                f"{name} has no setting {setting!r}{suggestion(setting, allowed)}; the settings "
                f"are {', '.join(allowed)}"
            )
    return WORLDS[name](**settings)
