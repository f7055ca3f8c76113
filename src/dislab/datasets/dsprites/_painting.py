"""Background picture of `ScreamDSprites`: a user's file, or a procedural painting."""

import hashlib
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import UInt8
from PIL import Image
from torch import Tensor

from dislab.datasets.files.image_files import UNREADABLE, check_picture
from dislab.errors import InputError
from dislab.functional.random import host_generator

LARGEST: Final = (350, 274)
"""Maximum width and height, in pixels, to which a picture is shrunk."""

_Plane = npt.NDArray[np.float64]


def painting(path: str | None, least: int) -> UInt8[Tensor, "3 height width"]:
    """The picture in colour, at most 350×274 pixels; a procedural one without a path.

    Rejects a file that is no image, or has width or height below `least` pixels.
    """
    if path is None:
        return _rendered()
    file = Path(path).expanduser()
    try:
        with Image.open(file) as image:
            check_picture(image, f"the background {file}")
            small = image.convert("RGB")
    except InputError:
        raise
    except UNREADABLE as error:
        raise InputError(f"the background {file} cannot be read as an image: {error}") from error
    small.thumbnail(LARGEST)
    if min(small.size) < least:
        raise InputError(
            f"the background {file} has {small.width}×{small.height} pixels when it fits into "
            f"{LARGEST[0]}×{LARGEST[1]}; it needs at least {least}×{least}"
        )
    return torch.from_numpy(np.moveaxis(np.asarray(small), -1, 0).copy())


def fingerprint(picture: UInt8[Tensor, "3 height width"]) -> str:
    """SHA-256 of a picture's pixels."""
    return hashlib.sha256(picture.numpy().tobytes()).hexdigest()


def _rendered() -> UInt8[Tensor, "3 height width"]:
    """Bands of orange above bands of blue, warped by smooth noise."""
    width, height = LARGEST
    first, second, grain = host_generator(1).normal(size=(3, height, width))
    warp, bend = _smooth(first), _smooth(second)
    y, x = np.mgrid[:height, :width] / height
    above = 0.5 + 0.5 * np.sin(18 * y + 4 * x + 3 * warp)
    below = 0.5 + 0.5 * np.sin(25 * y - 10 * x + 3 * bend)
    sky = np.stack((0.80 + 0.15 * above, 0.38 + 0.30 * above, 0.15 + 0.15 * above))
    land = np.stack((0.12 + 0.25 * below, 0.18 + 0.25 * below, 0.28 + 0.30 * below))
    depth = 1 / (1 + np.exp(-18 * (y - 0.45 + 0.08 * bend)))
    colour = sky + (land - sky) * depth + 0.03 * grain
    return torch.from_numpy(np.rint(colour.clip(0, 1) * 255).astype(np.uint8))


def _smooth(noise: _Plane) -> _Plane:
    """Noise with amplitudes proportional to frequency^−1.8, normalised to mean 0, deviation 1."""
    rows, columns = (np.fft.fftfreq(length) for length in noise.shape)
    frequency = np.hypot(rows[:, None], columns[None, :]) + 1e-3
    smooth = np.fft.ifft2(np.fft.fft2(noise) / frequency**1.8).real
    return np.asarray((smooth - smooth.mean()) / smooth.std())
