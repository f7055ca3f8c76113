"""The 3D Shapes data set."""

from typing import Any, ClassVar, Final, final

import numpy as np
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets import _shapes3d_render as renderer
from dislab.datasets._bank import Blocks, Plan, bank_record, bank_rows, open_bank, prepare_bank
from dislab.factors import Factor, FactorSpace
from dislab.storage import cache_folder

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
    """3D Shapes look-alike: 480,000 views of an object in a room, 64×64 RGB, from six factors.

    The factors, their values and their order are those of the published set. The images are drawn
    here and resemble the published ones; they are not equal to them, so scores on them are not
    comparable with published scores to the digit. `docs/datasets.md` has the comparison. All
    images are sums of 14,880 layers (183 MB), drawn at first use and mapped into memory.

    Kim & Mnih (2018), https://github.com/google-deepmind/3d-shapes
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = (
        "Kim and Mnih (2018), Disentangling by Factorising, https://arxiv.org/abs/1802.05983; "
        "Burgess and Kim (2018), 3D Shapes dataset, https://github.com/google-deepmind/3d-shapes"
    )
    size: ClassVar[int | None] = 182_845_568
    contents: ClassVar[str] = (
        "480,000 images 64×64×3: floor_hue 10, wall_hue 10, object_hue 10, scale 8, "
        "shape 4, orientation 15"
    )
    cache: ClassVar[str] = "shapes3d"

    def __init__(self) -> None:
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
        """Makes sure that the layers are in the cache folder.

        Raises:
            InputError: The cache folder cannot be written to.
        """
        prepare_bank(self._plan())

    def tables(self) -> dict[str, Tensor]:
        """The `layers`: 31 a geometry, of 12,288 bytes.

        Raises:
            InputError: The layers have not been prepared, or their file was damaged since.
        """
        if not self._tables:
            self._tables = {"layers": open_bank(self._plan())}
        return self._tables

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number: sums of the layers of sky, floor, wall and object.

        Args:
            tables: What `tables` returned, moved to the device of `index`.
            index: State numbers.
        """
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
        """Source, renderer version and checksum of the layers.

        Raises:
            InputError: The layers have not been prepared.
        """
        return bank_record(self._plan())

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the mapped layers: another process maps them itself."""
        return {**self.__dict__, "_tables": {}}

    def _plan(self) -> Plan:
        path = cache_folder() / "shapes3d" / f"rendered-{renderer.VERSION}.npy"
        origin = {"source": "rendered look-alike", "renderer": str(renderer.VERSION)}
        shape = (_GEOMETRIES * renderer.LAYERS, renderer.LAYER_BYTES)
        # one geometry a block
        return Plan(
            path, shape, origin, Blocks(renderer.LAYERS, renderer.render_rows), packed=False
        )
