"""A room in first-person view, with objects to touch and objects to avoid."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, final, get_args

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.spaces import Discrete
from jaxtyping import Float, UInt8
from torch import Tensor

from dislab.datasets.raycast import (
    Box,
    Camera,
    Frame,
    Part,
    Shape,
    Sphere,
    cast,
    normals,
    take,
)
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab_control.world import Frames, Seen, States, Step, Trait, World

Domain = Literal["source", "target", "new-wall-hue", "new-object-hue", "wall-equals-object"]
"""Domains by pairs of a wall hue and an object hue."""

VERSION: Final = 1
"""Version of the renderer; stored images of another version are not used."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

HUES: Final = ("red", "green", "yellow", "blue", "purple", "cyan")
"""Hues of walls and objects; the last two do not occur in the source domain."""

PAIRS: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "source": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "target": ((0, 2), (1, 3), (2, 0), (3, 1), (0, 3), (1, 0), (2, 1), (3, 2)),
    "new-wall-hue": ((4, 0), (4, 1), (5, 2), (5, 3)),
    "new-object-hue": ((0, 4), (1, 4), (2, 5), (3, 5)),
    "wall-equals-object": ((0, 0), (1, 1), (2, 2), (3, 3)),
}
"""Pairs of hue numbers of walls and objects in each domain."""

_COLOURS: Final = (
    (225, 50, 45),
    (60, 190, 70),
    (235, 210, 50),
    (70, 100, 235),
    (200, 80, 210),
    (70, 200, 215),
)
_FLOOR: Final = (90, 80, 70)
_CEILING: Final = (190, 210, 230)
_HALF: Final = 3.0
_FIELD: Final = 80.0
_EYE: Final = 0.6
_HEIGHT: Final = 1.8
_RADIUS: Final = 0.35
_EDGE: Final = 0.3
_STRIDE: Final = 0.5
_TURN: Final = math.radians(30)
_TOUCH: Final = 0.6
_CLEAR: Final = 1.2
"""Minimum distance from the agent of an object that appears."""
_APART: Final = 0.75
"""Minimum distance from the other objects of an object that appears."""
_TRIES: Final = 1000
_FULL: Final = 2 * math.pi
_CHUNK: Final = 32
_FORWARD, _LEFT, _RIGHT, _BACK = range(4)


