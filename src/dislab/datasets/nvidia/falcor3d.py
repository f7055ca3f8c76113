"""The Falcor3D data set."""

from typing import ClassVar, Final, final

from dislab.datasets.files.published import Published
from dislab.datasets.nvidia._rooms import Rooms, even, files_of
from dislab.factors import FactorSpace

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
class Falcor3D(Rooms):
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
    files: ClassVar[Published] = files_of("Falcor3D_down128")
    labels: ClassVar[str] = "train-rec.labels"
    space: ClassVar[FactorSpace] = FACTORS
