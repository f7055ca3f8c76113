"""The CelebA data set: portraits, and readers of the published lists of attributes and parts."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.bank.labels import Labels, keep_labels, kept_labels, with_instances
from dislab.datasets.celeb_a._lists import NAMES
from dislab.datasets.files.pictures import Frame, check_side, open_tree, pictures
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

PAGE: Final = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
IMAGES: Final = 202_599

_WIDTH: Final = 178
_HEIGHT: Final = 218
_LABELS: Final = "celeba/labels"
PICTURES: Final = Published(("img_align_celeba.zip", "img_align_celeba"), PAGE, kind="part")
ATTRIBUTES: Final = Published(("list_attr_celeba.txt", "list_attr_celeba.csv"), PAGE, kind="part")

PARTITION: Final = Published(
    ("list_eval_partition.txt", "list_eval_partition.csv"), PAGE, kind="part"
)

FACTORS: Final = (
    *(Factor(name, (0.0, 1.0), "categorical") for name in NAMES),
    Factor("part", ("training", "validation", "test"), "categorical", nuisance=True),
)


@final
class CelebA(BankedDataset):
    """CelebA: 202,599 portraits in colour with 40 attributes, each present (1) or absent (0).

    The attributes are followed by two factors that scores ignore: `part`, the published partition,
    so that `hold_out: {part: test}` makes its test part the test split, and `instance`, which
    numbers images with equal attributes and part. The states are in the order of the files. The
    attributes are human annotations, strongly dependent, and not generative factors.

    The central square of `crop` pixels of each aligned image (178×218) is resized to `side` with
    Pillow's bilinear filter. The attributes are read from the published lists, so the states are
    known once these exist.

    Liu, Luo, Wang and Tang (2015), https://arxiv.org/abs/1411.7766

    Args:
        crop: Height and width of the central square, in pixels of the published images, at most
            178.
        side: Height and width of the images in pixels, at most `crop`.
        path: The folder with img_align_celeba (or its zip archive), list_attr_celeba.txt and
            list_eval_partition.txt, or both lists as csv, as on Kaggle; the cache folder is
            searched as well. They must be downloaded manually, as the publishers require consent to
            their terms.

    Raises:
        InputError: The crop or the side is out of range.
    """

    licence: ClassVar[str] = "non-commercial research only"
    citation: ClassVar[str] = (
        "Liu, Luo, Wang and Tang (2015), Deep Learning Face Attributes in the Wild, "
        "https://arxiv.org/abs/1411.7766"
    )
    size: ClassVar[int | None] = 2_489_536_512
    contents: ClassVar[str] = "202,599 images 64×64×3: 40 attributes"
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "celeba"

    def __init__(self, crop: int = 148, side: int = 64, path: str | None = None) -> None:
        if not 8 <= crop <= _WIDTH:
            raise InputError(
                f"crop {crop} is not possible; the published images are {_WIDTH} pixels wide; "
                f"choose 8 to {_WIDTH}"
            )
        check_side(side, crop)
        self.crop = crop
        self.side = side
        self.path = path

    @cached_property
    def factors(self) -> FactorSpace:
        """The attributes, part and instance; read from the lists at first use.

        Raises:
            InputError: The lists are not found, or are not the published ones.
        """
        labels = kept_labels(_LABELS) or self._read_labels()
        return with_instances(FACTORS, labels["table"])

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
        if kept_labels(_LABELS) is None:
            keep_labels(_LABELS, self._read_labels())
        super().prepare()

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": PICTURES.names[0], "filter": "bilinear"}
        name = f"celeba/{self.crop}-{self.side}"
        return Pictures(name, IMAGES, origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        path = find(PICTURES, self.path, fetch=False)
        x, y = (_WIDTH - self.crop) // 2, (_HEIGHT - self.crop) // 2
        box = (x, y, x + self.crop, y + self.crop)
        frame = Frame((_WIDTH, _HEIGHT), self.side, box=box)
        with reading(path, PAGE), open_tree(path) as tree:
            by_name = {name.rpartition("/")[2]: name for name in tree.names}
            file_names = [f"{index:06d}.jpg" for index in range(1, IMAGES + 1)]
            missing = [name for name in file_names if name not in by_name]
            if missing:
                what = f"{len(missing)} of its {IMAGES} images are missing, {missing[0]} first"
                raise refusal(path, what, PAGE)
            yield from pictures(tree, [by_name[name] for name in file_names], frame)

    def _read_labels(self) -> Labels:
        """40 binary attributes of each image, and its part: 0 training, 1 validation, 2 test."""
        attributes = find(ATTRIBUTES, self.path, fetch=False)
        parts = _table(find(PARTITION, self.path, fetch=False), 0, ("0", "1", "2"), 1)
        return {"table": np.column_stack([_attributes(attributes), parts])}


def _attributes(path: Path) -> npt.NDArray[np.uint8]:
    with reading(path, PAGE), path.open(encoding="utf-8", errors="replace") as stream:
        count, names = stream.readline().strip(), stream.readline().split()
    if path.suffix == ".csv":
        names = count.split(",")[1:]
    elif count != str(IMAGES):
        raise refusal(path, f"its first line is {count[:20]!r} instead of {IMAGES}", PAGE)
    if tuple(names) != NAMES:
        line = "first" if path.suffix == ".csv" else "second"
        raise refusal(path, f"its {line} line does not name the 40 attributes in order", PAGE)
    return _table(path, 2, ("-1", "1"), len(NAMES))


def _table(path: Path, skip: int, words: tuple[str, ...], columns: int) -> npt.NDArray[np.uint8]:
    """Index in `words` of each entry after the file name, one row per image.

    The copies on Kaggle are tables of comma-separated values, with one line of column names.
    """
    with reading(path, PAGE):
        text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".csv":
        text, skip = text.replace(",", " "), 1
    lines = text.splitlines()[skip:]
    if len(lines) != IMAGES:
        raise refusal(path, f"it has lines for {len(lines)} images instead of {IMAGES}", PAGE)
    alternatives = "|".join(map(re.escape, words))
    form = re.compile(rf"(\d+)\.jpg((?:\s+(?:{alternatives})){{{columns}}})\s*")
    number_of = {word: index for index, word in enumerate(words)}
    rows = np.empty((IMAGES, columns), dtype=np.uint8)
    for index, line in enumerate(lines):
        match = form.fullmatch(line)
        if match is None or int(match[1]) != index + 1:
            what = f"line {index + skip + 1} is {line[:40]!r}, not image {index + 1:06d}.jpg with "
            what += f"{columns} of {', '.join(words)}"
            raise refusal(path, what, PAGE)
        rows[index] = [number_of[word] for word in match[2].split()]
    return rows
