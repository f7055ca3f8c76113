"""The Falcor3D data set."""

from collections.abc import Iterator
from typing import ClassVar, Final, final

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.decode import check_side
from dislab.datasets.files.published import Published, find
from dislab.datasets.nvidia._file import PAGE, SIDE, even, read_rows
from dislab.factors import FactorSpace

SOURCE: Final = Published(("Falcor3D_down128", "Falcor3D_down128.zip"), PAGE, kind="tree")
FACTORS: Final = FactorSpace(
    (
        even("lighting_intensity", 5),
        even("lighting_x_dir", 6),
        even("lighting_y_dir", 6),
        even("lighting_z_dir", 6),
        even("camera_x_pos", 6),
        even("camera_y_pos", 6),
        even("camera_z_pos", 6),
    )
)


@final
class Falcor3D(BankedDataset):
    """Falcor3D: 233,280 renderings of a living room, from seven factors of light and camera.

    All combinations of the factors, the last one varying fastest, in the published version of
    128×128 pixels. Values are evenly spaced from 0 to 1, as normalised by the authors. If the
    published labels are in the same folder as the images, they are compared with this order.

    The published files were not available when this reader was written; it is tested on small files
    with the same layout.

    Nie et al. (2020), https://arxiv.org/abs/2003.03461

    Args:
        side: Height and width of the images in pixels, at most 128; smaller images use Pillow's
            bilinear filter.
        path: The folder Falcor3D_down128, with `images/000000.png` and so on, or its archive; the
            cache folder is searched as well. It must be downloaded manually.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "CC BY 4.0"
    citation: ClassVar[str] = (
        "Nie et al. (2020), Semi-Supervised StyleGAN for Disentanglement Learning, "
        "https://arxiv.org/abs/2003.03461"
    )
    size: ClassVar[int | None] = 2_866_544_640
    contents: ClassVar[str] = (
        "233,280 images 64×64×3: lighting_intensity 5, lighting_x_dir 6, lighting_y_dir 6, "
        "lighting_z_dir 6, camera_x_pos 6, camera_y_pos 6, camera_z_pos 6"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "falcor3d"

    def __init__(self, side: int = 64, path: str | None = None) -> None:
        check_side(side, SIDE)
        self.side = side
        self.path = path

    @property
    def factors(self) -> FactorSpace:
        """Intensity and direction of the light, camera position; the last varies fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows and columns."""
        return (3, self.side, self.side)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": SOURCE.names[0], "filter": "bilinear"}
        return Pictures(f"falcor3d/{self.side}", len(FACTORS), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        path = find(SOURCE, self.path, fetch=False)
        return read_rows(path, FACTORS, "train-rec.labels", self.side)
