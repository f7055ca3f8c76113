from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from dislab.datasets import ArrayDataset, FolderDataset, GaussianBlob
from dislab.errors import InputError

IMAGES = np.random.default_rng(0).integers(256, size=(6, 3, 5, 4), dtype=np.uint8)
FACTORS = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [2, 1], [2, 0]])


def test_items_are_images_and_positions() -> None:
    dataset = ArrayDataset(IMAGES, FACTORS)
    items = dataset.as_torch()
    assert len(items) == 6
    order = dataset.factors.index(FACTORS)
    for number, state in enumerate(order.tolist()):
        image, positions = items[state]
        assert torch.equal(image, torch.from_numpy(IMAGES[number]) / 255)
        assert positions.tolist() == FACTORS[number].tolist()
    assert torch.equal(items[-1][0], items[5][0])
    assert len(list(items)) == 6  # type: ignore[call-overload]  # ends by an IndexError
    with pytest.raises(IndexError, match="state 6 of 6"):
        items[6]


@pytest.mark.parametrize("settings", [{}, {"shuffle": True}, {"sampler": [0, 1]}])
def test_a_loader_of_a_data_set_itself_says_what_to_write(settings: dict[str, Any]) -> None:
    dataset: Any = ArrayDataset(IMAGES, FACTORS)
    with pytest.raises(InputError, match=r"DataLoader takes ArrayDataset\(…\)\.as_torch\(\)$"):
        next(iter(DataLoader(dataset, batch_size=2, **settings)))


def test_a_data_set_has_a_length_and_says_how_to_get_an_image() -> None:
    dataset = ArrayDataset(IMAGES, FACTORS)
    assert len(dataset) == len(IMAGES)
    message = "a data set of 6 images, which takes no index; its prepare.* give images"
    for index in (0, slice(2)):
        with pytest.raises(InputError, match=message):
            dataset[index]
    assert dataset.images(torch.tensor([0, 1])).shape == (2, *IMAGES.shape[1:])


def test_a_data_set_without_its_files_is_true() -> None:
    dataset = FolderDataset("missing")
    assert dataset
    with pytest.raises(InputError, match="missing"):
        len(dataset)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_with_and_without_workers(workers: int) -> None:
    items = GaussianBlob(places=4).as_torch()
    loader = DataLoader(items, batch_size=6, num_workers=workers)
    batches = list(loader)
    assert [len(image) for image, _ in batches] == [6, 6, 4]
    images, positions = (torch.cat(parts) for parts in zip(*batches, strict=True))
    assert torch.equal(images, torch.stack([items[number][0] for number in range(16)]))
    assert torch.equal(positions, torch.from_numpy(items.factors.positions(np.arange(16))))
