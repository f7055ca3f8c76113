from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.runs import load_run
from dislab_control.batch_env import BatchEnv
from dislab_control.observations import observer
from dislab_control.seek_avoid import SeekAvoid
from dislab_control.world import States

LENGTH = 3


def small() -> SeekAvoid:
    return SeekAvoid(length=LENGTH)


def test_a_copy_does_the_same_as_a_single_environment_of_gymnasium() -> None:
    world, actions = small(), np.random.default_rng(0).integers(4, size=(2 * LENGTH + 1, 2))
    together = BatchEnv(world, observer(world, "pixels"), 2)
    together.seed(5)
    batch: Any = together.reset()
    for copy in range(2):
        single: Any = gym.make("dislab/SeekAvoid-v0", length=LENGTH).unwrapped
        image, _ = single.reset(seed=5 + copy)
        assert np.array_equal(batch[copy], image.transpose(2, 0, 1))
    seen: list[Any] = [together.step(row) for row in actions]
    for copy in range(2):
        single = gym.make("dislab/SeekAvoid-v0", length=LENGTH).unwrapped
        single.reset(seed=5 + copy)
        total = 0.0
        for row, (images, rewards, done, information) in zip(actions, seen, strict=True):
            image, reward, _, over, _ = single.step(row[copy])
            total += reward
            assert (rewards[copy], done[copy]) == (reward, over)
            if over:
                info = information[copy]
                assert np.array_equal(info["terminal_observation"], image.transpose(2, 0, 1))
                assert info["TimeLimit.truncated"]
                assert info["episode"] == {"r": total, "l": LENGTH}
                (image, _), total = single.reset(), 0.0
            else:
                assert information[copy] == {}
            assert np.array_equal(images[copy], image.transpose(2, 0, 1))


def test_factors_are_those_of_the_nearest_objects_in_view() -> None:
    # agent at the origin, looking along y; a ball behind, one ahead to the left at distance 2.5
    places = [0.0, -2.0, -1.5, 2.0, 2.5, 0.0, 2.5, -2.5]
    state = np.array([[0.0, 0.0, np.pi / 2, 2, 3, *places]])
    factors = SeekAvoid().seen(state)[0]
    assert np.allclose(factors[:4], [1, 0.8, 0.6, 2.5 / 3], atol=1e-6)
    assert np.allclose(factors[4:8], 0)  # both cubes are beside the agent
    assert np.allclose(factors[8:12], [0, 0, 0, 1], atol=1e-6)
    assert factors[12:18].argmax() == 2
    assert factors[18:24].argmax() == 3
    assert factors[12:].sum() == 2


def test_of_two_objects_in_view_the_nearer_one_is_seen() -> None:
    places = [2.5, 0.0, 1.5, 0.0, 2.0, 0.2, 1.0, -0.2]
    factors = SeekAvoid().seen(np.array([[0.0, 0.0, 0.0, 0, 1, *places]]))[0]
    assert factors[3] == pytest.approx(0.5)
    assert factors[7] == pytest.approx(np.hypot(1, 0.2) / 3)


def test_observations_of_factors_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: SeekAvoid, states: States) -> None:
        raise AssertionError("drawn")

    monkeypatch.setattr(SeekAvoid, "draw", refuse)
    env = BatchEnv(small(), observer(small(), "factors"), 2)
    assert env.reset().shape == (2, 24)
    for _ in range(LENGTH):
        env.step(np.zeros(2, np.int64))


def test_codes_are_those_of_the_model_and_fresh_weights_give_others(runs: Any) -> None:
    run, world = runs(), small()
    states = np.concatenate([world.start(np.random.default_rng(seed)) for seed in range(3)])
    images = torch.from_numpy(world.draw(states)).permute(0, 3, 1, 2).float() / 255
    codes = observer(world, "codes", run).observe(states)
    assert np.allclose(codes, load_run(run).codes(images).detach().numpy(), atol=1e-6)
    others = [observer(world, "untrained", run, seed).observe(states) for seed in (0, 0, 1)]
    assert np.array_equal(others[0], others[1])
    assert not np.allclose(others[0], others[2])
    assert not np.allclose(others[0], codes)


def test_wrong_observations_are_refused(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"observations is 'code' \(did you mean codes\?\)"):
        observer(small(), "code")
    with pytest.raises(InputError, match="needs the run of a trained model; give encoder"):
        observer(small(), "codes")
    with pytest.raises(InputError, match=r"takes images of 1×64×64, but .* have 3×64×64"):
        observer(small(), "codes", runs("grey", channels=1))
    run = runs()
    monkeypatch.setattr(VAE, "has_codes", False)
    with pytest.raises(InputError, match="VAE has no codes, so no agent can learn on them"):
        observer(small(), "codes", run)


def test_a_batch_goes_on_where_another_one_was() -> None:
    def steps(env: BatchEnv, seed: int, count: int) -> list[Any]:
        draws = np.random.default_rng(seed)
        return [env.step(draws.integers(4, size=2)) for _ in range(count)]

    first = BatchEnv(small(), observer(small(), "factors"), 2)
    first.seed(0)
    first.reset()
    steps(first, 0, 2)
    record = first.record()
    expected = steps(first, 1, 8)
    second = BatchEnv(small(), observer(small(), "factors"), 2)
    second.restore(record)
    for before, after in zip(expected, steps(second, 1, 8), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(before[:3], after[:3], strict=True))
        assert [info.get("episode") for info in before[3]] == [
            info.get("episode") for info in after[3]
        ]
