import importlib.util
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image

from dislab.datasets import FolderDataset
from dislab.errors import InputError
from dislab.testing import check_dataset

ROWS = [("a.png", 1, "cat"), ("b.png", 0, "dog"), ("sub/c.png", 1, "dog"), ("d.png", 0, "cat")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four images, each of one brightness, and a table of two factors."""
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    for number, (name, *_) in enumerate(ROWS):
        Image.new("L", (8, 6), 10 * number).save(folder / name)
    write(folder, *(f"{name},{x},{kind}" for name, x, kind in ROWS))
    return folder


def write(folder: Path, *lines: str, header: str = "file,x,kind") -> None:
    (folder / "factors.csv").write_text("\n".join([header, *lines]) + "\n")


def brightness(dataset: FolderDataset) -> list[int]:
    dataset.prepare()
    images = dataset.images(torch.arange(len(dataset.factors)))
    return [int(value) for value in images[:, 0, 0, 0]]


def test_states_are_sorted_and_show_their_images(folder: Path) -> None:
    dataset = FolderDataset(str(folder), units={"x": "cm"})
    check_dataset(dataset)
    assert dataset.factors.names == ("x", "kind")
    assert dataset.factors["x"].unit == "cm"
    assert dataset.factors.table is None
    assert dataset.image_shape == (1, 6, 8)
    assert brightness(dataset) == [30, 10, 0, 20]


def test_photos_are_turned_as_their_camera_says(folder: Path) -> None:
    stored = Image.new("L", (6, 8))  # of a camera on its side: the top of the scene is at the left
    stored.paste(200, (0, 0, 1, 8))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # to be turned by 90° clockwise
    stored.save(folder / "a.png", exif=exif)
    stored.save(folder / "b.png")
    dataset = FolderDataset(str(folder), table=None, side=8, gaps="drop")
    dataset.prepare()
    turned, plain = dataset.images(torch.tensor([0, 1]))[:, 0].float()
    assert turned[0].min() > 100
    assert turned[2:].max() == 0
    assert plain[:, 0].min() > 100
    assert plain[:, 2:].max() == 0


def test_a_partial_grid_and_chosen_columns(folder: Path) -> None:
    write(folder, *(f"{name},{x},{kind}" for name, x, kind in ROWS[:3]))
    (folder / "d.png").unlink()
    assert brightness(FolderDataset(str(folder))) == [10, 0, 20]
    dataset = FolderDataset(str(folder), factors=["kind"])
    assert dataset.factors.names == ("kind", "instance")
    assert brightness(dataset) == [0, 10, 20]


def test_another_column_names_the_files(folder: Path) -> None:
    rows = [f"{name},{x},{kind}" for name, x, kind in ROWS]
    write(folder, *rows, header="image_id,x,kind")
    with pytest.raises(InputError, match="if image_id does, choose it as file, or rename that"):
        FolderDataset(str(folder)).prepare()
    dataset = FolderDataset(str(folder), file="image_id")
    assert dataset.factors.names == ("x", "kind")
    assert brightness(dataset) == [30, 10, 0, 20]
    write(folder, *rows[:3], ",1,dog", header="image_id,x,file")
    with pytest.raises(InputError, match=r"lacks values in line 5 \(image_id\); mend"):
        FolderDataset(str(folder), file="image_id").prepare()
    dropped = FolderDataset(str(folder), file="image_id", gaps="drop")
    assert dropped.factors.names == ("x", "file")
    with pytest.raises(InputError, match=r"no column 'image', .* \(did you mean image_id\?\); its"):
        FolderDataset(str(folder), file="image").prepare()


def test_a_table_elsewhere_and_names_in_other_spellings(folder: Path) -> None:
    table = folder.parent / "table.csv"
    table.write_text("\ufefffile,x\n./a.png,1\nb.png,2\nsub//c.png,3\n d.png,4\n", encoding="utf-8")
    dataset = FolderDataset(str(folder), table=str(table), kinds={"x": "categorical"})
    assert dataset.factors["x"].kind == "categorical"
    assert brightness(dataset) == [0, 10, 20, 30]


def test_without_a_table_images_are_numbered(folder: Path) -> None:
    (folder / "factors.csv").unlink()
    (folder / ".hidden").touch()
    dataset = FolderDataset(str(folder), table=None)
    assert dataset.factors.names == ("image",)
    assert brightness(dataset) == [0, 10, 30, 20]  # by name: a, b, d, sub/c


@pytest.fixture
def linked(folder: Path) -> Path:
    """A folder with `a.png` and links: to a folder of images, to itself, to nothing."""
    real = folder.parent / "scratch"
    folder.rename(real)
    (real / "factors.csv").unlink()
    (real / "again").symlink_to(real / "sub")
    (real / "sub/up").symlink_to(real)
    folder.mkdir()
    (folder / ".train").symlink_to(real)
    (folder / "test").symlink_to(real)
    (folder / "train").symlink_to(real)
    (folder / "z").symlink_to("z")
    (folder / "back").symlink_to(folder)
    (folder / "parent").symlink_to(folder.parent)
    (folder / "link.png").symlink_to(real / "b.png")
    Image.new("L", (8, 6), 90).save(folder / "a.png")
    return folder


def test_linked_folders_are_read_once(linked: Path) -> None:
    with pytest.raises(InputError, match=r"z \(a link to nothing\) in .* is no image; mend that"):
        FolderDataset(str(linked), table=None).prepare()
    (linked / "z").unlink()
    dataset = FolderDataset(str(linked), table=None)
    assert brightness(dataset) == [90, 10, 0, 10, 30, 20]
    (linked / "test").unlink()
    assert brightness(FolderDataset(str(linked), table=None)) == [90, 10, 0, 10, 30, 20]


@pytest.mark.parametrize("name", ["test", "train"])
def test_a_table_names_linked_folders_by_any_link(name: str, linked: Path) -> None:
    names = [f"{name}/{file}" for file in ("a.png", "b.png", "d.png", "again/c.png")]
    write(linked, *(f"{file},1" for file in ["link.png", "a.png", *names]), header="file,x")
    assert brightness(FolderDataset(str(linked))) == [10, 90, 0, 10, 30, 20]
    write(linked, *(f"{file},1" for file in ["link.png", "a.png", *names[:-1]]), header="file,x")
    with pytest.raises(InputError, match=r"has no row for test/sub/c\.png; mend"):
        FolderDataset(str(linked)).prepare()


def test_a_folder_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match=r"mine cannot be read: .*Permission denied: '.*sub'"):
        FolderDataset(str(folder), table=None, gaps="drop").prepare()


def test_a_name_that_is_no_text(folder: Path) -> None:
    Image.new("L", (8, 6), 50).save(os.fsencode(folder) + b"/b\xff.png", format="png")
    assert brightness(FolderDataset(str(folder), table=None, gaps="drop")) == [0, 10, 50, 30, 20]


def spoil_missing_value(folder: Path) -> None:
    write(folder, "a.png,1,cat", "b.png,,dog", "sub/c.png,1,", "d.png,nan,cat")


def spoil_row_without_image(folder: Path) -> None:
    write(folder, *(f"{name},{x},{kind}" for name, x, kind in ROWS), "e.png,3,cat")


def spoil_image_without_row(folder: Path) -> None:
    Image.new("L", (8, 6)).save(folder / "extra.png")


@pytest.mark.parametrize(
    ("spoil", "message", "left"),
    [
        (
            spoil_missing_value,
            r"lacks values in line 3 \(x\), line 4 \(kind\), line 5 \(x\); mend that, or set gaps",
            [0],
        ),
        (
            spoil_row_without_image,
            r"lacks images that have a row: e\.png \(line 6\); mend",
            [30, 10, 0, 20],
        ),
        (spoil_image_without_row, r"factors\.csv has no row for extra\.png; me", [30, 10, 0, 20]),
    ],
)
def test_gaps_are_named_or_dropped(
    spoil: Callable[[Path], None], message: str, left: list[int], folder: Path
) -> None:
    spoil(folder)
    with pytest.raises(InputError, match=message):
        FolderDataset(str(folder)).prepare()
    assert brightness(FolderDataset(str(folder), gaps="drop")) == left


@pytest.mark.parametrize("table", ["factors.csv", None])
def test_one_of_equal_files_is_taken(table: str | None, tmp_path: Path) -> None:
    for name, shade in (("a", 10), ("b", 20), ("c", 10), ("d", 10), ("e", 30)):
        Image.new("L", (8, 8), shade).save(tmp_path / f"{name}.png")
    (tmp_path / "factors.csv").write_text("file,x\na.png,\nb.png,0\nd.png,1\nc.png,2\ne.png,3\n")
    taken = ["b.png", "d.png", "e.png"] if table else ["a.png", "b.png", "e.png"]
    choices: dict[Literal["keep", "drop"], list[str]] = {"keep": list("abcde"), "drop": taken}
    for copies, files in choices.items():
        dataset = FolderDataset(str(tmp_path), table, gaps="keep", copies=copies)
        dataset.prepare()
        assert {Path(name).stem for name in files} == {Path(name).stem for name in dataset.files}
        assert len(dataset.factors) == len(brightness(dataset)) == len(files)
        assert dataset.equal_files == (3 if copies == "keep" else 0)
    with pytest.raises(InputError, match="copies is 'remove'"):
        FolderDataset(str(tmp_path), copies=cast(Any, "remove"))


def test_a_file_that_goes_after_it_was_read_does_not_end_the_count_of_equal_ones(
    folder: Path,
) -> None:
    dataset = FolderDataset(str(folder))
    dataset.prepare()
    (folder / dataset.files[0]).unlink()
    assert dataset.equal_files == 0


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        ([], "file,x", "has no rows"),
        (["a.png,1", "a.png,2"], "file,x", r"several rows name the same image: a\.png \(line 2, l"),
        (["a.png,1,2"], "file,x", "line 2 has 3 cells, but there are 2 columns: file, x"),
        (
            ["a.png,1"],
            "name,x",
            r"no column 'file', .* line says name, x; if name does, choo",
        ),
        (["a.png,1,2"], "file,x,x", "has 2 columns named 'x'; rename them"),
        (["a.png"], "file", "no column besides file; set table to null"),
        (["a.png,1", "b.png,oops"], "file,x", r"numbers in 1 rows and other text in line 3: 'oops"),
        (["nowhere.png,1"], "file,x", "and factors.csv have no image in common"),
    ],
)
def test_tables_that_cannot_be_used(
    rows: list[str], header: str, message: str, folder: Path
) -> None:
    write(folder, *rows, header=header)
    with pytest.raises(InputError, match=message):
        FolderDataset(str(folder), gaps="drop").prepare()


def test_names_are_checked(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'knd' \(did you mean kind\?\); besides file"):
        FolderDataset(str(folder), factors=["knd"]).prepare()
    with pytest.raises(InputError, match=r"the table .* does not exist"):
        FolderDataset(str(folder), table="other.csv").prepare()
    with pytest.raises(InputError, match=r"the folder .* does not exist"):
        FolderDataset(str(folder / "none")).prepare()
    with pytest.raises(InputError, match="side is 0"):
        FolderDataset(str(folder), side=0)
    with pytest.raises(InputError, match="fit: crop needs a side, the height and width to come ou"):
        FolderDataset(str(folder), fit="crop")
    assert len(FolderDataset(str(folder), table=None).factors) == 4  # the table is no stray
    (folder / "a.txt").touch()
    with pytest.raises(InputError, match=r"a\.txt in .* is no image; mend that, or set gaps"):
        FolderDataset(str(folder), table=None).prepare()
    assert len(FolderDataset(str(folder), table=None, gaps="drop").factors) == 4


def spoil_size(folder: Path) -> None:
    Image.new("L", (8, 7)).save(folder / "b.png")


def spoil_mode(folder: Path) -> None:
    Image.new("RGB", (8, 6)).save(folder / "b.png")


def spoil_palette(folder: Path) -> None:
    Image.new("P", (8, 6)).save(folder / "b.png")


def spoil_depth(folder: Path) -> None:
    Image.new("I;16", (8, 6)).save(folder / "b.png")


def spoil_text(folder: Path) -> None:
    (folder / "b.png").write_text("no image")


def spoil_cut(folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(60, 80), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "b.png")
    content = (folder / "b.png").read_bytes()
    (folder / "b.png").write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("spoil", "settings", "message"),
    [
        (spoil_size, {}, r"b\.png has 8×7 pixels and 1 channel, but d\.png has 8×6 .*set side"),
        (spoil_mode, {}, r"b\.png has 8×6 pixels and 3 channels, but .* colour to grey or rgb"),
        (spoil_palette, {}, r"b\.png has the mode P; .* set colour to grey or rgb"),
        (spoil_depth, {}, r"b\.png has more than 8 bits a channel \(mode I;16\); divide its pixel"),
        (spoil_depth, {"colour": "grey"}, "multiply them by 255, and save them with 8 bits"),
        (spoil_text, {}, r"b\.png is no image that can be read"),
        (spoil_cut, {"side": 8}, r"b\.png cannot be read as an image: .*may be cut"),
    ],
)
def test_images_that_differ_or_are_none(
    spoil: Callable[[Path], None], settings: dict[str, Any], message: str, folder: Path
) -> None:
    spoil(folder)
    with pytest.raises(InputError, match=message):
        FolderDataset(str(folder), **settings).prepare()


def test_sizes_and_colours_are_made_alike(folder: Path) -> None:
    Image.new("RGBA", (20, 30), (250, 0, 0, 7)).save(folder / "b.png")
    dataset = FolderDataset(str(folder), side=4, colour="rgb")
    dataset.prepare()
    assert dataset.image_shape == (3, 4, 4)
    images = dataset.images(torch.arange(4))
    assert images[1, :, 0, 0].tolist() == [250, 0, 0]
    assert images[3, :, 0, 0].tolist() == [20, 20, 20]


def test_resizing_averages_areas(folder: Path) -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(6, 8)
    Image.fromarray(pixels).resize((8, 8), Image.Resampling.NEAREST).save(folder / "a.png")
    with Image.open(folder / "a.png") as image:
        square = np.asarray(image).astype(float)
    dataset = FolderDataset(str(folder), side=4)
    dataset.prepare()
    state = int(dataset.factors.index([1, 0]))
    expected = square.reshape(4, 2, 4, 2).mean(axis=(1, 3))
    assert np.abs(dataset.images(torch.tensor([state]))[0, 0].numpy() - expected).max() <= 0.5


def test_changed_files_are_converted_again(folder: Path) -> None:
    assert brightness(FolderDataset(str(folder))) == [30, 10, 0, 20]
    banks = list((folder.parent / "cache/folder_dataset").glob("*.npy"))
    before = banks[0].stat().st_mtime_ns
    FolderDataset(str(folder)).prepare()
    assert banks[0].stat().st_mtime_ns == before
    Image.new("L", (8, 6), 99).save(folder / "a.png")
    os.utime(folder / "a.png", ns=(1, 1))
    stale = FolderDataset(str(folder))
    with pytest.raises(InputError, match="is no bank of this data set; prepare the data set first"):
        stale.tables()
    assert brightness(stale) == [30, 10, 99, 20]
    assert list((folder.parent / "cache/folder_dataset").glob("*.npy")) == banks


def test_constructing_touches_no_file_and_pickling_leaves_images(folder: Path) -> None:
    dataset = FolderDataset("/nowhere/at/all")
    assert dataset.folder == "/nowhere/at/all"
    dataset = FolderDataset(str(folder))
    brightness(dataset)
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.images(torch.tensor([1]))[0, 0, 0, 0] == 10
    assert dataset.provenance()["source"] == "folder"
    assert "white_pixels" not in dataset.provenance()


def test_parquet_without_its_reader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "factors.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pyarrow.*is not installed; run pip install 'dislab\[pa"):
        FolderDataset(str(folder), table="factors.parquet").prepare()


@pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="needs dislab[parquet]")
def test_parquet(folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    names, x, kinds = map(list, zip(*ROWS, strict=True))
    parquet.write_table(pa.table({"file": names, "x": x, "kind": kinds}), folder / "t.parquet")
    assert brightness(FolderDataset(str(folder), table="t.parquet")) == [30, 10, 0, 20]
    numbered = {"file": names, "x": x, "kind": kinds, "__index_level_0__": [3, 1, 0, 2]}
    parquet.write_table(pa.table(numbered), folder / "t.parquet")  # as pandas does
    assert FolderDataset(str(folder), table="t.parquet").factors.names == ("x", "kind")
    x[1] = None
    parquet.write_table(pa.table({"file": names, "x": x, "kind": kinds}), folder / "t.parquet")
    with pytest.raises(InputError, match=r"lacks values in row 2 \(x\)"):
        FolderDataset(str(folder), table="t.parquet").prepare()
    (folder / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="cannot be read as a Parquet file"):
        FolderDataset(str(folder), table="t.parquet").prepare()


FITS = {
    "squash": [[10, 30], [10, 30]],  # means of halves, six pixels each
    "crop": [[0, 40], [0, 40]],  # the two columns in the middle
    "pad": [[0, 0], [10, 30]],
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("upright", [False, True])
def test_photographs_that_are_no_squares(fit: Any, upright: bool, tmp_path: Path) -> None:
    columns = np.array([[20, 0, 40, 20]], dtype=np.uint8).repeat(2, axis=0)
    Image.fromarray(columns.T if upright else columns).save(tmp_path / "a.png")
    dataset = FolderDataset(str(tmp_path), table=None, side=2, fit=fit)
    dataset.prepare()
    image = dataset.images(torch.tensor([0]))[0, 0].numpy()
    image = image.T if upright else image
    if fit == "pad":  # 4×2 becomes 2×1, with a border of one row
        assert sorted(map(sorted, image.tolist())) == FITS["pad"]
    else:
        assert image.tolist() == FITS[fit]
    assert ("fit" in dataset.provenance()) is (fit != "squash")


def test_every_fit_has_a_bank_of_its_own(folder: Path) -> None:
    for fit in FITS:
        dataset = FolderDataset(str(folder), side=4, fit=fit)  # type: ignore[arg-type]
        dataset.prepare()
    assert len(list((folder.parent / "cache/folder_dataset").glob("*.npy"))) == 3


def test_a_table_given_from_the_working_directory_is_named_from_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder / "factors.csv").rename("labels.csv")
    with pytest.raises(InputError, match=r"mine/labels.csv does not exist, and labels.csv does:"):
        FolderDataset("mine", table="labels.csv").prepare()
    with pytest.raises(InputError, match=r"\(did you mean \.\./labels.csv\?\)$"):
        FolderDataset("mine", table="labels.csv").prepare()
    assert FolderDataset("mine", table="../labels.csv").factors.names == ("x", "kind")
