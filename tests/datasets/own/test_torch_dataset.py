from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from dislab.base import Dataset as Data
from dislab.datamodules import SingleData
from dislab.datasets import TorchDataset
from dislab.errors import InputError
from dislab.factors import FactorWarning
from dislab.naming.rebuilding import built_part
from dislab.testing import check_dataset

PIXELS = np.random.default_rng(0).integers(256, size=(6, 5, 4, 3), dtype=np.uint8)
FIRST = torch.from_numpy(np.moveaxis(PIXELS, -1, 1))
LABELS = [2, 0, 1, 3, 5, 4]


class Items(Dataset[Any]):
    """Items that a function makes of an image and a label."""

    def __init__(self, make: Callable[[np.ndarray, int], Any] | None = None) -> None:
        self.make = make or (lambda image, label: (Image.fromarray(image), label))

    def __len__(self) -> int:
        return len(PIXELS)

    def __getitem__(self, number: int) -> Any:
        return self.make(PIXELS[number], LABELS[number])


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(())


class Empty(Items):
    def __len__(self) -> int:
        return 0


def fractions(image: np.ndarray) -> torch.Tensor:
    """An image as torchvision's ToTensor makes it."""
    return torch.from_numpy(image).permute(2, 0, 1) / 255


@pytest.mark.parametrize(
    ("dataset", "settings"),
    [
        (Items(), {}),
        (Items(lambda image, label: (fractions(image), torch.tensor(label))), {}),
        (Items(lambda image, label: [image, np.int64(label), image]), {"factors": [1]}),
        (Items(lambda image, label: (label, image)), {"image": 1, "names": ["label"]}),
        (Items(lambda image, label: {"x": image, "label": label, "id": "?"}), {"image": "x"}),
        (TensorDataset(FIRST, torch.tensor(LABELS)), {}),
        (TensorDataset(FIRST / 255, torch.tensor(LABELS)[:, None]), {}),
        (TensorDataset(FIRST, torch.tensor(LABELS, dtype=torch.bfloat16)), {}),
    ],
)
def test_items_of_every_form(dataset: Dataset[Any], settings: dict[str, Any]) -> None:
    ours = TorchDataset(dataset, **settings)
    check_dataset(ours)
    assert ours.image_shape == (3, 5, 4)
    assert ours.factors.names[0] == "label"
    states = [ours.factors.where({"label": label})[0] for label in LABELS]
    assert torch.equal(ours.images(torch.tensor(states)), FIRST)


def test_grey_images_and_no_labels() -> None:
    for grey in (FIRST[:, :1], FIRST[:, 0]):
        ours = TorchDataset(TensorDataset(grey))
        assert ours.image_shape == (1, 5, 4)
        assert ours.factors.names == ("image",)
        assert torch.equal(ours.images(torch.arange(6))[:, 0], FIRST[:, 0])


def test_items_that_are_images_train() -> None:
    data = SingleData(TorchDataset(Items(lambda image, _: image)), 2, validation=0.0, test=0.0)
    assert data.train_size == 6


def test_classes_have_the_names_of_the_data_set() -> None:
    dataset = Items()
    dataset.classes = list("fedcba")  # type: ignore[attr-defined]
    ours = TorchDataset(dataset)
    assert ours.factors["label"].values == tuple("abcdef")
    assert torch.equal(ours.images(torch.tensor([0]))[0], FIRST[LABELS.index(5)])


def test_several_values_and_a_choice_of_them() -> None:
    dataset = Items(lambda image, label: (image, label % 3, f"k{label // 3}", label))
    ours = TorchDataset(dataset, factors=[1, 2], names=["size", "kind"], units={"size": "cm"})
    assert ours.factors.names == ("size", "kind")
    assert ours.factors.table is None
    assert ours.factors["size"].unit == "cm"
    assert TorchDataset(dataset).factors.names == ("factor_1", "factor_2", "factor_3")
    assert TorchDataset(dataset, factors=[]).factors.names == ("image",)


FACTORS = torch.tensor(LABELS)[:, None] // torch.tensor([3, 1]) % 3


