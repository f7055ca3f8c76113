"""The dSprites data set."""

from typing import ClassVar, Literal, final

from jaxtyping import Float, Int, UInt8
from torch import Tensor

from dislab.datasets.dsprites._sprites import SpriteBits, Sprites, bits, masks


@final
class DSprites(Sprites):
    """dSprites: 737,280 white shapes on black, 64×64, from five factors.

    The published images, rendered by their exact rule without a download, or read from the
    published file. Rendered images equal all published ones that were available for comparison, in
    every pixel; the whole set has two of 128 million white pixels too many (`docs/datasets.md`).
    Both are stored bit-packed (377 MB) in the cache folder, created on first use and mapped into
    memory. The orientations 0 and 2π give the same image, as in the published file.

    Matthey et al. (2017), https://github.com/google-deepmind/dsprites-dataset

    Args:
        source: `rendered` renders the images, `official` reads the published file, `auto` uses the
            published file if it is found and renders otherwise.
        path: Path of the published file (npz); the cache folder is searched as well.
        download: Whether `official` may download the published file if it is not found.

    Raises:
        InputError: `path` or `download` is given for rendered images.
    """

    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = (
        "Matthey, Higgins, Hassabis, Lerchner (2017), "
        "https://github.com/google-deepmind/dsprites-dataset"
    )
    size: ClassVar[int | None] = 377_487_488
    contents: ClassVar[str] = (
        "737,280 images 64×64×1: shape 3, scale 6, orientation 40, posX 32, posY 32"
    )
    drawn: ClassVar[str] = "the published images, by their exact rule"
    cache: ClassVar[str] = "dsprites"
    channels: ClassVar[int] = 1

    def __init__(
        self,
        source: Literal["rendered", "official", "auto"] = "rendered",
        path: str | None = None,
        download: bool = False,
    ) -> None:
        self._bits = SpriteBits(source, path, download)

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number, pixels 0 and 255."""
        return masks(tables, index)

    def scaled(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Images by number, pixels 0 and 1 as float32, directly from their bits."""
        return bits(tables, index).float()
