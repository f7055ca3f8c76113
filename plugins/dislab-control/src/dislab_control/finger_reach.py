"""A robot finger that is to touch a cube."""

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
"""Hues and places of the cube."""

VERSION: Final = 1
"""Version of the pictures; frames that were drawn by another one are not used."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

_HUES: Final = tuple(30.0 * number for number in range(12))
_HELD_OUT: Final = (30.0, 60.0, 90.0, 240.0)
_REACH: Final = np.array([0.65, 0.5, 0.8])
"""Largest angle of each joint in radians, to both sides."""
_PLACES: Final = 0.11
"""Largest x and y of the cube in metres, to both sides."""
_ANGLES: Final = math.pi / 2
_TURN: Final = 0.1
"""Radians that an action of 1 turns a joint."""
_TOUCH: Final = 0.005
"""Metres between tip and cube up to which it counts as touched."""
_AWAY: Final = 0.03
"""Metres between tip and cube when the cube appears, at least."""
_PROPOSED: Final = 32


@final
class FingerReach(World):
    """A robot finger on a round stage whose tip is to touch a cube.

    An action turns each of the three joints by up to 0.1 rad. The finger moves without forces: a
    turn that would bring it into the cube or the floor, or a joint past its end, leaves the joints
    as they are, or at the end. A step earns the metres by which the tip came nearer to the cube,
    times ten, and a touch, which is a gap of 5 mm at most, earns 1 more; the cube then appears
    elsewhere. The domains:

    * `source`: eight hues of the cube, in three quarters of the stage,
    * `new-cube-hue`: the other four hues,
    * `new-cube-place`: the quarter where x and y are positive.

    The finger and the four held-out hues are those of Dittadi et al. (2021),
    https://arxiv.org/abs/2010.14407, section 4; an agent that reaches in this scene is that of
    Träuble et al. (2022), https://arxiv.org/abs/2107.05686. Departures: the papers' finger has
    torques and a physics engine, and pushes the cube in a second task.

    Args:
        domain: Hues and places of the cube.
        length: Steps of an episode.

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
            *(Trait(f"joint{number}", unit="rad") for number in range(3)),
            Trait("x", unit="m"),
            Trait("y", unit="m"),
            Trait("angle", unit="rad", period=_ANGLES),
        )

    @property
    def actions(self) -> Box:
        """A turn of each joint, from -1 to 1."""
        return Box(-1.0, 1.0, (3,), np.float32)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """64 rows, 64 columns, three channels."""
        return SIDE, SIDE, 3

    @property
    def settings(self) -> dict[str, str]:
        """Everything that decides an image or a step."""
        return {
            "world": "FingerReach",
            "pictures": str(VERSION),
            "domain": self.domain,
            "length": str(self.length),
        }

    def start(self, draws: np.random.Generator) -> States:
        """A hue of the domain, any joints, and the cube away from the finger.

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
        """Turns the joints of every finger; a cube that is touched appears elsewhere.

        Args:
            states: Values of the factors.
            actions: Turns of the joints; beyond -1 and 1 they are cut off.
            draws: Random numbers for the places of cubes.
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
        """Images of states.

        Args:
            states: Values of the factors.
        """
        return np.ascontiguousarray(self._scene.draw(states).transpose(0, 2, 3, 1))

    def seen(self, states: States) -> Seen:
        """Joints, tip, the cube's place, angle and hue, and the way from the tip to the cube.

        Joints over their largest angles; lengths in tenths of a metre; cosine and sine of the
        cube's angle, of which a quarter of a turn is the whole, and of the hue.

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
        """The state with another place of the cube, and with other joints if these are asked for.

        Raises:
            InputError: No such place was found.
        """
        for _ in range(1000):
            found = np.tile(state, (_PROPOSED, 1))
            if joints:
                found[:, 1:4] = draws.uniform(-_REACH, _REACH, (_PROPOSED, 3))
            found[:, 4:6] = draws.uniform(-_PLACES, _PLACES, (_PROPOSED, 2))
            found[:, 6] = draws.uniform(0, _ANGLES, _PROPOSED)
            corner = (found[:, 4:6] > 0).all(axis=1)
            meant = corner == (self.domain == "new-cube-place")
            possible = np.flatnonzero(meant & (tip_gap(found) >= _AWAY) & feasible(found))
            if len(possible):
                return np.asarray(found[possible[0]])
        raise InputError(f"no place for the cube was found beside the finger at {state[1:4]}")
