from typing import Any

import numpy as np
import pytest

from dislab.datasets import RobotFinger
from dislab.datasets.robot_finger.scene import feasible, tip, tip_gap
from dislab.errors import InputError
from dislab_control.finger_reach import FingerReach
from dislab_control.worlds import world_of

STRAIGHT = [0.0, 0.0, 0.0, 0.5]
"""Hue, and joints with the lower link swung away from the floor."""


def draws(seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(seed)]


def starts(domain: str, count: int = 60) -> np.ndarray[Any, Any]:
    world = world_of("FingerReach", {"domain": domain})
    return np.concatenate([world.start(np.random.default_rng(seed)) for seed in range(count)])


def test_a_turn_moves_its_joint_and_earns_what_the_tip_came_nearer() -> None:
    state = np.array([[*STRAIGHT, 0.0, 0.1, 0.0]])
    after, rewards, ended = FingerReach().step(state, np.array([[0.0, 0.0, -1.0]]), draws())
    assert np.allclose(after[0], [0, 0, 0, 0.4, 0, 0.1, 0])
    # the lower link swings in the plane x = 0: y is 0.16 sin of its angle, and joint 1 is at 0
    assert np.allclose(tip(state)[0], [0, 0.16 * np.sin(0.5), 0.13 - 0.16 * np.cos(0.5)])
    assert rewards[0] == pytest.approx(10 * (tip_gap(state) - tip_gap(after))[0])
    assert not ended[0]


def test_the_gap_is_that_of_ball_and_cube() -> None:
    # tip at y 0.0767, z -0.0104 + ...: beside a cube whose near side is 0.0325 from its middle
    state = np.array([[*STRAIGHT, 0.0, -0.1, 0.0]])
    x, y, z = tip(state)[0]
    assert (x, z) == (0, pytest.approx(0.13 - 0.16 * np.cos(0.5)))
    beyond = [y - (-0.1 + 0.0325), max(abs(z - 0.0325) - 0.0325, 0)]
    assert tip_gap(state)[0] == pytest.approx(np.hypot(*beyond) - 0.0125)


@pytest.mark.parametrize(
    ("joints", "action", "after"),
    [
        ((0.62, 0.0, 0.5), (1, 0, 0), (0.65, 0, 0.5)),
        ((0.0, 0.0, 0.5), (9, 0, 0), (0.1, 0, 0.5)),
        # straight down the tip would be in the floor
        ((0.0, 0.0, 0.55), (0, 0, -1), (0, 0, 0.45)),
        ((0.0, 0.0, 0.36), (0, 0, -1), (0, 0, 0.36)),
    ],
)
def test_joints_stay_in_reach_and_out_of_the_floor(
    joints: tuple[float, ...], action: tuple[float, ...], after: tuple[float, ...]
) -> None:
    state = np.array([[0.0, *joints, -0.1, -0.1, 0.0]])
    assert feasible(state)[0]
    found = FingerReach().step(state, np.array([action]), draws()).states[0]
    assert np.allclose(found[1:4], after)
    assert feasible(found[None])[0]


def test_a_touch_earns_one_more_and_the_cube_appears_elsewhere() -> None:
    world = FingerReach()
    near = tip(np.array([[*STRAIGHT, 0.0, 0.0, 0.0]]))[0]
    # the near side of the cube is 3 mm beyond the tip
    place = near[1] + 0.0125 + 0.003 + 0.0325
    state = np.array([[*STRAIGHT, 0.0, place, 0.0]])
    assert tip_gap(state)[0] == pytest.approx(0.003, abs=2e-3)
    after, rewards, _ = world.step(state, np.zeros((1, 3)), draws())
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
    assert np.array_equal(images, data.images(np.arange(3)))


def test_factors_as_seen_have_the_way_to_the_cube() -> None:
    state = np.array([[90.0, 0.0, 0.0, 0.5, 0.05, -0.02, np.pi / 8]])
    found = FingerReach().seen(state)[0]
    assert np.allclose(found[6:8], [0.5, -0.2])
    assert np.allclose(found[3:5] + found[8:10], found[6:8])
    assert np.allclose(found[10:], [0, 0, 1, 1], atol=1e-6)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"domain is 'new-cube-hues' \(did you mean new-cube-hue"):
        world_of("FingerReach", {"domain": "new-cube-hues"})
    with pytest.raises(InputError, match="length is 0"):
        FingerReach(length=0)
