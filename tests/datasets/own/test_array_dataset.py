from typing import Any

import numpy as np
import pytest
import torch

from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.errors import InputError
from dislab.metrics import MIG
from dislab.testing import check_dataset

IMAGES = np.random.default_rng(0).integers(256, size=(6, 3, 5, 4), dtype=np.uint8)
FACTORS = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [2, 1], [2, 0]])


def test_images_follow_the_order_of_their_states() -> None:
    dataset = ArrayDataset(IMAGES, FACTORS, ["x", "y"], units={"x": "px"})
    check_dataset(dataset)
    assert dataset.image_shape == (3, 5, 4)
    assert dataset.factors.names == ("x", "y")
    assert dataset.factors.table is None
    assert dataset.factors["x"].unit == "px"
    states = torch.from_numpy(dataset.factors.index(FACTORS))
    assert torch.equal(dataset.images(states), torch.from_numpy(IMAGES))


@pytest.mark.parametrize(
    ("array", "layout", "shape"),
    [
        (IMAGES, "auto", (3, 5, 4)),
        (np.moveaxis(IMAGES, 1, -1), "auto", (3, 5, 4)),
        (IMAGES[:, 0], "auto", (1, 5, 4)),
        (IMAGES[:, :, :3, :3], "NCHW", (3, 3, 3)),
        (IMAGES[:, :, :3, :3], "NHWC", (3, 3, 3)),
    ],
)
def test_layouts(array: np.ndarray, layout: Any, shape: tuple[int, ...]) -> None:
    dataset = ArrayDataset(array, layout=layout)
    assert dataset.image_shape == shape
    first = dataset.images(torch.tensor([0]))[0].numpy()
    expected = array[0] if array.ndim == 4 else array[0][None]
    if layout == "NHWC" or (array.ndim == 4 and array.shape[-1] == 3 and array.shape[1] != 3):
        expected = np.moveaxis(expected, -1, 0)
    assert np.array_equal(first, expected)


def test_without_factors_scores_say_so() -> None:
    dataset = ArrayDataset(IMAGES)
    assert dataset.factors.names == ("image",)
    score = MIG(dataset.factors)
    score.update(torch.randn(6, 2), torch.arange(6)[:, None])
    with pytest.raises(InputError, match=r"these images have none; .* metrics: \{\}"):
        score.compute()


def test_a_data_module_takes_it() -> None:
    data = SingleData(ArrayDataset(IMAGES, FACTORS), 2, validation=0.0, test=0.0)
    assert data.train_size == 6
    assert torch.equal(
        data.images(torch.tensor([1])), data.dataset.images(torch.tensor([1])).float() / 255
    )


def test_the_checksum_is_that_of_the_pixels() -> None:
    first, again = (ArrayDataset(IMAGES).provenance() for _ in range(2))
    assert first == again
    assert ArrayDataset(IMAGES ^ 1).provenance() != first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"images": IMAGES / 255}, r"images are float64; give uint8.*\(255 \* images\)"),
        ({"images": [[1, 2], [3]]}, "images are no array: .*; give rows of one length"),
        ({"images": IMAGES[0, 0]}, r"shape \(5, 4\); it must have three or four axes"),
        ({"images": IMAGES[:0]}, "must have three or four"),
        ({"images": IMAGES[:, :2]}, r"\(6, 2, 5, 4\) have neither one nor three channels as auto"),
        ({"images": IMAGES, "layout": "NHWC"}, "neither one nor three channels as NHWC"),
        ({"images": IMAGES[:, :, :3, :3]}, "may be NCHW or NHWC; say which by layout"),
        ({"images": IMAGES, "factors": FACTORS[:5]}, r"\(5, 2\); give one row for each of 6"),
        ({"images": IMAGES, "factors": FACTORS[:, 0]}, r"shape \(6,\)"),
        ({"images": IMAGES, "factors": FACTORS.astype(str)}, "factors are <U.*; give numbers"),
        ({"images": IMAGES, "factors": FACTORS, "names": ["a", "a"]}, "2 factors need names"),
        ({"images": IMAGES, "factors": FACTORS, "names": ["a"]}, "2 factors need names"),
        ({"images": IMAGES, "names": ["a"]}, "describe factors; give these too"),
    ],
)
def test_refuses_arrays_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ArrayDataset(**arguments)
