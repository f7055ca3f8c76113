import pickle
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import final

import numpy as np
import pytest
import torch

from dislab.base import ImageShape
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

IMAGES = np.random.default_rng(0).integers(256, size=(50, 3, 4, 5), dtype=np.uint8)


def rows() -> Iterator[np.ndarray]:
    yield IMAGES[:30].reshape(30, -1)
    yield IMAGES[30:].reshape(20, -1)


@final
class Fifty(BankedDataset):
    def __init__(self, name: str = "one") -> None:
        self.name = name

    @cached_property
    def factors(self) -> FactorSpace:
        return FactorSpace((Factor("number", tuple(map(float, range(50)))),))

    @property
    def image_shape(self) -> ImageShape:
        return (3, 4, 5)

    def _pictures(self) -> Pictures:
        return Pictures(f"set/{self.name}", 50, {"source": "published"}, rows)


def test_images_are_kept_in_the_cache_folder_and_gathered(cache: Path) -> None:
    dataset = Fifty()
    with pytest.raises(InputError, match=r"one\.npy does not exist; prepare the data set first"):
        dataset.tables()
    dataset.prepare()
    assert (cache / "set/one.npy").is_file()
    index = torch.tensor([49, 0, 7, 7])
    images = dataset.images(index)
    assert torch.equal(images, torch.from_numpy(IMAGES)[index])
    images.zero_()
    assert torch.equal(dataset.images(index), torch.from_numpy(IMAGES)[index])
    assert dataset.tables()["pixels"] is dataset.tables()["pixels"]
    assert set(dataset.provenance()) == {"source", "sha256"}


def test_pickled_as_its_settings_alone(cache: Path) -> None:
    dataset = Fifty("two")
    dataset.prepare()
    dataset.tables()
    assert len(dataset.factors) == 50
    again: Fifty = pickle.loads(pickle.dumps(dataset))
    assert vars(again) == {"name": "two"}
    index = torch.tensor([3])
    assert torch.equal(again.images(index), torch.from_numpy(IMAGES)[index])


@pytest.mark.gpu
def test_gathering_on_a_device_equals_the_host(cache: Path) -> None:
    dataset = Fifty()
    dataset.prepare()
    tables = {name: table.cuda() for name, table in dataset.tables().items()}
    index = torch.tensor([49, 0, 7])
    gathered = dataset.gather(tables, index.cuda())
    assert torch.equal(gathered.cpu(), torch.from_numpy(IMAGES)[index])
