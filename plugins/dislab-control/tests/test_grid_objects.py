from typing import Any

import numpy as np
import pytest

from dislab.errors import InputError
from dislab_control.grid_objects import GridObjects

NO_DRAWS: list[np.random.Generator] = []
UP, DOWN, LEFT, RIGHT = range(4)


def one_step(world: GridObjects, state: list[float], action: int) -> list[float]:
    after = world.step(np.array([state], dtype=float), np.array([action]), NO_DRAWS)
    return list(after.states[0])


@pytest.mark.parametrize(
    ("state", "action", "after"),
    [
        ([3, 4, 5, 6], UP, [3, 3, 5, 6]),
        ([3, 4, 5, 6], DOWN, [3, 5, 5, 6]),
        ([3, 4, 5, 6], LEFT, [2, 4, 5, 6]),
        ([3, 4, 5, 6], 4 + RIGHT, [3, 4, 6, 6]),
        ([0, 4, 5, 6], LEFT, [0, 4, 5, 6]),
        ([3, 4, 10, 6], 4 + RIGHT, [3, 4, 10, 6]),
        ([3, 4, 3, 5], DOWN, [3, 5, 3, 5]),
    ],
)
def test_an_action_moves_one_square_unless_the_border_blocks_it(
    state: list[float], action: int, after: list[float]
) -> None:
    assert one_step(GridObjects(), state, action) == after


def test_the_maze_blocks_a_square_beside_its_doors_only() -> None:
    world = GridObjects(cells=9, objects=1, size=1, maze=True)
    # the wall is column 4; the doors are in rows 1 and 6
    assert one_step(world, [3, 1], RIGHT) == [4, 1]
    assert one_step(world, [3, 6], RIGHT) == [4, 6]
    assert one_step(world, [3, 2], RIGHT) == [3, 2]


@pytest.mark.parametrize(
    "settings", [{"cells": 9, "size": 2}, {"cells": 12, "size": 2}, {"cells": 5, "size": 1}]
)
def test_every_free_place_of_the_maze_can_be_reached(settings: dict[str, Any]) -> None:
    world = GridObjects(objects=1, maze=True, **settings)
    start = tuple(world.start(np.random.default_rng(0))[0])
    seen, queue = {start}, [start]
    while queue:
        state = queue.pop()
        for action in range(4):
            after = tuple(one_step(world, list(state), action))
            if after not in seen:
                seen.add(after)
                queue.append(after)
    assert len(seen) == world._free.sum()


def test_each_square_is_drawn_in_its_channel_with_its_size_and_scale() -> None:
    world = GridObjects(cells=4, objects=2, size=2, scale=3)
    image = world.draw(np.array([[0.0, 1.0, 2.0, 2.0]]))[0]
    assert image.shape == world.image_shape == (12, 12, 3)
    expected = np.zeros((12, 12, 3), np.uint8)
    expected[3:9, 0:6, 0] = 255
    expected[6:12, 6:12, 1] = 255
    assert (image == expected).all()


def test_grey_squares_share_a_channel() -> None:
    image = GridObjects(cells=4, objects=2, colours="grey").draw(np.array([[0.0, 0, 1, 0]]))[0]
    assert image[:, :, 0].tolist() == [[255, 255, 255, 0]] * 2 + [[0] * 4] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cells": 3}, "cells is 3"),
        ({"objects": 4}, "objects is 4"),
        ({"size": 12}, "size is 12"),
        ({"colours": "gray"}, r"colours is 'gray' \(did you mean grey\?\)"),
        ({"maze": True, "size": 3}, "pass the doors of a maze of 12 cells up to a size of 2"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GridObjects(**settings)
