"""A frozen second domain of the robot finger."""

from functools import cached_property, partial
from typing import Any, ClassVar, Final, Literal, final

import numpy as np
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets import _finger_render as renderer
from dislab.datasets import _finger_sensor as sensor
from dislab.datasets._bank import (
    Blocks,
    Plan,
    Rows,
    bank_record,
    bank_rows,
    open_bank,
    prepare_bank,
)
from dislab.datasets._finger_states import Reals, feasible, sample, values
from dislab.factors import FactorSpace, Indices
from dislab.storage import cache_folder

STATES: Final = 1800
_SEED: Final = 1_000_003
_JITTER: Final = np.array([0, 0.01, 0.01, 0.01, 0.002, 0.002, 0])
"""How far a state strays from the grid: rad for the joints, metres for the cube's place."""


@final
class RobotFingerPseudoReal(Dataset):
    """1,800 frozen images of the robot finger in another look, to test transfer out of domain.

    They stand in for the photographs that Dittadi et al. test on, and are drawn, not real: other
    materials and light, a camera that is moved now and then, blurs and adds noise, and states that
    lie off the grid of values, as measured ones do. `factors` has the nearest values of the grid,
    `labels` the exact ones. The hues are the eight of training.

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
        self._tables: dict[str, Tensor] = {}

    @cached_property
    def factors(self) -> FactorSpace:
        """Hue of the cube, three joints, and x, y and angle of the cube; a table of the states."""
        return sample(STATES, "train", _SEED)

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows, `side` columns."""
        return (3, self.side, self.side)

    def labels(self) -> Reals:
        """The exact values of the factors in their units, one row an image, which lie off the grid.

        Joints stray from their grid by up to 0.01 rad and the cube by up to 2 mm along each axis,
        less than half a step; hue and angle lie on it. All states are feasible.
        """
        return self._exact.copy()

    def values(self, index: Indices) -> Reals:
        """The exact values of some images, which `labels` has for all.

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

    def prepare(self) -> None:
        """Makes sure that the images are in the cache folder.

        Raises:
            InputError: The cache folder cannot be written to.
        """
        prepare_bank(self._plan())

    def tables(self) -> dict[str, Tensor]:
        """The `images`, one row of bytes each.

        Raises:
            InputError: The images have not been prepared, or their file was damaged since.
        """
        if not self._tables:
            self._tables = {"images": open_bank(self._plan())}
        return self._tables

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number.

        Args:
            tables: What `tables` returned, moved to the device of `index`.
            index: State numbers.
        """
        return bank_rows(tables["images"], index).view(len(index), *self.image_shape)

    def provenance(self) -> dict[str, str]:
        """Source, renderer versions and checksum of the images.

        Raises:
            InputError: The images have not been prepared.
        """
        return bank_record(self._plan())

    def __getstate__(self) -> dict[str, Any]:
        """The settings; another process draws the states again and maps the images itself."""
        derived = ("factors", "_exact")
        kept = {key: value for key, value in self.__dict__.items() if key not in derived}
        return {**kept, "_tables": {}}

    def _plan(self) -> Plan:
        version = f"{renderer.VERSION}.{sensor.VERSION}"
        path = cache_folder() / "robot_finger" / f"pseudo-real-{version}-{self.side}.npy"
        shape = (STATES, int(np.prod(self.image_shape)))
        origin = {"source": "pseudo-real", "renderer": version}
        blocks = Blocks(sensor.SESSION, partial(_drawn, self))
        return Plan(path, shape, origin, blocks, packed=False)


def _drawn(dataset: RobotFingerPseudoReal, start: int, stop: int) -> Rows:
    return sensor.photographs(dataset.side, dataset._exact, start, stop)
