"""The MPI3D data sets."""

import zipfile
from collections.abc import Iterator
from typing import ClassVar, Final, Literal, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.npz import array_blocks, open_array
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.factors import Factor, FactorSpace

_PAGE: Final = "https://github.com/rr-learning/disentanglement_dataset"
_FILES: Final = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main"
_SHAPE: Final = (3, 64, 64)

Variant = Literal["toy", "realistic", "real", "real_complex"]

SOURCES: Final[dict[Variant, Published]] = {
    "toy": Published(
        ("mpi3d_toy.npz",),
        _PAGE,
        f"{_FILES}/mpi3d_toy.npz",
        checksum="55889cb7c7dfc655d6e0277beee88868",
    ),
    "realistic": Published(
        ("mpi3d_realistic.npz",),
        _PAGE,
        f"{_FILES}/mpi3d_realistic.npz",
        checksum="59a6225b88b635365f70c91b3e52f70f",
    ),
    # its file was replaced in 2025, and no checksum of the new one was published
    "real": Published(("mpi3d_real.npz",), _PAGE, f"{_FILES}/mpi3d_real.npz"),
    "real_complex": Published(
        ("real3d_complicated_shapes_ordered.npz", "mpi3d_real_complex.npz"), _PAGE
    ),
}


def _names(name: str, *values: str) -> Factor:
    return Factor(name, values, "categorical")


def _numbers(name: str, count: int) -> Factor:
    return Factor(name, tuple(map(float, range(count))))


_COMMON: Final = (
    _numbers("object_size", 2),
    _numbers("camera_height", 3),
    _names("background_color", "purple", "sea green", "salmon"),
    _numbers("horizontal_axis", 40),
    _numbers("vertical_axis", 40),
)
SIMPLE: Final = FactorSpace(
    (
        _names("object_color", "white", "green", "red", "blue", "brown", "olive"),
        _names("object_shape", "cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"),
        *_COMMON,
    )
)
_COMPLEX: Final = FactorSpace(
    (
        _names("object_color", "yellow", "green", "olive", "red"),
        _names("object_shape", "coffee-cup", "tennis-ball", "croissant", "beer-cup"),
        *_COMMON,
    )
)


@final
class MPI3D(BankedDataset):
    """MPI3D: an object at the end of a robot arm, rendered or photographed, from seven factors.

    1,036,800 images of 64×64 pixels in colour (460,800 for `real_complex`), with all combinations
    of the factors. Size 0 is small and 1 large; camera height 0 is the top, 1 the centre and 2 the
    bottom; the two axes are positions of the arm's joints, from 0 to 39.

    The published npz file contains only the images, in the order of the factors. It is converted
    once to a file of 12.7 GB (5.7 GB for `real_complex`) in the cache folder, which is mapped into
    memory.

    Gondal et al. (2019), https://arxiv.org/abs/1906.03292

    Args:
        variant: `toy` is rendered simply, `realistic` realistically, `real` photographed;
            `real_complex` shows photographed everyday objects.
        path: The published npz file, or the folder that contains it; the cache folder is searched
            as well.
        download: Whether to download the file if it is not found; `real_complex` must be downloaded
            manually.
    """

    licence: ClassVar[str] = "CC BY 4.0"
    citation: ClassVar[str] = (
        "Gondal et al. (2019), On the Transfer of Inductive Bias from Simulation to the Real "
        "World: a New Disentanglement Dataset, https://arxiv.org/abs/1906.03292"
    )
    size: ClassVar[int | None] = 12_740_198_400
    contents: ClassVar[str] = (
        "1,036,800 images 64×64×3: object_color 6, object_shape 6, object_size 2, "
        "camera_height 3, background_color 3, horizontal_axis 40, vertical_axis 40"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "mpi3d"

    def __init__(
        self, variant: Variant = "toy", path: str | None = None, download: bool = False
    ) -> None:
        self.variant = variant
        self.path = path
        self.download = download

    @property
    def factors(self) -> FactorSpace:
        """Colour, shape and size of the object, camera, background and arm; the last is fastest."""
        return _COMPLEX if self.variant == "real_complex" else SIMPLE

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, 64 rows, 64 columns."""
        return _SHAPE

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": SOURCES[self.variant].names[0]}
        name = f"mpi3d/{self.variant}"
        return Pictures(name, len(self.factors), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        path = find(SOURCES[self.variant], self.path, self.download)
        with reading(path, _PAGE), zipfile.ZipFile(path) as archive:
            shape = (len(self.factors), 64, 64, 3)
            header = open_array(
                archive, "images", np.uint8, shape, lambda what: refusal(path, what, _PAGE)
            )
            for pixels in array_blocks(header, "images", lambda what: refusal(path, what, _PAGE)):
                yield pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
