"""dSprites on patches of a painting: the user's file, or a procedural one."""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from PIL import Image
from torch import Tensor

from dislab.datasets.dsprites._sprites import SIDE, SpriteBits, Sprites, first_turn, masks
from dislab.datasets.files.image_files import UNREADABLE, check_picture
from dislab.errors import InputError
from dislab.functional.random import hashed, host_generator, random_bytes

LARGEST: Final = (350, 274)
"""Maximum width and height, in pixels, to which a picture is shrunk."""

_Plane = npt.NDArray[np.float64]

_HALF = 2**32 - 1


@final
class ScreamDSprites(Sprites):
    """dSprites on a piece of a painting, with the colours inverted inside the shape.

    The background is the mean of a random 64×64 patch of the painting and a random colour, both
    determined by the seed and the state; the orientations 0 and 2π give the same image. The packed
    images of `DSprites` are in the cache folder; the rest is added when a batch is gathered.

    After Locatello et al. (2019), https://arxiv.org/abs/1811.12359, with The Scream as a thumbnail
    of 350×274 pixels. It is not distributed with dislab: provide a file of it, or use the
    procedural painting of warped bands, with which results are not comparable to published ones.

    Args:
        background: An image file, shrunk to fit into 350×274 pixels; unless given, the procedural
            painting is used.
        seed: Seed of patches and colours.
        source: As for `DSprites`: `rendered`, `official` or `auto`.
        path: Path of the published dSprites file (npz).
        download: Whether `official` may download the published file if it is not found.

    Raises:
        InputError: `path` or `download` is given for rendered images.
    """

    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = "Locatello et al. (2019), https://arxiv.org/abs/1811.12359"
    size: ClassVar[int | None] = 377_487_488
    contents: ClassVar[str] = (
        "737,280 images 64×64×3: shape 3, scale 6, orientation 40, posX 32, posY 32"
    )
    drawn: ClassVar[str] = "the published shapes, by their exact rule"
    cache: ClassVar[str] = "dsprites"

    def __init__(
        self,
        background: str | None = None,
        seed: int = 0,
        source: Literal["rendered", "official", "auto"] = "rendered",
        path: str | None = None,
        download: bool = False,
    ) -> None:
        self.background = background
        self.seed = seed
        self._bits = SpriteBits(source, path, download)

    def prepare(self) -> None:
        """Reads the background, and makes sure that the packed images are in the cache folder.

        Raises:
            InputError: The background cannot be read, the published file is required but not found
                or differs from the published one, or the cache folder cannot be written to.
        """
        _ = self._painting
        self._bits.prepare()

    def tables(self) -> dict[str, Tensor]:
        """The packed images as `bits`, and the background as `painting`.

        Raises:
            InputError: The images have not been prepared, or their file was damaged since, or the
                background cannot be read.
        """
        return {**self._bits.tables(), "painting": self._painting}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number: an inverted shape on its background."""
        counters = 2 * first_turn(index)
        piece = _pieces(tables["painting"], hashed(self.seed, counters))
        tint = random_bytes(self.seed, counters + 1)[:, :3, None, None]
        mean = (piece & tint) + ((piece ^ tint) >> 1)  # rounded down, without overflow
        return mean ^ masks(tables, index)

    def provenance(self) -> dict[str, str]:
        """Sources of shapes and background, and seed.

        Raises:
            InputError: The images have not been prepared, or the background cannot be read.
        """
        return {
            **self._bits.record(),
            "background": self.background or "drawn",
            "background_sha256": fingerprint(self._painting),
            "background_seed": str(self.seed),
        }

    @cached_property
    def _painting(self) -> UInt8[Tensor, "3 height width"]:
        return painting(self.background, SIDE)


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


def _pieces(
    picture: UInt8[Tensor, "3 height width"], bits: Int[Tensor, " batch"]
) -> UInt8[Tensor, "batch 3 64 64"]:
    """One patch per 64 random bits; the lower half determines the row, the upper the column."""
    views = picture.unfold(1, SIDE, 1).unfold(2, SIDE, 1).permute(1, 2, 0, 3, 4)
    rows, columns = views.shape[:2]
    return views[(bits & _HALF) % rows, ((bits >> 32) & _HALF) % columns]
