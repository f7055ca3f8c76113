from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from dislab.errors import InputError
from dislab_control import GridObjects, WorldEnv, WorldVectorEnv, world_of

COPIES = 3
WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("GridObjects", {"length": 4}),
    ("GridMaze", {"length": 4, "colours": "grey"}),
    ("SeekAvoid", {"length": 4}),
]


@pytest.mark.parametrize(("name", "settings"), WORLDS)
def test_copies_do_what_single_environments_of_gymnasium_do(
    name: str, settings: dict[str, Any]
) -> None:
    world = world_of(name, settings)
    ours = WorldVectorEnv(world, COPIES)
    theirs = SyncVectorEnv(
        [lambda: WorldEnv(world)] * COPIES, autoreset_mode=AutoresetMode.SAME_STEP
    )
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert_same(ours.reset(seed=7), theirs.reset(seed=7))
    theirs.action_space.seed(0)
    # two whole episodes and the start of a third
    for _ in range(9):
        actions = theirs.action_space.sample()
        assert_same(ours.step(actions), theirs.step(actions))


def assert_same(first: Any, second: Any) -> None:
    """Arrays, tuples and dictionaries with the same keys and numbers."""
    if isinstance(first, tuple):
        for part, reference in zip(first, second, strict=True):
            assert_same(part, reference)
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same(first[key], second[key])
    elif getattr(first, "dtype", np.dtype(float)).kind == "O":
        for part, reference in zip(first, second, strict=True):
            assert_same(part, reference)
    else:
        assert np.array_equal(first, second)


def test_a_list_of_seeds_may_leave_copies_out() -> None:
    env = WorldVectorEnv(GridObjects(cells=64), 2)
    first = env.reset(seed=[3, 4])[1]["factors"]
    second = env.reset(seed=[3, None])[1]["factors"]
    assert (first[0] == second[0]).all()
    assert (first[1] != second[1]).any()


def test_gymnasium_makes_the_batch_with_the_settings_of_the_world() -> None:
    env: Any = gym.make_vec("dislab/SeekAvoid-v0", num_envs=5, domain="target", objects=2)
    assert isinstance(env.unwrapped, WorldVectorEnv)
    assert env.reset(seed=0)[0].shape == (5, 64, 64, 3)
    assert env.unwrapped.world.settings["domain"] == "target"


def test_pictures_of_the_copies_have_three_channels() -> None:
    env = WorldVectorEnv(GridObjects(colours="grey"), 2, "rgb_array")
    images = env.reset(seed=0)[0]
    assert [image.shape for image in env.render()] == [(12, 12, 3)] * 2
    assert np.array_equal(env.render()[1][..., 2], images[1, ..., 0])


def test_misuse_is_refused() -> None:
    world = GridObjects()
    with pytest.raises(InputError, match="num_envs is 0"):
        WorldVectorEnv(world, 0)
    with pytest.raises(InputError, match="render_mode is 'human'"):
        WorldVectorEnv(world, 2, "human")
    env = WorldVectorEnv(world, 2)
    with pytest.raises(gym.error.ResetNeeded, match="call reset before step"):
        env.step(np.zeros(2, np.int64))
    with pytest.raises(InputError, match="there are 3 seeds for 2 copies"):
        env.reset(seed=[1, 2, 3])
