"""Inspection of folders of images: what it reports, and settings with which the data set works."""

import warnings
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dislab.datamodules import SingleData
from dislab.datasets import FolderDataset, NumpyDataset
from dislab.datasets.files.image_files import Fit
from dislab.datasets.own import _factor_table as table_files
from dislab.datasets.own.array_inspection import inspect_arrays
from dislab.datasets.own.inspection import Inspection, inspect
from dislab.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three images of 8×6 pixels in a subfolder, and one of 64×64."""
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (8, 6), (90 * number, 0, 9)).save(folder / f"sub/{number}.png")
    Image.new("L", (64, 64), 100).save(folder / "grey.png")
    return folder


def write(folder: Path, *lines: str, name: str = "labels.csv") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")


def report(inspection: Inspection) -> dict[str, str]:
    return dict([*inspection.images, *inspection.table])


def usable(inspection: Inspection) -> FolderDataset:
    """The data set of the suggested settings, prepared."""
    assert inspection.faults == []
    dataset = FolderDataset(**inspection.settings)
    dataset.prepare()
    return dataset


def test_images_without_a_table_are_described_and_train(folder: Path) -> None:
    (folder / "sub/copy.png").write_bytes((folder / "sub/1.png").read_bytes())
    (folder / "notes.txt").write_text("mine")
    inspection = inspect(folder)
    lines = report(inspection)
    assert lines["images"] == "5"
    assert lines["sizes"] == "8×6 (4), 64×64 (1)"
    assert lines["modes"] == "RGB (4), L (1)"
    assert lines["equal files"] == "2 in 1 group: sub/1.png = sub/copy.png"
    _, copies, cut = inspection.notes
    assert copies.startswith("copies: drop takes one of equal files")
    assert "4 of 5 images" in copies
    assert cut == "fit: crop cuts off the ends of 4 images that are not square"
    assert lines["other files"] == "notes.txt"
    assert lines["table"].startswith("none")
    conversion = {"side": 64, "fit": "crop", "colour": "rgb", "gaps": "drop", "copies": "drop"}
    assert inspection.settings == {"folder": str(folder), "table": None, **conversion}
    assert usable(inspection).image_shape == (3, 64, 64)
    assert usable(inspection).equal_files == 0


@pytest.mark.parametrize("row", ["sub/2.png", "sub/2.png,3,4"])
def test_a_table_with_an_uneven_row_is_a_fault(folder: Path, row: str) -> None:
    write(folder, "file,x", "sub/0.png,1", "sub/1.png,2", row)
    inspection = inspect(folder)
    assert report(inspection)["table"] == "labels.csv cannot be read"
    [fault] = inspection.faults
    assert "labels.csv: line 4 has" in fault


def test_a_table_is_found_with_its_column_gaps_and_strays(folder: Path) -> None:
    write(folder, "file,x", "nothing.txt,1", name="other.csv")
    write(
        folder,
        "size,image_id,kind",
        "1,sub/0.png,cup",
        "2,./sub/1.png,pen",
        ",sub/2.png,pen",
        "3,lost.png,cup",
    )
    inspection = inspect(folder)
    lines = report(inspection)
    assert lines["table"].startswith("labels.csv: 4 rows, whose column 'image_id'")
    assert lines["column size"].endswith("no value in 1: line 4")
    assert lines["column kind"] == "categorical, 2 values: cup, pen"
    assert lines["rows without an image"] == "1: lost.png (line 5)"
    assert lines["images without a row"] == "1: grey.png"
    assert inspection.settings["file"] == "image_id"
    assert inspection.settings["gaps"] == "keep"
    dataset = usable(inspection)
    assert sorted(dataset.files) == ["grey.png", "sub/0.png", "sub/1.png", "sub/2.png"]
    assert dataset.factors.incomplete == ("size", "kind")


def test_a_broken_image_does_not_cost_those_without_values(folder: Path) -> None:
    write(folder, "file,x", "sub/0.png,1", "sub/1.png,2", "sub/2.png,", "grey.png,3")
    (folder / "broken.png").write_bytes(b"no picture")
    inspection = inspect(folder)
    assert inspection.settings["gaps"] == "keep"
    [fault] = inspection.faults
    assert "broken.png is no image that can be read" in fault
    assert fault.count("remove it") == 1
    write(folder, "file,x", "sub/0.png,1", "sub/1.png,2", "sub/2.png,4", "grey.png,3")
    assert inspect(folder).settings["gaps"] == "drop"  # which leaves out the broken one alone
    usable(inspect(folder))


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "name",
    [
        "{}.png",
        "{}",
        "sub/{}.png",
        "./sub/{}",
        "sub\\{}.png",
        "../mine/sub/{}.png",
        "data/mine/sub/{}.png",
        "/home/me/mine/sub/{}.png",
        "FOLDER/sub/{}.png",
    ],
)
@pytest.mark.parametrize("table", ["labels.csv", "tables/labels.csv", "../labels.csv"])
def test_names_of_images_are_found_in_every_spelling(table: str, name: str, folder: Path) -> None:
    spelt = name.replace("FOLDER", str(folder))
    if table.startswith("tables") and name.startswith("../"):
        spelt = f"../{spelt}"
    write(
        folder, "name,x", *(f"{spelt.format(number)},{number}" for number in range(3)), name=table
    )
    inspection = inspect(folder, table)
    assert Path(inspection.settings["folder"]) == folder
    assert report(inspection)["images without a row"] == "1: grey.png"
    dataset = usable(inspection)
    numbers = dataset.factors.positions(range(4))[:, 0].tolist()
    files = [f"sub/{number}.png" for number in range(3)]
    assert dict(zip(dataset.files, numbers, strict=True)) == {
        "grey.png": -1, **{file: number for number, file in enumerate(files)}
    }  # fmt: skip


def test_the_end_of_a_path_must_belong_to_one_image(folder: Path) -> None:
    (folder / "other").mkdir()
    Image.new("RGB", (8, 6)).save(folder / "other/0.png")
    write(folder, "file,x", "0.png,1", "1.png,2", "other/2.png,3")
    [fault] = inspect(folder).faults
    assert "names of several images: 0.png (line 2: other/0.png, sub/0.png); write" in fault
    write(folder, "file,x", "sub/0.png,1", "1.png,2", "other/2.png,3")
    lines = report(inspect(folder))
    assert lines["rows without an image"] == "1: other/2.png (line 4)"
    assert f"1 of 3 rows name no image of {folder}" in inspect(folder).notes


def test_numbers_that_end_several_names_do_not_name_the_images(folder: Path) -> None:
    (folder / "other").mkdir()
    for number in range(3):
        Image.new("RGB", (8, 6)).save(folder / f"other/{number}.png")
    write(folder, "kind,path", "0,sub/0.png", "1,sub/1.png", "2,other/0.png")
    assert inspect(folder).settings["file"] == "path"


def test_subfolders_may_be_a_factor(folder: Path) -> None:
    lines = report(inspect(folder))
    assert lines["subfolders"] == "sub (3), . (1)"
    assert "--factors folder makes the subfolders a factor" in inspect(folder).notes
    assert inspect(folder).advised == ["folder"]
    inspection = inspect(folder, factors=["folder"])
    assert inspection.is_labelled
    assert report(inspection)["factor folder"] == "categorical, 2 values: ., sub"
    assert "subfolders" not in report(inspection)
    dataset = usable(inspection)
    assert dataset.factors["folder"].values == (".", "sub")
    assert dataset.files[0] == "grey.png"
    with pytest.raises(InputError, match=r"factors are x, and there is no table; .* be folder,"):
        _ = FolderDataset(str(folder), table=None, factors=["x"]).factors
    with pytest.raises(InputError, match=r"has no CSV or Parquet table; --table names one"):
        inspect(folder, factors=["x"])


@pytest.mark.parametrize(
    ("tops", "advised", "levels"),
    [
        (("train", "test"), ["folder_2"], {"folder_2": ("cat", "dog")}),
        (("red", "blue"), ["folder_1", "folder_2"], {"folder_1": ("blue", "red")}),
        (("red",), ["folder_2"], {"folder_2": ("cat", "dog")}),
    ],
)
def test_levels_of_subfolders_may_be_factors(
    tops: tuple[str, ...], advised: list[str], levels: dict[str, tuple[str, ...]], folder: Path
) -> None:
    nested = folder / "sub" / "nested"
    for top in tops:
        for kind in ("cat", "dog"):
            (nested / top / kind).mkdir(parents=True)
            for number in range(2):
                image = Image.new("RGB", (64, 64), (99 + number, len(top), ord(kind[0])))
                image.save(nested / top / kind / f"{number}.png")
    inspection = inspect(nested)
    assert inspection.offered == advised
    (offer,) = [note for note in inspection.notes if "--factors" in note]
    splits = ["folder_1"] if "train" in tops else []
    factors = [*splits, *advised]  # splits are kept apart
    assert (
        f"--factors {' '.join(factors)} {'keeps' if 'train' in tops else 'makes levels'}" in offer
    )
    assert inspection.advised == factors
    chosen = inspect(nested, factors=advised)
    assert (chosen.offered, chosen.is_labelled) == ([], True)
    space = usable(chosen).factors
    assert {name: space[name].values for name in levels} == levels


@pytest.fixture
def pets(folder: Path) -> Path:
    """Eight images in two levels of subfolders, of splits and of classes, and a table of sizes."""
    pets, rows = folder / "pets", ["file,size"]
    for number, (split, kind) in enumerate(product(("train", "test"), ("cat", "dog"))):
        (pets / split / kind).mkdir(parents=True)
        for copy in range(2):
            name = f"{split}/{kind}/{copy}.png"
            Image.new("L", (64, 64), 40 * number + copy).save(pets / name)
            rows.append(f"{name},{copy}")
    write(pets, *rows)
    return pets


def test_subfolders_may_be_factors_beside_a_table(pets: Path) -> None:
    counts = "test/cat (2), test/dog (2), train/cat (2), train/dog (2)"
    assert report(inspect(pets))["subfolders"] == counts
    (pets / "train").rename(pets / "red")
    write(pets, "file,size", "red/cat/0.png,1", "test/cat/0.png,2")
    offer = "--factors size folder_1 folder_2 makes levels of subfolders factors beside the columns"
    assert offer in inspect(pets).notes
    (pets / "red").rename(pets / "train")
    names = [f"{split}/{kind}/0.png,1" for split in ("train", "test") for kind in ("cat", "dog")]
    write(pets, "file,size", *names, *(name.replace("0.png,1", "1.png,2") for name in names))
    chosen = inspect(pets, factors=["folder_2", "size"])
    assert "subfolders" not in report(chosen)
    assert report(chosen)["factor folder_2"] == "categorical, 2 values: cat, dog"
    dataset = usable(chosen)
    assert dataset.factors.names == ("folder_2", "size", "instance")
    assert dataset.files[0] == "train/cat/0.png"
    with pytest.raises(InputError, match="has size, and the subfolders are folder, folder_1, fold"):
        inspect(pets, factors=["folder_3"])


def test_factors_that_tell_the_same_are_not_offered_and_get_one_note(pets: Path) -> None:
    names = FolderDataset(str(pets), table="labels.csv").files
    rows = [f"{name},{name.split('/')[1]},{name[-5]}" for name in names]
    write(pets, "file,shape,size", *rows)
    inspection = inspect(pets)
    told = report(inspection)
    assert told["subfolders folder_2"] == "tell the same as the column shape, so are no factor"
    assert inspection.offered == []
    assert inspection.advised == ["shape", "size", "folder_1"]
    chosen = inspect(pets, factors=["shape", "size", "folder_1", "folder_2"])
    (note,) = [note for note in chosen.notes if "tells the same" in note]
    assert note.startswith("folder_2 tells the same as shape, and both would count in the scores")
    assert chosen.advised == ["shape", "size", "folder_1"]
    assert not [note for note in inspect(pets, factors=["shape"]).notes if "the same" in note]


def test_a_column_of_the_table_wins_over_subfolders_of_its_name(pets: Path) -> None:
    names = FolderDataset(str(pets), table="labels.csv").files
    write(pets, "file,folder_2", *(f"{name},{name[-5]}" for name in names))
    inspection = inspect(pets, factors=["folder_2"])
    assert report(inspection)["column folder_2"] == "ordinal, 2 values from 0 to 1"
    assert usable(inspection).factors["folder_2"].values == (0.0, 1.0)


def test_images_without_a_row_have_subfolders_and_no_values(pets: Path) -> None:
    write(pets, "file,size", "train/cat/0.png,1", "train/dog/0.png,2")
    dataset = usable(inspect(pets, factors=["size", "folder_2"]))
    assert dataset.factors.incomplete == ("size",)
    assert len(dataset.factors) == 8


@pytest.mark.parametrize("table", [True, False])
def test_subfolders_of_splits_part_the_images_and_are_not_scored(pets: Path, table: bool) -> None:
    if not table:
        (pets / "labels.csv").unlink()
    columns = ["size"] * table
    factors = [*columns, "folder_1", "folder_2"]
    (note,) = [note for note in inspect(pets).notes if "mixed" in note]
    assert f"--factors {' '.join(factors)} keeps them apart by hold_out: {{folder_1: test}}" in note
    assert inspect(pets).advised == factors  # what `data check` says to do next
    chosen = inspect(pets, factors=factors)
    assert any("folder_1 is not scored" in note for note in chosen.notes)
    dataset = usable(chosen)
    assert dataset.factors.essential_names == (*columns, "folder_2")
    data = SingleData(dataset, batch_size=1, hold_out=dataset.held_out, validation=0.0)
    tested = [dataset.files[state] for state in data.indices("test")]
    assert sorted(tested) == sorted(name for name in dataset.files if name.startswith("test"))
    alone = inspect(pets, factors=["folder_1"])
    assert alone.is_labelled is False
    settings = chosen.settings | {"kinds": {"folder_1": "categorical"}}
    assert "folder_1" in FolderDataset(**settings).factors.essential_names


def test_measured_columns_are_settings_and_angles_may_have_a_period(folder: Path) -> None:
    for number in range(44):
        Image.new("L", (64, 64), number).save(folder / f"{number:02}.png")
    rows = [f"{n:02}.png,{8 * n + 5 if n < 22 else ''},{n % 2 * 90},{n / 44}" for n in range(44)]
    write(folder, "file,angle,hue,orientation", *rows)
    inspection = inspect(folder, factors=["angle", "hue", "orientation"])
    said, angles = inspection.notes[0], inspection.decided[0]
    assert said.startswith("angle, orientation are continuous: they have 22, 44 different numbers")
    assert "in 22, 44 images; if each" in said
    assert "--data.dataset.periods.angle 360 --data.dataset.periods.hue 360" in angles
    assert inspection.settings["kinds"] == {"angle": "continuous", "orientation": "continuous"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ = FolderDataset(**inspection.settings).factors
    periods = {"angle": 360.0, "hue": 360.0}
    factors = FolderDataset(**inspection.settings, periods=periods).factors
    assert [factors[name].kind for name in periods] == ["continuous", "circular"]


@pytest.mark.parametrize(("values", "warned"), [("aabb", 1), ("aaaa", 1), ("abcd", 0)])
def test_factors_of_which_one_or_none_varies_get_a_note(
    values: str, warned: int, folder: Path
) -> None:
    second = ("x", "y") if values == "abcd" else ("x", "x")
    rows = [f"{number}.png,{values[number]},{second[number % 2]}" for number in range(3)]
    write(folder, "file,kind,other", *rows, name="sub/labels.csv")
    notes = [note for note in inspect(folder / "sub").notes if "varies" in note]
    assert len(notes) == warned
    assert all(("only the factor kind" in note) == ("b" in values) for note in notes)


def test_a_second_table_is_named(folder: Path) -> None:
    write(folder, "file,x,y", "grey.png,1,1", "sub/0.png,2,1", "sub/1.png,1,2", "sub/2.png,1,1")
    write(folder, "file,x", "grey.png,1", "sub/0.png,9", name="other.csv")
    notes = inspect(folder).notes
    assert "labels.csv is the table; other.csv names images, too: --table chooses another" in notes
    assert not any("is the table" in note for note in inspect(folder, "other.csv").notes)


def test_a_table_stands_for_the_folder_that_its_names_are_relative_to(folder: Path) -> None:
    write(folder, "file,x", "0.png,1", "1.png,2", "2.png,3", name="sub/labels.csv")
    inspection = inspect(folder / "sub/labels.csv")
    assert Path(inspection.settings["folder"]) == folder / "sub"
    assert len(usable(inspection).factors) == 3


def test_faults_that_only_the_user_can_mend_are_told_together(folder: Path) -> None:
    Image.fromarray(np.full((8, 8), 900, dtype=np.uint16)).save(folder / "deep.png")
    (folder / "cut.png").write_bytes((folder / "grey.png").read_bytes()[:50])
    first, second = inspect(folder).faults
    assert "cut.png cannot be read as an image" in first
    assert "deep.png has more than 8 bits a channel" in second
    write(folder, "file,x", "grey.png,1", "sub/0.png,red", "sub/1.png,2")
    assert any("column x has numbers in 2 rows" in fault for fault in inspect(folder).faults)


def test_images_that_the_table_leaves_out_are_no_fault(folder: Path) -> None:
    (folder / "cut.png").write_bytes(b"")
    write(folder, "file,x", "sub/0.png,1", "sub/1.png,2", "sub/2.png,3", "grey.png,4")
    inspection = inspect(folder)
    assert report(inspection)["refused"] == "1: cut.png"
    assert "cut.png is no image that can be read" in inspection.notes[0]
    assert len(usable(inspection).factors) == 4


@pytest.mark.parametrize("mark", [";", "\t"])
def test_tables_may_be_separated_by_other_marks(mark: str, folder: Path) -> None:
    rows = [f"sub/{number}.png|{number},5|{'ac'[number % 2]}, b" for number in range(3)]
    write(folder, *(row.replace("|", mark) for row in ["file|x|y", *rows]))
    inspection = inspect(folder)
    assert report(inspection)["column x"] == "ordinal, 3 values from 0.5 to 2.5"
    assert usable(inspection).factors["y"].values == ("a, b", "c, b")


def test_a_table_that_cannot_be_used_is_refused_if_its_factors_are_asked_for(folder: Path) -> None:
    write(folder, "file,x", "grey.png,1,2")
    assert "line 2 has 3 cells" in inspect(folder, factors=["x"]).faults[0]
    write(folder, "file,x", "other.png,7.5")
    with pytest.raises(InputError, match=r"labels\.csv cannot be used: no column names"):
        inspect(folder, factors=["x"])


def test_a_column_or_table_that_was_asked_for_must_name_images(folder: Path) -> None:
    write(folder, "name,size", "grey.png,77")
    with pytest.raises(InputError, match=r"^\S+labels.csv has no column .*did you mean name"):
        inspect(folder, file="nam")
    write(folder, "name,size", "other.png,77")
    assert report(inspect(folder))["table"] == "none: labels.csv is left out"
    with pytest.raises(InputError, match=r"labels.csv cannot be used: .* name has other\.png: wri"):
        inspect(folder, table="labels.csv")


@pytest.fixture
def many(folder: Path) -> Path:
    """A folder of 60 images from img_00.png on."""
    many = folder.parent / "many"
    many.mkdir()
    for number in range(60):
        Image.new("L", (64, 64), number).save(many / f"img_{number:02}.png")
    return many


def test_a_table_beside_the_folder_is_named(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(many.parent)
    assert inspect(Path("many")).beside == ""
    write(many.parent, "file,x", *(f"img_{number:02}.png,{number % 3}" for number in range(60)))
    write(many.parent, "file,x", *(f"img_{number:02}.png,1" for number in range(7)), name="b.csv")
    write(many.parent, "file,x", "img_01.png,1,2", name="broken.csv")
    inspection = inspect(Path("many"))
    assert "labels.csv beside the folder names 60 of 60 images: --table labels.csv" in (
        inspection.notes
    )
    assert inspection.beside == "labels.csv"
    assert usable(inspect(Path("many"), inspection.beside)).factors.names == ("x", "instance")
    monkeypatch.chdir(many)
    assert inspect(Path()).beside == "../labels.csv"
    assert inspect(many).beside == str(many.parent / "labels.csv")
    write(many, "file,x", "img_01.png,1", name="own.csv")
    assert inspect(many).beside == ""


def test_a_table_of_numbers_is_left_out_with_what_to_change(many: Path) -> None:
    write(many, "x,id", *(f"{number / 8},{number}" for number in range(60)))
    inspection = inspect(many)
    (note,) = inspection.notes
    assert note == (
        "labels.csv is left out: no column names the images as in img_00.png; id has 0, 1, 2: "
        "write the file of each image there, such as img_00.png"
    )
    assert inspection.settings == {"folder": str(many), "table": None}
    usable(inspection)
    with pytest.raises(InputError, match=r"labels\.csv cannot be used: .* id has 0, 1, 2: write"):
        inspect(many, "labels.csv")


def test_a_column_that_names_few_images_by_chance_is_not_taken(many: Path) -> None:
    for image in sorted(many.iterdir()):
        image.rename(many / f"{int(image.stem[4:])}.png")
    write(many, "x,y", *(f"{number % 4 * 12},{number % 5 / 2}" for number in range(60)))
    few = "column x names only 4 of 60 images; is this the right table? --file x takes it"
    (note,) = inspect(many).notes
    assert note.startswith(f"labels.csv is left out: {few}")
    with pytest.raises(
        InputError, match=r"labels\.csv cannot be used: column x names only 4 of 60"
    ):
        inspect(many, "labels.csv")
    asked = inspect(many, file="x")
    cut = "0.png (line 2, line 6, line 10, line 14, line 18 and 10 more)"
    assert cut in report(asked)["images with several rows"]
    assert cut in asked.faults[0]
    write(many, "x,y", *(f"{number},{number}" for number in range(7)))  # labels of some images
    assert "names the images" in report(inspect(many))["table"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_of_tables_beside_the_folder_that_name_no_images_the_first_rows_are_read(
    suffix: str, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{value}" for value in range(100_000)]
    names = [path.name for path in sorted(many.glob("*.png"))]
    tables = {"other": pd.DataFrame({"x": rows}), "labels": pd.DataFrame({"x": 1, "file": names})}
    for name, table in tables.items():
        path = many.parent / f"{name}.{suffix}"
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    whole, read = [], table_files.read_cells

    def counted(path: Path) -> Any:
        whole.append(path.name)
        return read(path)

    monkeypatch.setattr(table_files, "read_cells", counted)
    assert inspect(many).beside == str(many.parent / f"labels.{suffix}")
    assert whole == [f"labels.{suffix}"]
    monkeypatch.setattr("dislab.datasets.own.inspection._LARGE", 100)
    assert inspect(many).beside == ""


def test_a_column_that_names_images_is_left_out_beside_images_without_a_row(many: Path) -> None:
    (many / "more").mkdir()
    for number in range(90):
        Image.new("L", (64, 64), number + 60).save(many / "more" / f"{number}.png")
    rows = [f"img_{number:02}.png,{number % 2},words {number}" for number in range(60)]
    write(many, "file,x,note", *rows)
    inspection = inspect(many)
    assert inspection.advised == ["x"]
    assert "--factors x folder makes the subfolders a factor beside the columns" in inspection.notes


def test_values_of_rows_without_an_image_do_not_count(folder: Path) -> None:
    write(folder, "file,size", "grey.png,1", "sub/0.png,2", "lost.png,3")
    lines = report(inspect(folder))
    assert lines["column size"] == "ordinal, 2 values from 1 to 2"


def test_a_relative_folder_that_is_missing_says_where_it_was_sought(folder: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"pics does not exist in .*start the command in the folder that has pics, or",
    ):
        FolderDataset("pics").prepare()
    with pytest.raises(
        InputError, match=r"none does not exist; give the folder of the images as fold"
    ):
        FolderDataset(str(folder / "none")).prepare()


def test_names_without_a_suffix_must_belong_to_one_image(folder: Path) -> None:
    Image.new("L", (64, 64), 7).save(folder / "twin.png")
    Image.new("L", (64, 64), 8).save(folder / "twin.jpg")
    write(folder, "id,x", "sub/0,1", "./sub/1,2", "sub/2.png,2", "grey,3", "twin,4")
    [fault] = inspect(folder).faults
    assert "names of several images: twin (line 6: twin.jpg, twin.png); write" in fault
    write(folder, "id,x", "sub/0,1", "./sub/1,2", "sub/2.png,2", "grey,3")
    inspection = inspect(folder)
    assert inspection.settings["file"] == "id"
    assert report(inspection)["images without a row"] == "2: twin.jpg, twin.png"
    dataset = usable(inspection)
    numbers = dataset.factors.positions(range(6))[:, 0].tolist()
    assert dict(zip(dataset.files, numbers, strict=True)) == {
        "sub/0.png": 0, "sub/1.png": 1, "sub/2.png": 1, "grey.png": 2, "twin.jpg": -1,
        "twin.png": -1,
    }  # fmt: skip


def test_a_factor_whose_numbers_are_names_too_does_not_name_the_images(folder: Path) -> None:
    for path in sorted((folder / "sub").iterdir()):
        path.rename(folder / path.name)
    write(folder, "x,id", "0,0", "0,1", "1,2")
    inspection = inspect(folder)
    assert inspection.settings["file"] == "id"
    assert report(inspection)["column x"].startswith("ordinal, 2 values")


def test_a_table_may_lie_where_the_command_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "elsewhere").mkdir()
    write(folder.parent / "elsewhere", "name,x", "grey.png,1", "sub/0.png,2")
    monkeypatch.chdir(folder.parent)
    inspection = inspect(Path("mine"), "elsewhere/labels.csv")
    assert inspection.settings["table"] == "../elsewhere/labels.csv"
    usable(inspection)
    (folder.parent / "link/to").mkdir(parents=True)
    (folder.parent / "link/to/mine").symlink_to(folder)  # whose .. is the target's folder
    usable(inspect(Path("link/to/mine"), "elsewhere/labels.csv"))
    write(folder, "name,x", "grey.png,1", name="elsewhere/labels.csv")
    assert inspect(Path("mine"), "elsewhere/labels.csv").settings["table"] == "elsewhere/labels.csv"


def test_chosen_factors_alone_are_settings_and_need_values(folder: Path) -> None:
    names = ("grey", "sub/0", "sub/1", "sub/2")
    write(folder, "file,x,note,y", *(f"{name}.png,{len(name)},,{name}" for name in names))
    assert inspect(folder).settings["gaps"] == "keep"
    inspection = inspect(folder, factors=["y"])
    assert inspection.settings["factors"] == ["y"]
    assert "gaps" not in inspection.settings
    assert "column x" not in report(inspection)
    assert usable(inspection).factors.names == ("y",)
    with pytest.raises(InputError, match=r"no column 'nota' \(did you mean note\?\)"):
        inspect(folder, factors=["nota"])


def test_columns_that_only_name_images_are_left_out_of_the_advice(folder: Path) -> None:
    for number in range(60):
        Image.new("L", (64, 64), number).save(folder / f"n{number}.png")
    rows = [f"n{number}.png,{number % 2},words {number}" for number in range(60)]
    write(folder, "file,x,note", *rows)
    assert inspect(folder).advised == ["x"]
    assert inspect(folder, factors=["x"]).advised == []


def test_images_that_are_left_out_are_counted(folder: Path) -> None:
    write(folder, "file,x", "grey.png,1", "sub/0.png,")
    *_, note, cut = inspect(folder, keep=False).notes
    assert cut == "fit: pad adds black borders to the sides of 3 images that are not square"
    assert note == ("gaps: drop leaves out 3 of 4 images, which have no row or lack a value")
    assert note not in inspect(folder).notes


@pytest.mark.parametrize(
    ("fit", "effect"),
    [("crop", "cuts off the ends of"), ("squash", "changes the proportions of")],
)
def test_a_chosen_fit_is_the_setting_whether_there_is_a_table(
    fit: Fit, effect: str, folder: Path
) -> None:
    write(folder, "file,x,y", "grey.png,1,1", "sub/0.png,2,1", "sub/1.png,1,2", "sub/2.png,1,1")
    inspection = inspect(folder, fit=fit)
    assert inspection.notes[1:] == [f"fit: {fit} {effect} 3 images that are not square"]
    assert usable(inspection).fit == fit
    (folder / "labels.csv").unlink()
    assert inspect(folder, fit=fit).settings["fit"] == fit


@pytest.mark.parametrize("path", ["nowhere", "empty", "mine/grey.png"])
def test_other_paths_are_refused(folder: Path, path: str) -> None:
    (folder.parent / "empty").mkdir()
    with pytest.raises(InputError, match=r"is no folder of images|holds no images"):
        inspect(folder.parent / path)


IMAGES = np.arange(20 * 16 * 16, dtype=np.float64).reshape(20, 16, 16) % 255 / 255
SIZES = np.arange(20) % 3.0


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of images with a factor, a table for seven others, and an object."""
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "arrays.npz"
    np.savez(file, images=IMAGES, size=SIZES, seven=SIZES[:7], meta=np.array({}, dtype=object))
    return file


