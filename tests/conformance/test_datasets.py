"""Data sets conform whose images need no file, and the texts about all of them are true."""

from typing import Any

import pytest
import torch
from tests import cases

from dislab.datasets import ArrayDataset
from dislab.plugins import available, load_all
from dislab.testing import check_dataset


@pytest.mark.parametrize("build", cases.cases("datasets"))
def test_datasets(build: Any) -> None:
    check_dataset(build())


def test_datasets_of_the_users_own() -> None:
    images = torch.arange(48, dtype=torch.uint8).view(3, 1, 4, 4).numpy()
    check_dataset(ArrayDataset(images, [[0, 1], [1, 1], [1, 0]]))


KNOWN_BEFOREHAND = sorted(
    {*cases.own("datasets")}
    - {"ArrayDataset", "CelebA", "FolderDataset", "NumpyDataset", "RobotFingerFiles"}
    - {"HuggingFaceDataset", "TorchDataset"}
)
"""Data sets whose states are known without their files."""


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
def test_what_data_list_says_of_a_data_set_is_true(name: str) -> None:
    """The texts are read from the source, where nothing else compares them with the class."""
    [plugin] = [plugin for plugin in available("datasets") if plugin.name == name]
    dataset = load_all(("datasets",))["datasets"][name]()
    channels, height, width = dataset.image_shape
    factors = ", ".join(f"{factor.name} {len(factor)}" for factor in dataset.factors.factors)
    contents = f"{len(dataset.factors):,} images {height}×{width}×{channels}: {factors}"
    assert plugin.constants["contents"] == contents
    assert plugin.constants["licence"]


def test_every_data_set_has_a_line_in_data_list() -> None:
    for plugin in available("datasets"):
        assert plugin.constants["contents"]
        assert plugin.constants["licence"]
        assert "cache" in plugin.constants
