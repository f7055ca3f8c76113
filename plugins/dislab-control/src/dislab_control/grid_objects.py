"""Squares on a grid, of which each action moves one."""

from collections.abc import Sequence
from typing import Any, Final, Literal, final

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete

from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab_control.world import Frames, States, Step, Trait, World

Colours = Literal["channels", "grey"]
"""Whether each square has its own channel, or all share one."""

VERSION: Final = 1
"""Version of the renderer; stored images of another version are not used."""

_MOVES: Final = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)])
"""Up, down, left and right as changes of x and y."""
_WALL: Final = 96


@final
class GridObjects(World):
    """Squares on a grid; each is moved by four actions: up, down, left and right by one cell.

    Action 4 k + m moves square k in direction m. A move against the border, or against a wall of
    the maze, has no effect. Squares pass through each other. The world has no task: every reward is
    0. The maze has four rooms, separated by walls that are one cell thick and have doors.

    The worlds of Thomas et al. (2017), https://arxiv.org/abs/1708.01289, section 4, and Thomas et
    al. (2018), https://arxiv.org/abs/1802.09484. The papers do not publish the layout of their
    mazes; the layout here, and the absence of collisions, are choices of this plugin.

    Args:
        cells: Number of cells along each side of the grid.
        objects: Number of squares, from 1 to 3.
        size: Number of cells along each side of a square.
        scale: Number of pixels along each side of a cell: 16 cells of 4 pixels give images of
            64×64.
        colours: `channels` renders each square in its own one of three channels, `grey` all squares
            in a single channel.
        maze: Whether there are walls.
        length: Number of steps per episode.

    Raises:
        InputError: A setting is out of range, or the squares do not fit into the grid or through
            the doors of the maze.
    """

    def __init__(
        self,
        cells: int = 12,
        objects: int = 2,
        size: int = 2,
        scale: int = 1,
        colours: Colours = "channels",
        maze: bool = False,
        length: int = 50,
    ) -> None:
        check_count("cells", cells, 4, 256)
        check_count("objects", objects, 1, 3)
        check_count("size", size, 1, cells - 1)
        check_count("scale", scale, 1, 64)
        check_count("length", length, 1)
        if maze and size > (cells - 1) // 4:
            raise InputError(
                f"size is {size}; squares pass the doors of a maze of {cells} cells up to a size "
                f"of {(cells - 1) // 4}: make size smaller or cells larger"
            )
        self.cells = cells
        self.objects = objects
        self.size = size
        self.scale = scale
        self.colours = colours
        self.maze = maze
        self.length = length
        self._walls = _four_rooms(cells, size) if maze else np.zeros((cells, cells), np.bool_)
        self._free = _free(self._walls, size)

    @property
    def traits(self) -> tuple[Trait, ...]:
        """`x0`, `y0`, `x1`, …: column and row of the upper left cell of each square."""
        places = tuple(float(cell) for cell in range(self.cells - self.size + 1))
        return tuple(
            Trait(f"{axis}{square}", "ordinal", "cells", places)
            for square in range(self.objects)
            for axis in ("x", "y")
        )

    @property
    def actions(self) -> Discrete:
        """Four moves per square."""
        return Discrete(4 * self.objects)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, and three channels or one."""
        side = self.cells * self.scale
        return side, side, 3 if self.colours == "channels" else 1

    @property
    def settings(self) -> dict[str, str]:
        """Everything that images and moves depend on."""
        return {
            "world": "GridMaze" if self.maze else "GridObjects",
            "pictures": str(VERSION),
            "cells": str(self.cells),
            "objects": str(self.objects),
            "size": str(self.size),
            "scale": str(self.scale),
            "colours": self.colours,
            "length": str(self.length),
        }

    @property
    def count(self) -> int:
        """Number of states."""
        return int(self._free.sum()) ** self.objects

    def states(self) -> States:
        """All states in ascending order, the last factor fastest, shape (count, factor)."""
        # free positions by column, then by row, in the order of the factors
        places = np.argwhere(self._free.T)
        numbers = np.indices((len(places),) * self.objects).reshape(self.objects, -1)
        return np.concatenate([places[index] for index in numbers], axis=1).astype(np.float64)

    def start(self, draws: np.random.Generator) -> States:
        """Draws a free position for each square uniformly.

        Args:
            draws: Random numbers of the copy.
        """
        places = np.argwhere(self._free)[:, ::-1]
        chosen = draws.integers(len(places), size=self.objects)
        return places[chosen].reshape(1, -1).astype(np.float64)

    def step(
        self, states: States, actions: npt.NDArray[Any], draws: Sequence[np.random.Generator]
    ) -> Step:
        """Moves one square of each copy, if nothing blocks it.

        Args:
            states: Positions of the squares.
            actions: Numbers of the actions.
            draws: Not used.
        """
        rows, square = np.arange(len(states)), actions // 4
        places = states.reshape(len(states), self.objects, 2).astype(np.int64)
        moved = places[rows, square] + _MOVES[actions % 4]
        inside = ((moved >= 0) & (moved <= self.cells - self.size)).all(axis=1)
        clipped = np.clip(moved, 0, self.cells - self.size)
        allowed = inside & self._free[clipped[:, 1], clipped[:, 0]]
        places[rows[allowed], square[allowed]] = moved[allowed]
        after = places.reshape(len(states), -1).astype(np.float64)
        return Step(after, np.zeros(len(states)), np.zeros(len(states), np.bool_))

    def draw(self, states: States) -> Frames:
        """Renders white, or red, green and blue, squares on black; walls are dark grey.

        Args:
            states: Positions of the squares.
        """
        channels = self.image_shape[2]
        grid = np.zeros((len(states), self.cells, self.cells, channels), np.uint8)
        grid[:, self._walls] = _WALL
        places = states.reshape(len(states), self.objects, 2).astype(np.int64)
        rows = np.arange(len(states))[:, None, None]
        span = np.arange(self.size)
        for square in range(self.objects):
            x, y = places[:, square, 0, None, None], places[:, square, 1, None, None]
            grid[rows, y + span[:, None], x + span, square % channels] = 255
        return grid.repeat(self.scale, axis=1).repeat(self.scale, axis=2)


def _four_rooms(cells: int, door: int) -> npt.NDArray[np.bool_]:
    """Walls that divide the grid into four rooms, with a door at the centre of each half wall."""
    walls, middle = np.zeros((cells, cells), np.bool_), cells // 2
    walls[middle], walls[:, middle] = True, True
    for start, stop in ((0, middle), (middle + 1, cells)):
        first = start + (stop - start - door) // 2
        walls[middle, first : first + door] = False
        walls[first : first + door, middle] = False
    return walls


def _free(walls: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.bool_]:
    """Possible positions of the upper left cell of a square, by row and column."""
    windows = np.lib.stride_tricks.sliding_window_view(walls, (size, size))
    return np.asarray(~windows.any(axis=(2, 3)))
