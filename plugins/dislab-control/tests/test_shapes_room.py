from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
import torch

from dislab.datasets import Shapes3D
from dislab.errors import InputError
from dislab_control.observations import observer
from dislab_control.shapes_room import ShapesRoom, to_go
from dislab_control.worlds import world_of

NEARER, BACK, LEFT, RIGHT = range(4)
WARM, COLD = 2.0, 3.0
"""Hues of cubes on the two sides of the border."""


def draws(count: int = 1) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(count)]


def starts(domain: str, count: int = 400) -> np.ndarray[Any, Any]:
    world = world_of("ShapesRoom", {"domain": domain})
    return np.concatenate([world.start(generator) for generator in draws(count)])


def pairs(states: np.ndarray[Any, Any]) -> set[tuple[int, int]]:
    return {(int(wall), int(cube)) for wall, cube in states[:, 1:3]}


@pytest.mark.parametrize(
    ("action", "size", "turn"),
    [(NEARER, 4, 10), (BACK, 2, 10), (LEFT, 3, 9), (RIGHT, 3, 11)],
)
@pytest.mark.parametrize("cube", [WARM, COLD])
def test_an_action_earns_a_tenth_if_the_goal_comes_nearer(
    action: int, size: float, turn: float, cube: float
) -> None:
    state = np.array([[0.0, 1.0, cube, 3.0, 10.0]])
    after, rewards, ended = ShapesRoom().step(state, np.array([action]), draws())
    assert np.array_equal(after, [[0, 1, cube, size, turn]])
    nearer = {NEARER: cube == WARM, BACK: cube == COLD, LEFT: True, RIGHT: False}
    assert rewards[0] == pytest.approx(0.1 if nearer[action] else -0.1)
    assert not ended[0]


@pytest.mark.parametrize(
    ("action", "size", "turn"), [(NEARER, 7, 0), (LEFT, 7, 0), (BACK, 0, 14), (RIGHT, 0, 14)]
)
def test_sizes_and_angles_have_ends(action: int, size: float, turn: float) -> None:
    state = np.array([[0.0, 1.0, WARM, size, turn]])
    after, rewards, _ = ShapesRoom().step(state, np.array([action]), draws())
    assert np.array_equal(after, state)
    assert rewards[0] == 0


@pytest.mark.parametrize(
    ("cube", "size", "action"), [(WARM, 6.0, NEARER), (COLD, 1.0, BACK), (WARM, 7.0, LEFT)]
)
def test_the_goal_earns_one_more_and_a_new_room_begins(
    cube: float, size: float, action: int
) -> None:
    state = np.array([[0.0, 1.0, cube, size, 8.0 if action == LEFT else 7.0]])
    after, rewards, _ = ShapesRoom().step(state, np.array([action]), draws())
    assert rewards[0] == pytest.approx(1.1)
    assert to_go(after)[0] >= 4


def test_domains_differ_in_pairs_of_hues() -> None:
    source, target, new = map(starts, ("source", "target", "new-hues"))
    assert pairs(source) == pairs(starts("evening"))
    assert pairs(source) | pairs(target) == set(product(range(6), range(6)))
    assert not pairs(source) & pairs(target)
    for wall in range(6):
        cubes = [cube for there, cube in pairs(source) if there == wall]
        assert len(cubes) == 2
        assert min(cubes) < 3 <= max(cubes)
    assert set(new[:, 0]) == set(new[:, 1]) == {6, 7, 8, 9}
    assert set(new[:, 2]) == set(source[:, 2]) == set(source[:, 0]) == set(range(6))


@pytest.mark.parametrize("look", ["published", "evening"])
def test_pictures_are_those_of_the_data_set_at_half_their_size(
    look: Literal["published", "evening"],
) -> None:
    data = Shapes3D(look=look)
    data.prepare()
    states = starts("evening" if look == "evening" else "source", 3)
    rows = np.insert(states, 4, 0, axis=1).astype(np.int64)  # a cube
    images = data.images(torch.as_tensor(data.factors.index(rows))).numpy().astype(float)
    halved = images.reshape(3, 3, 32, 2, 32, 2).mean(axis=(3, 5)).transpose(0, 2, 3, 1)
    drawn = world_of("ShapesRoom", {"domain": "source" if look == "published" else look}).draw(
        states
    )
    assert np.abs(drawn - halved).max() <= 0.5


def test_agents_on_pixels_see_each_pixel_of_a_small_image_repeated() -> None:
    world = ShapesRoom()
    eye, state = observer(world, "pixels"), world.start(np.random.default_rng(0))
    assert eye.space.shape == (3, 64, 64)
    image = world.draw(state).transpose(0, 3, 1, 2)
    assert np.array_equal(eye.observe(state), image.repeat(2, axis=2).repeat(2, axis=3))


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"domain is 'new-hue' \(did you mean new-hues"):
        world_of("ShapesRoom", {"domain": "new-hue"})
    with pytest.raises(InputError, match="length is 0"):
        ShapesRoom(length=0)
