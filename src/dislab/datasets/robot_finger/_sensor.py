"""A second appearance of the robot finger, and a camera with imperfections.

It imitates photographs: other materials and another lamp, a camera that is repositioned every
fifty images, uneven light, blur and noise. Nothing in it was measured on a real camera.
"""

from typing import Any, Final

import numpy as np
import torch

from dislab.datasets.bank.blocks import Rows
from dislab.datasets.raycast import Camera
from dislab.datasets.robot_finger._geometry import Reals
from dislab.datasets.robot_finger._render import Look, backdrop, render

VERSION: Final = 1
"""Version of the renderer; cached renderings of other versions are not used."""

PSEUDO_REAL: Final = Look(
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
SESSION: Final = 50
"""Number of images after which the camera is repositioned."""

_TOGETHER: Final = 25
_SHAKE: Final = 0.004
"""Deviations of the camera and its target along each axis, in metres."""

_WHITE: Final = (1.0, 0.97, 0.90)


def photographs(side: int, state: Reals, start: int, stop: int) -> Rows:
    """Images by number, one per row; each depends only on its own number and state."""
    rows = []
    for session in range(start // SESSION, -(-stop // SESSION)):
        first, last = max(start, session * SESSION), min(stop, (session + 1) * SESSION)
        view = _camera(side, session)
        scene = backdrop(PSEUDO_REAL, view)
        for index in range(first, last, _TOGETHER):
            some = torch.from_numpy(state[index : min(index + _TOGETHER, last)]).float()
            images = render(PSEUDO_REAL, view, scene, some).numpy() / 255
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
