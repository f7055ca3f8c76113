from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.testing import check_dataset, check_declared
from dislab_identify import VectorDataset

GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.normal(5.0, 300.0, (60, 4))
GROUP = np.arange(60) % 3


def written(folder: Path, suffix: str, separator: str = ",") -> Path:
    file = folder / f"table{suffix}"
    if suffix == ".npy":
        np.save(file, ROWS)
    elif suffix == ".npz":
        np.savez(file, vectors=ROWS, factors=GROUP[:, None], names=np.array(["group"]))
    else:
        header = separator.join(["a", "b", "c", "d", "group"])
        table = np.column_stack([ROWS, GROUP])
        np.savetxt(file, table, fmt="%.17g", delimiter=separator, header=header, comments="")
    return file


def test_it_is_declared() -> None:
    check_declared("datasets", ["DrawnWorld", "VectorDataset"])


@pytest.mark.parametrize(
    ("suffix", "separator", "factors"),
    [
        (".csv", ",", ["group"]),
        (".CSV", ";", ["group"]),
        (".tsv", "\t", ["group"]),
        (".npy", "", None),
        (".npz", "", None),
    ],
)
def test_every_file_keeps_its_floats(
    tmp_path: Path, suffix: str, separator: str, factors: list[str] | None
) -> None:
    if suffix == ".CSV":
        file = written(tmp_path, ".csv", separator).rename(tmp_path / "TABLE.CSV")
    else:
        file = written(tmp_path, suffix, separator)
    dataset = VectorDataset(str(file), factors=factors, standardize=False)
    check_dataset(dataset)
    index = torch.tensor([0, 59])
    assert np.array_equal(dataset.images(index).flatten(1), ROWS[[0, 59]].astype(np.float32))
    expected = ("image",) if suffix == ".npy" else ("group", "instance")
    assert dataset.factors.names == expected


def test_features_are_standardised_and_constant_ones_are_zero(tmp_path: Path) -> None:
    file = tmp_path / "table.npy"
    np.save(file, np.column_stack([1e12 + ROWS[:, :2], np.full(60, 7.1)]))
    vectors = VectorDataset(str(file)).content.vectors
    assert np.allclose(vectors[:, :2].mean(0), 0, atol=1e-5)
    assert np.allclose(vectors[:, :2].std(0), 1, atol=1e-3)
    assert (vectors[:, 2] == 0).all()


def test_columns_that_are_no_features_may_hold_text(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("id,a,b\nx,1,2\ny,3,\nz,5,7\n")
    dataset = VectorDataset(str(file), features=["a"], standardize=False)
    assert dataset.content.vectors.tolist() == [[1.0], [3.0], [5.0]]
    with pytest.raises(InputError, match=r"column id of .* has 'x'"):
        VectorDataset(str(file)).prepare()


def test_other_rows_are_scaled_as_the_table(tmp_path: Path) -> None:
    file = tmp_path / "table.npy"
    np.save(file, np.array([[0.0, 5.0], [4.0, 5.0]]))
    rows = VectorDataset(str(file)).scaled_rows(np.array([[6.0, 5.0], [2.0, 9.0]]))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 0.0]]


def test_factors_and_instances(tmp_path: Path) -> None:
    dataset = VectorDataset(str(written(tmp_path, ".csv")), factors=["group", "a"], features=["d"])
    kinds = [factor.kind for factor in dataset.factors.factors]
    assert dataset.factors.names == ("group", "a")
    assert kinds == ["ordinal", "continuous"]
    assert dataset.image_shape == (1, 1, 1)
    values = dataset.factors.values(dataset.factors.positions(np.arange(60)))
    assert np.array_equal(values, np.column_stack([GROUP, ROWS[:, 0]]))
    repeated = VectorDataset(str(written(tmp_path, ".csv")), factors=["group"]).factors
    assert repeated.factors[-1].nuisance
    assert len(repeated) == 60


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("a,b\n1,2\n3,nan\n", {}, "NaN or infinite in row 1 column b"),
        ("a,b\n1,2\n3,inf\n", {}, "NaN or infinite in row 1 column b"),
        ("a,b\n1,2\n3,\n", {}, "column b of .* has '' in row 3, which is no number"),
        ("a,b\n1,2\n3,red\n", {}, "column b of .* has 'red' in row 3"),
        ("a,b\n1,2\n3\n", {}, "row 3 of .* has 1 columns, and the first row 2"),
        ("a,a\n1,2\n3,4\n", {}, "two columns of .* are named 'a'"),
        ("", {}, "is empty"),
        ("a,b\n", {}, r"has the shape \(0, 2\)"),
        ("a,b\n1,2\n", {}, r"has the shape \(1, 2\)"),
        ("a,b\n1,2\n3,4\n", {"factors": ["c"]}, "names 'c', which is no column"),
        ("a,b\n1,2\n3,4\n", {"factors": ["a", "b"]}, "no column left for the vectors"),
        ("a,b\n1,2\n3,4\n", {"factors": ["a"], "features": ["a"]}, "a is among factors and"),
        ("1e39,1\n2,3\n", {"standardize": False}, "exceeds float32; set standardize"),
    ],
)
def test_bad_tables_are_explained(
    tmp_path: Path, text: str, settings: dict[str, Any], message: str
) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        VectorDataset(str(file), **settings).prepare()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": ROWS}, "no array vectors, only images"),
        ({"vectors": ROWS, "factors": GROUP[:9, None]}, "60 vectors and 9 rows of factors"),
        ({"vectors": ROWS, "factors": GROUP[:, None], "names": ["a", "b"]}, "2 names for 1"),
        ({"vectors": ROWS.astype(complex)}, "complex128; give real numbers"),
        ({"vectors": np.array([["a"], ["b"]])}, "give real numbers"),
        ({"vectors": np.array([[{}], [1]], dtype=object)}, "cannot be read"),
        ({"vectors": ROWS[:, :, None]}, "give a table of at least two rows"),
    ],
)
def test_bad_archives_are_explained(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    file = tmp_path / "table.npz"
    np.savez(file, **arrays)
    with pytest.raises(InputError, match=message):
        VectorDataset(str(file)).prepare()


@pytest.mark.parametrize("name", ["nothing.csv", "nothing.npy", "nothing.npz", "table.xlsx"])
def test_bad_files_are_explained(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"does not exist|no table that can be read"):
        VectorDataset(str(tmp_path / name)).prepare()
    (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"cannot be read|no table that can be read"):
        VectorDataset(str(tmp_path / name)).prepare()