def test_arrays_that_tell_the_same_get_a_note(arrays: Path) -> None:
    np.savez(arrays, images=IMAGES, size=SIZES, width=8 * SIZES + 1, look=np.arange(20) % 2)
    notes = [note for note in inspect_arrays(arrays).notes if "the same" in note]
    assert [note.partition(",")[0] for note in notes] == ["width tells the same as size"]


def test_arrays_are_described_with_their_factors(arrays: Path) -> None:
    inspection = inspect_arrays(arrays)
    lines = report(inspection)
    assert (lines["images"], lines["sizes"], lines["modes"]) == ("20", "16×16", "L")
    assert lines["factor size"] == "ordinal, 3 values from 0 to 2"
    assert lines["other arrays"] == "seven (7 rows for 20 images), meta (Python objects)"
    assert inspection.decided[0] == "seven has 7 rows for 20 images, and is left out"
    assert inspection.notes[0].startswith("only the factor size varies")
    assert inspection.settings == {"file": str(arrays), "factors": "size"}
    assert (inspection.faults, inspection.is_labelled, inspection.largest) == ([], True, 16)
    dataset = NumpyDataset(**inspection.settings)
    assert dataset.image_shape == (1, 16, 16)


def test_the_array_of_the_images_may_be_named(arrays: Path) -> None:
    np.savez(arrays, images=IMAGES, others=IMAGES[:10], size=SIZES)
    with pytest.raises(InputError, match=r"2 arrays of three or four axes .*name the one"):
        inspect_arrays(arrays)
    assert inspect_arrays(arrays, images="images").settings["factors"] == "size"
    lines = report(inspect_arrays(arrays, images="others"))
    assert lines["other arrays"] == "images (3 axes), size (20 rows for 10 images)"


