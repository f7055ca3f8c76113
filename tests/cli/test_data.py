import errno
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.processes import Started

from dislab.base import Dataset
from dislab.cli import main
from dislab.datasets import (
    ArrayDataset,
    ColorDSprites,
    DSprites,
    GaussianBlob,
    ParametricChairs,
    Shapes3D,
)
from dislab.datasets.heads import _render as renderer
from dislab.plots import dataset_sheets
from dislab.plugins import available

UNTRIED = [
    "Cars3D",
    "CelebA",
    "Chairs3D",
    "Falcor3D",
    "Isaac3D",
    "MPI3D",
    "RobotFingerFiles",
    "SmallNORB",
]
"""Sets whose published files were not at hand."""
SMALL = ("ParametricHeads", "--identities=2", "--azimuths=2", "--elevations=2", "--lights=3")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert main(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    return {row["name"]: row for row in rows}


@pytest.mark.slow
def test_every_set_is_listed_whether_it_is_there_or_not(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = entries(capsys)
    assert list(before) == [plugin.name for plugin in available("datasets")]
    assert before["DSprites"]["licence"] == "Apache-2.0"
    assert before["DSprites"]["size"] == 737_280 * 512 + 128
    assert before["ParametricHeads"]["cached"] == 0
    untried = {name for name, entry in before.items() if entry["untried"]}
    assert untried == set(UNTRIED)
    assert not cache.exists()  # looking is not making
    assert main(["data", "prepare", *SMALL]) == 0
    capsys.readouterr()
    after = entries(capsys)
    assert after["ParametricHeads"]["cached"] == 24 * 4096 + 128
    assert after["DSprites"]["cached"] == 0
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 100
    table = " ".join(out.split())
    assert "60,480 images 64×64×1: identity 64, azimuth 15" in table
    assert "98.4 kB in the cache, the default needs 248 MB; licence: Apache-2.0" in table
    assert "not in the cache, needs 377 MB" in table
    assert "computed, needs no file" in table
    assert table.count("reader not tried on the published files; ") == len(UNTRIED)
    assert "drawn: the published images, by their exact rule; not in the cache" in table
    assert "drawn: a look-alike of the published images, 3 of 255 off; not in the cache" in table
    assert out.endswith(f"cache folder: {cache}\n")


def test_half_written_files_are_not_there(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache / "dsprites").mkdir(parents=True)
    (cache / "dsprites/rendered-2.npy").write_bytes(b"12345")
    (cache / "dsprites/.rendered-2.npy.abcd.tmp").write_bytes(b"12345")
    assert entries(capsys)["DSprites"]["cached"] == 0


def test_preparing_says_what_there_is(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "prepare", *SMALL]) == 0
    said = capsys.readouterr().out
    assert said.startswith("ParametricHeads: 24 images, 98.3 kB (source rendered, renderer 1, ")
    assert (cache / "parametric_heads/2x2x2x3-0-1.npy").is_file()


def test_showing_writes_two_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "pictures"
    assert main(["data", "show", *SMALL, "--out", str(out)]) == 0
    paths = [out / f"ParametricHeads_{kind}.png" for kind in ("samples", "traversals")]
    assert capsys.readouterr().out.split() == [str(path) for path in paths]
    first = [path.read_bytes() for path in paths]
    for path in paths:
        with Image.open(path) as picture:
            assert min(picture.size) > 100
    assert main(["data", "show", *SMALL, "--out", str(out)]) == 0
    assert [path.read_bytes() for path in paths] == first


def test_a_traversal_changes_one_factor_only() -> None:
    space = GaussianBlob(places=5).factors
    states, alone = dataset_sheets._line(space, 1)
    assert alone
    assert space.positions(states).tolist() == [[2, number] for number in range(5)]


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        # three hues that differ: neither floor nor wall hides the object
        (Shapes3D(), [0, 3, 7, 4, 2, 7]),
        # seen from the front
        (ParametricChairs(), [1, 1, 1, 1, 1, 2, 0, 1]),
        (DSprites(), [1, 3, 0, 16, 16]),
        (ColorDSprites(hues=12), [0, 1, 3, 0, 16, 16]),
    ],
)
def test_traversals_begin_where_every_factor_can_be_seen(
    dataset: Dataset, expected: list[int]
) -> None:
    space = dataset.factors
    for column in range(len(space.sizes)):
        states, _ = dataset_sheets._line(space, column)
        others = np.delete(space.positions(states), column, axis=1)
        assert (others == np.delete(expected, column)).all()


