import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.datamodules import PairedData
from dislab.datasets import RobotFinger, RobotFingerPseudoReal
from dislab.datasets.raycast import casting
from dislab.datasets.robot_finger import _render as renderer
from dislab.datasets.robot_finger import robot_finger_pseudo_real as sensor
from dislab.datasets.robot_finger._states import FACTORS, feasible, sample, values
from dislab.errors import InputError
from dislab.testing import check_dataset


def grid(count: int) -> np.ndarray:
    """Random combinations of the values, feasible or not."""
    sizes = [len(factor) for factor in FACTORS]
    return values(np.random.default_rng(0).integers(sizes, size=(count, 7)))


def test_factors_are_the_published_ones() -> None:
    space = RobotFinger(states=10).factors
    assert space.names == ("color", "joint0", "joint1", "joint2", "x", "y", "angle")
    assert space.sizes == (12, 30, 30, 30, 30, 30, 10)
    ends = [(factor.numbers[0], factor.numbers[-1]) for factor in space.factors]
    assert ends[1:6] == [(-0.65, 0.65), (-0.5, 0.5), (-0.8, 0.8), (-0.11, 0.11), (-0.11, 0.11)]
    assert ends[6] == (0, pytest.approx(0.45 * np.pi))
    # eight and four of twelve hues in steps of 30 degrees
    held = {30, 60, 90, 240}
    assert colours(RobotFinger(states=200, hues="heldout")) == held
    assert colours(RobotFinger(states=400)) == set(range(0, 360, 30)) - held
    assert colours(RobotFinger(states=400, hues="all")) == set(range(0, 360, 30))


def test_some_states_by_hand() -> None:
    #             hue j0 j1 j2 x  y  angle
    hanging = [0.0, 0, 0, 0, 0.1, 0.1, 0]
    # base 0.29, two links of 0.16: hanging straight down the tip would be below the floor
    bent = [0.0, 0, 0.5, 0.5, 0.11, 0.11, 0]
    # middle link at 0.5 rad towards -y, lower one straight down: tip at y = -0.0767, z = -0.0104
    raised = [0.0, 0, 0.5, -0.3, 0.11, 0.11, 0]
    # lower link at 0.8 rad: z = 0.29 - 0.16 cos 0.5 - 0.16 cos 0.8 = 0.0381, y = -0.1915
    touched = [0.0, 0, 0.5, -0.3, 0.0, -0.19, 0]
    # the tip is 0.0381 - 0.0325 above the middle of the cube: inside it
    beside = [0.0, 0, 0.5, -0.3, 0.0455, -0.19, 0]
    # the cube's side is 0.0455 - 0.0325 = 0.013 from the tip's centre, beyond its radius 0.0125
    too_near = [0.0, 0, 0.5, -0.3, 0.0445, -0.19, 0]
    states = np.array([hanging, bent, raised, touched, beside, too_near])
    assert feasible(states).tolist() == [False, False, True, False, True, False]


def test_agrees_with_many_points_of_the_link() -> None:
    state = grid(3000)
    a, b, c = state[:, 1], state[:, 2], state[:, 3]
    along = np.concatenate([np.linspace(0.01, 0.14, 300), [0.16]])
    radius = np.where(along > 0.15, 0.0125, 0.0075)
    y = -0.16 * np.sin(b)[:, None] + np.sin(c - b)[:, None] * along
    down = 0.16 * np.cos(b)[:, None] + np.cos(c - b)[:, None] * along
    x, z = -np.sin(a)[:, None] * down, 0.29 - np.cos(a)[:, None] * down
    dx, dy, dz = x - state[:, 4:5], y - state[:, 5:6], z - 0.0325
    cos, sin = np.cos(state[:, 6:]), np.sin(state[:, 6:])
    beyond = [np.abs(d) - 0.0325 for d in (cos * dx + sin * dy, cos * dy - sin * dx, dz)]
    gap = np.sqrt(sum(np.maximum(d, 0) ** 2 for d in beyond)) - radius
    clear = np.minimum(gap, z - radius).min(axis=1)
    sure = np.abs(clear) > 1e-5
    assert sure.mean() > 0.99
    assert np.array_equal(feasible(state)[sure], clear[sure] > 0)


