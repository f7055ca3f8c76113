"""What every entrance of labels does with missing values and with texts that are no classes."""

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.base import Dataset
from dislab.datasets import (
    ArrayDataset,
    FolderDataset,
    HuggingFaceDataset,
    NumpyDataset,
    TorchDataset,
)
from dislab.errors import InputError
from dislab.factors import MISSING, ContinuousFactorWarning, FactorWarning

Kinds = dict[str, Any] | None
IMAGES = np.random.default_rng(0).integers(256, size=(60, 4, 4), dtype=np.uint8)


class Items(torch.utils.data.Dataset[Any]):
    def __init__(self, labels: Sequence[Any]) -> None:
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> Any:
        return IMAGES[number], self.labels[number]


def from_array(labels: Any, kinds: Kinds, folder: Path, **settings: Any) -> Dataset:
    return ArrayDataset(IMAGES[: len(labels)], {"kind": labels}, kinds=kinds, **settings)


def from_objects(labels: Any, kinds: Kinds, folder: Path, **settings: Any) -> Dataset:
    return from_array(np.array(labels, dtype=object), kinds, folder, **settings)


def from_npz(labels: Sequence[Any], kinds: Kinds, folder: Path, **settings: Any) -> Dataset:
    path = folder / "images.npz"
    np.savez(path, images=IMAGES[: len(labels)], kind=np.array(list(map(str, labels))))
    return NumpyDataset(str(path), factors="kind", kinds=kinds, **settings)


def from_csv(labels: Sequence[Any], kinds: Kinds, folder: Path, **settings: Any) -> Dataset:
    rows = []
    for number, label in enumerate(labels):
        Image.fromarray(IMAGES[number]).save(folder / f"{number}.png")
        rows.append(f'{number}.png,"{label}"\n')
    (folder / "factors.csv").write_text("file,kind\n" + "".join(rows), encoding="utf-8")
    return FolderDataset(str(folder), kinds=kinds, **settings)


def from_torch(labels: Sequence[Any], kinds: Kinds, folder: Path, **settings: Any) -> Dataset:
    return TorchDataset(Items(labels), names=["kind"], kinds=kinds, **settings)


def from_hugging_face(
    labels: Sequence[Any], kinds: Kinds, folder: Path, **settings: Any
) -> Dataset:
    import datasets

    datasets.disable_progress_bars()
    content = {"image": [Image.fromarray(one) for one in IMAGES[: len(labels)]], "kind": labels}
    datasets.Dataset.from_dict(content).save_to_disk(folder / "saved")
    return HuggingFaceDataset(str(folder / "saved"), kinds=kinds, **settings)


needs_datasets = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="needs the extra huggingface"
)
Entrance = Callable[..., Dataset]
ENTRANCES = [
    *(from_array, from_objects, from_npz, from_csv, from_torch),
    pytest.param(from_hugging_face, marks=needs_datasets),
]
every_entrance = pytest.mark.parametrize("entrance", ENTRANCES)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))


@pytest.mark.every(4)
@every_entrance
@pytest.mark.parametrize(
    "word",
    [
        "",
        "nan",
        "NaN",
        "NA",
        "N/A",
        "n/a",
        "NULL",
        "null",
        "None",
        "<NA>",
        "#N/A",
        " N/A ",
        "#REF!",
    ],
)
def test_words_for_a_missing_value(entrance: Entrance, word: str, tmp_path: Path) -> None:
    for others in (["a", "b", "a"], ["1", "2", "1.5"]):
        folder = tmp_path / others[0]
        folder.mkdir()
        with pytest.raises(InputError, match=r"lacks? a? ?values? in (row|line)") as refused:
            _ = entrance([others[0], word, *others[1:]], None, folder).factors
        assert word.lower() in ("", "nan", "na") or repr(word)[1:-1] in str(refused.value)