def test_traversals_of_an_incomplete_set_take_the_longest_line() -> None:
    values = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [1, 4], [2, 3]])
    images = np.random.default_rng(0).integers(256, size=(6, 1, 4, 4), dtype=np.uint8)
    dataset = ArrayDataset(images, values, ["a", "b"])
    states, alone = dataset_sheets._line(dataset.factors, 1)
    assert alone
    assert dataset.factors.positions(states).tolist() == [[1, 1], [1, 2], [1, 4]]
    lonely = ArrayDataset(images[:3], [[0, 5], [1, 3], [2, 4]], ["a", "b"])
    states, alone = dataset_sheets._line(lonely.factors, 1)
    assert not alone
    assert lonely.factors.positions(states)[:, 1].tolist() == [0, 1, 2]
    assert dataset_sheets.traversal_sheet(lonely) is not None


def test_a_sheet_shows_the_images_themselves() -> None:
    images = np.random.default_rng(0).integers(256, size=(3, 1, 64, 64), dtype=np.uint8)
    figure = dataset_sheets.sample_sheet(ArrayDataset(images))
    from dislab import plots

    drawn = plots.pixels(figure)
    places = [
        (y, x)
        for y in range(drawn.shape[0] - 63)
        for x in range(drawn.shape[1] - 63)
        if np.array_equal(drawn[y : y + 64, x : x + 64, 0], images[1, 0])
    ]
    assert len(places) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["show"], "NAME must be given; write dislab data show NAME; `dislab data list` has the"),
        (["prepare"], "NAME must be given; write dislab data prepare NAME"),
        (["lst"], "dislab data has no action 'lst' (did you mean list?); it has list, prepare"),
        (
            ["list", "--jsn"],
            "no option is named --jsn (did you mean --json?); see dislab data list --help",
        ),
        (["prepare", "DSprits"], "no data set is named 'DSprits' (did you mean DSprites?); the"),
        (["prepare", "--out"], "dislab data prepare takes the name of a data set before --out"),
        (
            ["prepare", "DSprites", "--sorce", "auto"],
            "DSprites has no setting 'sorce' (did you mean source?); it has source, path, download",
        ),
        (
            ["prepare", "DSprites", "--source", "drawn"],
            "DSprites: source: expected one of rendered, official, auto, got 'drawn'",
        ),
        (["prepare", "FolderDataset"], "FolderDataset needs a folder: give --folder"),
        (["prepare", "DSprites", "--path", "x"], "path 'x' is not read with source rendered"),
        (["show", "GaussianBlob", "--images", "0"], "images is 0; it must be"),
        (
            ["show", "GaussianBlob", "--images", str(2**63)],
            "images is 9223372036854775808; it must be at most 1,000",
        ),
        (
            ["show", "GaussianBlob", "--images", "2.5"],
            "GaussianBlob: images: expected a whole numb",
        ),
        (
            ["show", "GaussianBlob", "--out", "/proc/x"],
            "--out: /proc/x/GaussianBlob_samples.png ca",
        ),
        (
            ["show", *SMALL, "--out", "/dev/null"],
            "--out: /dev/null/ParametricHeads_samples.png can",
        ),
        (
            ["show", "GaussianBlob", "--places", "{a: 1, a: 2}"],
            "--places, line 1: a was set in lin",
        ),
        (
            ["prepare", "ColorDSprites", "--hues", "1531"],
            "ColorDSprites.hues is 1531; pixels of 8 bits show 1530",
        ),
        (
            ["prepare", "ColorDSprites", "--hues", str(2**63)],
            "ColorDSprites.hues is 9223372036854775808, which is too large",
        ),
        (
            ["prepare", "ParametricHeads", "--lights", str(2**40)],
            "ParametricHeads.lights is 1099511627776; it must be at most 10,000,000",
        ),
        (["prepare", "GaussianBlob", "--out", "x"], "GaussianBlob has no setting 'out'"),
    ],
)
def test_mistakes_end_with_one_line_and_status_two(
    args: list[str], message: str, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", *args]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dislab: error: {message}")
    assert error.count("\n") == 1
    assert not cache.exists()  # nothing is prepared for a command that cannot end well


