"""The Isaac3D data set."""

from typing import ClassVar, Final, final

from dislab.datasets.files.published import Published
from dislab.datasets.nvidia._rooms import Rooms, even, files_of
from dislab.factors import Factor, FactorSpace

FACTORS: Final = FactorSpace(
    (
        Factor("object_shape", (0.0, 1.0, 2.0), "categorical"),
        even("robot_x_move", 8),
        even("robot_y_move", 5),
        even("camera_height", 4),
        even("object_scale", 4),
        even("lighting_intensity", 4),
        even("lighting_y_dir", 6),
        even("object_color", 4),
        even("wall_color", 4),
    )
)


@final
class Isaac3D(Rooms):
    """Isaac3D: 737,280 renderings of a robot arm with an object in a kitchen, from nine factors.

    All combinations of the factors, the last one varying fastest, in the published version of
    128×128 pixels. Values are evenly spaced from 0 to 1, as normalised by the authors; the three
    shapes are numbered. Factors are in the order of the authors' `dataset_demo.py`; their README
    lists other names for the same positions, among them a factor of four values in the position of
    one with eight. If the published labels are in the same folder as the images, they are compared
    with this order.

    The published files were not available when this reader was written; it is tested on small files
    with the same layout.

    Nie et al. (2020), https://arxiv.org/abs/2003.03461

    Args:
        side: Height and width of the images in pixels, at most 128; smaller images use Pillow's
            bilinear filter.
        path: The folder Isaac3D_down128, with `images/000000.png` and so on, or its archive; the
            cache folder is searched as well. It must be downloaded manually.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "CC BY 4.0"
    citation: ClassVar[str] = (
        "Nie et al. (2020), Semi-Supervised StyleGAN for Disentanglement Learning, "
        "https://arxiv.org/abs/2003.03461"
    )
    size: ClassVar[int | None] = 9_059_696_640
    contents: ClassVar[str] = (
        "737,280 images 64×64×3: object_shape 3, robot_x_move 8, robot_y_move 5, camera_height 4, "
        "object_scale 4, lighting_intensity 4, lighting_y_dir 6, object_color 4, wall_color 4"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "isaac3d"
    files: ClassVar[Published] = files_of("Isaac3D_down128")
    labels: ClassVar[str] = "labels.npy"
    space: ClassVar[FactorSpace] = FACTORS
