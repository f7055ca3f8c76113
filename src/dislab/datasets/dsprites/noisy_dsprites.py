"""dSprites on a background of noise."""

from typing import ClassVar, Literal, final

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.datasets.dsprites._sprites import SIDE, SpriteBits, Sprites, first_turn, masks
from dislab.functional.random import BYTES, random_bytes


@final
class NoisyDSprites(Sprites):
    """dSprites on noise: white shapes, and a random value in every other pixel and channel.

    The noise is uniform over 0, 1, … 255, determined by the seed and the state; the orientations 0
    and 2π give the same image. The packed images of `DSprites` are in the cache folder; the noise
    is added when a batch is gathered.

    After Locatello et al. (2019), https://arxiv.org/abs/1811.12359, where new noise is drawn each
    time an image is read.

    Args:
        seed: Seed of the noise.
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
        seed: int = 0,
        source: Literal["rendered", "official", "auto"] = "rendered",
        path: str | None = None,
        download: bool = False,
    ) -> None:
        self.seed = seed
        self._bits = SpriteBits(source, path, download)

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number: a white shape on noise."""
        shape = (len(index), *self.image_shape)
        groups = self.channels * SIDE**2 // BYTES
        counters = first_turn(index)[:, None] * groups + torch.arange(groups, device=index.device)
        noise = random_bytes(self.seed, counters.view(-1)).view(shape)
        return noise | masks(tables, index)

    def provenance(self) -> dict[str, str]:
        """Source of the shapes, and seed of the noise.

        Raises:
            InputError: The images have not been prepared.
        """
        return {**self._bits.record(), "noise_seed": str(self.seed)}
