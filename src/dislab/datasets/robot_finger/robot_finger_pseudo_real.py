"""A fixed second domain of the robot finger."""

from functools import cached_property, partial
from typing import ClassVar, Final, Literal, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.robot_finger import _render as renderer
from dislab.datasets.robot_finger import _sensor as sensor
from dislab.datasets.robot_finger._geometry import Reals, feasible
from dislab.datasets.robot_finger._states import sample, values
from dislab.factors import FactorSpace, Indices

STATES: Final = 1800
_SEED: Final = 1_000_003
_JITTER: Final = np.array([0, 0.01, 0.01, 0.01, 0.002, 0.002, 0])
"""Deviations of states from the grid: rad for the joints, metres for the cube's position."""


@final
class RobotFingerPseudoReal(BankedDataset):
    """1,800 frozen images of the robot finger in another look, to test transfer out of domain.

    They replace the photographs that Dittadi et al. test on, but are rendered: with other materials
    and light, a camera that is moved occasionally, blurs and adds noise, and states off the grid of
    values, like measured ones. `factors` has the nearest values on the grid, `labels` the exact
    ones. The hues are the eight for training.

    After Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4 (OOD2-B)

    Args:
        side: Height and width of an image in pixels.
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = (
        "Dittadi, Träuble, Locatello, Wüthrich, Agrawal, Winther, Bauer and Schölkopf (2021), On "
        "the Transfer of Disentangled Representations in Realistic Settings, "
        "https://arxiv.org/abs/2010.14407"
    )
    size: ClassVar[int | None] = 22_118_528
    contents: ClassVar[str] = (
        "1,800 images 64×64×3: color 12, joint0 30, joint1 30, joint2 30, x 30, y 30, angle 10"
    )
    cache: ClassVar[str] = "robot_finger"

    def __init__(self, side: Literal[64, 128] = 64) -> None:
        self.side = side

    @cached_property
    def factors(self) -> FactorSpace:
        """Hue of the cube, three joints, and x, y and angle of the cube; a table of the states."""
        return sample(STATES, "train", _SEED)

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows, `side` columns."""
        return (3, self.side, self.side)

    def labels(self) -> Reals:
        """Exact values of the factors in their units, off the grid, one row per image.

        Joints deviate from the grid by up to 0.01 rad and the cube by up to 2 mm along each axis,
        less than half a step; hue and angle lie on the grid. All states are feasible.
        """
        return self._exact.copy()

    def values(self, index: Indices) -> Reals:
        """Exact values of some images; `labels` has those of all.

        Args:
            index: State numbers.
        """
        return self._exact[index]

    @cached_property
    def _exact(self) -> Reals:
        nominal = values(self.factors.positions(np.arange(STATES)))
        exact, open_ = nominal.copy(), np.arange(STATES)
        generator = np.random.default_rng(_SEED)
        while len(open_):
            strayed = nominal[open_] + generator.uniform(-1, 1, (len(open_), 7)) * _JITTER
            exact[open_] = strayed
            open_ = open_[~feasible(strayed)]
        return exact

    def _pictures(self) -> Pictures:
        version = f"{renderer.VERSION}.{sensor.VERSION}"
        name = f"robot_finger/pseudo-real-{version}-{self.side}"
        origin = {"source": "pseudo-real", "renderer": version}
        blocks = Blocks(sensor.SESSION, partial(_rendered, self))
        return Pictures(name, STATES, origin, blocks)


def _rendered(dataset: RobotFingerPseudoReal, start: int, stop: int) -> Rows:
    return sensor.photographs(dataset.side, dataset._exact, start, stop)
