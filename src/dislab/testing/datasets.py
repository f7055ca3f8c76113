"""Check of data sets."""

from collections.abc import Callable, Mapping
from typing import Final, cast

import torch

from dislab.base import Dataset
from dislab.base.dataset import check_rows, fractions, image_shape_of
from dislab.factors import FactorSpace
from dislab.functional.random import device_generator
from dislab.plugins import available
from dislab.testing._claims import CPU, made_by, mistakes, must, must_be, must_equal, must_have

_LISTED: Final = {
    "contents": "1,024 images 64×64×1: posX 32, posY 32",
    "licence": "Apache-2.0",
}
"""Constants that every data set class defines, with an example value of each."""


_MOST_CHANNELS: Final = 4
"""Channels of usual images; more in the place of channels is a height."""


def check_listing(name: str, constants: Mapping[str, object]) -> None:
    """Checks for the constants that `dislab data list` reads without importing the data set.

    Args:
        name: Class name of the data set.
        constants: Attributes defined in the class itself.
    """
    for constant, example in _LISTED.items():
        must(
            bool(constants.get(constant)),
            f"class {name} states `{constant}: ClassVar[str] = {example!r}`, or the like, for "
            "`dislab data list`",
        )


def check_dataset(dataset: Dataset | Callable[[], Dataset], images: int = 5) -> None:
    """Checks that factors are known before preparation and that images are gathered by index.

    A data set declared by a plugin must also be listed by `dislab data list`.

    Args:
        dataset: The data set, which the check prepares; or a class or function that makes it.
        images: Number of images to gather.
    """
    if not isinstance(dataset, Dataset):
        dataset = made_by(Dataset, dataset, "check_dataset({}(...))")
    name = type(dataset).__name__
    if name in {plugin.name for plugin in available("datasets")}:
        check_listing(name, vars(type(dataset)))
    must_be(dataset.factors, FactorSpace, "factors returns")
    space = dataset.factors
    with mistakes():
        shape = image_shape_of(dataset)
    channels, height, width = shape
    must(
        channels <= _MOST_CHANNELS or height <= _MOST_CHANNELS or width not in (1, 3),
        f"image_shape is (channels, height, width), not the channels last: write "
        f"({width}, {channels}, {height}) for {shape}",
    )
    dataset.prepare()
    dataset.prepare()
    tables: object = dataset.tables()
    must(
        isinstance(tables, dict) and all(isinstance(t, torch.Tensor) for t in tables.values()),
        "tables returns tensors by name, such as {'images': images}",
    )
    index = torch.randint(len(space), (images,), generator=device_generator(CPU, 0))
    with mistakes():
        gathered = dataset.images(index)
        check_rows(dataset, gathered)
    must_have(gathered, (images, *shape), "images have")
    vector = gathered.is_floating_point()
    kind = torch.float32 if vector else torch.uint8
    must(gathered.dtype == kind, f"images are uint8, vectors float32, not {gathered.dtype}")
    must(not vector or bool(gathered.isfinite().all()), "vectors are finite, without NaN")
    for part, which in ((slice(2, None), "some images alone"), (slice(1), "the first image alone")):
        claim = f"an image depends on its number only, and not on others of the call: {which}"
        must_equal(dataset.images(index[part]), gathered[part], claim)
    scaled = dataset.scaled(dataset.tables(), index)
    must(scaled.dtype == torch.float32, f"scaled images are float32, not {scaled.dtype}")
    must_equal(scaled, fractions(gathered), "scaled images are the bytes over 255")
    same = torch.from_numpy(dataset.canonical(index.numpy()))
    must_equal(dataset.images(same), gathered, "canonical states show the same image")
    provenance: object = dataset.provenance()
    must(
        isinstance(provenance, dict) and bool(provenance.get("source")),
        "provenance says where images come from, such as {'source': 'drawn by the class'}; it is "
        f"{provenance!r}",
    )
    others = {
        name: value
        for name, value in cast("dict[object, object]", provenance).items()
        if not isinstance(name, str) or not isinstance(value, str)
    }
    must(not others, f"provenance has texts by name; write {others!r} as texts")