@every_entrance
def test_words_that_are_names(entrance: Entrance, tmp_path: Path) -> None:
    categorical: Kinds = {"kind": "categorical"}
    for word, kinds in (("none", None), ("None", categorical)):
        folder = tmp_path / word
        folder.mkdir()
        names = entrance(["cap", word, "hat"], kinds, folder).factors["kind"].values
        assert sorted(map(str, names)) == sorted(["cap", word, "hat"])
    for number, labels in enumerate((["1", "None", "2"], ["cap", "", "hat"], ["cap", "NA", "hat"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(InputError, match="lacks"):
            _ = entrance(labels, categorical, folder).factors


class NAType:
    """As the missing value of pandas, which has no truth value when compared."""

    def __ne__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("entrance", [from_array, from_objects, from_torch])
@pytest.mark.parametrize("value", [None, float("nan"), np.float32("nan"), NAType()])
@pytest.mark.parametrize("others", [["a", "b", "a"], [1.0, 2.0, 3.0]])
def test_missing_objects(
    entrance: Entrance, value: object, others: list[Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"factor kind lacks a value in row 1 \("):
        _ = entrance([others[0], value, *others[1:]], None, tmp_path).factors


def test_masked_values() -> None:
    masked = np.ma.masked_equal([1, 2, 3], 2)
    with pytest.raises(InputError, match="values of kind are masked in 1 places; leave these im"):
        ArrayDataset(IMAGES[:3], {"kind": masked})
    kept = ArrayDataset(IMAGES[:3], {"kind": masked}, gaps="keep").factors
    assert kept.table is not None
    assert sorted(kept.table[:, 0].tolist()) == [MISSING, 0, 1]


NUMBERS = [1.0, None, 2.0, 1.0]
KEPT = [
    *((entrance, ["cap", "", "hat", "cap"]) for entrance in (*ENTRANCES[:5], from_hugging_face)),
    *((entrance, NUMBERS) for entrance in (from_objects, from_torch, from_hugging_face)),
    (from_array, [1.0, np.nan, 2.0, 1.0]),
    (from_csv, ["1", "", "2", "1"]),
]


@pytest.mark.parametrize(
    ("entrance", "labels"),
    [
        pytest.param(*case, marks=[needs_datasets] if case[0] is from_hugging_face else [])
        for case in KEPT
    ],
)
def test_images_without_a_value_are_kept(
    entrance: Entrance, labels: list[Any], tmp_path: Path
) -> None:
    dataset = entrance(labels, None, tmp_path, gaps="keep")
    dataset.prepare()
    space = dataset.factors
    assert space.incomplete == ("kind",)
    assert len(space["kind"]) == 2
    assert space.table is not None
    [row] = np.flatnonzero(space.table[:, 0] == MISSING)
    shown = dataset.images(torch.tensor([row]))
    assert shown.flatten().tolist() == IMAGES[1].flatten().tolist()


@every_entrance
def test_a_word_that_is_taken_for_missing_is_named(entrance: Entrance, tmp_path: Path) -> None:
    with pytest.warns(FactorWarning, match="gaps: keep takes them for missing, or set kinds"):
        factors = entrance(["cap", "None", "hat"], None, tmp_path, gaps="keep").factors
    assert factors.incomplete == ("kind",)


@every_entrance
def test_another_word_for_gaps_is_refused(entrance: Entrance, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gaps is 'keeps'.* keep"):
        _ = entrance(["a", "b"], None, tmp_path, gaps="keeps").factors


def test_rows_that_are_dropped_for_a_word_are_named(tmp_path: Path) -> None:
    from_csv(["a", "None", "b", "n/a", ""], None, tmp_path)
    with pytest.warns(FactorWarning) as said:
        assert len(FolderDataset(str(tmp_path), gaps="drop").factors) == 2
    assert [str(one.message) for one in said] == [
        "factors.csv lacks values in line 3 (kind: 'None'), line 5 (kind: 'n/a'), line 6 (kind); "
        "gaps: drop leaves these rows out, or set kinds: {kind: categorical} if 'None' is a name"
    ]


def test_words_that_are_taken_for_missing_are_named(tmp_path: Path) -> None:
    from_csv(["a", "None", "b", "n/a", ""], None, tmp_path)
    with pytest.warns(FactorWarning) as said:
        factors = FolderDataset(str(tmp_path), gaps="keep").factors
    assert (len(factors), factors["kind"].values) == (5, ("a", "b"))
    assert [str(warning.message) for warning in said] == [
        "factors.csv lacks values in line 3 (kind: 'None'), line 5 (kind: 'n/a'), line 6 (kind); "
        "gaps: keep takes them for missing, or set kinds: {kind: categorical} if 'None' is a name"
    ]


TEXTS: dict[str, tuple[Callable[[int], str], str]] = {
    "decimal comma": (lambda n: f"{n},5", "if they are numbers, write them so, with a point"),
    "percent": (lambda n: f"{n % 7}%", "if they are numbers"),
    "degrees": (lambda n: f"{n * 5}°", "if they are numbers"),
    "length": (lambda n: f"{n} mm", "if they are numbers"),
    "thousands": (lambda n: f"{1 + n}.000,5", "if they are numbers"),
    "date": (lambda n: f"2021-{1 + n // 28:02d}-{1 + n % 28:02d}", "write dates as numbers, such"),
    "id": (lambda n: f"subj-{n:04d}", "leave out a column that only names images by listing the"),
}


@pytest.mark.every(4)
@every_entrance
@pytest.mark.parametrize("form", TEXTS)
def test_texts_that_are_no_classes(entrance: Entrance, form: str, tmp_path: Path) -> None:
    write, remedy = TEXTS[form]
    labels = [write(number) for number in range(60)]
    with pytest.warns(FactorWarning) as said:
        assert entrance(labels, None, tmp_path).factors["kind"].kind == "categorical"
    [message] = [str(one.message) for one in said]
    different = len(set(labels))
    assert message.startswith(f"kind is categorical: it has {different} different texts in 60 im")
    assert remedy in message
    assert message.endswith("if each is a class, say so in kinds, such as kind: categorical")
    folder = tmp_path / "again"
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ = entrance(labels, {"kind": "categorical"}, folder).factors


@every_entrance
@pytest.mark.parametrize(
    "labels",
    [
        [f"subj-{number % 30}" for number in range(60)],
        [f"subj-{number}" for number in range(20)],
        ["2021-03-31", "2021-04-01"] * 3,
        ["3a", "4b"] * 3,
        ["0", "cup"],
    ],
)
def test_texts_that_are_classes(entrance: Entrance, labels: list[str], tmp_path: Path) -> None:
    if entrance is from_csv and "0" in labels:
        with pytest.raises(InputError, match="numbers in 1 rows and other text in line 3: 'cup'"):
            _ = entrance(labels, None, tmp_path).factors
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert entrance(labels, None, tmp_path).factors["kind"].values == tuple(sorted({*labels}))


def test_numbers_written_as_text(tmp_path: Path) -> None:
    labels = [f"{number}" for number in (0, 105, 15)]
    with pytest.warns(FactorWarning, match="such as '15'; if they are numbers, write them so"):
        assert from_array(labels, None, tmp_path).factors["kind"].values == ("0", "105", "15")
    assert from_csv(labels, None, tmp_path).factors["kind"].values == (0.0, 15.0, 105.0)


def test_one_line_names_all_columns_of_a_kind() -> None:
    columns = {name: [f"{name}{number}" for number in range(21)] for name in "ab"}
    with pytest.warns(FactorWarning) as said:
        ArrayDataset(IMAGES[:21], columns)
    [message] = [str(one.message) for one in said]
    assert message.startswith("a, b are categorical: they have 21 different texts in 21 images, su")
    assert issubclass(ContinuousFactorWarning, FactorWarning)


@every_entrance
def test_images_are_traced_to_where_they_came_from(entrance: Entrance, tmp_path: Path) -> None:
    labels = [f"{(7 * number) % 12:x}k" for number in range(12)]
    dataset = entrance(labels, {"kind": "categorical"}, tmp_path)
    dataset.prepare()
    index = torch.tensor([5, 0, 11])
    ids = dataset.image_ids(index.numpy())
    if isinstance(dataset, FolderDataset):
        assert ids["files"].tolist() == [dataset.files[state] for state in index]
        assert dataset.files[:3] == ("0.png", "7.png", "2.png")
        rows = [int(name.removesuffix(".png")) for name in ids["files"]]
    else:
        rows = ids["rows"].tolist()
    assert np.array_equal(dataset.images(index)[:, 0].numpy(), IMAGES[rows])