@pytest.mark.parametrize(
    ("dataset", "settings", "names"),
    [
        (TensorDataset(FIRST, FACTORS), {}, ("factor_0", "factor_1")),
        (TensorDataset(FIRST, FACTORS.double()), {"factors": [1]}, ("factor_0", "factor_1")),
        (TensorDataset(FIRST, FACTORS), {"names": ["a", "b"]}, ("a", "b")),
        (TensorDataset(FIRST, FACTORS), {"factors": [1], "names": ["a", "b"]}, ("a", "b")),
        (
            TensorDataset(FIRST, FACTORS, FACTORS[:, 0]),
            {},
            ("factor_1_0", "factor_1_1", "factor_2"),
        ),
        (Items(lambda image, n: {"x": image, "pose": [n // 3, n % 3]}), {"image": "x"}, None),
        (Items(lambda image, n: (image, np.array([n // 3, n % 3]))), {}, ("factor_0", "factor_1")),
    ],
)
def test_vectors_give_one_factor_per_entry(
    dataset: Dataset[Any], settings: dict[str, Any], names: tuple[str, ...] | None
) -> None:
    ours = TorchDataset(dataset, **settings)
    assert ours.factors.names == (names or ("pose_0", "pose_1"))
    rows = FACTORS if len(ours.factors.names) == 2 else torch.cat([FACTORS, FACTORS[:, :1]], 1)
    states = torch.from_numpy(ours.factors.index(rows.numpy()))
    assert torch.equal(ours.images(states), FIRST)


@pytest.mark.parametrize(
    ("part", "listed"),
    [
        (lambda image, label: image, "1"),
        (lambda image, label: [0] * (label + 1), "1"),
        (lambda image, label: ["a", "b"], "1"),
        (lambda image, label: {"a": 1}, "1"),
    ],
)
def test_parts_that_are_left_out_are_named(
    part: Callable[[np.ndarray, int], Any], listed: str
) -> None:
    ours = TorchDataset(Items(lambda image, label: (image, part(image, label), label)))
    message = f"the factors do not include {listed} of the items of Items; to use them, list them"
    with pytest.warns(FactorWarning, match=message):
        assert len(ours.factors.names) == 1


def test_a_missing_class_is_no_class() -> None:
    dataset = Items(lambda image, label: (image, label - 1))
    dataset.classes = list("abcde")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"factor label lacks a value in row 1 \(None\); leave"):
        _ = TorchDataset(dataset).factors


def test_images_of_unequal_size_are_brought_to_one() -> None:
    dataset = Items(lambda image, label: (image[: 5 - label % 2], label))
    with pytest.raises(InputError, match=r"item 2 has 4×4 .* but item 0 has 4×5 .*; set side, su"):
        _ = TorchDataset(dataset).factors
    ours = TorchDataset(dataset, side=4, fit="crop", colour="grey")
    assert ours.image_shape == (1, 4, 4)


@pytest.mark.parametrize(
    ("dataset", "settings", "message"),
    [
        (Endless(), {}, "Endless cannot be indexed by numbers; give a map-style data set"),
        (Items(), {"fit": "pad"}, "fit: pad needs a side"),
        (Empty(), {}, "Empty has no items"),
        (Items(), {"image": 2}, "item 0 of Items has no part 2; it has 0, 1: say by image and"),
        (Items(), {"factors": ["label"]}, "item 0 of Items has no part 'label'; it has 0, 1"),
        (Items(lambda image, label: {"img": image}), {"image": "im"}, r"\(did you mean img\?\)"),
        (Items(lambda image, label: fractions(image) * 2 - 1), {}, "leave Normalize and the like"),
        (Items(lambda image, label: label), {}, "item 0 of Items has no image that can be used"),
        (Items(lambda image, label: image), {"names": ["a"]}, "and the items have none"),
        (Items(), {"names": ["a", "b"]}, "2 names for 1 factor: a, b"),
        (Items(lambda image, label: (image, [[label]])), {"factors": [1]}, r"of shape \(6, 1, 1\)"),
        (
            Items(lambda image, label: (image, [label] * 2)),
            {"names": ["a"]},
            "1 name for 2 factors: a",
        ),
        (
            Items(lambda image, label: (image, [0] * label)),
            {"factors": [1]},
            "values of factor are no array: .*; give rows of one length",
        ),
    ],
)
def test_refuses_items_that_do_not_fit(
    dataset: Dataset[Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = TorchDataset(dataset, **settings).factors


@pytest.mark.parametrize("name", ["os.system", "subprocess.Popen", "dislab.datasets.DSprites"])
def test_a_configuration_names_no_other_class(name: str) -> None:
    with pytest.raises(InputError, match=f"names {name}, which is no"):
        built_part(Data, {"class_path": "TorchDataset", "init_args": {"dataset": name}}, "dataset")


def test_a_configuration_names_an_imported_class() -> None:
    stored = {"class_path": f"{Items.__module__}.Items"}
    dataset = built_part(
        Data, {"class_path": "TorchDataset", "init_args": {"dataset": stored}}, "data"
    )
    assert dataset.factors.names == ("label",)
