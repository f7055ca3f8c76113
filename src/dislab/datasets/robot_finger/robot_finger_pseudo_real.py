"""A fixed second domain of the robot finger, seen by a camera with imperfections.

It imitates photographs: other materials and another lamp, a camera that is repositioned every
fifty images, uneven light, blur and noise. Nothing in it was measured on a real camera.
"""

from functools import cached_property, partial
from typing import Any, ClassVar, Final, Literal, final

import numpy as np
import torch

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.raycast import Camera
from dislab.datasets.robot_finger import _render as renderer
from dislab.datasets.robot_finger._render import Look, backdrop, render
from dislab.datasets.robot_finger._states import Reals, feasible, sample, values
from dislab.factors import FactorSpace, Indices

VERSION: Final = 1
"""Version of the renderer; cached renderings of other versions are not used."""

_PSEUDO_REAL: Final = Look(
    stage=(0.50, 0.52, 0.54),
    ground=(0.22, 0.22, 0.24),
    sky=(0.30, 0.30, 0.32),
    link=(0.14, 0.14, 0.15),
    tip=(0.05, 0.05, 0.05),
    lamp=(-0.35, 0.15, 0.8),
    ambient=0.30,
    key=0.75,
    head=0.12,
    gloss=0.5,
)

_POSITION: Final = (0.012, -0.415, 0.385)
_TARGET: Final = (0.008, 0.004, 0.058)
_SESSION: Final = 50
"""Number of images after which the camera is repositioned."""

_TOGETHER: Final = 25
_SHAKE: Final = 0.004
"""Deviations of the camera and its target along each axis, in metres."""

_WHITE: Final = (1.0, 0.97, 0.90)
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
        """Exact values of some images; `labels` has those of all."""
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
        version = f"{renderer.VERSION}.{VERSION}"
        name = f"robot_finger/pseudo-real-{version}-{self.side}"
        origin = {"source": "pseudo-real", "renderer": version}
        blocks = Blocks(_SESSION, partial(_rendered, self))
        return Pictures(name, STATES, origin, blocks)


def photographs(side: int, state: Reals, start: int, stop: int) -> Rows:
    """Images by number, one per row; each depends only on its own number and state."""
    rows = []
    for session in range(start // _SESSION, -(-stop // _SESSION)):
        first, last = max(start, session * _SESSION), min(stop, (session + 1) * _SESSION)
        view = _camera(side, session)
        scene = backdrop(_PSEUDO_REAL, view)
        for index in range(first, last, _TOGETHER):
            some = torch.from_numpy(state[index : min(index + _TOGETHER, last)]).float()
            images = render(_PSEUDO_REAL, view, scene, some).numpy() / 255
            rows += [_developed(image, index + k).reshape(-1) for k, image in enumerate(images)]
    return np.stack(rows)


def _camera(side: int, session: int) -> Camera:
    generator = np.random.default_rng((VERSION, 0, session))
    position, target = _strayed(_POSITION, generator), _strayed(_TARGET, generator)
    return Camera(position, target, 51.0, side, samples=2, tile=side // 16)


def _strayed(
    point: tuple[float, float, float], generator: np.random.Generator
) -> tuple[float, float, float]:
    x, y, z = (np.array(point) + generator.uniform(-_SHAKE, _SHAKE, 3)).tolist()
    return x, y, z


def _developed(image: Reals, index: int) -> Rows:
    """Applies the camera's effects: colour cast, vignette, blur, gamma, noise."""
    generator = np.random.default_rng((VERSION, 1, index))
    side = image.shape[-1]
    line = np.linspace(-1, 1, side)
    brushed = np.repeat(generator.normal(size=(side // 2, 4)), 2, axis=0)
    texture = np.stack([np.interp(line, np.linspace(-1, 1, 4), row) for row in brushed])
    white = np.array(_WHITE) + 0.06 * generator.uniform(-0.5, 0.5, 3)
    gain = generator.uniform(0.85, 1.15)
    vignette = 1 - 0.14 * (line[:, None] ** 2 + line**2)
    light = image * (1 + 0.03 * texture) * white[:, None, None] * gain * vignette
    # blur in pixels of a 128-pixel image
    light = _blurred(light, generator.uniform(0.5, 0.8) * side / 128)
    light = np.clip(light, 1e-4, None) ** 0.9
    light += generator.normal(size=light.shape) * (0.012 + 0.02 * np.sqrt(light))
    return np.asarray(np.clip(light, 0, 1) * 255 + 0.5).astype(np.uint8)


def _blurred(image: Reals, sigma: float) -> Reals:
    taps = np.exp(-(np.arange(-2, 3) ** 2) / (2 * sigma**2))
    taps /= taps.sum()
    for axis in (1, 2):
        width: Any = [(0, 0), (0, 0), (0, 0)]
        width[axis] = (2, 2)
        padded, length = np.pad(image, width, mode="reflect"), image.shape[axis]
        parts = [tap * np.take(padded, range(k, k + length), axis) for k, tap in enumerate(taps)]
        image = np.sum(parts, axis=0)
    return image


def _rendered(dataset: RobotFingerPseudoReal, start: int, stop: int) -> Rows:
    return photographs(dataset.side, dataset._exact, start, stop)
