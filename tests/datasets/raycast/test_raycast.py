import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.datasets.raycast import (
    FAR,
    NOTHING,
    Bowl,
    Box,
    Camera,
    Capsule,
    Cylinder,
    Frame,
    Part,
    Ray,
    Ring,
    Shape,
    Sphere,
    Vector,
    bundle,
    cast,
    normals,
    shaded,
)

S = math.sqrt(0.5)


def one(x: int | float, y: int | float, z: int | float) -> Vector:
    return Vector.of(x, y, z)


def triple(vector: Vector) -> list[float]:
    return [float(part) for part in (vector.x, vector.y, vector.z)]


# shape, origin, direction, distance and normal by hand
HITS: list[tuple[Shape, tuple[float, ...], tuple[float, ...], float, tuple[float, ...]]] = [
    (Sphere(2.0), (5, 0, 0), (-1, 0, 0), 3, (1, 0, 0)),
    (Sphere(2.0), (0, S * 2, 9), (0, 0, -1), 9 - S * 2, (0, S, S)),
    # distances count in lengths of the direction
    (Sphere(2.0), (5, 0, 0), (-2, 0, 0), 1.5, (1, 0, 0)),
    (Sphere(2.0), (5, 0, 0), (1, 0, 0), FAR, ()),
    (Sphere(2.0), (5, 2.01, 0), (-1, 0, 0), FAR, ()),
    (Box(1.0, 2.0, 3.0), (5, 1.9, 2.9), (-1, 0, 0), 4, (1, 0, 0)),
    (Box(1.0, 2.0, 3.0), (0.9, -5, 2.9), (0, 1, 0), 3, (0, -1, 0)),
    (Box(1.0, 2.0, 3.0), (-0.9, 1.9, -7), (0, 0, 1), 4, (0, 0, -1)),
    (Box(1.0, 2.0, 3.0), (3, 1, 0), (-S, -S, 0), 2 / S, (1, 0, 0)),
    (Box(1.0, 2.0, 3.0), (5, 2.1, 0), (-1, 0, 0), FAR, ()),
    (Box(1.0, 2.0, 3.0, room=True), (0.5, 0, 0), (1, 0, 0), 0.5, (-1, 0, 0)),
    (Box(1.0, 2.0, 3.0, room=True), (0, 0, 0.5), (0, S, S), 2 / S, (0, -1, 0)),
    (Cylinder(1.0, 0.0, 4.0), (3, 0, 1), (-1, 0, 0), 2, (1, 0, 0)),
    (Cylinder(1.0, 0.0, 4.0), (0.5, 0, 9), (0, 0, -1), 5, (0, 0, 1)),
    (Cylinder(1.0, 0.0, 4.0), (0.5, 0.5, -2), (0, 0, 1), 2, (0, 0, -1)),
    (Cylinder(1.0, 0.0, 4.0), (2, 0, 6), (-S, 0, -S), 2 / S, (0, 0, 1)),
    (Cylinder(1.0, 0.0, 4.0), (3, 0, 4.1), (-1, 0, 0), FAR, ()),
    (Cylinder(1.0, 0.0, 4.0, closed=False), (0.5, 0, 9), (0, 0, -1), FAR, ()),
    (Capsule(1.0, 0.0, 4.0), (3, 0, 1), (-1, 0, 0), 2, (1, 0, 0)),
    (Capsule(1.0, 0.0, 4.0), (0, 0, 9), (0, 0, -1), 4, (0, 0, 1)),
    (Capsule(1.0, 0.0, 4.0), (0, S, -9), (0, 0, 1), 9 - S, (0, S, -S)),
    (Capsule(1.0, 0.0, 4.0), (3, 0, 5.1), (-1, 0, 0), FAR, ()),
    (Ring(1.0, 2.0), (1.5, 0, 3), (0, 0, -1), 3, (0, 0, 1)),
    (Ring(1.0, 2.0), (4.5, 0, 3), (-S, 0, -S), 3 / S, (0, 0, 1)),
    (Ring(1.0, 2.0), (0.9, 0, 3), (0, 0, -1), FAR, ()),
    (Ring(1.0, 2.0), (0, 2.1, 3), (0, 0, -1), FAR, ()),
    (Bowl(2.0, 1.0), (0, 0, 5), (0, 0, -1), 5, (0, 0, 1)),
    (Bowl(2.0, 2.0), (0, 0, 2), (S, 0, -S), 2, (-S, 0, S)),
    (Bowl(2.0, 1.0), (2.1, 0, 5), (0, 0, -1), FAR, ()),
    (Bowl(2.0, 1.0), (0, 0, 1.1), (1, 0, 0), FAR, ()),
]


