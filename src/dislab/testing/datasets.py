"""Check of data sets."""

import torch

from dislab.base import Dataset
from dislab.functional.random import device_generator
from dislab.testing._claims import CPU, must


def check_dataset(dataset: Dataset, images: int = 5) -> None:
    """A data set knows its factors before it is prepared, and gathers images by number.

    Args:
        dataset: The data set; it is prepared.
        images: How many images to gather.
    """
    space, shape = dataset.factors, dataset.image_shape
    dataset.prepare()
    dataset.prepare()
    index = torch.randint(len(space), (images,), generator=device_generator(CPU, 0))
    gathered = dataset.images(index)
    must(gathered.dtype == torch.uint8, "images are uint8")
    must(tuple(gathered.shape) == (images, *shape), f"images have shape {(images, *shape)}")
    must(torch.equal(gathered[2:], dataset.images(index[2:])), "an image depends on its number")
    scaled = dataset.scaled(dataset.tables(), index)
    must(scaled.dtype == torch.float32, "scaled images are float32")
    must(torch.equal(scaled, gathered.float() / 255), "scaled images are the bytes over 255")
    same = torch.from_numpy(dataset.canonical(index.numpy()))
    must(torch.equal(gathered, dataset.images(same)), "canonical states show the same image")
    must(bool(dataset.provenance()), "provenance says where images come from")