@pytest.mark.parametrize("args", [[], ["--help"], ["prepare", "--help"]])
def test_help(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", *args]) == 0
    assert "dislab data prepare NAME" in capsys.readouterr().out


def test_help_of_one_set_lists_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["data", "prepare", "GaussianBlob", "--help"])
    said = capsys.readouterr().out
    assert "--sigma" in said
    assert "Standard deviation of the blob in pixels" in said


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_to(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.mkdir()
    cache.chmod(0o500)
    assert main(["data", "prepare", *SMALL]) == 2
    assert "cannot be written to: " in capsys.readouterr().err
    assert main(["data", "list"]) == 0


def test_a_cache_that_is_a_file(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.touch()
    assert main(["data", "prepare", *SMALL]) == 2
    assert "cannot be made" in capsys.readouterr().err
    assert main(["data", "list"]) == 0


def test_a_full_disk(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> torch.Tensor:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(renderer, "render", full)
    assert main(["data", "prepare", *SMALL]) == 2
    error = capsys.readouterr().err
    assert "No space left on device; free some space" in error
    assert error.count("\n") == 1
    assert not list(cache.rglob("*.npy"))


@pytest.mark.slow
def test_ctrl_c_leaves_what_was_drawn_to_the_next_run(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    render, drawn = renderer.render, [0]

    def interrupted(*args: Any) -> torch.Tensor:
        drawn[0] += 1
        if drawn[0] == 6:  # four make a person; this is the second one's
            raise KeyboardInterrupt
        return render(*args)

    monkeypatch.setattr(renderer, "render", interrupted)
    assert main(["data", "prepare", *SMALL]) == 130
    assert capsys.readouterr().err == "dislab: interrupted; run the same command to go on\n"
    assert not list(cache.rglob("*.npy"))
    assert main(["data", "prepare", *SMALL]) == 0
    assert drawn == [6 + 4]
    continued = capsys.readouterr().out
    monkeypatch.setenv("DISLAB_CACHE", str(cache / "other"))
    assert main(["data", "prepare", *SMALL]) == 0
    assert capsys.readouterr().out == continued  # the checksum is in it


def test_no_network(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr("urllib.request.OpenerDirector.open", unreachable)
    assert main(["data", "prepare", "DSprites", "--source=official", "--download=true"]) == 2
    error = capsys.readouterr().err
    assert "cannot be downloaded from https://github.com" in error
    assert error.count("\n") == 1


def prepare(cache: Path, *settings: str) -> Started:
    given = ["data", "prepare", "ParametricHeads", *settings]
    return Started(cache.parent, main, given, environment={"DISLAB_CACHE": str(cache)}, apart=True)


MANY = ("--identities=12", "--azimuths=8", "--elevations=4", "--lights=2")


@pytest.mark.slow
def test_killed_while_preparing_and_started_again(cache: Path) -> None:
    killed = prepare(cache, *MANY)
    folder = cache / "parametric_heads"
    deadline = time.monotonic() + 120
    while not list(folder.glob(".*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.5)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert not list(folder.glob("*.npy"))
    both = [prepare(cache, *MANY) for _ in range(2)]  # two at once make it once
    said = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1]
    assert said[0].startswith("ParametricHeads: 768 images")
    assert len(list(folder.glob("*.npy"))) == 1


def test_own_images_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    for number in range(2):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(f"mine/{number}.png")
    assert main(["data", "check", "mine"]) == 1  # `configs new` refuses them too
    said = capsys.readouterr().out
    assert "\nfault: 2 images are too few: at least one must train, one validate and one" in said
    Image.new("RGB", (8, 8), (2, 0, 0)).save("mine/2.png")
    assert main(["data", "check", "mine"]) == 0
    said = capsys.readouterr().out
    assert "  side: 64\n" in said
    assert "next: dislab configs new --data mine --method factorvae" in said
    few = (
        "note: losses and scores of 1 test image alone are coarse; raise data.test, 0.25, for more"
    )
    assert "\nsplit        1 train, 1 validate, 1 test, in a new configuration\n" in said
    assert few in said
    Path("labels.csv").write_text("file,x\n0.png,1\n1.png,2\n2.png,1\n")
    assert main(["data", "check", "mine"]) == 0
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first == "next: dislab data check mine --table labels.csv"
    assert second == ("or, without that table: dislab configs new --data mine --method factorvae")
    assert main(["configs", "new", "--data", "mine", "--out", "c.yaml"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("note: `dislab data check mine` shows 2 notes on these images\n")
    none = "factors: none, so there are no scores; --table labels.csv would give some"
    assert f"\nimages: 1 train, 1 validate, 1 test\n{none}\nc.yaml\n" in said
    assert main(["configs", "new", "--data", "mine", "--method", "adagvae"]) == 2
    assert "; --table labels.csv would give it some" in capsys.readouterr().err
    Path("labels.csv").unlink()
    Path("mine/b.png").write_bytes(b"no image")
    assert main(["data", "check", "mine"]) == 1
    assert "\nfault: mine/b.png is no image that can be read" in capsys.readouterr().out


def test_all_equal_files_are_listed_in_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    for number in range(12):
        Image.new("L", (64, 64), number // 2).save(f"mine/{number:02}.png")
    for _ in range(2):  # replaces a table of its own
        assert main(["data", "check", "mine", "--copies", "copies.csv"]) == 0
    said = capsys.readouterr().out
    assert "6 of 12 images; --data.dataset.copies keep of `dislab fit` takes all" in said
    assert "--copies FILE of `dislab data check` lists them" in said
    assert "\n  copies: drop\n" in said
    header, *lines = Path("copies.csv").read_text().splitlines()
    assert header == "group_of_equal_files,file"
    assert lines == [f"{number // 2 + 1},{number:02}.png" for number in range(12)]
    Path("labels.csv").write_text("file,x\n")
    assert main(["data", "check", "mine", "--copies", "labels.csv"]) == 2
    assert Path("labels.csv").read_text() == "file,x\n"
