import numpy as np
import pytest
import torch

from dislab.datasets import RobotFinger
from dislab.datasets.robot_finger.scene import CUBE, FingerScene, feasible, tip, tip_gap


@pytest.mark.slow
def test_a_scene_draws_the_images_of_the_data_set_one_by_one() -> None:
    data = RobotFinger(states=3)
    data.prepare()
    states, scene = data.values(np.arange(3)), FingerScene()
    expected = data.images(torch.arange(3)).numpy()
    assert feasible(states).all()
    for number in range(3):
        assert np.array_equal(scene.draw(states[[number]])[0], expected[number])


@pytest.mark.parametrize("angle", [0.78, 1.3])
def test_tip_and_gap_are_those_of_links_and_cube(angle: float) -> None:
    # the lower link of 0.16 m swings in the plane x = 0 about a joint at a height of 0.13 m
    state = np.array([[0.0, 0.0, 0.0, angle, 0.0, -0.1, 0.0]])
    y, z = 0.16 * np.sin(angle), 0.13 - 0.16 * np.cos(angle)
    assert np.allclose(tip(state), [[0, y, z]])
    beyond = np.hypot(y + 0.1 - CUBE / 2, max(abs(z - CUBE / 2) - CUBE / 2, 0))
    assert tip_gap(state) == pytest.approx([beyond - 0.0125])
