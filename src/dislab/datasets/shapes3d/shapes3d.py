"""The 3D Shapes data set, rendered or published, and the reader of the published file."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final, get_args

import numpy as np
import numpy.typing as npt
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets.bank.bank import (
    BankSpec,
    Blocks,
    Rows,
    bank_record,
    bank_rows,
    open_bank,
    prepare_bank,
)
from dislab.datasets.files.published import Published, check_source, find, refusal
from dislab.datasets.shapes3d import _render as renderer
from dislab.errors import InputError
from dislab.extras import imported
from dislab.factors import Factor, FactorSpace
from dislab.functional.checks import check_choice
from dislab.storage import cache_file, sha256

Look = Literal["published", "evening"]
"""Light and materials of rendered images."""

_PAGE: Final = "https://github.com/google-deepmind/3d-shapes"

SOURCE: Final = Published(
    ("3dshapes.h5",),
    _PAGE,
    "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
    267_573_662,
    "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
)

VALUES: Final = (
    np.arange(10) / 10,
    np.arange(10) / 10,
    np.arange(10) / 10,
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30, 30, 15),
)
"""Values of floor, wall and object hue, scale, shape and orientation in the published labels."""

_SIDE: Final = 64
_IMAGES_AT_A_TIME: Final = 1024
_HUES: Final = tuple(hue / renderer.HUES for hue in range(renderer.HUES))

FACTORS: Final = FactorSpace(
    (
        Factor("floor_hue", _HUES, "circular", period=1.0),
        Factor("wall_hue", _HUES, "circular", period=1.0),
        Factor("object_hue", _HUES, "circular", period=1.0),
        Factor("scale", tuple(np.linspace(0.75, 1.25, 8).tolist())),
        Factor("shape", ("cube", "cylinder", "sphere", "capsule"), "categorical"),
        Factor("orientation", tuple(np.linspace(-30, 30, 15).tolist()), unit="deg"),
    )
)

_GEOMETRIES: Final = int(np.prod(renderer.GEOMETRIES))


@final
class Shapes3D(Dataset):
    """3D Shapes: 480,000 views of an object in a room, 64×64 RGB, from six factors.

    The published images, or a look-alike that needs no download. The rendered images resemble the
    published ones but are not identical, so scores on them are not exactly comparable with
    published scores; `docs/datasets.md` has the comparison. They are sums of 14,880 layers
    (183 MB); the published images take one byte per channel (5.9 GB). Both are stored in the cache
    folder, created on first use and mapped into memory.

    Kim & Mnih (2018), https://github.com/google-deepmind/3d-shapes

    Args:
        source: `rendered` renders the images, `official` reads the published file, `auto` uses the
            published file if it is found and renders otherwise.
        path: Path of the published file (HDF5); the cache folder is searched as well.
        download: Whether `official` may download the published file if it is not found.
        look: `published` resembles the published images; `evening`, for rendered images only, has
            the same states under another lamp and with tiles, to test transfer out of domain.

    Raises:
        InputError: `path` or `download` is given for rendered images, or `evening` for others.
    """

    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = (
        "Kim and Mnih (2018), Disentangling by Factorising, https://arxiv.org/abs/1802.05983; "
        "Burgess and Kim (2018), 3D Shapes dataset, https://github.com/google-deepmind/3d-shapes"
    )
    size: ClassVar[int | None] = 182_845_568
    contents: ClassVar[str] = (
        "480,000 images 64×64×3: floor_hue 10, wall_hue 10, object_hue 10, scale 8, "
        "shape 4, orientation 15"
    )
    drawn: ClassVar[str] = "a look-alike of the published images, 3 of 255 off"
    cache: ClassVar[str] = "shapes3d"

    def __init__(
        self,
        source: Literal["rendered", "official", "auto"] = "rendered",
        path: str | None = None,
        download: bool = False,
        look: Look = "published",
    ) -> None:
        check_source(source, path, download)
        check_choice("look", look, get_args(Look))
        if source != "rendered" and look != "published":
            raise InputError(f"look {look!r} is only drawn: it needs source rendered, not {source}")
        self.source = source
        self.path = path
        self.download = download
        self.look = look
        self._tables: dict[str, Tensor] = {}

    @property
    def factors(self) -> FactorSpace:
        """Hues of floor, wall and object, scale, shape, orientation; the last counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, 64 rows, 64 columns."""
        return (3, renderer.SIDE, renderer.SIDE)

    def prepare(self) -> None:
        """Makes sure that the layers, or the published images, are in the cache folder.

        Raises:
            InputError: The published file is required but not found or differs from the published
                one, or the cache folder cannot be written to.
        """
        prepare_bank(self._spec())

    def tables(self) -> dict[str, Tensor]:
        """The `layers`, 31 per geometry, or the published `images`; 12,288 bytes each.

        Raises:
            InputError: They have not been prepared, or their file was damaged later.
        """
        if not self._tables:
            name = "images" if self._is_official() else "layers"
            self._tables = {name: open_bank(self._spec())}
        return self._tables

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number; rendered ones are sums of the layers of sky, floor, wall and object."""
        if "images" in tables:
            return bank_rows(tables["images"], index).view(len(index), *self.image_shape)
        layers, hues = tables["layers"], index // _GEOMETRIES
        sky = index % _GEOMETRIES * renderer.LAYERS
        floor = sky + 1 + hues // renderer.HUES**2
        wall = sky + 1 + renderer.HUES + hues // renderer.HUES % renderer.HUES
        thing = sky + 1 + 2 * renderer.HUES + hues % renderer.HUES
        image = bank_rows(layers, sky)
        for layer in (floor, wall, thing):
            image += bank_rows(layers, layer)
        return image.view(len(index), *self.image_shape)

    def provenance(self) -> dict[str, str]:
        """Source, renderer version or file, and checksum of the stored layers or images.

        Raises:
            InputError: The images have not been prepared.
        """
        return bank_record(self._spec())

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the mapped layers, which another process maps itself."""
        return {**self.__dict__, "_tables": {}}

    def _spec(self) -> BankSpec:
        if self._is_official():
            shape = (len(FACTORS), renderer.LAYER_BYTES)
            origin = {"source": "official", "file": SOURCE.names[0]}
            path = cache_file("shapes3d/official.npy")
            return BankSpec(path, shape, origin, self._official, packed=False)
        name = f"shapes3d/rendered-{renderer.VERSION}"
        origin = {"source": "rendered look-alike", "renderer": str(renderer.VERSION)}
        make: Callable[[int, int], Rows] = renderer.render_rows
        if self.look == "evening":
            make = partial(renderer.render_rows, look=renderer.EVENING)
            name += "-evening"
            origin["look"] = "evening"
        shape = (_GEOMETRIES * renderer.LAYERS, renderer.LAYER_BYTES)
        # one geometry per block
        blocks = Blocks(renderer.LAYERS, make)
        return BankSpec(cache_file(f"{name}.npy"), shape, origin, blocks, packed=False)

    def _is_official(self) -> bool:
        if self.source != "auto":
            return self.source == "official"
        files = (SOURCE.names[0], "shapes3d/official.npy")
        return self.path is not None or any(cache_file(file).is_file() for file in files)

    def _official(self) -> Iterator[Rows]:
        return official_rows(find(SOURCE, self.path, self.download))


def official_rows(path: Path) -> Iterator[npt.NDArray[np.uint8]]:
    """The images of the published file in order, rows of 12,288 bytes, channels first.

    HDF5 stores no checksum of these images, so the checksum of the whole file is verified first.
    """
    h5py = imported("h5py", "hdf5", "the published 3D Shapes file")
    if (checksum := sha256(path)) != SOURCE.checksum:
        size = path.stat().st_size
        what = (
            f"SHA-256 {checksum} ({size} bytes) instead of {SOURCE.checksum} ({SOURCE.size} bytes)"
        )
        raise refusal(path, what, _PAGE)
    try:
        with h5py.File(path, "r") as file:
            images = _checked(file, path)
            for start in range(0, len(images), _IMAGES_AT_A_TIME):
                pixels = images[start : start + _IMAGES_AT_A_TIME]
                yield pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    except (OSError, RuntimeError) as error:
        raise refusal(path, f"it cannot be read: {error}", _PAGE) from error


def _checked(file: Any, path: Path) -> Any:
    """The images, if they and their labels have the published structure and order."""
    count = int(np.prod([len(values) for values in VALUES]))
    shapes = {
        "images": (np.dtype(np.uint8), (count, _SIDE, _SIDE, 3)),
        "labels": (np.dtype(np.float64), (count, len(VALUES))),
    }
    for name, (dtype, shape) in shapes.items():
        if name not in file:
            raise refusal(path, f"it has no array {name}, only {', '.join(file)}", _PAGE)
        if (file[name].dtype, file[name].shape) != (dtype, shape):
            what = f"{name} is {file[name].dtype} of shape {file[name].shape}"
            raise refusal(path, f"{what} instead of {dtype} of shape {shape}", _PAGE)
    labels = file["labels"][:]
    grid = np.stack(np.meshgrid(*VALUES, indexing="ij"), axis=-1).reshape(labels.shape)
    wrong = np.flatnonzero((np.abs(labels - grid) > 1e-6).any(axis=1))
    if len(wrong):
        first = wrong[0]
        what = f"image {first} has the labels {labels[first].tolist()}"
        raise refusal(path, f"{what} instead of {grid[first].tolist()}", _PAGE)
    return file["images"]
