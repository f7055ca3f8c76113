import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.datasets import HuggingFaceDataset
from dislab.errors import InputError
from dislab.factors import FactorWarning
from dislab.testing import check_dataset

PIXELS = np.random.default_rng(0).integers(256, size=(6, 4, 5, 3), dtype=np.uint8)
SIZES = [2, 0, 1, 2, 0, 1]
KINDS = [1, 1, 0, 0, 0, 1]
needs_datasets = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="needs the extra huggingface"
)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Six images with a size, a named kind and a name; all caches in the test's folder."""
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    from huggingface_hub import constants

    import datasets

    # not the environment variable, which the library would read once for all later tests
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    datasets.disable_progress_bars()
    content = {
        "image": [Image.fromarray(one) for one in PIXELS],
        "size": SIZES,
        "kind": KINDS,
    }
    features = datasets.Features(
        image=datasets.Image(),
        size=datasets.Value("int64"),
        kind=datasets.ClassLabel(names=["cup", "pen"]),
    )
    return datasets.Dataset.from_dict(content, features=features)


def save_to_disk(table: Any, folder: Path) -> str:
    table.save_to_disk(folder / "saved")
    return str(folder / "saved")


def save_splits(table: Any, folder: Path) -> str:
    import datasets

    datasets.DatasetDict(train=table, test=table.select([0])).save_to_disk(folder / "splits")
    return str(folder / "splits")


def save_parquet(table: Any, folder: Path) -> str:
    table.to_parquet(folder / "a.parquet")
    return str(folder / "a.parquet")


def save_folder(table: Any, folder: Path) -> str:
    (folder / "data").mkdir()
    table.to_parquet(folder / "data/train.parquet")
    return str(folder / "data")


@needs_datasets
@pytest.mark.parametrize("save", [save_to_disk, save_splits, save_parquet, save_folder])
def test_files_of_the_library(save: Any, table: Any, tmp_path: Path) -> None:
    dataset = HuggingFaceDataset(save(table, tmp_path), units={"size": "cm"})
    check_dataset(dataset)
    assert dataset.image_shape == (3, 4, 5)
    assert dataset.factors.names == ("size", "kind")
    assert dataset.factors["kind"].values == ("cup", "pen")
    assert dataset.factors["size"].unit == "cm"
    states = dataset.factors.index(np.stack((SIZES, KINDS), axis=1))
    found = dataset.images(torch.from_numpy(states)).numpy()
    assert np.array_equal(found, np.moveaxis(PIXELS, -1, 1))
    again = pickle.loads(pickle.dumps(dataset))  # as for a worker process
    assert np.array_equal(again.images(torch.from_numpy(states)).numpy(), found)


@needs_datasets
def test_settings(table: Any, tmp_path: Path) -> None:
    path = save_splits(table, tmp_path)
    assert len(HuggingFaceDataset(path, split="test").factors) == 1
    assert HuggingFaceDataset(path, factors=["size"]).factors.names == ("size", "instance")
    assert HuggingFaceDataset(path, factors=[]).factors.names == ("image",)
    small = HuggingFaceDataset(path, side=4, fit="crop", colour="grey")
    check_dataset(small)
    assert small.image_shape == (1, 4, 4)


@needs_datasets
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image": "img"}, r"has no column 'img'.*; it has image, size, kind: say by image"),
        (
            {"image": "size", "factors": ["kind"]},
            r"row \d of .* holds a int in the column size, and no image; name",
        ),
        ({"factors": ["kid"]}, r"has no column 'kid' \(did you mean kind\?\)"),
        ({"split": "valid"}, "has no split valid; it has train, test"),
        ({"path": "none.csv"}, "cannot be read by datasets: "),
    ],
)
def test_refuses_columns_that_do_not_fit(
    settings: dict[str, Any], message: str, table: Any, tmp_path: Path
) -> None:
    (tmp_path / "none.csv").mkdir()
    settings = {"path": save_splits(table, tmp_path), **settings}
    settings["path"] = str(tmp_path / settings["path"])
    with pytest.raises(InputError, match=message):
        _ = (dataset := HuggingFaceDataset(**settings)).factors, dataset.image_shape


@needs_datasets
def test_vectors_are_factors_when_named(table: Any, tmp_path: Path) -> None:
    path = save_to_disk(table.add_column("box", [[0, n] for n in SIZES]), tmp_path)
    with pytest.warns(FactorWarning, match=r"do not include box of .*/saved; to use them, list"):
        assert HuggingFaceDataset(path).factors.names == ("size", "kind")
    assert HuggingFaceDataset(path, factors=["kind", "box"]).factors.names == (
        "kind",
        "box_0",
        "box_1",
    )


@needs_datasets
def test_classes_without_a_name(table: Any, tmp_path: Path) -> None:
    import datasets

    for number, message in (
        (-1, r"factor kind lacks a value in row 0 \(None\), row 3 \(None\); leave these"),
        (2, r"column kind has 2 in row 0, but its classes are 0 to 1; mend that, or leave"),
    ):
        kinds = [number, *KINDS[1:3], number, *KINDS[4:]]
        content = {"image": table["image"][:], "kind": kinds}
        features = datasets.Features({name: table.features[name] for name in content})
        path = tmp_path / str(number)
        schema = features.arrow_schema
        stored = {"image": table.data["image"].combine_chunks(), "kind": kinds}
        import pyarrow as pa

        datasets.Dataset(pa.table(stored, schema=schema)).save_to_disk(path)
        with pytest.raises(InputError, match=message):
            _ = HuggingFaceDataset(str(path)).factors


@needs_datasets
def test_nothing_is_fetched_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    with pytest.raises(InputError, match=r"somebody/cups does not exist; .* with download: true"):
        _ = HuggingFaceDataset("somebody/cups").factors


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"needs datasets .* pip install 'dislab\[huggingface\]'"):
        _ = HuggingFaceDataset("somebody/cups").factors
