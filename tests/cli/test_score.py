"""Scores of the codes in a file."""

import json
import os
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dislab.cli import main
from dislab.metrics import DCI, MIG, SAP, evaluate
from dislab.metrics.score_table import label

SIZES = (3, 4)


def draw(images: int = 300) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    factors = np.stack([generator.integers(size, size=images) for size in SIZES], axis=1)
    return {"codes": factors + 0.4 * generator.normal(size=factors.shape), "factors": factors}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "codes.npz"
    np.savez(path, **draw(), names=np.array(["shape", "size"]))
    return path


@pytest.mark.slow
def test_the_table_and_the_json_hold_the_scores(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, picture = tmp_path / "new" / "scores.json", tmp_path / "pictures" / "sheet.png"
    args = ["score", str(file), "--metrics", "MIG", "DCI", "--bootstrap", "20", "--seed", "3"]
    assert main([*args, "--json", str(out), "--sheet", str(picture)]) == 0
    expected = evaluate(**draw(), metrics=["MIG", "DCI"], bootstrap=20, seed=3)
    printed = capsys.readouterr()
    low, high = expected["mig_low"], expected["mig_high"]
    chance = json.loads(out.read_text())["chance"]["mig"]
    assert [line.split() for line in printed.out.splitlines()][:2] == [
        ["score", "value", "interval", "chance"],
        ["MIG", f"{expected['mig']:.4f}", f"[{low:.4f},", f"{high:.4f}]", f"{chance:.4f}"],
    ]
    assert printed.err == "Scoring 300 images by MIG, DCI …\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert printed.out.splitlines()[-2:] == [str(out), str(picture)]
    record = json.loads(out.read_text())
    assert record["scores"] == {
        name: value for name, value in expected.items() if name not in ("mig_low", "mig_high")
    }
    assert record["intervals"] == {"mig": [low, high]}
    assert record["sample"]["factors"] == {"shape": 3, "size": 4}
    assert record["sample"]["seed"] == 3
    assert set(record["metrics"]) == {"MIG", "DCI"}
    assert len(record["source"]["sha256"]) == 64
    assert {"dislab", "torch", "scikit-learn"} <= set(record["versions"])


@pytest.mark.parametrize("name", ["representations.npz", "codes.npz"])
def test_a_run_folder_stands_for_its_codes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = draw() | {"factor_names": np.array(["x", "y"])}
    np.savez(tmp_path / name, **arrays)
    assert main(["score", str(tmp_path), "--metrics", "MIG"]) == 0
    assert f"{evaluate(**draw(), metrics='MIG')['mig']:.4f}" in capsys.readouterr().out


@pytest.mark.parametrize("newer", ["representations.npz", "codes.npz"])
def test_the_newer_codes_of_a_run_folder_are_scored(
    newer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("representations.npz", "codes.npz"):
        arrays = draw() if name == newer else draw() | {"codes": np.zeros((300, 2))}
        np.savez(tmp_path / name, **arrays)
        time = 2 if name == newer else 1
        os.utime(tmp_path / name, (time, time))
    assert main(["score", str(tmp_path), "--metrics", "MIG"]) == 0
    printed = capsys.readouterr()
    assert f"{evaluate(**draw(), metrics='MIG')['mig']:.4f}" in printed.out
    assert str(tmp_path / newer) in printed.err


def test_a_constant_factor_is_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = draw()
    arrays["factors"][:, 1] = 2
    np.savez(tmp_path / "codes.npz", **arrays)
    args = ["score", str(tmp_path / "codes.npz"), "--metrics", "MIG", "--names", "a", "b"]
    assert main(args) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("dislab: warning: b took one value only") for line in lines].count(True)
    assert len(lines) == 2


@pytest.mark.slow
def test_help_needs_no_torch_and_scoring_no_lightning(file: Path) -> None:
    code = (
        "import sys; from dislab.cli import main\n"
        "try: main(sys.argv[2:])\n"
        "except SystemExit: pass\n"
        "found = [name for name in sys.argv[1].split(',') if name in sys.modules]\n"
        "sys.exit(f'imported {found}' if found else 0)"
    )
    for banned, args in (
        ("torch,numpy,lightning", ["score", "--help"]),
        ("lightning", ["score", str(file), "--metrics", "MIG"]),
    ):
        command = [sys.executable, "-c", code, banned, *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def nothing(path: Path) -> None:
    path.unlink()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:900])


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[300:320] = bytes(20)
    path.write_bytes(content)


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps({"codes": 1}))


