"""A robot finger with the task of touching a cube."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, final, get_args

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from dislab.datasets.robot_finger.scene import FingerScene, feasible, tip, tip_gap
from dislab.errors import InputError
from dislab.functional.checks import check_choice, check_count
from dislab_control.world import Frames, Seen, States, Step, Trait, World

Domain = Literal["source", "new-cube-hue", "new-cube-place"]
"""Domains by hue and position of the cube."""

VERSION: Final = 1
"""Version of the renderer; stored images of another version are not used."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

_HUES: Final = tuple(30.0 * index for index in range(12))
_HELD_OUT: Final = (30.0, 60.0, 90.0, 240.0)
_REACH: Final = np.array([0.65, 0.5, 0.8])
"""Largest absolute angle of each joint, in radians."""
_PLACES: Final = 0.11
"""Largest absolute x and y of the cube, in metres."""
_ANGLES: Final = math.pi / 2
_TURN: Final = 0.1
"""Rotation of a joint by an action of 1, in radians."""
_TOUCH: Final = 0.005
"""Largest gap between tip and cube that counts as a touch, in metres."""
_AWAY: Final = 0.03
"""Smallest gap between tip and a cube that appears, in metres."""
_PROPOSED: Final = 32


@final
class FingerReach(World):
    """A robot finger on a round stage, with the task of touching a cube with its tip.

    An action turns each of the three joints by up to 0.1 rad. There are no forces: a joint stops at
    its limit, and a move that would bring the finger into the cube or the floor has no effect. The
    reward of a step is ten times the decrease of the distance between tip and cube in metres, plus
    1 for a touch, which is a gap of at most 5 mm; the cube then appears elsewhere. The domains:

    * `source`: eight hues of the cube, in three quarters of the stage,
    * `new-cube-hue`: the other four hues, in the same three quarters,
    * `new-cube-place`: the eight hues, in the quarter where x and y are positive.

    The finger and the four held-out hues are those of Dittadi et al. (2021),
    https://arxiv.org/abs/2010.14407, section 4; the reaching task in this scene is that of Träuble
    et al. (2022), https://arxiv.org/abs/2107.05686. Departures: the papers simulate torques with a
    physics engine, and have a second task, pushing the cube.

    Args:
        domain: Domain by hue and position of the cube.
        length: Number of steps per episode.

    Raises:
        InputError: There is no such domain, or a number is out of range.
    """

    domains: ClassVar[tuple[str, ...]] = get_args(Domain)

    def __init__(self, domain: Domain = "source", length: int = 50) -> None:
        check_choice("domain", domain, self.domains)
        check_count("length", length, 1)
        self.domain: Domain = domain
        self.length = length

    @cached_property
    def _scene(self) -> FingerScene:
        return FingerScene(SIDE)

    @property
    def traits(self) -> tuple[Trait, ...]:
        """Hue of the cube, three joints, and x, y and angle of the cube."""
        return (
            Trait("color", "circular", "deg", _HUES, 360.0),
            *(Trait(f"joint{index}", unit="rad") for index in range(3)),
            Trait("x", unit="m"),
            Trait("y", unit="m"),
            Trait("angle", unit="rad", period=_ANGLES),
        )

    @property
    def actions(self) -> Box:
        """Rotation of each joint, from -1 to 1."""
        return Box(-1.0, 1.0, (3,), np.float32)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """64 rows, 64 columns, three channels."""
        return SIDE, SIDE, 3

    @property
    def settings(self) -> dict[str, str]:
        """Everything that images and steps depend on."""
        return {
            "world": "FingerReach",
            "pictures": str(VERSION),
            "domain": self.domain,
            "length": str(self.length),
        }

    def start(self, draws: np.random.Generator) -> States:
        """Draws a hue of the domain, angles of the joints, and a cube away from the finger.

        Args:
            draws: Random numbers of the copy.
        """
        state = np.zeros(7)
        hues = [hue for hue in _HUES if (hue in _HELD_OUT) == (self.domain == "new-cube-hue")]
        state[0] = hues[draws.integers(len(hues))]
        return self._placed(state, draws, joints=True)[None]

    def step(
        self, states: States, actions: npt.NDArray[Any], draws: Sequence[np.random.Generator]
    ) -> Step:
        """Turns the joints of every finger; a touched cube appears elsewhere.

        Args:
            states: Values of the factors.
            actions: Rotations of the joints; clipped to [-1, 1].
            draws: Random numbers for the positions of cubes.
        """
        after = states.copy()
        turned = states[:, 1:4] + _TURN * np.clip(actions, -1, 1)
        after[:, 1:4] = np.clip(turned, -_REACH, _REACH)
        blocked = ~feasible(after)
        after[blocked] = states[blocked]
        gap = tip_gap(after)
        rewards = 10 * (tip_gap(states) - gap)
        for copy in np.flatnonzero(gap <= _TOUCH).tolist():
            rewards[copy] += 1
            after[copy] = self._placed(after[copy], draws[copy], joints=False)
        return Step(after, rewards, np.zeros(len(after), np.bool_))

    def draw(self, states: States) -> Frames:
        """Renders images of states.

        Args:
            states: Values of the factors.
        """
        return np.ascontiguousarray(self._scene.draw(states).transpose(0, 2, 3, 1))

    def seen(self, states: States) -> Seen:
        """Joints, tip, position, angle and hue of the cube, and the vector from tip to cube.

        Joint angles are divided by their largest values; lengths are in tenths of a metre; the
        cube's angle, with a period of a quarter turn, and its hue are given by cosine and sine.

        Args:
            states: Values of the factors.
        """
        end, cube = 10 * tip(states), 10 * states[:, 4:6]
        turn = 2 * math.pi * np.stack([states[:, 6] / _ANGLES, states[:, 0] / 360], axis=1)
        parts = [states[:, 1:4] / _REACH, end, cube, cube - end[:, :2], np.cos(turn), np.sin(turn)]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _placed(
        self, state: npt.NDArray[np.float64], draws: np.random.Generator, joints: bool
    ) -> npt.NDArray[np.float64]:
        """The state with a new position of the cube and, on request, new angles of the joints.

        Raises:
            InputError: No possible position was found.
        """
        for _ in range(1000):
            proposals = np.tile(state, (_PROPOSED, 1))
            if joints:
                proposals[:, 1:4] = draws.uniform(-_REACH, _REACH, (_PROPOSED, 3))
            proposals[:, 4:6] = draws.uniform(-_PLACES, _PLACES, (_PROPOSED, 2))
            proposals[:, 6] = draws.uniform(0, _ANGLES, _PROPOSED)
            corner = (proposals[:, 4:6] > 0).all(axis=1)
            meant = corner == (self.domain == "new-cube-place")
            possible = np.flatnonzero(meant & (tip_gap(proposals) >= _AWAY) & feasible(proposals))
            if len(possible):
                return np.asarray(proposals[possible[0]])
        raise InputError(f"no place for the cube was found beside the finger at {state[1:4]}")
