import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize(
    "images", [IMAGES / 255, (IMAGES / 255).astype(np.float32), torch.from_numpy(IMAGES / 255)]
)
def test_fractions_become_the_nearest_of_256_shades(images: Any) -> None:
    dataset = ArrayDataset(images)
    check_dataset(dataset)
    assert np.array_equal(dataset.images(torch.arange(6)).numpy(), IMAGES)


def test_false_and_true_are_black_and_white() -> None:
    images = ArrayDataset(IMAGES > 127).images(torch.arange(6)).numpy()
    assert np.array_equal(images, np.where(IMAGES > 127, 255, 0))


@pytest.mark.parametrize(
    ("factors", "values", "kind"),
    [
        ([3, 1, 2, 0, 5, 4], (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), "ordinal"),
        (["c", "a", "b", "e", "f", "d"], ("a", "b", "c", "d", "e", "f"), "categorical"),
        (np.array([b"c", b"a", b"b", b"e", b"f", b"d"]), tuple("abcdef"), "categorical"),
        ({"factor_0": np.array(list("cabefd"), dtype=object)}, tuple("abcdef"), "categorical"),
    ],
)
def test_labels_of_one_axis_and_of_text(factors: Any, values: tuple[Any, ...], kind: str) -> None:
    dataset = ArrayDataset(IMAGES, factors)
    assert dataset.factors.names == ("factor_0",)
    assert dataset.factors["factor_0"].values == values
    assert dataset.factors["factor_0"].kind == kind
    first = int(dataset.factors.index([0])[()])
    place = 1 if kind == "categorical" else 3
    assert np.array_equal(dataset.images(torch.tensor([first]))[0].numpy(), IMAGES[place])


def test_columns_of_numbers_and_of_text_in_one_mapping() -> None:
    dataset = ArrayDataset(IMAGES, {"size": [1, 2, 3, 1, 2, 3], "shape": list("aabbba")})
    assert dataset.factors.names == ("size", "shape")
    assert dataset.factors["shape"].values == ("a", "b")


def test_vectors_become_a_factor_per_entry() -> None:
    dataset = ArrayDataset(IMAGES, {"pose": FACTORS, "k1": FACTORS, "size": FACTORS[:, :1]})
    assert dataset.factors.names == ("pose_0", "pose_1", "k1_0", "k1_1", "size")
    states = dataset.factors.index(FACTORS[:, [0, 1, 0, 1, 0]])
    assert np.array_equal(dataset.images(torch.from_numpy(states)).numpy(), IMAGES)


@pytest.mark.parametrize("last", [False, True])
def test_a_mapped_file_is_read_image_by_image(tmp_path: Path, last: bool) -> None:
    file = tmp_path / "images.npy"
    np.save(file, np.ascontiguousarray(np.moveaxis(IMAGES, 1, -1)) if last else IMAGES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = ArrayDataset(np.load(file, mmap_mode="r"), FACTORS)
    check_dataset(dataset)
    states = torch.from_numpy(dataset.factors.index(FACTORS))
    assert torch.equal(dataset.images(states), torch.from_numpy(IMAGES))
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 255]))
    changed = dataset.images(states).numpy() != IMAGES
    assert changed.sum() == 1  # the file itself is read, not a copy of it
    assert dataset.provenance()["file"] == str(file)


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
        (
            {"images": IMAGES.astype(int)},
            r"are int64 from 0 to 255: .*images.astype\('uint8'\)",
        ),
        ({"images": IMAGES.astype(float)}, "float64 from 0 to 255: divide them by .* such as 255"),
        ({"images": IMAGES / 127.5 - 1}, r"from -1 to 1: map .* by \(images \+ 1\) / 2"),
        ({"images": IMAGES * np.nan}, "hold NaN or infinity; leave out such images"),
        ({"images": [[1, 2], [3]]}, "images are no array: .*; give rows of one length"),
        ({"images": IMAGES[0, 0]}, r"shape \(5, 4\); it must have three or four axes"),
        ({"images": IMAGES[:0]}, "must have three or four"),
        ({"images": IMAGES[:, :2]}, r"\(6, 2, 5, 4\) have neither one nor three channels; give"),
        ({"images": IMAGES, "layout": "NHWC"}, "neither one nor three channels as NHWC"),
        ({"images": IMAGES[:, :, :3, :3]}, "may be NCHW or NHWC; say which by layout"),
        ({"images": IMAGES, "factors": FACTORS[:5]}, r"\(5, 2\); give one row for each of 6"),
        ({"images": IMAGES, "factors": FACTORS[:5, 0]}, r"\(5,\); give one row for each of 6"),
        (
            {"images": IMAGES, "factors": FACTORS * 1j},
            "factor factor_0 is complex128; give numbers",
        ),
        ({"images": IMAGES, "factors": {"a": [1, 2]}}, r"factor a has values of shape \(2,\)"),
        (
            {"images": IMAGES, "factors": {"a": np.array([1, "b", 2, 3, 4, 5], dtype=object)}},
            "mixes numbers and other values: .*; give numbers or text",
        ),
        (
            {"images": IMAGES, "factors": {"a": np.array([b"\xff"] * 6)}},
            "factor a is no text in UTF-8",
        ),
        (
            {"images": IMAGES, "factors": {"a": FACTORS, "a_0": FACTORS[:, 0]}},
            "two factors are named 'a_0'; give each factor a different name",
        ),
        (
            {"images": np.ma.masked_less(IMAGES, 3)},
            r"images are masked in \d+ places; leave these images out",
        ),
        ({"images": IMAGES, "factors": {"a": FACTORS[:, 0]}, "names": ["b"]}, "names are given tw"),
        ({"images": IMAGES, "factors": FACTORS, "names": ["a", "a"]}, "two factors are named 'a'"),
        ({"images": IMAGES, "factors": FACTORS, "names": ["a"]}, "1 name for 2 factors: a"),
        ({"images": IMAGES, "names": ["a"]}, "describe factors; give these too"),
    ],
)
def test_refuses_arrays_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ArrayDataset(**arguments)


def tables() -> dict[str, Any]:
    frame = pd.DataFrame({"shape": list("abcabc"), "x": [0, 0, 0, 1, 1, 1]})
    return {
        "pandas": frame,
        "pandas of one column": frame[["x"]],
        "a column": frame["x"],
        "a column without a name": pd.Series([3, 1, 2, 0, 5, 4]),
        "an array": frame.to_numpy(),
        "numbers as names": frame.set_axis([7, 8], axis=1),
    }


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("pandas", ("shape", "x")),
        ("pandas of one column", ("x", "instance")),
        ("a column", ("x", "instance")),
        ("a column without a name", ("factor_0",)),
        ("an array", ("factor_0", "factor_1")),
        ("numbers as names", ("7", "8")),
    ],
)
def test_factors_are_called_by_the_columns_of_a_table(kind: str, names: tuple[str, ...]) -> None:
    assert ArrayDataset(IMAGES, tables()[kind]).factors.names == names


def test_a_table_of_arrow_names_its_factors() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(tables()["pandas"])
    assert ArrayDataset(IMAGES, table).factors.names == ("shape", "x")
    assert ArrayDataset(IMAGES, table, ["a", "b"]).factors.names == ("a", "b")


def test_columns_with_one_name_are_refused() -> None:
    table = tables()["pandas"].set_axis(["x", "x"], axis=1)
    with pytest.raises(InputError, match="two factors are named 'x'"):
        ArrayDataset(IMAGES, table)
