"""The room of 3D Shapes, with a cube to approach or to leave."""

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Final, Literal, final, get_args

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.spaces import Discrete

from dislab.datasets import Shapes3D
from dislab.functional.checks import check_choice, check_count
from dislab_control.world import Frames, Seen, States, Step, Trait, World

Domain = Literal["source", "target", "new-hues", "evening"]
"""Domains by hues of wall and cube, and by the light."""

VERSION: Final = 1
"""Version of the pictures; stored images of another version are not used."""

SIDE: Final = 32
"""Height and width of an image in pixels."""

_FACTORS: Final = Shapes3D().factors
_NAMES: Final = ("floor_hue", "wall_hue", "object_hue", "scale", "orientation")
_SCALES, _TURNS = 8, 15
_HUES: Final = 6
"""Number of hues of the source, the first of ten."""
_WARM: Final = 3
"""Number of hues of cubes to approach, the first ones."""
_AHEAD: Final = _TURNS // 2
_AWAY: Final = 4
"""Smallest number of actions between a new room and its goal."""
_PER_ACTION: Final = 0.1
_NEARER, _BACK, _LEFT, _RIGHT = range(4)


@final
class ShapesRoom(World):
    """The room of 3D Shapes, with a cube to approach if its hue is warm, else to leave.

    The agent steps nearer or back, so that the cube becomes a size larger or smaller, or turns the
    view by one of 15 angles. The goal is a straight view: of the largest size for red, orange and
    lime cubes (hues 0 to 0.2), of the smallest for green to cyan ones (0.3 to 0.5). A step earns
    0.1 for each action that it came nearer to the goal, and 1 more at the goal, where a new room
    begins: other hues, size and angle, at least four actions from its goal. The hues of floor and
    wall do not matter. The domains:

    * `source`: six hues of the floor, and 12 of the 36 pairs of six hues of wall and cube, a warm
      and a cold cube for each wall,
    * `target`: the other 24 pairs, six of which have a cube in the hue of its wall,
    * `new-hues`: floors and walls of the four hues that the source does not have,
    * `evening`: the hues of the source under another lamp, with tiles.

    New pairs of seen hues are the shift of Higgins et al. (2017), DARLA,
    https://arxiv.org/abs/1707.08475, section 4.2. Images are those of `Shapes3D` at half their
    size; the task, and its domains, are choices of this plugin.

    Args:
        domain: Domain by hues and light.
        length: Number of steps per episode.

    Raises:
        InputError: There is no such domain, or a number is out of range.
    """

    domains: ClassVar[tuple[str, ...]] = get_args(Domain)

    def __init__(self, domain: Domain = "source", length: int = 60) -> None:
        check_choice("domain", domain, self.domains)
        check_count("length", length, 1)
        self.domain: Domain = domain
        self.length = length

    @cached_property
    def _dataset(self) -> Shapes3D:
        dataset = Shapes3D(look="evening" if self.domain == "evening" else "published")
        dataset.prepare()
        return dataset

    @property
    def traits(self) -> tuple[Trait, ...]:
        """Numbers of the hues of floor, wall and cube, of the size and of the angle."""
        sizes = [len(_FACTORS[name].values) for name in _NAMES]
        return tuple(
            Trait(name, values=tuple(map(float, range(size))))
            for name, size in zip(_NAMES, sizes, strict=True)
        )

    @property
    def actions(self) -> Discrete:
        """Larger, smaller, turn left, turn right."""
        return Discrete(4)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """32 rows, 32 columns, three channels."""
        return SIDE, SIDE, 3

    @property
    def settings(self) -> dict[str, str]:
        """Everything that images and steps depend on."""
        return {
            "world": "ShapesRoom",
            "pictures": str(VERSION),
            "domain": self.domain,
            "length": str(self.length),
        }

    def start(self, draws: np.random.Generator) -> States:
        """Draws hues of the domain, and a size and an angle away from the goal.

        Args:
            draws: Random numbers of the copy.
        """
        return self._room(draws)[None]

    def step(
        self, states: States, actions: npt.NDArray[Any], draws: Sequence[np.random.Generator]
    ) -> Step:
        """Moves every agent; at the goal a new room begins.

        Args:
            states: Values of the factors.
            actions: Numbers of the actions.
            draws: Random numbers for new rooms.
        """
        after = states.copy()
        size = (actions == _NEARER).astype(float) - (actions == _BACK)
        turn = (actions == _RIGHT).astype(float) - (actions == _LEFT)
        after[:, 3] = np.clip(states[:, 3] + size, 0, _SCALES - 1)
        after[:, 4] = np.clip(states[:, 4] + turn, 0, _TURNS - 1)
        left = to_go(after)
        rewards = _PER_ACTION * (to_go(states) - left)
        for copy in np.flatnonzero(left == 0).tolist():
            rewards[copy] += 1
            after[copy] = self._room(draws[copy])
        return Step(after, rewards, np.zeros(len(after), np.bool_))

    def draw(self, states: States) -> Frames:
        """Looks images of states up and halves their size.

        Args:
            states: Values of the factors.
        """
        floor, wall, cube, scale, turn = states.astype(np.int64).T
        shape = np.zeros_like(floor)  # a cube
        index = _FACTORS.index(np.stack([floor, wall, cube, scale, shape, turn], axis=1))
        images = self._dataset.images(torch.as_tensor(index)).float()
        halved = torch.nn.functional.avg_pool2d(images, 2)
        return (halved + 0.5).to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()

    def seen(self, states: States) -> Seen:
        """Cosine and sine of the three hues, then size and angle, from -1 to 1.

        Args:
            states: Values of the factors.
        """
        hue = 2 * np.pi * states[:, :3] / 10
        size = 2 * states[:, 3:4] / (_SCALES - 1) - 1
        angle = 2 * states[:, 4:5] / (_TURNS - 1) - 1
        return np.concatenate([np.cos(hue), np.sin(hue), size, angle], axis=1).astype(np.float32)

    def _room(self, draws: np.random.Generator) -> npt.NDArray[np.float64]:
        """A state with hues of the domain, some actions away from its goal."""
        state = np.zeros(5)
        floors, pairs = _hues(self.domain)
        state[0] = floors[draws.integers(len(floors))]
        state[1:3] = pairs[draws.integers(len(pairs))]
        while to_go(state[None])[0] < _AWAY:
            state[3:] = draws.integers((_SCALES, _TURNS))
        return state


def to_go(states: States) -> npt.NDArray[np.float64]:
    """Number of actions from each state to its goal.

    Args:
        states: Values of the factors.
    """
    goal = np.where(states[:, 2] < _WARM, _SCALES - 1, 0)
    return np.abs(states[:, 3] - goal) + np.abs(states[:, 4] - _AHEAD)


def _hues(domain: Domain) -> tuple[range, list[tuple[int, int]]]:
    """Hues of the floor, and pairs of hues of wall and cube."""
    rooms = (
        range(_HUES, len(_FACTORS["floor_hue"].values)) if domain == "new-hues" else range(_HUES)
    )
    pairs = list(product(rooms, range(_HUES)))
    if domain == "new-hues":
        return rooms, pairs
    source = [(wall, cube) for wall in rooms for cube in ((wall + 1) % 3, 3 + (wall + 2) % 3)]
    return rooms, [pair for pair in pairs if (pair in source) != (domain == "target")]