def objects(path: Path) -> None:
    np.savez(path, codes=np.array([[1, "a"], [{}, 2]], dtype=object), factors=draw()["factors"])


def single(path: Path) -> None:
    with path.open("wb") as stream:
        np.save(stream, draw()["codes"])


def with_arrays(**changes: Any) -> Any:
    def save(path: Path) -> None:
        arrays = {name: one for name, one in (draw() | changes).items() if one is not None}
        np.savez(path, **arrays)

    return save


NAN = draw()["codes"]
NAN[[4, 9], 0] = np.nan


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("spoil", "args", "message"),
    [
        (nothing, [], "codes.npz does not exist; give an .npz file or a run folder"),
        (truncated, [], "codes.npz cannot be read as .npz: "),
        (damaged, [], "codes.npz cannot be read as .npz: "),
        (
            pickled,
            [],
            "codes.npz is a pickle or an old file of torch.save, and .npz files are",
        ),
        (objects, [], "codes.npz cannot be read as .npz: it holds Python objects, which are not"),
        (
            single,
            [],
            "codes.npz holds a single array; numpy.savez(FILE, codes=codes, factors=factors) ",
        ),
        (
            with_arrays(factors=None),
            [],
            "codes.npz has no factors; it has codes; numpy.savez(FILE, codes=codes, "
            "factors=factors) writes what is needed",
        ),
        (with_arrays(codes=draw()["codes"] * 1j), [], "codes are complex numbers; give real ones"),
        (with_arrays(codes=NAN[:0], factors=NAN[:0]), [], "factors has no rows; give the factors"),
        (with_arrays(codes=NAN), [], "2 of 300 codes hold NaN or infinity, in latent 0;"),
        (with_arrays(codes=NAN[:, 0]), [], "codes have shape (images, latents)"),
        (with_arrays(codes=NAN[10:20]), [], "there are 10 codes, but the factors of 300 images"),
        (with_arrays(factors=draw()["factors"] - 1), [], "factor factor_0 holds -1, but"),
        (with_arrays(factors=NAN), [], "factor factor_0 holds NaN or infinity in 2 of 300 images"),
        (with_arrays(factors=draw()["factors"] * 0), [], "none of factor_0, factor_1 takes more"),
        (with_arrays(names=np.array(["a"])), [], "1 name for 2 factors: a"),
        (with_arrays(names=np.array("a")), [], "1 name for 2 factors: a"),
        (
            with_arrays(),
            ["--metrics", "mig.bin=3"],
            "MIG has no setting 'bin' (did you mean bins?)",
        ),
        (with_arrays(), ["--metrics", "MGI"], "none of the metrics is named 'MGI' (did you mean"),
        (
            with_arrays(),
            ["--metrics", "MIG.bims=3"],
            "MIG has no setting 'bims' (did you mean bins",
        ),
        (with_arrays(), ["--metrics", "MIG.bins=x"], "MIG.bins is 'x'; it must be a whole number"),
        (with_arrays(), ["--metrics", "MIG.bins=1"], "bins is 1; it must be a whole number of at"),
        (with_arrays(), ["--metrics", "MIG.bins"], "'MIG.bins' is no score; give class names"),
        (with_arrays(), ["--metrics", "MIG=3"], "'MIG=3' is no score; give class names such as"),
        (with_arrays(), ["--metrics", "none.yaml"], "none.yaml"),
        (with_arrays(), ["--kinds", "x"], "--kinds has 'x'; write NAME=KIND, such as x=continuous"),
        (with_arrays(), ["--kinds", "a=odrinal"], "the kind of a is 'odrinal' (did you mean ordi"),
        (with_arrays(), ["--kinds", "z=ordinal"], "kinds names 'z', which is no factor; they are"),
        (with_arrays(), ["--groups", "0", "x"], "--groups has 'x'; write columns as 0-3 or 0,2,5"),
        (with_arrays(), ["--groups", "3-1"], "--groups has '3-1'; write columns as 0-3 or 0,2,5"),
        (with_arrays(), ["--groups", "0-9"], "groups name column 2; codes have columns 0 to 1"),
        (with_arrays(), ["--bootstrap", "-1"], "bootstrap is -1"),
        (with_arrays(), ["--bootstrap", "x"], "--bootstrap is 'x'; it must be a whole number; see"),
    ],
)
def test_mistakes_end_with_one_line_and_status_two(
    spoil: Any, args: list[str], message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(file)
    if "--metrics" not in args:
        args = ["--metrics", "MIG", *args]
    assert main(["score", str(file), *args]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1  # before a line says that scoring begins
    assert error.startswith("dislab: error: ")
    assert message in error


OUTPUTS = [
    (
        ["--json", "codes.npz"],
        "--json would replace codes.npz, which this command did not ",
    ),
    (["--json", "./new/../codes.npz"], "which this command did not write"),
    (["--json", "folder/../codes.npz"], "which this command did not write"),
    (["--json", "link.npz"], "--json would replace link.npz"),
    (["--sheet", "codes.npz"], "--sheet is codes.npz; the name of a picture ends in one of .png"),
    (["--sheet", "link.png"], "--sheet would replace link.png"),
    (["--sheet", "x.exe"], "--sheet is x.exe; the name of a picture ends in one of .png, .pdf, "),
    (["--sheet", "x"], "the name of a picture ends in one of .png, .pdf, .svg"),
    (["--sheet", "folder.png"], "--sheet is folder.png, which is a folder; name a file"),
    (["--json", "folder"], "--json is folder, which is a folder"),
    (["--json", "codes.npz/x.json"], "--json: codes.npz/x.json cannot be written: Not a directory"),
    (["--json", "/proc/x/y.json"], "--json: /proc/x/y.json cannot be written: "),
    (["--json", "/dev/null"], "--json is /dev/null, which is no regular file"),
    (["--json", "a.svg", "--sheet", "./a.svg"], "--json is a.svg; its name must end in .json"),
]


@pytest.mark.parametrize(("args", "message"), OUTPUTS)
def test_outputs_are_checked_before_the_work(
    args: list[str],
    message: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def score(*_: object, **__: object) -> None:
        raise AssertionError("scored first")

    monkeypatch.setattr("dislab.metrics.evaluate_fully", score)
    monkeypatch.chdir(file.parent)
    for name in ("folder", "folder.png"):
        Path(name).mkdir()
    for name in ("link.npz", "link.png"):
        Path(name).symlink_to("codes.npz")
    content, before = file.read_bytes(), sorted(Path().rglob("*"))
    assert main(["score", "codes.npz", "--metrics", "MIG", *args]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert file.read_bytes() == content
    assert sorted(Path().rglob("*")) == before


@pytest.mark.slow
def test_sheets_of_every_format(file: Path, tmp_path: Path) -> None:
    for suffix, start in (("pdf", b"%PDF"), ("svg", b"<?xml")):
        out = tmp_path / f"sheet.{suffix}"
        assert main(["score", str(file), "--metrics", "MIG", "--sheet", str(out)]) == 0
        assert out.read_bytes().startswith(start)


def test_a_run_that_predicted_nothing_is_told_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").touch()
    assert main(["score", str(tmp_path)]) == 2
    assert f"`dislab encode {tmp_path}` writes one" in capsys.readouterr().err


def test_names_of_scores_are_checked_before_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").touch()
    assert main(["score", str(tmp_path), "--metrics", "MGI"]) == 2
    assert "'MGI' (did you mean MIG?)" in capsys.readouterr().err


def table_of(printed: str) -> dict[str, str]:
    rows = [re.split(r"  +", line) for line in printed.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) > 1}


def test_scores_take_settings(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["MIG.bins=7", "DCI.alpha=0.1", "DCI.learner=lasso", "SAP.predictor=svc"]
    assert main(["score", str(file), "--metrics", *args, "--json", str(tmp_path / "s.json")]) == 0
    printed = table_of(capsys.readouterr().out)
    builds: dict[str, Any] = {
        "MIG": partial(MIG, bins=7),
        "DCI": partial(DCI, learner="lasso", alpha=0.1),
        "SAP": partial(SAP, predictor="svc"),
    }
    expected = evaluate(**draw(), metrics=builds)
    for name in ("mig", "dci_lasso_disentanglement", "sap_svc"):
        assert printed[label(name)] == f"{expected[name]:.4f}"
    assert not {label("sap_r2"), label("dci_hgbt_disentanglement")} & set(printed)
    metrics = json.loads((tmp_path / "s.json").read_text())["metrics"]
    assert metrics["MIG"]["init_args"]["bins"] == 7


def test_texts_in_a_file_name_classes(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = draw()
    words = np.array(["ball", "can", "cup", "egg"])[arrays["factors"]]
    np.savez(tmp_path / "words.npz", codes=arrays["codes"], factors=words)
    assert main(["score", str(tmp_path / "words.npz"), "--metrics", "MIG"]) == 0
    assert f"{evaluate(**arrays, metrics='MIG')['mig']:.4f}" in capsys.readouterr().out


def test_scores_come_from_a_file(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = tmp_path / "scores.yaml"
    chosen.write_text(
        "coarse: {class_path: MIG, init_args: {bins: 5}}\n"
        "fine:\n  class_path: dislab.metrics.MIG\n  init_args: {bins: 40}\nMCC: MCC\n"
    )
    assert main(["score", str(file), "--metrics", str(chosen), "Modularity"]) == 0
    printed = table_of(capsys.readouterr().out)
    names = ("coarse/mig", "fine/mig", "mcc_pearson", "modularity")
    assert set(map(label, names)) <= set(printed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mig: {class_path: MIGG}", "none of the metrics is named 'MIGG' (did you mean MIG"),
        ("mig: {class_path: os.MIG}", "mig is os.MIG, which is no score; MIG alone is enough"),
        ("mig: 3", "mig has no class_path; write it as mig: {class_path: MIG"),
        ("mig: {class_path: MIG, bins: 3}", "mig has bins; an entry has class_path and init_ar"),
        ("mig: {class_path: MIG, init_args: 3}", "init_args of mig is 3; it holds settings"),
        ("mig: {class_path: MIG, init_args: {bin: 3}}", "mig has no setting 'bin' (did you mean"),
        ("mig: MIG\nmig: MCC", "mig"),
        ("", "is empty; it must hold settings, such as mig: {class_path: MIG"),
    ],
)
def test_files_of_scores_that_make_no_sense(
    text: str, message: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert main(["score", str(file), "--metrics", str(tmp_path / "s.yaml")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_measured_factors_are_scored_by_their_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = np.random.default_rng(0).random((400, 2)) ** 2
    path, ranks = tmp_path / "codes.npz", np.argsort(np.argsort(points, axis=0), axis=0)
    values = {
        f"values_{name}": np.sort(column) for name, column in zip("xy", points.T, strict=True)
    }
    expected: dict[str, str] = {}
    for arrays in ({"factors": points}, {"factors": ranks, **values}):
        np.savez(path, codes=points, names=np.array(["x", "y"]), **arrays)
        assert main(["score", str(path), "--metrics", "MIG", "MCC"]) == 0
        printed = capsys.readouterr()
        scoring, *warnings = sorted(printed.err.splitlines())
        assert scoring == "Scoring 400 images by MIG, MCC …"
        start = "dislab: warning: x, y are continuous: they have 400 diff"
        assert [warning[: len(start)] for warning in warnings] == [start] * (
            "values_x" not in arrays
        )
        found = table_of(printed.out)
        expected = expected or found
        assert found == expected
    assert float(expected["MIG"]) > 0.75
    assert main(["score", str(path), "--metrics", "MIG", "--kinds", "x=ordinal", "y=ordinal"]) == 0
    printed = capsys.readouterr()
    assert "warning" not in printed.err
    assert float(table_of(printed.out)["MIG"]) < 0.1


def test_a_file_with_codes_and_factors_swapped_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = np.random.default_rng(0).integers(4, size=(200, 2))
    codes = factors + np.random.default_rng(1).normal(0, 0.1, (200, 2))
    np.savez(tmp_path / "codes.npz", codes=factors, factors=codes)
    assert main(["score", str(tmp_path / "codes.npz"), "--metrics", "MIG"]) == 0
    assert "as if the two were swapped; codes come first" in capsys.readouterr().err
    kinds = ["--kinds", "factor_0=continuous", "factor_1=continuous"]
    assert main(["score", str(tmp_path / "codes.npz"), "--metrics", "MIG", *kinds]) == 0
    assert "warning" not in capsys.readouterr().err


def test_groups_of_columns_are_latents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = draw()
    codes = np.hstack([arrays["codes"][:, [0, 0, 1]], arrays["codes"][:, [1]] + 5])
    np.savez(tmp_path / "codes.npz", codes=codes, factors=arrays["factors"])
    args = ["score", str(tmp_path / "codes.npz"), "--metrics", "MIG", "--groups", "0-1", "2,3"]
    assert main(args) == 0
    expected = f"{evaluate(**arrays, metrics='MIG')['mig']:.4f}"
    assert table_of(capsys.readouterr().out)["MIG"] == expected
