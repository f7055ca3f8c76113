"""dSprites on patches of a painting."""

from functools import cached_property
from typing import ClassVar, Literal, final

from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.datasets.dsprites._painting import fingerprint, painting
from dislab.datasets.dsprites._sprite_bits import SIDE, SpriteBits, first_turn, masks
from dislab.datasets.dsprites._sprites import Sprites
from dislab.functional.random import hashed, random_bytes

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
        """Images by number: an inverted shape on its background.

        Args:
            tables: Result of `tables`, on the device of `index`.
            index: State numbers.
        """
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


def _pieces(
    picture: UInt8[Tensor, "3 height width"], bits: Int[Tensor, " batch"]
) -> UInt8[Tensor, "batch 3 64 64"]:
    """One patch per 64 random bits; the lower half determines the row, the upper the column."""
    views = picture.unfold(1, SIDE, 1).unfold(2, SIDE, 1).permute(1, 2, 0, 3, 4)
    rows, columns = views.shape[:2]
    return views[(bits & _HALF) % rows, ((bits >> 32) & _HALF) % columns]
