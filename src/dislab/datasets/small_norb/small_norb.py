"""The SmallNORB data set."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Final, Literal, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.decode import check_side, shrink
from dislab.datasets.files.norb_file import read_blocks
from dislab.datasets.files.published import find
from dislab.datasets.small_norb import _labels as norb
from dislab.factors import FactorSpace

_ROWS_AT_A_TIME: Final = 1024


@final
class SmallNORB(BankedDataset):
    """SmallNORB: 48,600 grey photographs of 50 toys, from five factors, by one of two cameras.

    Both published halves are combined and contain all combinations of category, instance,
    elevation, azimuth and lighting. `hold_out: {instance: [0, 1, 2, 3, 5]}` makes the published
    test half the test split. The instance is a toy of its category; toy 3 of one category has
    nothing in common with toy 3 of another. Published scores leave it out, as in Locatello et al.
    (2019), https://arxiv.org/abs/1811.12359, and so do scores here unless `instance` is `factor`.

    The images, published at 96×96, are resized to `side` with Pillow's bilinear filter;
    `disentanglement_lib` uses a Lanczos filter and the left camera instead. Conversion needs memory
    for all images (199 MB at 64 pixels and one camera).

    LeCun, Huang and Bottou (2004), Learning Methods for Generic Object Recognition with Invariance
    to Pose and Lighting, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/

    Args:
        camera: Camera of the images; `both` makes the camera a sixth factor, with 97,200 images.
        side: Height and width of the images in pixels, at most 96.
        path: The folder of the six published files, compressed (.mat.gz) or not (.mat); the cache
            folder is searched as well.
        download: Whether to download the files if they are not found.
        instance: Whether the instance is a `nuisance`, which scores leave out and which may differ
            within a pair, or a `factor` like the others.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "research only, not to be sold"
    citation: ClassVar[str] = (
        "LeCun, Huang and Bottou (2004), Learning Methods for Generic Object Recognition with "
        "Invariance to Pose and Lighting, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
    )
    size: ClassVar[int | None] = 199_065_600
    contents: ClassVar[str] = (
        "48,600 images 64×64×1: category 5, instance 10, elevation 9, azimuth 18, lighting 6"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "smallnorb"

    def __init__(
        self,
        camera: Literal["left", "right", "both"] = "left",
        side: int = 64,
        path: str | None = None,
        download: bool = False,
        instance: Literal["nuisance", "factor"] = "nuisance",
    ) -> None:
        check_side(side, norb.SIDE)
        self.camera = camera
        self.side = side
        self.path = path
        self.download = download
        self.instance = instance

    @cached_property
    def factors(self) -> FactorSpace:
        """Category, instance, elevation, azimuth, lighting, and camera if both are read."""
        space = norb.STEREO if self.camera == "both" else norb.STATES
        left_out = {"instance"} if self.instance == "nuisance" else set()
        return FactorSpace(
            tuple(replace(factor, nuisance=factor.name in left_out) for factor in space.factors)
        )

    @property
    def image_shape(self) -> ImageShape:
        """One channel, `side` rows and columns."""
        return (1, self.side, self.side)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": norb.TRAINING + ", testing", "filter": "bilinear"}
        name = f"smallnorb/{self.camera}-{self.side}"
        return Pictures(name, len(self.factors), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        cameras = [0, 1] if self.camera == "both" else [norb.CAMERAS.index(self.camera)]
        paths = [
            {kind: find(file, self.path, self.download) for kind, file in half.items()}
            for half in norb.SOURCES
        ]
        states = [norb.read_states(half) for half in paths]
        norb.check_once(np.concatenate(states), paths[-1]["info"])
        images = np.empty((len(norb.STATES), len(cameras), self.side**2), dtype=np.uint8)
        for half, order in zip(paths, states, strict=True):
            shape = (len(order), len(norb.CAMERAS), norb.SIDE, norb.SIDE)
            targets = iter(order)
            for block in read_blocks(half["dat"], np.dtype(np.uint8), shape, norb.PAGE):
                for pair in block:
                    shrunk = [shrink(pair[camera], self.side).reshape(-1) for camera in cameras]
                    images[next(targets)] = shrunk
        rows = images.reshape(-1, self.side**2)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            yield rows[start : start + _ROWS_AT_A_TIME]