def test_arrays_without_factors_train(arrays: Path) -> None:
    np.save(arrays.with_suffix(".npy"), IMAGES)
    inspection = inspect_arrays(arrays.with_suffix(".npy"))
    assert report(inspection)["factors"].startswith("none")
    assert not inspection.is_labelled
    np.save(arrays.with_name("size.npy"), SIZES)
    np.save(arrays.with_name("short.npy"), SIZES[:5])
    inspection = inspect_arrays(arrays.with_suffix(".npy"))
    assert (inspection.is_labelled, inspection.offered) == (False, ["size.npy"])
    assert report(inspection)["arrays beside"] == "size.npy"
    assert "--factors size.npy makes the array beside a factor" in inspection.notes
    (fault,) = inspect_arrays(arrays.with_suffix(".npy"), ["size"]).faults
    assert "has no file size (did you mean size.npy?)" in fault
    inspection = inspect_arrays(arrays.with_suffix(".npy"), ["short.npy"])
    assert "gaps" not in inspection.settings  # it would not help
    inspection = inspect_arrays(arrays.with_suffix(".npy"), ["size.npy"])
    assert inspection.settings["factors"] == "size.npy"
    assert report(inspection)["factor size"].startswith("ordinal")


def test_images_of_arrays_without_a_value_are_kept_where_the_method_takes_them(
    arrays: Path,
) -> None:
    np.savez(arrays, images=IMAGES, size=np.where(SIZES > 1, np.nan, SIZES))
    assert inspect_arrays(arrays).settings["gaps"] == "keep"
    (fault,) = inspect_arrays(arrays, keep=False).faults
    assert f"{arrays}: factor size lacks a value in row 2" in fault