@pytest.mark.parametrize(("shape", "origin", "direction", "distance", "normal"), HITS)
def test_hits_and_normals_by_hand(
    shape: Shape,
    origin: tuple[float, float, float],
    direction: tuple[float, float, float],
    distance: float,
    normal: tuple[float, ...],
) -> None:
    ray = Ray(one(*origin), one(*direction))
    found = shape.distance(ray)
    assert float(found) == pytest.approx(distance, abs=1e-5)
    if normal:
        assert triple(shape.normal(ray.at(found))) == pytest.approx(normal, abs=1e-5)


SOLIDS: list[Shape] = [
    Sphere(0.7),
    Box(0.3, 0.5, 0.8),
    Cylinder(0.4, -0.3, 0.9),
    Capsule(0.3, -0.2, 0.6),
]


def inside(shape: Shape, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Where the solid is, said once more."""
    if isinstance(shape, Sphere):
        return x**2 + y**2 + z**2 < 0.7**2
    if isinstance(shape, Box):
        return (x.abs() < 0.3) & (y.abs() < 0.5) & (z.abs() < 0.8)
    if isinstance(shape, Cylinder):
        return (x**2 + y**2 < 0.4**2) & (z > -0.3) & (z < 0.9)
    return x**2 + y**2 + (z - z.clamp(-0.2, 0.6)) ** 2 < 0.3**2


@pytest.mark.parametrize("shape", SOLIDS)
def test_first_hit_is_where_a_march_along_the_ray_enters(shape: Shape) -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 500, 1, generator=generator)
    start = 3 * start / start.norm(dim=0)
    aim = torch.rand(3, 500, 1, generator=generator) * 1.6 - 0.8
    way = (aim - start) / (aim - start).norm(dim=0)
    found = shape.distance(Ray(Vector(*start), Vector(*way)))
    steps = torch.arange(0, 6, 0.002)
    within = inside(shape, *(start + way * steps))
    entered = steps[within.int().argmax(1)]
    hit = found[:, 0] < FAR
    # a graze may fall between two steps
    assert (within.any(1) & ~hit).sum() == 0
    assert (hit & ~within.any(1)).sum() <= 2
    both = hit & within.any(1)
    assert both.sum() > 150
    gap = (entered - found[:, 0])[both]
    assert gap.min() > -1e-4
    assert gap.max() < 2.1e-3


@pytest.mark.parametrize("shape", [*SOLIDS, Ring(0.1, 0.8), Bowl(0.6, 0.5)])
def test_normals_face_the_ray_and_the_ball_holds_the_shape(shape: Shape) -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 2000, 1, generator=generator).abs()
    start = 3 * start / start.norm(dim=0)
    aim = torch.rand(3, 2000, 1, generator=generator) - 0.5
    ray = Ray(Vector(*start), Vector(*(aim - start)).unit())
    found = shape.distance(ray)
    hit = found < FAR
    assert hit.sum() > 200
    point = ray.at(found)
    normal = shape.normal(point)
    torch.testing.assert_close(normal.norm()[hit], torch.ones(int(hit.sum())))
    assert (normal.dot(ray.direction)[hit] < 1e-4).all()
    centre, radius = shape.reach()
    assert ((point - one(0, 0, float(centre))).norm()[hit] < float(radius) + 1e-4).all()


def test_frames_turn_as_matrices_do() -> None:
    a, b, c = (torch.tensor([[angle]]) for angle in (0.3, -0.7, 1.1))
    frame = Frame.at(1, 2, 3).turned_y(a).turned_x(b).moved(z=-2).turned_z(c)

    def turn(axis: int, angle: float) -> np.ndarray:
        matrix = np.eye(3)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        matrix[i, i] = matrix[j, j] = math.cos(angle)
        matrix[j, i], matrix[i, j] = math.sin(angle), -math.sin(angle)
        return matrix

    first = turn(1, 0.3) @ turn(0, -0.7)
    matrix = first @ turn(2, 1.1)
    origin = np.array([1, 2, 3]) + first @ [0, 0, -2]
    point = np.array([0.2, -0.4, 0.9])
    world = matrix @ point + origin
    assert triple(frame.outside(one(*point)) + frame.origin) == pytest.approx(world, abs=1e-6)
    assert triple(frame.point_inside(one(*world))) == pytest.approx(point, abs=1e-6)
    cycled = frame.cycled()
    assert triple(cycled.z) == pytest.approx(matrix[:, 0], abs=1e-6)


def parts() -> list[Part]:
    """Two states: a ball that is at another place, a box that is turned, a ring that stays."""
    place, angle = torch.tensor([[-0.6], [0.5]]), torch.tensor([[0.2], [0.9]])
    return [
        Part(Sphere(torch.tensor([[0.3], [0.2]])), Frame.at(place, 0.1, 0.4)),
        Part(Box(0.2, 0.3, 0.1), Frame.at(0.2, -0.3, 0.1).turned_z(angle)),
        Part(Ring(0, 3), Frame.at()),
    ]


CAMERA = Camera((0.0, -3.0, 2.0), (0.0, 0.0, 0.2), 40.0, side=24, samples=2, tile=4)


def state(number: int) -> list[Part]:
    floor = parts()[2]
    place, angle = ((-0.6, 0.2), (0.5, 0.9))[number]
    return [
        Part(Sphere((0.3, 0.2)[number]), Frame.at(place, 0.1, 0.4)),
        Part(Box(0.2, 0.3, 0.1), Frame.at(0.2, -0.3, 0.1).turned_z(torch.tensor([[angle]]))),
        floor,
    ]


def test_casting_by_tiles_equals_looking_at_every_part() -> None:
    rays = CAMERA.rays()
    seen = cast(parts(), rays, 2)
    point = rays.apex + Vector(*(p[seen.tile] for p in vars(rays.direction).values())) * (
        seen.distance
    )
    normal = normals(parts(), seen, point)
    dark = shaded(parts(), one(1, -1, 4), seen.state, point + normal * 1e-3)
    for number in range(2):
        mine = seen.state == number
        distance = torch.full_like(rays.direction.x, FAR)
        owner = torch.full_like(distance, NOTHING)
        expected = torch.full_like(distance, FAR)
        expected[seen.tile[mine]] = seen.distance[mine]
        for part, (shape, frame) in enumerate(state(number)):
            found = shape.distance(frame.ray_inside(Ray(rays.apex, rays.direction)))
            owner = torch.where(found < distance, part, owner)
            distance = torch.minimum(found, distance)
        assert torch.equal(distance, expected)
        assert torch.equal(owner[seen.tile[mine]], seen.part[mine].float())
        assert set(owner.flatten().tolist()) == {0, 1, 2, NOTHING}
        there = Vector(*(p[mine] for p in vars(point + normal * 1e-3).values()))
        blocked = torch.zeros_like(there.x, dtype=torch.bool)
        for shape, frame in state(number):
            way = there - one(1, -1, 4)
            ray = frame.ray_inside(Ray(one(1, -1, 4), way.unit()))
            blocked |= shape.distance(ray) < way.norm()
        hit = seen.part[mine] != NOTHING
        # at the last bit of a shadow's edge both answers are right
        assert (blocked != dark[mine])[hit].sum() <= 2
        assert dark[mine][hit].any()
        assert not dark[mine][hit].all()


def test_a_state_does_not_depend_on_the_others() -> None:
    rays = CAMERA.rays()
    together = cast(parts(), rays, 2)
    for number in range(2):
        alone = cast(state(number), rays, 1)
        mine = together.state == number
        for tile in range(36):
            both = [
                seen.distance[keep & (seen.tile == tile)]
                for seen, keep in ((together, mine), (alone, alone.state == 0))
            ]
            assert torch.equal(*both)


def test_camera_looks_at_its_target() -> None:
    camera = Camera((1.0, 2.0, 3.0), (1.0, 5.0, 3.0), 90.0, side=4, samples=1, tile=2)
    rays = camera.rays()
    assert rays.direction.x.shape == (4, 4)
    # the first ray of the first tile is the upper left corner: 45 degrees times 3/4 both ways
    corner = np.array([-0.75, 1, 0.75]) / np.linalg.norm([0.75, 1, 0.75])
    assert triple(Vector(*(p[0, 0] for p in vars(rays.direction).values()))) == pytest.approx(
        corner
    )
    # each tile shows its number: they lie in rows
    shown = camera.picture(torch.arange(4)[None, :, None].expand(1, 4, 4))
    expected = torch.tensor([[0, 0, 1, 1]] * 2 + [[2, 2, 3, 3]] * 2)
    assert torch.equal(shown[0], expected)


def test_pixels_are_means_over_their_rays() -> None:
    camera = Camera((0.0, -1.0, 0.0), (0.0, 0.0, 0.0), 60.0, side=8, samples=3, tile=4)
    rays = camera.rays()
    fine = Camera((0.0, -1.0, 0.0), (0.0, 0.0, 0.0), 60.0, side=24, samples=1, tile=24)
    values = fine.rays().direction.x + fine.rays().direction.z ** 2
    expected = torch.nn.functional.avg_pool2d(fine.picture(values)[None], 3)[0]
    actual = camera.picture(camera.mean(rays.direction.x + rays.direction.z**2))
    torch.testing.assert_close(actual, expected, atol=1e-6, rtol=0)


def test_spread_holds_every_ray_of_a_tile() -> None:
    rays = CAMERA.rays()
    cosine = rays.direction.dot(rays.axis)
    assert (cosine.clamp(-1, 1).acos() <= rays.spread + 1e-3).all()
    again = bundle(rays.apex, rays.direction)
    assert torch.equal(again.spread, rays.spread)
