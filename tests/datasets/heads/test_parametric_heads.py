import math
import pickle
from pathlib import Path

import pytest
import torch

from dislab.datasets import ParametricHeads
from dislab.datasets.heads._render import COLUMNS, ROWS, render, surface
from dislab.errors import InputError
from dislab.testing import check_dataset

IDENTITY = [0.3, -0.5, 0.2, 0.8, -0.1, 0.4, 0.6, -0.7]


@pytest.fixture(scope="module")
def head() -> torch.Tensor:
    return surface(IDENTITY)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    return tmp_path


def sphere() -> torch.Tensor:
    """A ball of radius 1 that reflects everything, in the form of a head."""
    polar = ((torch.arange(ROWS) + 0.5) * math.pi / ROWS)[:, None]
    around = ((torch.arange(COLUMNS + 2) - 0.5) * 2 * math.pi / COLUMNS - math.pi)[None]
    x, z = polar.sin() * around.sin(), polar.sin() * around.cos()
    y = polar.cos().expand_as(x)
    return torch.stack((torch.ones_like(x), x, y, z, torch.ones_like(x)))


def test_a_ball_is_shaded_by_lamberts_law() -> None:
    light = math.radians(40)
    image = render(sphere(), 0.3, -0.2, [light])[0].double() / 255
    middles = ((torch.arange(64) + 0.5) / 32 - 1).double() * 1.25
    x, y = middles[None, :], -middles[:, None]
    z = (1 - x * x - y * y).clamp_min(0).sqrt()
    up = math.sin(0.35)
    level = math.cos(0.35)
    facing = (level * math.sin(light) * x + up * y + level * math.cos(light) * z).clamp_min(0)
    expected = (0.16 + 0.92 * facing).clamp(0, 1)
    radius = (x * x + y * y).sqrt()
    whole = radius < 0.9
    assert float((image - expected)[whole].abs().max()) < 0.02
    assert float(image[radius > 1.05].max()) < 0.03


def test_the_surface_closes_and_its_normals_are_those_of_its_points(head: torch.Tensor) -> None:
    assert head.shape == (5, ROWS, COLUMNS + 2)
    assert torch.equal(head[..., 0], head[..., -2])
    assert torch.equal(head[..., -1], head[..., 1])
    assert head[1:4].norm(dim=0).sub(1).abs().max() < 1e-5
    points = head[:1] * sphere()[1:4]
    middle = slice(20, -20)  # neighbours are close in angle here
    for axis in (1, 2):
        along = points.roll(-1, axis) - points.roll(1, axis)
        sine = (along * head[1:4]).sum(0) / along.norm(dim=0)
        assert float(sine[middle, 2:-2].abs().mean()) < 0.01


def test_a_mirrored_pose_and_light_mirror_the_image(head: torch.Tensor) -> None:
    there = render(head, 0.6, 0.2, [0.9])[0].int()
    back = render(head, -0.6, 0.2, [-0.9])[0].int()
    assert float((there - back.flip(1)).abs().double().mean()) < 0.6
    assert float((there - back).abs().double().mean()) > 10


def test_light_comes_from_where_it_stands(head: torch.Tensor) -> None:
    left, right = render(head, 0.0, 0.0, [-1.2, 1.2]).double()
    assert left[:, :32].mean() > 2 * left[:, 32:].mean()
    assert right[:, 32:].mean() > 2 * right[:, :32].mean()


def test_the_nose_turns_and_lifts(head: torch.Tensor) -> None:
    """The nose is where the surface reaches farthest in front of an ellipsoid."""
    lit = head.clone()
    lit[4] = 0
    lit[4, 60:76, COLUMNS // 2 - 6 : COLUMNS // 2 + 8] = 1  # a white patch around the nose

    def centre(azimuth: float, elevation: float) -> tuple[float, float]:
        patch = render(lit, azimuth, elevation, [0.0])[0].double()
        patch = torch.where(patch > 30, patch, 0.0)
        steps = torch.arange(64.0)
        return float((patch.sum(0) @ steps.double()) / patch.sum()), float(
            (patch.sum(1) @ steps.double()) / patch.sum()
        )

    straight = centre(0.0, 0.0)
    assert centre(0.5, 0.0)[0] > straight[0] + 8  # to the right
    assert centre(-0.5, 0.0)[0] < straight[0] - 8
    assert centre(0.0, 0.4)[1] < straight[1] - 5  # up


def test_images_are_in_the_order_of_the_factors(cache: Path) -> None:
    dataset = ParametricHeads(2, 3, 1, 2, seed=4)
    check_dataset(dataset)
    space = dataset.factors
    assert space.names == ("identity", "azimuth", "elevation", "light_azimuth")
    assert space["azimuth"].numbers.tolist() == [-75, 0, 75]
    assert space["elevation"].numbers.tolist() == [0]
    assert [path.name for path in (cache / "parametric_heads").glob("*.npy")] == ["2x3x1x2-4-1.npy"]
    images = dataset.images(torch.arange(12))[:, 0]
    person = surface(people(4)[1])
    lights = [math.radians(-80), math.radians(80)]
    expected = render(person, math.radians(75), 0.0, lights)
    assert torch.equal(images[space.index([1, 2, 0, 0])], expected[0])
    assert torch.equal(images[space.index([1, 2, 0, 1])], expected[1])
    assert "white_pixels" not in dataset.provenance()
    assert dataset.provenance()["sizes"] == "2x3x1x2"


def people(seed: int) -> list[list[float]]:
    from dislab.functional.random import host_generator

    return [host_generator(seed, person).uniform(-1, 1, 8).tolist() for person in range(2)]


def test_a_person_is_the_same_in_a_larger_set() -> None:
    small, large = ParametricHeads(1, 1, 1, 1), ParametricHeads(3, 1, 1, 1)
    small.prepare()
    large.prepare()
    assert torch.equal(small.images(torch.tensor([0])), large.images(torch.tensor([0])))
    images = large.images(torch.arange(3)).double()
    assert float((images[0] - images[1]).abs().mean()) > 3


def test_pickled_without_its_images() -> None:
    dataset = ParametricHeads(1, 2, 1, 1)
    dataset.prepare()
    dataset.tables()
    content = pickle.dumps(dataset)
    assert len(content) < 1500
    assert torch.equal(
        pickle.loads(content).images(torch.arange(2)), dataset.images(torch.arange(2))
    )


def test_refuses_an_empty_factor() -> None:
    with pytest.raises(InputError, match="lights is 0"):
        ParametricHeads(lights=0)
