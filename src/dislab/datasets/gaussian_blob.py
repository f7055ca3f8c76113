"""A white blob on black."""

from functools import cached_property
from typing import ClassVar, Final, final

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.checks import check_at_least, check_count

SIDE: Final = 64
MARGIN: Final = 8
"""Margin in pixels between the border of the image and the outermost centres."""


@final
class GaussianBlob(Dataset):
    """A Gaussian blob on black, 64×64, at every place of a square grid; nothing is stored.

    The brightness of a pixel is 255 exp(-r²/2σ²), rounded, where r is the distance of the pixel's
    centre from that of the blob. Centres lie from 8 to 56 pixels from the left and upper border.

    Burgess et al. (2018), https://arxiv.org/abs/1804.03599, section 4.3. Image size, σ and grid are
    not published; the defaults are choices of this toolkit.

    Args:
        places: Number of horizontal positions, and of vertical ones.
        sigma: Standard deviation of the blob in pixels.

    Raises:
        InputError: `places` is below 2, or sigma is too small to be visible.
    """

    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = "Burgess et al. (2018), https://arxiv.org/abs/1804.03599"
    size: ClassVar[int | None] = 0
    contents: ClassVar[str] = "1,024 images 64×64×1: posX 32, posY 32"
    cache: ClassVar[str] = ""

    def __init__(self, places: int = 32, sigma: float = 4.0) -> None:
        check_count("places", places, 2)
        check_at_least("sigma", sigma, 0.5)
        if places > 10_000:
            raise InputError(f"places is {places}; more than 10000 cannot be distinguished")
        self.places = places
        self.sigma = sigma

    @cached_property
    def factors(self) -> FactorSpace:
        """PosX to the right and posY downwards, from 0 to 1; posY counts fastest."""
        values = tuple(step / (self.places - 1) for step in range(self.places))
        return FactorSpace((Factor("posX", values), Factor("posY", values)))

    @property
    def image_shape(self) -> ImageShape:
        """One channel, 64 rows, 64 columns."""
        return (1, SIDE, SIDE)

    def prepare(self) -> None:
        """Does nothing: the images need no file."""

    def tables(self) -> dict[str, Tensor]:
        """The profiles of the blob along one axis as `profiles`, one row per position."""
        return {"profiles": self._profiles}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number."""
        across = tables["profiles"][index // self.places]
        down = tables["profiles"][index % self.places]
        blob = down[:, None, :, None] * across[:, None, None, :]
        return (blob * 255).round().to(torch.uint8)

    def provenance(self) -> dict[str, str]:
        """The settings, which determine every image."""
        return {"source": "computed", "places": str(self.places), "sigma": str(self.sigma)}

    @cached_property
    def _profiles(self) -> Float[Tensor, "place pixel"]:
        centres = torch.linspace(MARGIN, SIDE - MARGIN, self.places, dtype=torch.float64)
        middles = torch.arange(SIDE, dtype=torch.float64) + 0.5
        return torch.exp(-((middles - centres[:, None]) ** 2) / (2 * self.sigma**2)).float()