def test_feasible_fraction_and_correlations() -> None:
    # the paper has 1.52e9 of 2.916e9 states, 52 %, of a finger with more parts
    assert feasible(grid(100_000)).mean() == pytest.approx(0.541, abs=0.005)
    space = sample(20_000, "train", 0)
    correlation = np.asarray(np.corrcoef(space.positions(np.arange(20_000)).T))
    assert correlation[2, 3] == pytest.approx(-0.31, abs=0.03)
    assert np.abs(correlation[1, [2, 3, 6]]).max() < 0.03


def test_same_seed_same_states() -> None:
    tables: list[Any] = [sample(500, "train", 3).table, sample(2000, "train", 3).table]
    assert np.array_equal(tables[0], tables[1][:500])
    assert len(np.unique(tables[1], axis=0)) == 2000
    assert feasible(values(tables[1])).all()
    other: Any = sample(500, "train", 4).table
    assert not np.array_equal(tables[0], other)


@pytest.mark.slow
@pytest.mark.parametrize("partners", [1, 3])
def test_partners_differ_in_exactly_one_factor(partners: int) -> None:
    table: Any = sample(2400, "train", 0, partners).table
    assert len(np.unique(table, axis=0)) == 2400
    assert feasible(values(table)).all()
    assert not np.isin(table[:, 0], (1, 2, 3, 8)).any()
    both = table.reshape(-1, 1 + partners, 7).astype(int)
    differs = both[:, 1:] != both[:, :1]
    assert (differs.sum(axis=2) == 1).all()
    # each factor as likely, but for those that collide more often
    share = differs.mean(axis=(0, 1))
    assert share == pytest.approx(1 / 7, abs=0.03)
    # fewer are the first ones, and a call repeats itself
    fewer: Any = sample(501, "train", 0, partners).table
    assert np.array_equal(fewer, table[:501])


@pytest.mark.slow
def test_partners_take_every_feasible_value_as_often() -> None:
    table: Any = sample(40_000, "heldout", 1, 1).table
    both = table.reshape(-1, 2, 7)
    hues = both[both[:, 0, 0] != both[:, 1, 0]][:, :, 0]
    seen = {
        (a, b): int(((hues == (a, b)).all(axis=1)).sum())
        for a in (1, 2, 3, 8)
        for b in (1, 2, 3, 8)
        if a != b
    }
    assert sum(seen.values()) == len(hues) > 2500
    # twelve ordered pairs: about 238 each
    assert max(seen.values()) - min(seen.values()) < 100


@pytest.mark.parametrize("factor", [factor.name for factor in FACTORS])
def test_pairs_can_be_drawn_of_a_sparse_sample(factor: str) -> None:
    dataset = RobotFinger(states=600, partners=1)
    data = PairedData(dataset, k=1, change=[factor], validation=0.3, test=0.3, batch_size=16)
    drawn = data.plan("train").draw(np.random.default_rng(0), 64, 0)
    assert drawn.labels["changed"].sum(axis=1).tolist() == [1] * 64
    assert drawn.labels["changed"][:, data.factors.column(factor)].all()


def test_without_partners_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="no two differ in color or joint0"):
        PairedData(RobotFinger(states=600), k=1).plan("train")


@pytest.mark.parametrize("partners", [-1, 11])
def test_refuses_impossible_numbers_of_partners(partners: int) -> None:
    with pytest.raises(InputError, match=f"partners is {partners}; a state has 0 to 10 of them"):
        RobotFinger(partners=partners)


def test_refuses_a_seed_below_0() -> None:
    with pytest.raises(InputError, match="seed is -1; it must be"):
        RobotFinger(seed=-1)


@pytest.mark.parametrize("states", [0, -1, 10_000_001])
def test_refuses_impossible_numbers_of_states(states: int) -> None:
    with pytest.raises(InputError, match=f"states is {states}; .* 1 to 10000000 states"):
        RobotFinger(states=states)


