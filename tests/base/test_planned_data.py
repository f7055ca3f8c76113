"""A data module of a plugin: a plan and a batch of its own, everything else from PlannedData."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from dislab.base import Dataset, ImageBatch, Split
from dislab.datasets import GaussianBlob
from dislab.errors import InputError
from dislab.plans import Drawn, PlannedData


class Neighbours(NamedTuple):
    """An image and its successors."""

    image: Tensor
    followers: Tensor
    factors: Tensor


class InARow:
    """States and those that follow them."""

    def __init__(self, states: np.ndarray, length: int) -> None:
        self.states = states
        self.length = length

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        first = generator.integers(len(self.states) - self.length, size=count * batches)
        return Drawn(self.states[first + np.arange(self.length)[:, None]])


class RowData(PlannedData):
    """Several images in a row, of no labels.

    Args:
        dataset: The images.
        length: How many in a row.
        **settings: Those of `PlannedData`.
    """

    batch_type = Neighbours

    def __init__(self, dataset: Dataset, length: int = 3, **settings: Any) -> None:
        super().__init__(dataset, **settings)
        self.length = length

    def plan(self, split: Split) -> InARow:
        return InARow(self.indices(split), self.length)

    def delivered(
        self, images: Tensor, positions: Tensor, labels: Mapping[str, Tensor]
    ) -> Neighbours:
        assert not labels
        return Neighbours(images[0], images[1:].transpose(0, 1), positions[0])


def batches(data: Any, loader: Any) -> list[Any]:
    return [
        data.on_after_batch_transfer(data.transfer_batch_to_device(one, torch.device("cpu"), 0), 0)
        for one in loader
    ]


@pytest.fixture
def data() -> RowData:
    torch.manual_seed(3)
    made = RowData(GaussianBlob(), length=4, batch_size=8, eval_batch_size=16, steps_per_epoch=2)
    made.setup("fit")
    return made


def test_a_plan_with_roles_and_no_labels_is_delivered_by_the_module(data: RowData) -> None:
    loaders: list[Callable[[], Any]] = [data.train_dataloader, data.val_dataloader]
    for loader in loaders:
        for batch in batches(data, loader()):
            assert isinstance(batch, Neighbours)
            assert batch.followers.shape == (len(batch.image), 3, *data.image_shape)
    sample = batches(data, data.sample_loader("train", 10, 0))
    assert all(isinstance(batch, Neighbours) for batch in sample)


def test_single_images_are_predicted_whatever_the_module_delivers(data: RowData) -> None:
    predicted = batches(data, data.predict_dataloader())
    assert all(isinstance(batch, ImageBatch) for batch in predicted)
    assert sum(len(batch.image) for batch in predicted) == len(data.indices("test"))


def test_it_has_processes_and_resumes(data: RowData) -> None:
    batches(data, data.train_dataloader())
    following = batches(data, data.train_dataloader())
    again = RowData(GaussianBlob(), length=4, batch_size=8, steps_per_epoch=2)
    again.setup("fit")
    again.load_state_dict({"seed": 3, "step": 2})
    resumed = batches(again, again.train_dataloader())
    assert all(torch.equal(a.image, b.image) for a, b in zip(following, resumed, strict=True))


def test_a_parser_shows_shared_settings_and_refuses_others() -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(RowData, "data")
    blob = {"class_path": "dislab.datasets.GaussianBlob"}
    path = f"{__name__}.RowData"
    given = parser.parse_object(
        {"data": {"class_path": path, "init_args": {"dataset": blob, "batch_size": 4}}}
    )
    assert list(vars(given.data.init_args))[:3] == ["dataset", "length", "batch_size"]
    assert given.data.init_args.residency == "auto"
    with pytest.raises(InputError, match=r"RowData.*batch_size"):
        RowData(GaussianBlob(), batch_size="many")
