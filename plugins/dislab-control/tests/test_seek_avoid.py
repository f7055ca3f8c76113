from typing import Any

import numpy as np
import pytest

from dislab.errors import InputError
from dislab_control.seek_avoid import PAIRS, SeekAvoid
from dislab_control.worlds import world_of

FORWARD, LEFT, RIGHT, BACK = range(4)
FAR = [2.0, 2.0, -2.0, 2.0, 2.0, -2.0, -2.0, -2.0]
"""Places of two balls and two cubes in the corners."""


def draws(seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(seed)]


def stepped(state: list[float], action: int) -> tuple[np.ndarray[Any, Any], float]:
    after = SeekAvoid().step(np.array([state]), np.array([action]), draws())
    return after.states[0], float(after.rewards[0])


@pytest.mark.parametrize(
    ("pose", "action", "after"),
    [
        ((0, 0, 0), FORWARD, (0.5, 0, 0)),
        ((0, 0, 0), BACK, (-0.5, 0, 0)),
        ((0, 0, np.pi / 2), FORWARD, (0, 0.5, np.pi / 2)),
        ((0, 0, 0), LEFT, (0, 0, np.pi / 6)),
        ((0, 0, 0), RIGHT, (0, 0, 11 * np.pi / 6)),
        ((2.6, 0, 0), FORWARD, (2.7, 0, 0)),
    ],
)
def test_an_action_turns_or_moves_the_agent_up_to_the_walls(
    pose: tuple[float, ...], action: int, after: tuple[float, ...]
) -> None:
    state, reward = stepped([*pose, 0, 1, *FAR], action)
    assert np.allclose(state[:3], after, atol=1e-12)
    assert list(state[5:]) == FAR
    assert reward == 0


@pytest.mark.parametrize(("index", "value"), [(0, 1), (1, 1), (2, -1), (3, -1)])
def test_a_touched_object_gives_its_value_and_appears_away_from_everything(
    index: int, value: int
) -> None:
    places = np.array(FAR).reshape(-1, 2)
    places[index] = (1.05, 0)
    state, reward = stepped([0, 0, 0, 0, 1, *places.ravel()], FORWARD)
    assert reward == value
    positions = state[5:].reshape(-1, 2)
    assert np.linalg.norm(positions[index] - state[:2]) >= 1.2
    others = np.delete(positions, index, axis=0)
    assert (others == np.delete(places, index, axis=0)).all()
    assert np.linalg.norm(others - positions[index], axis=1).min() >= 0.75


def test_an_object_just_out_of_reach_gives_nothing() -> None:
    places = [1.15, 0, *FAR[2:]]
    assert stepped([0, 0, 0, 0, 1, *places], FORWARD)[1] == 0


@pytest.mark.parametrize("domain", PAIRS)
def test_a_domain_has_its_pairs_of_hues_and_no_others(domain: str) -> None:
    world = world_of("SeekAvoid", {"domain": domain})
    starts = [world.start(np.random.default_rng(seed))[0] for seed in range(100)]
    assert {(int(state[3]), int(state[4])) for state in starts} == set(PAIRS[domain])


def test_target_pairs_are_new_ones_of_hues_that_the_source_has() -> None:
    source, target = set(PAIRS["source"]), set(PAIRS["target"])
    assert not source & target
    for side in (0, 1):
        assert {pair[side] for pair in target} == {pair[side] for pair in source}
    assert not {pair[0] for pair in PAIRS["new-wall-hue"]} & {pair[0] for pair in source}
    assert not {pair[1] for pair in PAIRS["new-object-hue"]} & {pair[1] for pair in source}


def image(pose: list[float], wall: int, thing: int, places: list[float]) -> np.ndarray[Any, Any]:
    frames = SeekAvoid(samples=2).draw(np.array([[*pose, wall, thing, *places]]))
    return np.asarray(frames[0], dtype=np.int64)


def test_an_object_ahead_is_in_the_middle_and_one_to_the_left_on_the_left() -> None:
    empty = image([0, 0, 0], 0, 1, [-2.0, 2, -2, 1, -2, 0, -2, -1])
    for position, side in (((2.0, 0.0), 0), ((2.0, 0.9), -1), ((2.0, -0.9), 1)):
        frame = image([0, 0, 0], 0, 1, [*position, -2, 1, -2, 0, -2, -1])
        columns = np.nonzero((frame != empty).any(axis=(0, 2)))[0]
        # 64 pixels span 2 tan(40°) at distance 1
        middle = 31.5 - position[1] / position[0] / np.tan(np.radians(40)) * 32
        assert columns.mean() == pytest.approx(middle, abs=1.5)
        assert np.sign(round(columns.mean() - 31.5)) == side


def test_an_object_behind_the_agent_is_not_seen() -> None:
    behind = [-2.0, 2, -2, 1, -2, 0, -2, -1]
    assert np.array_equal(image([0, 0, 0], 0, 1, behind), image([0, 0, 0], 0, 2, behind))


@pytest.mark.parametrize(("wall", "thing"), [(0, 1), (3, 0), (4, 5)])
def test_walls_and_objects_have_their_hues(wall: int, thing: int) -> None:
    colours = np.array(
        [
            (225, 50, 45),
            (60, 190, 70),
            (235, 210, 50),
            (70, 100, 235),
            (200, 80, 210),
            (70, 200, 215),
        ]
    )
    picture = image([0, 0, 0], wall, thing, [1.5, 0, -2, 1, -2, 0, -2, -1])
    # the eye is at 0.6, the top of the ball at 0.7
    for pixel, hue in ((picture[34, 31], thing), (picture[28, 2], wall)):
        ratio = pixel / colours[hue]
        assert ratio.max() - ratio.min() < 0.02


def test_a_half_turn_of_agent_and_objects_leaves_the_picture() -> None:
    places = np.array([2.0, 0.4, 1.5, -0.8, -2, 2, -2, -2])
    first = image([0.5, 0.2, 0.1], 0, 1, places.tolist())
    second = image([-0.5, -0.2, 0.1 + np.pi], 0, 1, (-places).tolist())
    assert (np.abs(first - second) <= 1).mean() > 0.99


def test_images_do_not_depend_on_those_drawn_with_them() -> None:
    world = SeekAvoid()
    states = np.concatenate([world.start(np.random.default_rng(seed)) for seed in range(70)])
    together = world.draw(states)
    assert all(np.array_equal(together[[k]], world.draw(states[[k]])) for k in (0, 31, 32, 69))


def test_random_actions_earn_nothing_on_average() -> None:
    world, copies = SeekAvoid(), 200
    generators = [np.random.default_rng(seed) for seed in range(copies)]
    states = np.concatenate([world.start(generator) for generator in generators])
    total, chance = np.zeros(copies), np.random.default_rng(0)
    for _ in range(world.length):
        states, rewards, _ = world.step(states, chance.integers(4, size=copies), generators)
        total += rewards
    assert abs(total.mean()) < 4 * total.std() / copies**0.5
    assert total.std() > 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"domain": "targe"},
            r"domain is 'targe' \(did you mean target\?\); choose one of source, target, new-wall",
        ),
        ({"objects": 1}, "objects is 1"),
        ({"objects": 5}, "objects is 5; it must be even"),
        ({"objects": 8}, "objects is 8"),
        ({"samples": 0}, "samples is 0"),
        ({"domian": "target"}, r"SeekAvoid has no setting 'domian' \(did you mean domain\?\)"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        world_of("SeekAvoid", settings)
