"""The published robot-finger data sets, and the readers of their files."""

import collections
import pickle
import zipfile
from collections.abc import Iterator
from functools import cached_property
from io import BufferedIOBase
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final

import numpy as np
import numpy.typing as npt

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.bank.labels import Labels, keep_labels, kept_labels, with_instances
from dislab.datasets.files.npz import Refusal, array_blocks, open_array, open_header, read_array
from dislab.datasets.files.pictures import Frame, check_side, numbered_pictures, open_tree, shrink
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

PAGE: Final = "its authors (https://arxiv.org/abs/2010.14407)"
COLUMNS: Final = ("shape", "color", "size", "joint0", "joint1", "joint2", "x", "y", "angle")
SIDE: Final = 128
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
    contents: ClassVar[str] = (
        "published images of the robot finger 64×64×3: color, joint0, joint1, joint2, x, y, angle"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "robot_finger_files"

    def __init__(
        self, subset: Subset = "finger", side: int = SIDE, path: str | None = None
    ) -> None:
        check_side(side, SIDE)
        self.subset = subset
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
        return find(Published(names, PAGE, kind="part"), self.path, fetch=False)

    def _read_labels(self) -> Labels:
        info, labels = (self._find(f"{self.subset}_{what}.npz") for what in ("info", "labels"))
        return _labels_of(info, labels)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": self.subset, "filter": "bilinear"}
        name = self._name(str(self.side))
        return Pictures(name, len(self.factors), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        count = len(self.factors)
        if self.subset == "finger_real":
            return _photographs(self._find("finger_real_images.npz"), count, self.side)
        path = self._find(f"{self.subset}_images.tar", "images")
        return _renderings(path, count, self.side)


_ALLOWED: Final = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}

_NUMPY: Final = {
    ("multiarray", "_reconstruct"),
    ("multiarray", "scalar"),
    ("numeric", "_frombuffer"),
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Allows only the constructors that arrays need, under their old and new module names."""
        if (module, name) in _ALLOWED:
            return _ALLOWED[module, name]
        package, _, inner = module.rpartition(".")
        if package in ("numpy.core", "numpy._core") and (inner, name) in _NUMPY:
            return super().find_class(f"numpy._core.{inner}", name)
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is refused")


def _labels_of(info: Path, labels: Path) -> Labels:
    """The value numbers as `table`, one row per image, and the values of each column by name.

    Colours are rows of RGB values from 0 to 1; shapes are names.
    """
    with reading(info, PAGE), zipfile.ZipFile(info) as archive:
        count, values = _info(archive, _refusing(info))
    sizes = [len(values[name]) for name in COLUMNS]
    refuse = _refusing(labels)
    with reading(labels, PAGE), zipfile.ZipFile(labels) as archive:
        header = open_header(archive, "labels", refuse)
        if header.dtype.kind not in "iu" or header.shape != (count, len(COLUMNS)):
            header.stream.close()
            kind = "pickled objects" if header.dtype.hasobject else str(header.dtype)
            what = f"labels is {kind} of shape {header.shape} instead of integers of shape "
            raise refuse(f"{what}{(count, len(COLUMNS))}")
        table = read_array(header, "labels", refuse)
    if (table < 0).any() or (table >= sizes).any():
        raise refuse(f"labels holds value numbers beyond the sizes {sizes}")
    return {"table": table.astype(np.int32), **values}


def _photographs(path: Path, count: int, side: int) -> Iterator[Rows]:
    """The images of the real set in order, as chunks of rows of bytes."""
    refuse = _refusing(path)
    with reading(path, PAGE), zipfile.ZipFile(path) as archive:
        header = open_array(archive, "images", np.uint8, (count, SIDE, SIDE, 3), refuse)
        for block in array_blocks(header, "images", refuse):
            yield np.stack([shrink(pixels, side).reshape(-1) for pixels in block])


def _renderings(path: Path, count: int, side: int) -> Iterator[Rows]:
    """The images of a simulated set in order, as chunks of rows of bytes."""
    with reading(path, PAGE), open_tree(path) as tree:
        yield from numbered_pictures(tree, count, Frame((SIDE, SIDE), side), _refusing(path))


def _refusing(path: Path) -> Refusal:
    def refuse(what: str) -> InputError:
        return refusal(path, what, PAGE)

    return refuse


def _info(archive: zipfile.ZipFile, refuse: Refusal) -> tuple[int, Labels]:
    """Number of images, and the values of each column by name."""
    count = _numbers(archive, "dataset_size", refuse)
    sizes = _numbers(archive, "num_factor_values", refuse)
    with open_array(archive, "factor_values", np.object_, (), refuse).stream as stream:
        try:
            pickled = _load_plain(stream)
        except pickle.UnpicklingError as error:
            raise refuse(f"factor_values cannot be unpickled safely: {error}") from error
    content = pickled.item() if isinstance(pickled, np.ndarray) and pickled.ndim == 0 else pickled
    if not isinstance(content, dict) or set(content) != set(COLUMNS):
        contents = ", ".join(map(str, content)) if isinstance(content, dict) else type(content)
        raise refuse(f"factor_values names {contents} instead of {', '.join(COLUMNS)}")
    values = {name: _values(name, content[name], refuse) for name in COLUMNS}
    lengths = [len(values[name]) for name in COLUMNS]
    if count.size != 1 or sizes.ravel().tolist() != lengths:
        what = f"factor_values has {lengths} values, but num_factor_values says {sizes.tolist()}"
        raise refuse(what)
    return int(count.ravel()[0]), values


def _numbers(archive: zipfile.ZipFile, name: str, refuse: Refusal) -> npt.NDArray[Any]:
    header = open_header(archive, name, refuse)
    if header.dtype.kind not in "iu":
        header.stream.close()
        raise refuse(f"{name} is {header.dtype} instead of integers")
    return read_array(header, name, refuse)


def _values(name: str, content: object, refuse: Refusal) -> npt.NDArray[Any]:
    names, axes = name == "shape", 2 if name == "color" else 1
    try:
        values = np.asarray(content, dtype=np.str_ if names else np.float64)
    except (TypeError, ValueError) as error:
        raise refuse(f"the values of {name} are no {'names' if names else 'numbers'}") from (error)
    if values.ndim != axes or not len(values):
        raise refuse(f"the values of {name} have shape {values.shape}")
    return values


def _space(labels: Labels) -> FactorSpace:
    varying = [name for name in COLUMNS if name not in _CONSTANT]
    columns = [COLUMNS.index(name) for name in varying]
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


def _load_plain(stream: BufferedIOBase) -> Any:
    """Unpickles an object that consists of plain containers, numbers and arrays.

    Anything else that a pickle names, such as a function to call, is rejected before it is looked
    up.

    Raises:
        pickle.UnpicklingError: The pickle names anything else, or is invalid.
    """
    try:
        return _Plain(stream).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # a broken pickle raises almost anything
        raise pickle.UnpicklingError(f"broken: {error!r}") from error


def _latin1(text: str, _encoding: str) -> bytes:
    """Decodes bytes as Python 3 writes them into pickles for Python 2."""
    return text.encode("latin1")
