import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from dislab.datasets._image_bank import ImageBank, Pictures
from dislab.errors import InputError

IMAGES = np.random.default_rng(0).integers(256, size=(50, 3, 4, 5), dtype=np.uint8)


def rows() -> Iterator[np.ndarray]:
    yield IMAGES[:30].reshape(30, -1)
    yield IMAGES[30:].reshape(20, -1)


def pictures() -> Pictures:
    return Pictures("set/one", 50, (3, 4, 5), {"source": "published"}, rows)


def test_images_are_kept_in_the_cache_folder_and_gathered(cache: Path) -> None:
    bank = ImageBank(pictures)
    with pytest.raises(InputError, match=r"one\.npy does not exist; prepare the data set first"):
        bank.tables()
    bank.prepare()
    assert (cache / "set/one.npy").is_file()
    index = torch.tensor([49, 0, 7, 7])
    images = bank.gather(bank.tables(), index)
    assert torch.equal(images, torch.from_numpy(IMAGES)[index])
    images.zero_()
    assert torch.equal(bank.gather(bank.tables(), index), torch.from_numpy(IMAGES)[index])
    assert set(bank.provenance()) == {"source", "sha256"}


def test_pickled_without_its_images(cache: Path) -> None:
    bank = ImageBank(pictures)
    bank.prepare()
    bank.tables()
    content = pickle.dumps(bank)
    assert len(content) < 500
    again: ImageBank = pickle.loads(content)
    index = torch.tensor([3])
    assert torch.equal(again.gather(again.tables(), index), torch.from_numpy(IMAGES)[index])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gathering_on_a_device_equals_the_host(cache: Path) -> None:
    bank = ImageBank(pictures)
    bank.prepare()
    tables = {name: table.cuda() for name, table in bank.tables().items()}
    index = torch.tensor([49, 0, 7])
    gathered = bank.gather(tables, index.cuda())
    assert torch.equal(gathered.cpu(), torch.from_numpy(IMAGES)[index])