def test_pixels_of_arrays_that_are_out_of_range_are_a_fault(arrays: Path) -> None:
    np.savez(arrays, images=IMAGES * 255, size=np.where(SIZES > 1, np.nan, SIZES))
    (fault,) = inspect_arrays(arrays).faults
    assert "divide them by the largest possible value" in fault


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("name", "numbers", "left_out"),
    [
        ("counter", range(60), True),
        ("image_id", [(7 * n) % 60 for n in range(60)], True),
        ("Index", [1000 * n for n in range(60)], True),
        ("grid", [(7 * n) % 60 for n in range(60)], False),
        ("angle", range(60), False),
        ("counter", [n // 2 for n in range(60)], False),
        ("id", [n / 8 for n in range(60)], False),
        ("area", [n * n for n in range(60)], False),
    ],
)
def test_a_running_number_is_no_factor(
    name: str, numbers: Iterable[float], left_out: bool, many: Path, tmp_path: Path
) -> None:
    values = list(numbers)
    rows = [f"img_{n:02}.png,{value},{n % 2}" for n, value in enumerate(values)]
    write(many, f"file,{name},x", *rows)
    images = np.zeros((60, 8, 8), np.uint8)
    arrays: dict[str, Any] = {name: values, "x": np.arange(60) % 2}
    np.savez(tmp_path / "a.npz", images=images, **arrays)
    for inspection in (inspect(many), inspect_arrays(tmp_path / "a.npz")):
        assert (f"{name} numbers the images" in " ".join(inspection.notes)) == left_out
        assert inspection.advised == (["x"] if left_out else [])
        kinds = inspection.settings.get("kinds", {})
        assert (name in kinds) <= (not left_out)
    assert usable(inspect(many)).factors.names[0] == ("x" if left_out else name)
    assert name in usable(inspect(many, factors=[name, "x"])).factors.names


def test_columns_of_one_value_are_no_factors(many: Path, tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "lamp": ["on"] * 60,
        "x": [n % 2 for n in range(60)],
        "room": [3] * 60,
        "id": list(range(60)),
    }
    rows = zip(*columns.values(), strict=True)
    write(
        many,
        ",".join(["file", *columns]),
        *(f"img_{n:02}.png,{','.join(map(str, row))}" for n, row in enumerate(rows)),
    )
    images = np.zeros((60, 8, 8), np.uint8)
    np.savez(tmp_path / "a.npz", images=images, **columns)
    for inspection in (inspect(many), inspect_arrays(tmp_path / "a.npz")):
        end = "left out; --factors lamp x room id takes all columns"
        said = "lamp (on), room (3) have one value each and are no factors: left out"
        assert said in inspection.notes  # the option stands once, behind the last of them
        assert f"id numbers the images, and is probably no factor: {end}" in inspection.notes
        assert inspection.advised == ["x"]
        assert inspection.settings["factors"] in ("x", ["x"])
    assert set(usable(inspect(many)).factors.essential_names) == {"x"}
    Image.new("L", (64, 64)).save(many / "without_row.png")
    assert "missing value" not in " ".join(inspect(many).notes)
    asked = inspect(many, factors=["x", "lamp"])
    assert usable(asked).factors.essential_names == ("x", "lamp")
    assert "one value" not in " ".join(asked.notes)


def test_columns_of_one_value_alone_stay_with_a_note(many: Path) -> None:
    write(many, "file,lamp", *(f"img_{n:02}.png,on" for n in range(60)))
    inspection = inspect(many)
    assert "factors" not in inspection.settings
    assert inspection.notes == ["no factor varies: there are no scores"]


def test_a_column_of_one_value_costs_no_images_that_lack_it(many: Path) -> None:
    rows = [f"img_{n:02}.png,{n % 2},{n % 3},{'yes' if n < 6 else ''}" for n in range(60)]
    write(many, "file,x,y,flag", *rows)
    for keep in (True, False):
        inspection = inspect(many, keep=keep)
        (note,) = inspection.notes
        assert note.startswith("flag (yes) has one value and is no factor: left out; --factors x y")
        assert note.endswith("; if a missing value means something, such as no, write that")
        dataset = usable(inspection)
        assert len(dataset.factors.complete(np.arange(len(dataset)))) == 60


def test_a_column_of_an_array_that_numbers_the_images_stays_with_its_array(tmp_path: Path) -> None:
    pose = np.stack((np.arange(60) % 2, np.arange(60) % 3, np.arange(60)), axis=1)
    lamp = np.ones(60)
    np.savez(tmp_path / "a.npz", images=np.zeros((60, 8, 8), np.uint8), pose=pose, lamp=lamp)
    inspection = inspect_arrays(tmp_path / "a.npz")
    assert inspection.settings["factors"] == "pose"
    notes = " ".join(inspection.notes)
    assert "pose_2 numbers the images, and is probably no factor: scores of it say" in notes


def test_a_running_number_alone_stays_with_a_note(many: Path) -> None:
    write(many, "file,id", *(f"img_{n:02}.png,{n}" for n in range(60)))
    inspection = inspect(many)
    assert "factors" not in inspection.settings
    assert "id numbers the images, and is probably no factor: scores" in " ".join(inspection.notes)
