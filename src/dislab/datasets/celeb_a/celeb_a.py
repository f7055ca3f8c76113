"""The CelebA data set."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Final, final

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.bank.labels import Labels, keep_labels, kept_labels
from dislab.datasets.celeb_a import _lists as lists
from dislab.datasets.files.decode import Frame, check_side, pictures
from dislab.datasets.files.instances import with_instances
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.datasets.files.tree import open_tree
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

_WIDTH: Final = 178
_HEIGHT: Final = 218
_LABELS: Final = "celeba/labels"

PICTURES: Final = Published(("img_align_celeba.zip", "img_align_celeba"), lists.PAGE, kind="part")
ATTRIBUTES: Final = Published(
    ("list_attr_celeba.txt", "list_attr_celeba.csv"), lists.PAGE, kind="part"
)
PARTITION: Final = Published(
    ("list_eval_partition.txt", "list_eval_partition.csv"), lists.PAGE, kind="part"
)

FACTORS: Final = (
    *(Factor(name, (0.0, 1.0), "categorical") for name in lists.NAMES),
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
        return Pictures(name, lists.IMAGES, origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        path = find(PICTURES, self.path, fetch=False)
        x, y = (_WIDTH - self.crop) // 2, (_HEIGHT - self.crop) // 2
        box = (x, y, x + self.crop, y + self.crop)
        frame = Frame((_WIDTH, _HEIGHT), self.side, box=box)
        with reading(path, lists.PAGE), open_tree(path) as tree:
            by_name = {name.rpartition("/")[2]: name for name in tree.names}
            file_names = [f"{index:06d}.jpg" for index in range(1, lists.IMAGES + 1)]
            missing = [name for name in file_names if name not in by_name]
            if missing:
                what = (
                    f"{len(missing)} of its {lists.IMAGES} images are missing, {missing[0]} first"
                )
                raise refusal(path, what, lists.PAGE)
            yield from pictures(tree, [by_name[name] for name in file_names], frame)

    def _read_labels(self) -> Labels:
        attributes = find(ATTRIBUTES, self.path, fetch=False)
        partition = find(PARTITION, self.path, fetch=False)
        return {"table": lists.read_lists(attributes, partition)}
