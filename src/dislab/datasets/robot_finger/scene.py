"""Images of single states of the robot finger, for environments in which it moves."""

from typing import Final, Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8

from dislab.datasets.robot_finger import _render as renderer
from dislab.datasets.robot_finger._states import CUBE, feasible, tip, tip_gap

__all__ = ["CUBE", "FingerScene", "feasible", "tip", "tip_gap"]

_PIXELS: Final = 2**19
"""Pixels rendered at a time: enough that threads seldom wait for Python's interpreter lock,
and few enough for the processor's cache."""


class FingerScene:
    """Renders states of the robot finger as the data set `RobotFinger` does.

    A state has seven numbers: the cube's hue in degrees, three joint angles in radians, x and y of
    the cube in metres, and its angle in radians.

    Args:
        side: Height and width of an image in pixels.
    """

    def __init__(self, side: Literal[64, 128] = 64) -> None:
        self.side = side
        self._view = renderer.camera(side)
        self._stage = renderer.backdrop(renderer.SIMULATED, self._view)

    def draw(self, states: Float[np.ndarray, "state 7"]) -> UInt8[np.ndarray, "state 3 side side"]:
        """Images of states; an image does not depend on the others in the batch.

        Args:
            states: One state per row; infeasible states are allowed.
        """
        blocks = torch.split(torch.from_numpy(states).float(), _PIXELS // self.side**2)
        scene = (renderer.SIMULATED, self._view, self._stage)
        return torch.cat([renderer.render(*scene, block) for block in blocks]).numpy()
