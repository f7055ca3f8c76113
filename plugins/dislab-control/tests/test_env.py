import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dislab_control
from dislab.errors import InputError
from dislab_control.registration import environment
from dislab_control.worlds import WORLDS

ENVIRONMENTS: list[tuple[str, dict[str, Any]]] = [
    ("dislab/GridObjects-v0", {}),
    ("dislab/GridObjects-v0", {"colours": "grey", "objects": 3, "cells": 16, "scale": 4}),
    ("dislab/GridMaze-v0", {}),
    ("dislab/SeekAvoid-v0", {}),
    ("dislab/FingerReach-v0", {}),
    ("dislab/ShapesRoom-v0", {}),
    ("dislab/SeekAvoid-v0", {"domain": "new-wall-hue", "samples": 2}),
]


def build(name: str, settings: dict[str, Any]) -> Any:
    return gym.make(name, **settings).unwrapped


def rollout(env: Any, seed: int, steps: int = 12) -> list[Any]:
    """Images, factors and rewards of random actions, which depend on nothing but the seed."""
    env.action_space.seed(seed)
    image, info = env.reset(seed=seed)
    observations = [image, info["factors"]]
    for _ in range(steps):
        image, reward, _, _, info = env.step(env.action_space.sample())
        observations += [image, info["factors"], np.array(reward)]
    return observations


def equal(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_every_environment_is_among_those_tested() -> None:
    names = {environment(world) for world in WORLDS}
    assert {name for name, _ in ENVIRONMENTS} == names
    assert names <= set(gym.registry)


@pytest.mark.parametrize(("name", "settings"), ENVIRONMENTS)
def test_gymnasium_accepts_the_environment(name: str, settings: dict[str, Any]) -> None:
    check_env(build(name, settings))


@pytest.mark.parametrize(("name", "settings"), ENVIRONMENTS)
def test_the_seed_decides_an_episode(name: str, settings: dict[str, Any]) -> None:
    first = rollout(build(name, settings), 5)
    assert equal(first, rollout(build(name, settings), 5))
    assert not equal(first, rollout(build(name, settings), 6))


@pytest.mark.parametrize(("name", "settings"), ENVIRONMENTS)
def test_the_factors_of_the_information_decide_the_image(
    name: str, settings: dict[str, Any]
) -> None:
    env = build(name, {**settings, "render_mode": "rgb_array"})
    images, factors = (rollout(env, 1)[start::3] for start in (2, 3))
    assert len(env.factor_names) == len(factors[0])
    together = env.world.draw(np.stack(factors))
    assert np.array_equal(together, np.stack(images))
    assert np.array_equal(env.render(), np.broadcast_to(images[-1], env.render().shape))
    assert env.render().shape[2] == 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), ENVIRONMENTS)
def test_factors_stay_among_their_values(name: str, settings: dict[str, Any]) -> None:
    env = build(name, settings)
    seen = np.stack(rollout(env, 2, steps=100)[3::3])
    for column, trait in enumerate(env.world.traits):
        factor, position = trait.factor(seen[:, column])
        assert np.allclose(factor.numbers[position], seen[:, column], atol=1e-9), trait.name


@pytest.mark.parametrize(("name", "settings"), ENVIRONMENTS)
def test_an_episode_is_cut_off_after_its_length(name: str, settings: dict[str, Any]) -> None:
    env = build(name, {**settings, "length": 3})
    env.reset(seed=0)
    assert [env.step(action)[3] for action in _still(env, 3)] == [False, False, True]
    env.reset()
    assert not env.step(_still(env, 1)[0])[3]


def _still(env: Any, count: int) -> list[Any]:
    space = env.action_space
    return [np.zeros(space.shape, space.dtype) if space.shape else 0] * count


def test_a_step_before_reset_and_an_unknown_render_mode_are_refused() -> None:
    env = dislab_control.WorldEnv(dislab_control.GridObjects())
    with pytest.raises(gym.error.ResetNeeded, match="call reset before step"):
        env.step(0)
    with pytest.raises(InputError, match="render_mode is 'human'; choose one of rgb_array"):
        dislab_control.WorldEnv(dislab_control.GridObjects(), "human")


def test_gymnasium_shows_the_refusal_of_a_setting() -> None:
    with pytest.raises(InputError, match=r"domain is 'sauce' \(did you mean source\?\)"):
        gym.make("dislab/SeekAvoid-v0", domain="sauce")
    with pytest.raises(InputError, match=r"no setting 'cell' \(did you mean cells\?\)"):
        gym.make_vec("dislab/GridMaze-v0", cell=9)


@pytest.mark.slow
def test_gymnasium_imports_the_package_that_a_name_mentions() -> None:
    code = "import gymnasium; gymnasium.make('dislab_control:dislab/GridObjects-v0')"
    subprocess.run([sys.executable, "-c", code], check=True)
