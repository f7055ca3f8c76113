"""Check of data sets."""

from collections.abc import Callable, Mapping
from typing import Final

import torch

from dislab.base import Dataset, is_vector
from dislab.base.dataset import fractions
from dislab.functional.random import device_generator
from dislab.plugins import available
from dislab.testing._claims import CPU, made_by, must, must_be, must_equal, must_have

_LISTED: Final = {
    "contents": "1,024 images 64×64×1: posX 32, posY 32",
    "licence": "Apache-2.0",
}
"""Constants that every data set class defines, with an example value of each."""


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
    space, shape = dataset.factors, dataset.image_shape
    dataset.prepare()
    dataset.prepare()
    index = torch.randint(len(space), (images,), generator=device_generator(CPU, 0))
    gathered = dataset.images(index)
    must_be(gathered, torch.Tensor, "images returns")
    vector = is_vector(shape) and gathered.is_floating_point()
    kind = torch.float32 if vector else torch.uint8
    must(gathered.dtype == kind, f"images are uint8, vectors float32, not {gathered.dtype}")
    must(not vector or bool(gathered.isfinite().all()), "vectors are finite, without NaN")
    must_have(gathered, (images, *shape), "images have")
    for part, which in ((slice(2, None), "some images alone"), (slice(1), "the first image alone")):
        claim = f"an image depends on its number only, and not on others of the call: {which}"
        must_equal(dataset.images(index[part]), gathered[part], claim)
    scaled = dataset.scaled(dataset.tables(), index)
    must(scaled.dtype == torch.float32, f"scaled images are float32, not {scaled.dtype}")
    must_equal(scaled, fractions(gathered), "scaled images are the bytes over 255")
    same = torch.from_numpy(dataset.canonical(index.numpy()))
    must_equal(dataset.images(same), gathered, "canonical states show the same image")
    must(bool(dataset.provenance()), "provenance says where images come from; it is empty")
