"""Data set of all states of a world."""

from functools import cached_property, partial
from typing import ClassVar, Final, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices
from dislab_control.grid_objects import GridObjects
from dislab_control.world import States
from dislab_control.world_frames import pixel_rows
from dislab_control.worlds import world_of

MOST: Final = 1_000_000
"""Maximum number of states."""

_BLOCK: Final = 512


@final
class WorldStates(BankedDataset):
    """All states of a grid or maze, with one image and the exact factors of each.

    Moving a factor by one value is an action of the world, so that `ActionData` and
    `TransitionData` are equivalent to steps of the world; in a maze, positions inside walls do not
    exist, and moves to them are blocked.

    The worlds of Thomas et al. (2017), https://arxiv.org/abs/1708.01289, section 4.

    Args:
        world: `GridObjects` or `GridMaze`.
        settings: Settings of the world, such as `{colours: grey}`; the others keep their defaults.

    Raises:
        InputError: There is no such world or setting, or the world has too many states, or its
            states cannot be listed.
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = (
        "Thomas et al. (2017), Independently Controllable Factors, https://arxiv.org/abs/1708.01289"
    )
    size: ClassVar[int | None] = 6_324_912
    contents: ClassVar[str] = "14,641 images 12×12×3 of two squares: x and y of each"
    cache: ClassVar[str] = "world_states"

    def __init__(
        self,
        world: str = "GridObjects",
        settings: dict[str, bool | int | float | str] | None = None,
    ) -> None:
        self.world = world
        self.settings = settings
        self._world = _finite(world_of(world, settings or {}), world)

    @cached_property
    def factors(self) -> FactorSpace:
        """Column and row of each square; in a maze, with a table of the possible positions."""
        columns = [
            trait.factor(self._states[:, column]) for column, trait in enumerate(self._world.traits)
        ]
        factors, positions = zip(*columns, strict=True)
        grid = FactorSpace(factors)
        if len(grid) == len(self._states):
            return grid
        return FactorSpace(factors, np.stack(positions, axis=1))

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width of the world's images."""
        height, width, channels = self._world.image_shape
        return (channels, height, width)

    def canonical(self, index: Indices) -> Indices:
        """Maps each state to the first one with the same image, as grey squares look alike.

        Args:
            index: State numbers.
        """
        return index if self._first is None else self._first[index]

    @cached_property
    def _first(self) -> Indices | None:
        """First state with the same image as each state; None if all images differ."""
        if self._world.colours == "channels" or self._world.objects == 1:
            return None
        settings = {**(self.settings or {}), "scale": 1}  # fewer pixels, same duplicates
        rows = pixel_rows(world_of(self.world, settings), self._states)
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        return np.asarray(first[group], np.int64)

    @cached_property
    def _states(self) -> States:
        return self._world.states()

    def _pictures(self) -> Pictures:
        origin = {"source": "drawn", **self._world.settings}
        del origin["length"]  # does not affect images
        settings = "-".join(
            value for name, value in origin.items() if name not in ("source", "world")
        )
        name = f"world_states/{origin['world']}-{settings}"
        return Pictures(name, len(self._states), origin, Blocks(_BLOCK, partial(_rendered, self)))


def _finite(world: object, name: str) -> GridObjects:
    """Returns the world if its states can be listed; refuses others."""
    if not isinstance(world, GridObjects):
        raise InputError(
            f"{name} has no list of all states; choose GridObjects or GridMaze, or take "
            "WorldFrames for the images that an agent sees"
        )
    if world.count > MOST:
        raise InputError(
            f"{name} has {world.count:,} states with these settings, and at most {MOST:,} are "
            "drawn; take fewer cells or objects, or WorldFrames for a part of them"
        )
    return world


def _rendered(dataset: WorldStates, start: int, stop: int) -> Rows:
    return pixel_rows(dataset._world, dataset._states[start:stop])