@final
class SeekAvoid(World):
    """A square room in the agent's view, with balls that give +1 and cubes that give -1.

    The actions are a step of 0.5 forward, turns by 30° to the left and to the right, and a step
    back, in a room of 6 × 6. An object within 0.6 of the agent counts as touched and reappears
    elsewhere. The first half of the objects are balls, the rest cubes; in each episode all objects
    have one hue, and the walls have one. The reward depends only on the shape, and walls and
    objects share one palette, so that an agent fails in other domains if it infers rewards from
    hues, or confuses walls and objects:

    * `source`: four pairs of four hues,
    * `target`: the other eight pairs of different hues out of the same four,
    * `new-wall-hue`, `new-object-hue`: walls, or objects, of a hue that is not in the source,
    * `wall-equals-object`: walls and objects of the same hue, out of the four.

    The seek-avoid task of Higgins et al. (2017), DARLA, https://arxiv.org/abs/1707.08475, section
    4.2, rendered by dislab's ray caster. Departures: the paper's arena is from DeepMind Lab, its
    objects differ in shape and hue, and its actions have eight directions.

    Args:
        domain: Domain, which decides the pairs of hues.
        objects: Number of objects; even, up to 6.
        length: Number of steps per episode.
        samples: Rays per pixel in each direction; 2 gives smooth edges and takes several times as
            long.

    Raises:
        InputError: There is no such domain, or a number is out of range.
    """

    domains: ClassVar[tuple[str, ...]] = get_args(Domain)

    def __init__(
        self, domain: Domain = "source", objects: int = 4, length: int = 60, samples: int = 1
    ) -> None:
        check_count("objects", objects, 2, 6)
        if objects % 2:
            raise InputError(f"objects is {objects}; it must be even: half of them are balls")
        check_count("length", length, 1)
        check_count("samples", samples, 1, 4)
        self.domain: Domain = domain
        self.objects = objects
        self.length = length
        self.samples = samples
        self._camera = Camera((0.0, 0.0, _EYE), (1.0, 0.0, _EYE), _FIELD, SIDE, samples, tile=8)
        self._rays = self._camera.rays()
        self._value = np.where(np.arange(objects) < objects // 2, 1.0, -1.0)

    @property
    def traits(self) -> tuple[Trait, ...]:
        """`x`, `y` and `heading` of the agent, hues of `wall` and `object`, object positions."""
        names = ["ball" if value > 0 else "cube" for value in self._value]
        numbers = [index % (self.objects // 2) for index in range(self.objects)]
        return (
            Trait("x"),
            Trait("y"),
            Trait("heading", unit="rad", period=_FULL),
            Trait("wall", "categorical", values=HUES),
            Trait("object", "categorical", values=HUES),
            *(
                Trait(f"{name}{index}_{axis}")
                for name, index in zip(names, numbers, strict=True)
                for axis in ("x", "y")
            ),
        )

    @property
    def actions(self) -> Discrete:
        """Step forward, turn left, turn right, step back."""
        return Discrete(4)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """64 rows, 64 columns, three channels."""
        return SIDE, SIDE, 3

    @property
    def settings(self) -> dict[str, str]:
        """Everything that images and steps depend on."""
        return {
            "world": "SeekAvoid",
            "pictures": str(VERSION),
            "domain": self.domain,
            "objects": str(self.objects),
            "length": str(self.length),
            "samples": str(self.samples),
        }

    def start(self, draws: np.random.Generator) -> States:
        """Draws an agent near the centre, its heading, a pair of hues, and objects away from it.

        Args:
            draws: Random numbers of the copy.
        """
        state = np.full((1, 5 + 2 * self.objects), np.inf)
        state[0, :2] = draws.uniform(-0.6 * _HALF, 0.6 * _HALF, 2)
        state[0, 2] = draws.uniform(0, _FULL)
        state[0, 3:5] = PAIRS[self.domain][draws.integers(len(PAIRS[self.domain]))]
        for index in range(self.objects):
            self._move_object(state[0], index, draws)
        return state

    def step(
        self, states: States, actions: npt.NDArray[Any], draws: Sequence[np.random.Generator]
    ) -> Step:
        """Moves every agent; touched objects give their reward and reappear elsewhere.

        Args:
            states: Values of the factors.
            actions: Numbers of the actions.
            draws: Random numbers for the positions of objects.
        """
        after = states.copy()
        turn = (actions == _LEFT).astype(float) - (actions == _RIGHT)
        stride = _STRIDE * ((actions == _FORWARD).astype(float) - (actions == _BACK))
        heading = np.mod(states[:, 2] + _TURN * turn, _FULL)
        way = np.stack([np.cos(heading), np.sin(heading)], axis=1)
        bound = _HALF - _EDGE
        after[:, :2] = np.clip(states[:, :2] + stride[:, None] * way, -bound, bound)
        after[:, 2] = heading
        gap = after[:, 5:].reshape(len(after), -1, 2) - after[:, None, :2]
        touched = np.hypot(gap[..., 0], gap[..., 1]) < _TOUCH
        rewards = (touched * self._value).sum(axis=1)
        for copy, index in np.argwhere(touched).tolist():
            self._move_object(after[copy], index, draws[copy])
        return Step(after, rewards, np.zeros(len(after), np.bool_))

    @torch.no_grad()
    def draw(self, states: States) -> Frames:
        """Renders images of states.

        Args:
            states: Values of the factors.
        """
        images = [self._images(torch.from_numpy(some)) for some in _chunks(states)]
        return torch.cat(images).permute(0, 2, 3, 1).contiguous().numpy()

    def seen(self, states: States) -> Seen:
        """The nearest ball and the nearest cube in the field of view, the agent, and the hues.

        For each of the two objects: 1, cosine and sine of its bearing, and its distance divided by
        half the room's side; four zeros if none is in view. Then x and y of the agent divided by
        half the room's side, cosine and sine of its heading, and the hues of walls and objects as
        one-hot vectors. An object in the field of view counts even if another one occludes it.

        Args:
            states: Values of the factors.
        """
        heading, rows = states[:, 2, None], np.arange(len(states))
        cosine, sine = np.cos(heading), np.sin(heading)
        gap = states[:, 5:].reshape(len(states), -1, 2) - states[:, None, :2]
        ahead = gap[..., 0] * cosine + gap[..., 1] * sine
        sideways = gap[..., 1] * cosine - gap[..., 0] * sine
        distance = np.hypot(ahead, sideways)
        edge = ahead * math.tan(math.radians(_FIELD / 2)) + _RADIUS
        in_view = (ahead > 0) & (np.abs(sideways) < edge)
        columns = []
        for kind in (1, -1):
            far = np.where(in_view & (self._value == kind), distance, np.inf)
            nearest = far.argmin(axis=1)
            nearby = np.stack([part[rows, nearest] for part in (distance, ahead, sideways)])
            safe = np.maximum(nearby[0], 1e-9)
            numbers = np.stack(
                [np.ones(len(states)), nearby[1] / safe, nearby[2] / safe, safe / _HALF]
            )
            columns.append(numbers.T * np.isfinite(far[rows, nearest])[:, None])
        body = np.concatenate([states[:, :2] / _HALF, cosine, sine], axis=1)
        hues = [np.eye(len(HUES))[states[:, column].astype(np.int64)] for column in (3, 4)]
        return np.concatenate([*columns, body, *hues], axis=1).astype(np.float32)

    def _move_object(
        self, state: npt.NDArray[np.float64], index: int, draws: np.random.Generator
    ) -> None:
        """Moves an object to a random position away from the agent and the other objects."""
        others = np.delete(state[5:].reshape(-1, 2), index, axis=0)
        for _ in range(_TRIES):
            position = draws.uniform(-0.85 * _HALF, 0.85 * _HALF, 2)
            apart = np.hypot(*(others - position).T).min() >= _APART
            if apart and math.dist(position, state[:2]) >= _CLEAR:
                break
        state[5 + 2 * index : 7 + 2 * index] = position

    def _images(self, state: Float[Tensor, "copy factor"]) -> UInt8[Tensor, "copy 3 64 64"]:
        parts = self._parts(state)
        seen = cast(parts, self._rays, len(state))
        direction = take(self._rays.direction, seen.tile)
        point = self._rays.apex + direction * seen.distance
        normal = normals(parts, seen, point)
        palette = torch.tensor(_COLOURS, dtype=torch.float32) / 255
        wall, thing = (palette[state[:, column].long()][seen.state] for column in (3, 4))
        facing = (-normal.dot(direction)).clamp_min(0)
        # walls along one axis are darker than those along the other, so that corners are visible
        along = take(parts[0], seen.state).frame.x.dot(normal).abs()
        dim = (1.15 - 0.06 * seen.distance).clamp(0.5, 1)
        inside, flat = seen.part == 0, normal.z.abs() > 0.5
        channels = []
        for channel in range(3):
            walls = wall[:, channel, None] * (0.62 + 0.2 * along) * dim
            floor = torch.where(normal.z > 0, _FLOOR[channel] / 255, _CEILING[channel] / 255)
            solid = thing[:, channel, None] * (0.45 + 0.5 * facing + 0.15 * normal.z)
            channels.append(torch.where(inside, torch.where(flat, floor, walls), solid))
        pixels = self._camera.mean(torch.stack(channels))
        tiles = (pixels.clamp(0, 1) * 255 + 0.5).to(torch.uint8)
        tiles = tiles.view(3, len(state), -1, tiles.shape[-1])
        return self._camera.picture(tiles).transpose(0, 1)

    def _parts(self, state: Float[Tensor, "copy factor"]) -> list[Part]:
        """Room and objects in coordinates of the agent, which looks along the first axis."""
        heading = state[:, 2, None]
        cosine, sine = heading.cos(), heading.sin()

        def there(x: Tensor, y: Tensor, z: float) -> Frame:
            east, north = x - state[:, 0, None], y - state[:, 1, None]
            ahead, sideways = east * cosine + north * sine, north * cosine - east * sine
            return Frame.at(ahead.float(), sideways.float(), z).turned_z(-heading)

        nowhere = torch.zeros_like(heading)
        room = Box(_HALF, _HALF, _HEIGHT / 2, room=True)
        parts = [Part(room, there(nowhere, nowhere, _HEIGHT / 2))]
        for index, value in enumerate(self._value):
            x, y = (state[:, column, None] for column in (5 + 2 * index, 6 + 2 * index))
            cube = 0.8 * _RADIUS
            shape: Shape = Sphere(_RADIUS) if value > 0 else Box(cube, cube, cube)
            parts.append(Part(shape, there(x, y, _RADIUS if value > 0 else cube)))
        return parts


def _chunks(states: States) -> list[States]:
    """Splits states into chunks whose rays fit into the processor's cache."""
    return np.array_split(states, max(1, math.ceil(len(states) / _CHUNK)))
