import numpy as np
import pytest

from dislab.datasets._dsprites_render import render, render_block
from dislab.errors import InputError

Frames = tuple[np.ndarray, np.ndarray]


def test_agrees_with_published_frames(frames: Frames) -> None:
    published, positions = frames
    drawn = render(positions)
    wrong = (drawn != published).sum(axis=(1, 2))
    assert (wrong == 0).sum() == 316
    assert wrong.sum() == 8
    union = (drawn | published).sum(axis=(1, 2))
    overlap = (drawn & published).sum(axis=(1, 2)) / union
    assert overlap.min() > 0.989
    for shape, mean in ((0, 1.0), (1, 1.0), (2, 0.99977)):
        assert overlap[positions[:, 0] == shape].mean() == pytest.approx(mean, abs=5e-6)


@pytest.mark.parametrize("form", [(0, 0, 0), (0, 5, 20), (1, 3, 11), (2, 5, 39), (2, 2, 17)])
def test_block_equals_single_images(form: tuple[int, int, int]) -> None:
    places = [(*form, x, y) for x in range(32) for y in range(32)]
    assert np.array_equal(render_block(form), render(places))


def test_square_of_full_size_is_a_square() -> None:
    image = render([(0, 5, 0, 0, 0)])[0]
    # its centre is (16, 16) and half its side 9.5984: pixel centres 6.5 to 25.5 lie inside
    expected = np.zeros((64, 64), dtype=bool)
    expected[7:25, 7:25] = True
    expected[6:26, 6:26] = True
    assert np.array_equal(image, expected)


def test_places_move_the_image_without_changing_it() -> None:
    corner, right, below = render([(2, 4, 7, 0, 0), (2, 4, 7, 31, 0), (2, 4, 7, 0, 31)])
    assert np.array_equal(np.roll(corner, 32, axis=1), right)
    assert np.array_equal(np.roll(corner, 32, axis=0), below)


def test_a_whole_turn_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    states = rng.integers((3, 6, 1, 32, 32), size=(50, 5))
    turned = states.copy()
    states[:, 2], turned[:, 2] = 0, 39
    assert np.array_equal(render(states), render(turned))


def test_order_and_repetition_of_states_do_not_matter() -> None:
    states = np.array([(2, 1, 5, 3, 9), (0, 4, 8, 30, 2), (2, 1, 5, 7, 1), (2, 1, 5, 3, 9)])
    alone = np.concatenate([render(state[None]) for state in states])
    assert np.array_equal(render(states), alone)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([(0, 0, 0, 0)], r"not \(1, 4\)"),
        ([0, 0, 0, 0, 0], r"not \(5,\)"),
        ([(0, 6, 0, 0, 0)], r"lie below \(3, 6, 40, 32, 32\)"),
        ([(0, -1, 0, 0, 0)], "lie below"),
    ],
)
def test_refuses_what_is_no_state(positions: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        render(positions)  # type: ignore[arg-type]
