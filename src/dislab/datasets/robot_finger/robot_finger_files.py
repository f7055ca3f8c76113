"""The published robot-finger data sets."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, Literal, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.bank.labels import Labels, keep_labels, kept_labels
from dislab.datasets.files.decode import check_side
from dislab.datasets.files.instances import with_instances
from dislab.datasets.files.published import Published, find
from dislab.datasets.robot_finger import _file as finger
from dislab.factors import Factor, FactorSpace

_TREE: Final = "robot_finger_datasets"
_CONSTANT: Final = ("shape", "size")
_UNITS: Final = {"joint0": "rad", "joint1": "rad", "joint2": "rad", "x": "m", "y": "m"}
_QUARTER_TURN: Final = np.pi / 2

Subset = Literal["finger", "finger_heldout_colors", "finger_real"]


@final
class RobotFingerFiles(BankedDataset):
    """The robot-finger images of Dittadi et al. as they were published, simulated or real.

    A robot finger of three joints above a cube on a stage, 128×128 pixels in colour. The factors
    are the cube's colour, the joint angles, and the cube's position and angle, which is periodic
    with a quarter turn; the shape and size of the cube are constant and left out. There are only
    states that the robot can reach, so the factors are correlated. The simulated states are drawn
    at random, some more than once: the factor `instance`, which scores ignore, numbers the images
    of equal states. The states are in the order of the files and are read from them, so they are
    known once the files exist. Colours are named by their sRGB values, such as `#ff0080`.

    In the pickles of the published files, only numbers, arrays and plain containers are accepted.
    `RobotFinger` renders similar images and needs no file.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407

    Args:
        subset: `finger` is the simulated training set, `finger_heldout_colors` has the cube in
            other colours, `finger_real` contains photographs.
        side: Height and width of the images in pixels, at most 128; smaller images use Pillow's
            bilinear filter.
        path: The folder robot_finger_datasets or that of the subset; the cache folder is searched
            as well. It must be downloaded manually, as dislab knows no download address.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "unstated"
    citation: ClassVar[str] = (
        "Dittadi et al. (2021), On the Transfer of Disentangled Representations in Realistic "
        "Settings, https://arxiv.org/abs/2010.14407"
    )
    size: ClassVar[int | None] = None
    contents: ClassVar[str] = (
        "published images of the robot finger 64×64×3: color, joint0, joint1, joint2, x, y, angle"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "robot_finger_files"

    def __init__(
        self, subset: Subset = "finger", side: int = finger.SIDE, path: str | None = None
    ) -> None:
        check_side(side, finger.SIDE)
        self.subset: Subset = subset
        self.side = side
        self.path = path

    @cached_property
    def factors(self) -> FactorSpace:
        """Colour, joints, position, angle and instance; read from the files on first use.

        Raises:
            InputError: The files are not found, or are not the published ones.
        """
        return _space(kept_labels(self._name("labels")) or self._read_labels())

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows and columns."""
        return (3, self.side, self.side)

    def prepare(self) -> None:
        """Makes sure that the images and their labels are in the cache folder.

        Raises:
            InputError: The published files are not found or are not the published ones, or the
                cache folder cannot be written to.
        """
        if kept_labels(self._name("labels")) is None:
            keep_labels(self._name("labels"), self._read_labels())
        super().prepare()

    def _name(self, what: str) -> str:
        return f"robot_finger_files/{self.subset}-{what}"

    def _find(self, *endings: str) -> Path:
        """One of the subset's files, in the whole tree or in the subset's own folder."""
        folders = (f"{self.subset}/", "", f"{_TREE}/{self.subset}/")
        names = tuple(f"{folder}{ending}" for ending in endings for folder in folders)
        return find(Published(names, finger.PAGE, kind="part"), self.path, fetch=False)

    def _read_labels(self) -> Labels:
        info, labels = (self._find(f"{self.subset}_{what}.npz") for what in ("info", "labels"))
        return finger.read_labels(info, labels)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": self.subset, "filter": "bilinear"}
        name = self._name(str(self.side))
        return Pictures(name, len(self.factors), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        count = len(self.factors)
        if self.subset == "finger_real":
            return finger.photographs(self._find("finger_real_images.npz"), count, self.side)
        path = self._find(f"{self.subset}_images.tar", "images")
        return finger.renderings(path, count, self.side)


def _space(labels: Labels) -> FactorSpace:
    varying = [name for name in finger.COLUMNS if name not in _CONSTANT]
    columns = [finger.COLUMNS.index(name) for name in varying]
    factors = [_factor(name, labels) for name in varying]
    return with_instances(factors, labels["table"][:, columns])


def _factor(name: str, labels: Labels) -> Factor:
    values = labels[name]
    if name == "color":
        levels = np.round(values * 255).astype(int)
        return Factor(
            name, tuple("#{:02x}{:02x}{:02x}".format(*rgb) for rgb in levels), "categorical"
        )
    if name == "angle":
        return Factor(name, tuple(values.tolist()), "circular", "rad", period=_QUARTER_TURN)
    return Factor(name, tuple(values.tolist()), unit=_UNITS[name])
