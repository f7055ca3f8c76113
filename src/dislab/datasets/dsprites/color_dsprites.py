"""dSprites in colour."""

import colorsys
from functools import cached_property
from typing import ClassVar, Final, Literal, final

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.datasets.dsprites._sprites import FACTORS, SpriteBits, Sprites, first_turn, masks
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.checks import check_count
from dislab.functional.random import random_bytes

_MOST_HUES: Final = 6 * 255
"""Number of fully saturated, bright colours that can be represented with 8 bits per channel."""


@final
class ColorDSprites(Sprites):
    """dSprites in colour: a random one that is no factor, or the hue as a factor.

    Without `hues`, each channel of a shape's colour is uniform over 128, 129, … 255, determined by
    the seed and the state. With `hues`, the first factor is the hue of a fully saturated, bright
    colour, and the set has `hues` times 737,280 images. The orientations 0 and 2π give the same
    image. The packed images of `DSprites` are in the cache folder; colours are added when a batch
    is gathered.

    Random colours after Locatello et al. (2019), https://arxiv.org/abs/1811.12359, where a new
    colour is drawn each time an image is read.

    Args:
        hues: Number of hues, equally spaced around the colour circle, starting at red; unless
            given, colours are random.
        seed: Seed of the random colours; not used with hues.
        source: As for `DSprites`: `rendered`, `official` or `auto`.
        path: Path of the published dSprites file (npz).
        download: Whether `official` may download the published file if it is not found.

    Raises:
        InputError: `hues` is below 1 or above 1,530, the number that pixels can represent, or
            `path` or `download` is given for rendered images.
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
        hues: int | None = None,
        seed: int = 0,
        source: Literal["rendered", "official", "auto"] = "rendered",
        path: str | None = None,
        download: bool = False,
    ) -> None:
        if hues is not None:
            check_count("hues", hues, 1)
            if hues > _MOST_HUES:
                raise InputError(f"hues is {hues}; pixels of 8 bits show {_MOST_HUES} hues")
        self.hues = hues
        self.seed = seed
        self._bits = SpriteBits(source, path, download)

    @cached_property
    def factors(self) -> FactorSpace:
        """The hue in degrees, if `hues` is given, then the factors of dSprites."""
        if self.hues is None:
            return FACTORS
        degrees = tuple(360 * index / self.hues for index in range(self.hues))
        hue = Factor("hue", degrees, "circular", unit="deg", period=360.0)
        return FactorSpace((hue, *FACTORS.factors))

    def tables(self) -> dict[str, Tensor]:
        """The packed images as `bits`, and the colours of the hues as `palette`.

        Raises:
            InputError: The images have not been prepared, or their file was damaged later.
        """
        return {**self._bits.tables(), "palette": _palette(self.hues or 0)}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number: a shape of one colour on black."""
        if self.hues is None:
            colour = 128 + (random_bytes(self.seed, first_turn(index))[:, :3] & 127)
        else:
            colour = tables["palette"][index // len(FACTORS)]
        return masks(tables, index % len(FACTORS)) & colour[:, :, None, None]

    def provenance(self) -> dict[str, str]:
        """Source of the shapes, and number of hues or seed of the colours.

        Raises:
            InputError: The images have not been prepared.
        """
        if self.hues is not None:
            return {**self._bits.record(), "hues": str(self.hues)}
        return {**self._bits.record(), "colour_seed": str(self.seed)}


def _palette(hues: int) -> UInt8[Tensor, "hue 3"]:
    colours = [colorsys.hsv_to_rgb(hue / hues, 1, 1) for hue in range(hues)]
    return (torch.tensor(colours).view(-1, 3) * 255).round().to(torch.uint8)
