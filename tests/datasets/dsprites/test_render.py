import numpy as np
import pytest

from dislab.datasets.dsprites._render import filled, packed_block, render
from dislab.errors import InputError

Frames = tuple[np.ndarray, np.ndarray]


def test_published_frames_are_met_in_every_pixel(frames: Frames) -> None:
    published, positions = frames
    assert np.array_equal(render(positions), published)


def polygon(x: list[int], y: list[int]) -> list[str]:
    """The upper left corner of the filling of one polygon, 5×5 pixels."""
    image = np.unpackbits(filled(np.array([x]), np.array([y]))).reshape(64, 64)
    assert image[:5, :5].sum() == image.sum()
    return ["".join(".#"[pixel] for pixel in row) for row in image[:5, :5]]


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        # all four edges go through centres: the left and the lower ones are in
        ([128, 640, 640, 128], [128, 128, 640, 640], [".....", "##...", "##...", ".....", "....."]),
        # the other way round, and from another corner
        ([640, 128, 128, 640], [640, 640, 128, 128], [".....", "##...", "##...", ".....", "....."]),
        # 1/256 pixel to the right and downwards
        ([129, 641, 641, 129], [129, 129, 641, 641], [".....", ".##..", ".##..", ".....", "....."]),
        # a triangle whose slant goes through the centres of (1, 1), (2, 2) and (3, 3)
        ([128, 1152, 128], [128, 1152, 1152], [".....", "#....", "##...", "###..", "####."]),
        # turned over: the slant is a left edge, and its centres are in
        ([128, 1152, 1152], [128, 128, 1152], [".....", ".###.", "..##.", "...#.", "....."]),
        # a part that lies inside twice is outside
        (
            [0, 1280, 1280, 0, 0, 256, 1024, 1024, 256, 256, 0],
            [0, 0, 1280, 1280, 0, 256, 256, 1024, 1024, 256, 0],
            ["#####", "#...#", "#...#", "#...#", "#####"],
        ),
    ],
)
def test_filling_by_hand(x: list[int], y: list[int], expected: list[str]) -> None:
    assert polygon(x, y) == expected


@pytest.mark.parametrize("form", [(0, 0, 0), (0, 5, 20), (1, 3, 11), (2, 5, 39), (2, 2, 17)])
def test_block_equals_single_images(form: tuple[int, int, int]) -> None:
    places = [(*form, x, y) for x in range(32) for y in range(32)]
    block = np.unpackbits(packed_block(form), axis=1).reshape(-1, 64, 64)
    assert np.array_equal(block, render(places))


def test_square_of_full_size_is_a_square() -> None:
    image = render([(0, 5, 0, 0, 0)])[0]
    # its centre is (16, 16) and half its side 9.6: pixel centres 6.5 to 25.5 lie inside
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