def colours(dataset: RobotFinger) -> set[float]:
    space = dataset.factors
    return set(space.values(space.positions(np.arange(len(space))))[:, 0])


def drawn(state: np.ndarray, side: int = 64) -> torch.Tensor:
    view = renderer.camera(side)
    scene = renderer.backdrop(renderer.SIMULATED, view)
    return renderer.render(renderer.SIMULATED, view, scene, torch.from_numpy(state).float())


def test_an_image_does_not_depend_on_those_drawn_with_it() -> None:
    state = grid(9)
    together = drawn(state)
    assert torch.equal(together[[4]], drawn(state[[4]]))
    assert torch.equal(together[[8, 1, 3]], drawn(state[[8, 1, 3]]))


def test_leaving_tiles_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    state = grid(5)
    expected = drawn(state)

    def everywhere(part: Any, apex: Any, axis: Any, spread: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(part.frame.moved(z=part.shape.reach()[0]).origin.x * spread) > 0

    monkeypatch.setattr(casting, "_may_meet", everywhere)
    assert torch.equal(drawn(state), expected)


def pixel(point: tuple[float, float, float], side: int) -> tuple[int, int]:
    """Row and column where the camera at (0, -0.4, 0.4) sees a point."""
    back = np.array([0, -0.4, 0.345])
    back /= np.linalg.norm(back)
    up = np.array([0, 0.345, 0.4]) / np.hypot(0.345, 0.4)
    way = np.array(point) - np.array([0, -0.4, 0.4])
    depth = -way @ back
    scale = side / 2 / np.tan(np.radians(26)) / depth
    return int(side / 2 - way @ up * scale), int(side / 2 + way[0] * scale)


def test_cube_tip_and_shadow_are_where_they_belong() -> None:
    # the finger is raised far to the left; the cube stands to the right
    state = np.array(
        [[120.0, 0.65, 0.5, -0.3, 0.08, -0.05, 0], [0.0, 0.65, 0.5, -0.3, -0.08, 0, 0]]
    )
    image = drawn(state, 128)[0].int()
    bare = drawn(state, 128)[1].int()
    row, column = pixel((0.08, -0.05, 0.065), 128)
    # its top face is green and nothing else
    red, green, blue = image[:, row, column].tolist()
    assert green > 120
    assert red == blue == 0
    # the lamp is at (0.25, -0.3, 1): beside the far left edge of the cube lies its shadow
    row, column = pixel((0.08 - 0.04, -0.05 + 0.02, 0.0), 128)
    assert (image[:, row, column] < 0.8 * bare[:, row, column]).all()
    # z of the lower joint is 0.29 - 0.16 cos 0.5 cos 0.65, and so on, see feasibility
    down = 0.16 * (np.cos(0.5) + np.cos(0.8))
    tip = (-np.sin(0.65) * down, -0.16 * (np.sin(0.5) + np.sin(0.8)), 0.29 - np.cos(0.65) * down)
    row, column = pixel(tip, 128)
    assert (image[:, row, column] < 120).all()
    assert image[:, row, column].float().std() < 3


def test_moving_a_joint_leaves_the_cube_alone() -> None:
    state = np.array([[0.0, 0, 0.5, -0.8, 0.1, -0.1, 0], [0.0, 0.2, 0.5, -0.8, 0.1, -0.1, 0]])
    first, second = drawn(state).int()
    row, column = pixel((0.1, -0.1, 0.065), 64)
    around = (slice(None), slice(row - 3, row + 3), slice(column - 3, column + 3))
    assert torch.equal(first[around], second[around])
    assert not torch.equal(first, second)


@pytest.mark.slow
def test_a_small_set_from_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    dataset = RobotFinger(states=40, seed=1)
    with pytest.raises(InputError, match="prepare the data set first"):
        dataset.tables()
    dataset.prepare()
    index = torch.tensor([39, 0, 7])
    images = dataset.images(index)
    state = values(dataset.factors.positions(index.numpy()))
    assert torch.equal(images, drawn(state))
    assert dataset.provenance()["source"] == "simulated"
    content = pickle.dumps(dataset)
    assert len(content) < 1000
    again = pickle.loads(content)
    assert torch.equal(again.images(index), images)
    everything = np.arange(40)
    assert np.array_equal(
        again.factors.positions(everything), dataset.factors.positions(everything)
    )
    larger = RobotFinger(states=60, seed=1, side=128)
    larger.prepare()
    assert larger.images(index).shape == (3, 3, 128, 128)
    assert len(list(tmp_path.glob("robot_finger/*.npy"))) == 2


def test_exact_labels_lie_off_the_grid_and_nearest_to_their_values() -> None:
    dataset = RobotFingerPseudoReal()
    exact = dataset.labels()
    assert exact.shape == (1800, 7)
    assert np.array_equal(exact, RobotFingerPseudoReal(128).labels())
    assert feasible(exact).all()
    position = dataset.factors.positions(np.arange(1800))
    for column, factor in enumerate(FACTORS):
        nearest = np.abs(exact[:, column, None] - factor.numbers).argmin(axis=1)
        assert np.array_equal(nearest, position[:, column])
    strayed = np.abs(exact - values(position))
    reach = [0, 0.01, 0.01, 0.01, 0.002, 0.002, 0]
    assert (strayed.max(axis=0) <= reach).all()
    assert (strayed.max(axis=0) >= 0.99 * np.array(reach)).all()
    # what a caller does with them stays there
    exact[:] = 0
    assert dataset.labels().any()


@pytest.mark.slow
def test_photographs_differ_as_photographs_do() -> None:
    state = np.repeat(RobotFingerPseudoReal().labels()[:1], 4, axis=0)
    rows = sensor.photographs(64, state, 0, 4)
    assert np.array_equal(rows[2:3], sensor.photographs(64, state, 2, 3))
    many = np.repeat(state, 14, axis=0)
    later = sensor.photographs(64, many, 48, 54)
    assert np.array_equal(later[1:4], sensor.photographs(64, many, 49, 52))
    images = rows.reshape(4, 3, 64, 64).astype(float)
    # of one state no two are equal, and yet they show the same
    assert np.abs(images[0] - images[1]).mean() > 2
    assert np.corrcoef(images[0].ravel(), images[1].ravel())[0, 1] > 0.8
    simulated = drawn(state[:1]).numpy().astype(float)[0]
    assert np.abs(images[0] - simulated).mean() > np.abs(images[0] - images[1]).mean()


def test_blur_keeps_the_light_and_an_even_image() -> None:
    image = np.zeros((3, 16, 16))
    image[:, 8, 8] = 1
    blurred = sensor._blurred(image, 0.7)
    assert blurred.sum(axis=(1, 2)) == pytest.approx(1)
    taps = np.exp(-(np.arange(-2, 3) ** 2) / (2 * 0.7**2))
    assert blurred[0, 6:11, 6:11] == pytest.approx(np.outer(taps, taps) / taps.sum() ** 2)
    even = np.full((3, 8, 8), 0.3)
    assert sensor._blurred(even, 0.7) == pytest.approx(even)


@pytest.mark.slow
def test_the_frozen_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    dataset = RobotFingerPseudoReal()
    dataset.prepare()
    index = torch.tensor([1799, 3])
    expected = [sensor.photographs(64, dataset.labels(), n, n + 1)[0] for n in index.tolist()]
    assert np.array_equal(dataset.images(index).flatten(1).numpy(), expected)
    check_dataset(dataset)
    assert len(pickle.dumps(dataset)) < 1000


@pytest.mark.gpu
def test_drawing_on_a_device_equals_the_host() -> None:
    state, view = grid(16), renderer.camera(64)
    scene = renderer.backdrop(renderer.SIMULATED, view, torch.device("cuda"))
    images = renderer.render(renderer.SIMULATED, view, scene, torch.from_numpy(state).float())
    difference = (images.cpu().int() - drawn(state).int()).abs()
    # a fused sum may round another way at an edge
    assert (difference > 1).float().mean() < 1e-3
