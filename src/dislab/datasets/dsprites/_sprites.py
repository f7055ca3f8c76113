"""The methods that `DSprites` and its variants share."""

from typing import ClassVar

from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets.dsprites._sprite_bits import FACTORS, SIDE, SpriteBits, first_turn
from dislab.factors import FactorSpace, Indices


class Sprites(Dataset):
    """The 737,280 states of dSprites, with bit-packed images in the cache folder.

    A concrete class sets `_bits` in its constructor and implements `gather`. A variant with
    additional tables or settings adds them to the results of `tables` and `provenance`.
    """

    channels: ClassVar[int] = 3

    _bits: SpriteBits

    @property
    def factors(self) -> FactorSpace:
        """Shape, scale, orientation, posX and posY; the last one counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Channels, 64 rows, 64 columns."""
        return (self.channels, SIDE, SIDE)

    def prepare(self) -> None:
        """Renders images into the cache folder, or downloads and checks the published file."""
        self._bits.prepare()

    def tables(self) -> dict[str, Tensor]:
        """The packed images as `bits`, 512 bytes per state."""
        return self._bits.tables()

    def provenance(self) -> dict[str, str]:
        """Source, renderer version, checksum of the packed images and their white pixels."""
        return self._bits.record()

    def canonical(self, index: Indices) -> Indices:
        """State numbers with orientation 2π replaced by 0, which gives the same image."""
        return first_turn(index)
