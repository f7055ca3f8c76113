from typing import Any

import numpy as np
import pytest
import torch

from dislab.datasets import RobotFinger
from dislab.datasets.robot_finger.scene import feasible, tip, tip_gap
from dislab.errors import InputError
from dislab_control.finger_reach import FingerReach
from dislab_control.worlds import world_of

JOINTS = [0.0, 0.0, 0.0, 0.78]
"""Hue, and joints that leave the tip just above the floor."""
NEAR = 0.16 * np.sin(0.78) + 0.0125 + 0.0325
"""y of a cube whose side touches the tip."""


def draws(seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(seed)]


def starts(domain: str, count: int = 60) -> np.ndarray[Any, Any]:
    world = world_of("FingerReach", {"domain": domain})
    return np.concatenate([world.start(np.random.default_rng(seed)) for seed in range(count)])


def test_a_turn_moves_its_joint_and_earns_what_the_tip_came_nearer() -> None:
    state = np.array([[*JOINTS, 0.0, -0.08, 0.0]])
    after, rewards, ended = FingerReach().step(state, np.array([[0.0, 0.0, 0.1]]), draws())
    assert np.allclose(after[0], [0, 0, 0, 0.79, 0, -0.08, 0])
    # the lower link of 0.16 swings in the plane x = 0 about a joint at a height of 0.13
    assert np.allclose(tip(state)[0], [0, 0.16 * np.sin(0.78), 0.13 - 0.16 * np.cos(0.78)])
    assert rewards[0] == pytest.approx(10 * (tip_gap(state) - tip_gap(after))[0])
    assert rewards[0] < 0
    assert not ended[0]


@pytest.mark.parametrize("height", [0.78, 1.3])
def test_the_gap_is_that_of_ball_and_cube(height: float) -> None:
    state = np.array([[0.0, 0.0, 0.0, height, 0.0, -0.1, 0.0]])
    y, z = 0.16 * np.sin(height), 0.13 - 0.16 * np.cos(height)
    beyond = [y - (-0.1 + 0.0325), max(abs(z - 0.0325) - 0.0325, 0)]
    assert tip_gap(state)[0] == pytest.approx(np.hypot(*beyond) - 0.0125)


@pytest.mark.parametrize(
    ("joints", "cube", "action", "after"),
    [
        ((0.62, 0.0, 0.79), -0.1, (1, 0, 0), (0.65, 0, 0.79)),
        ((0.0, 0.0, 0.79), -0.1, (9, 0, 0), (0.1, 0, 0.79)),
        # the tip would be in the floor
        ((0.0, 0.0, 0.79), -0.1, (0, 0, -1), (0, 0, 0.79)),
        # the near side of the cube is 10 mm beyond the tip, which would move by 27 mm
        ((0.0, 0.0, 0.78), NEAR + 0.010, (0, -1, 0), (0, 0, 0.78)),
    ],
)
def test_joints_stay_in_reach_and_out_of_floor_and_cube(
    joints: tuple[float, ...], cube: float, action: tuple[float, ...], after: tuple[float, ...]
) -> None:
    state = np.array([[0.0, *joints, 0.0, cube, 0.0]])
    assert feasible(state)[0]
    stepped = FingerReach().step(state, np.array([action]), draws()).states[0]
    assert np.allclose(stepped[1:4], after)
    assert feasible(stepped[None])[0]


def test_a_touch_earns_one_more_and_the_cube_appears_elsewhere() -> None:
    state = np.array([[*JOINTS, 0.0, NEAR + 0.003, 0.0]])
    assert tip_gap(state)[0] == pytest.approx(0.003)
    after, rewards, _ = FingerReach().step(state, np.zeros((1, 3)), draws())
    assert rewards[0] == 1
    assert tip_gap(after)[0] >= 0.03
    assert feasible(after)[0]
    assert np.array_equal(after[0, :4], state[0, :4])


@pytest.mark.parametrize("domain", FingerReach.domains)
def test_a_domain_has_its_hues_and_places(domain: str) -> None:
    states = starts(domain)
    assert feasible(states).all()
    held_out = np.isin(states[:, 0], (30, 60, 90, 240))
    corner = (states[:, 4:6] > 0).all(axis=1)
    assert (held_out == (domain == "new-cube-hue")).all()
    assert (corner == (domain == "new-cube-place")).all()


def test_pictures_are_those_of_the_data_set() -> None:
    data = RobotFinger(states=3)
    data.prepare()
    states = data.values(np.arange(3))
    images = FingerReach().draw(states).transpose(0, 3, 1, 2)
    assert np.array_equal(images, data.images(torch.arange(3)).numpy())


def test_factors_as_seen_have_the_way_to_the_cube() -> None:
    state = np.array([[90.0, 0.0, 0.0, 0.5, 0.05, -0.02, np.pi / 8]])
    factors = FingerReach().seen(state)[0]
    assert np.allclose(factors[6:8], [0.5, -0.2])
    assert np.allclose(factors[3:5] + factors[8:10], factors[6:8])
    assert np.allclose(factors[10:], [0, 0, 1, 1], atol=1e-6)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"domain is 'new-cube-hues' \(did you mean new-cube-hue"):
        world_of("FingerReach", {"domain": "new-cube-hues"})
    with pytest.raises(InputError, match="length is 0"):
        FingerReach(length=0)
