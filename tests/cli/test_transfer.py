"""`dislab transfer` as a user types it, on runs and on files."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes import start
from tests.small_runs import small_config

from dislab.cli import main
from dislab.factors import Factor, FactorSpace
from dislab.runs import load_run
from dislab.study.stages import TransferStage
from dislab.transfer import Domain, Scenario, load_scenario, transfer_scores

ROOT = Path(__file__).parents[2]
HEARTS = str(ROOT / "configs" / "scenarios" / "dsprites_hearts.yaml")
SMALL = small_config(
    "dsprites", "{trainer: {max_steps: 2, limit_val_batches: 1}, evaluate: {metrics: null}}"
)


@pytest.fixture
def run(small_run: Callable[..., Path]) -> str:
    """A run of two steps."""
    return str(small_run(SMALL))


SETTINGS = ["--predictors", "Ridge", "--labels", "200", "--tested", "100"]


@pytest.mark.slow
def test_runs_are_scored_side_by_side(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "--config=small.yaml", "--seed_everything=4"]) == 0
    capsys.readouterr()
    second = "runs/small/version_1"
    args = ["transfer", run, second, "--scenarios", HEARTS, *SETTINGS, "--reconstructions", "2"]
    assert main(args) == 0
    printed = capsys.readouterr().out
    records = [json.loads(Path(folder, "scores.json").read_text()) for folder in (run, second)]
    scores = [record["test_transfer"]["scores"] for record in records]
    keys = ("", "/in_distribution")
    cells = [
        f"{run_scores[f'dsprites_hearts/Ridge{key}']:.4f}" for run_scores in scores for key in keys
    ]
    lines = [line.split() for line in printed.splitlines()]
    header = lines.index([run, second])
    assert lines[header + 2] == ["dsprites_hearts/Ridge", *cells]
    assert lines[header + 3][0] == "dsprites_hearts/chance"
    assert scores[0] != scores[1]
    assert (tmp_path / run / "images" / "transfer_dsprites_hearts.png").is_file()

    # they are the scores of the codes of all states that take part
    record = records[0]["test_transfer"]
    assert record["checkpoint"]["path"].endswith("last.ckpt")
    assert record["scenarios"]["dsprites_hearts"]["images"]["labels"] == 200
    assert record["objective"] == type(load_run(run)).__name__


@pytest.mark.slow
def test_the_callback_and_the_command_agree(run: str) -> None:
    assert main(["transfer", run, "--scenarios", HEARTS, *SETTINGS]) == 0
    path = Path(run, "scores.json")
    by_command = json.loads(path.read_text())["test_transfer"]
    settings = [f"--transfer.scenarios=[{HEARTS}]", "--transfer.predictors.Ridge=Ridge"]
    sizes = ["--transfer.labels=200", "--transfer.tested=100"]
    assert main(["test", f"--run={run}", *settings, *sizes]) == 0
    by_callback = json.loads(path.read_text())["test_transfer"]
    assert by_callback["scores"] == by_command["scores"]
    assert by_callback["predictors"] == by_command["predictors"]


@pytest.mark.slow
def test_the_stage_of_a_study_scores_like_the_callback_without_a_trainer(
    run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ridge = {"class_path": "dislab.predictors.Ridge", "init_args": {"penalty": 0.5}}
    settings: dict[str, Any] = {"scenarios": [HEARTS], "predictors": {"mine": ridge}}
    settings |= {"labels": 200, "tested": 100, "batch_size": 64, "seed": 3}
    settings |= {"reconstructions": 0, "baselines": ["pixels"]}
    options = [f"--transfer.{name}={json.dumps(value)}" for name, value in settings.items()]
    assert main(["test", f"--run={run}", "--pictures=false", *options]) == 0
    path = Path(run, "scores.json")
    by_callback = json.loads(path.read_text())["test_transfer"]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a trainer is built")

    monkeypatch.setattr("lightning.pytorch.Trainer.__init__", refuse)
    path.unlink()
    stage = TransferStage()
    command = stage.arguments(Path(run), settings, {})
    assert command[0] == "transfer"
    assert main(command) == 0
    by_stage = json.loads(path.read_text())["test_transfer"]
    assert stage.scores(Path(run)) == by_callback["scores"]
    assert "dsprites_hearts/mine_pixels" in by_stage["scores"]
    paths = [Path(record.pop("checkpoint")["path"]).name for record in (by_callback, by_stage)]
    assert paths[0] == paths[1]
    assert by_stage == by_callback


@pytest.mark.parametrize("form", ["text", "file"])
def test_predictors_with_settings(run: str, tmp_path: Path, form: str) -> None:
    settings = "{weak: {class_path: Ridge, init_args: {penalty: 100}}}"
    if form == "file":
        (tmp_path / "weak.yaml").write_text(settings[1:-1])
        settings = "weak.yaml"
    args = ["--scenarios", HEARTS, "--predictors", settings, "--labels", "200", "--tested", "100"]
    assert main(["transfer", run, *args]) == 0
    record = json.loads(Path(run, "scores.json").read_text())["test_transfer"]
    assert record["predictors"]["weak"]["init_args"] == {"penalty": 100.0}


def test_a_method_without_codes_has_nothing_to_score(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dislab.objectives.VAE.has_codes", False)
    capsys.readouterr()
    assert main(["transfer", run, "--scenarios", HEARTS]) == 0
    assert capsys.readouterr().out == f"{run}: nothing to score, as VAE has no codes\n"
    assert not Path(run, "scores.json").exists()


@pytest.mark.slow
def test_scenarios_that_do_not_fit_are_left_out_unless_named(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hearts = load_scenario(HEARTS)
    unseen = replace(hearts, name="unseen", encoder="out")
    small = ["--predictors", "Ridge", "--labels", "50", "--tested", "20"]
    monkeypatch.setattr("dislab.transfer.made_for", lambda name: [hearts, unseen])
    capsys.readouterr()
    assert main(["transfer", run, *small]) == 0
    printed = capsys.readouterr()
    assert "Left out: scenario unseen is for an encoder that never saw" in printed.err
    assert "dsprites_hearts/Ridge" in printed.out
    monkeypatch.setattr("dislab.transfer.made_for", lambda name: [unseen])
    assert main(["transfer", run, *small]) == 2
    assert "no scenario that comes with dislab fits the data of this run" in capsys.readouterr().err


@pytest.mark.slow
def test_mistakes_with_runs_end_with_one_line(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    for args, message in (
        (["nowhere"], "nowhere is no run: it does not exist; runs are in runs/"),
        (
            [run],
            "no scenario that comes with dislab was made for DSprites; write one of your own, a "
            "YAML file such as {train: {x: [0, 1]}, test: {x: [2, 3]}}",
        ),
        (
            [run, "--scenarios", "finger_ood1_a"],
            "the scenario was made for RobotFinger, and the data of the run are DSprites: write",
        ),
        ([run, "--scenarios", "finger"], "no scenario is named 'finger'"),
        ([run, "--scenarios", HEARTS, "--predictors", "Rigde"], "did you mean Ridge?"),
        (
            [run, "--scenarios", HEARTS, "--predictors", "{a: {class_path: os.system}}"],
            "os.system",
        ),
        (
            [
                run,
                "--scenarios",
                HEARTS,
                "--predictors",
                "{a: {class_path: Ridge, init_args: {b: 1}}}",
            ],
            "does not accept option 'b'",
        ),
        ([run, "--scenarios", HEARTS, "--labels", "0"], "labels is 0"),
        ([run, "--scenarios", HEARTS, "--batch_size", "0"], "batch_size is 0"),
        ([run, "--scenarios", HEARTS, "--json", "out.json"], "--other and --json go with --cod"),
        ([run, "--codes", "codes.npz"], "give the folders of runs, or --codes FILE, and not b"),
        ([], "give the folders of runs, or --codes FILE"),
        (["--labels", "x"], "--labels is 'x'; it must be a whole number; see dislab transfer --he"),
    ):
        assert main(["transfer", *args]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.strip().splitlines()[-1].startswith("dislab: error: ")
        assert "Scoring" not in error


def test_a_run_whose_data_cannot_be_read_is_a_message(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(run, "config.yaml")
    text = path.read_text()
    for changed, message in (
        (text.replace("dislab.datasets.DSprites", "DSpirtes"), "DSpirtes"),
        ("a: [", "line 2, column 1: not valid YAML: "),
        ("data: 1\ndata: 2", "line 2: data was set in line 1 already; keep one of them"),
        (None, "scores.json is runs/small/version_0/scores.json, which is a folder; name a file"),
        ("- data", "config.yaml holds a list; it must hold settings"),
        ("a: 1", "does not say what data the run was trained on"),
    ):
        if changed is None:
            path.with_name("scores.json").unlink(missing_ok=True)
            path.with_name("scores.json").mkdir()
        path.write_text(changed or text)
        assert main(["transfer", run, "--scenarios", HEARTS]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error


@pytest.mark.slow
def test_two_processes_write_the_scores_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = [f"--transfer.scenarios=[{HEARTS}]", "--transfer.predictors.r=Ridge"]
    settings += ["--transfer.labels=200", "--transfer.tested=100"]
    records = []
    for processes in (1, 2):
        text = SMALL.replace("small", f"by_{processes}").replace("vices: 1", f"vices: {processes}")
        Path("config.yaml").write_text(text)
        strategy = [] if processes == 1 else ["--trainer.strategy=ddp"]
        process = start(Path.cwd(), "fit", "--config=config.yaml", *settings, *strategy)
        output, _ = process.communicate()
        assert process.returncode == 0, output
        assert output.count("scenario/predictor") == 1
        record = json.loads(Path(f"runs/by_{processes}/version_0/scores.json").read_text())
        records.append(record["test_transfer"]["scores"])
    assert records[0] == pytest.approx(records[1], abs=1e-4)


def draw(images: int = 600) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    factors = np.stack([generator.integers(size, size=images) for size in (4, 3, 2)], axis=1)
    return {
        "codes": factors + 0.2 * generator.normal(size=factors.shape),
        "factors": factors,
        "names": np.array(["hue", "size", "shape"]),
        "values_hue": np.array([0.0, 90.0, 180.0, 270.0]),
        "values_shape": np.array(["cube", "ball"]),
    }


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "codes.npz"
    np.savez(path, **draw())
    (tmp_path / "hue.yaml").write_text("train: {hue: {max: 90}}\ntest: {hue: 270}\nshifted: hue\n")
    far = "train: {}\ntest: {shape: ball}\ndataset: Elsewhere\nencoder: out\n"
    (tmp_path / "far.yaml").write_text(far)
    return path


def test_a_file_of_any_program(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # what else there is in a file is not read
    other = draw(90) | {"codes": draw(90)["codes"] + 0.5, "notes": np.array([{}])}
    np.savez("other.npz", **other)
    args = ["transfer", "--codes", str(file), "--scenarios", "hue.yaml", "far.yaml", *SETTINGS]
    assert main([*args, "--other", "far=other.npz", "--json", "out.json"]) == 0
    space = FactorSpace(
        (
            Factor("hue", (0.0, 90.0, 180.0, 270.0)),
            Factor("size", (0.0, 1.0, 2.0)),
            Factor("shape", ("cube", "ball"), "categorical"),
        )
    )
    expected = transfer_scores(
        draw()["codes"],
        draw()["factors"],
        space,
        [
            Scenario("hue", {"hue": {"max": 90}}, {"hue": 270}, shifted=("hue",)),
            Scenario("far", {}, {"shape": "ball"}, "out", dataset="Elsewhere"),
        ],
        "Ridge",
        200,
        100,
        others={"far": Domain(other["codes"], other["factors"], space)},
    )
    record = json.loads(Path("out.json").read_text())
    assert record["scores"] == expected.values
    assert len(record["source"]["sha256"]) == 64
    lines = capsys.readouterr().out.splitlines()
    values = expected.values
    assert lines[0].split() == ["scenario/predictor", "error", "in", "distribution", "accuracy"]
    keys = ("hue/Ridge", "hue/Ridge/in_distribution", "hue/Ridge/accuracy")
    assert lines[1].split() == ["hue/Ridge", *(f"{values[key]:.4f}" for key in keys)]
    assert lines[-1] == "out.json"
    assert any(line.startswith("note: far: tested on all ") for line in lines)


@pytest.mark.parametrize(
    ("changes", "args", "message"),
    [
        ({"factors": None}, [], "codes.npz has no factors; it has codes, names"),
        ({"codes": None, "factors": None}, [], "has no codes and no factors"),
        ({"factors": draw()["codes"]}, [], "factors are integers of shape (images, factors)"),
        ({"factors": draw()["factors"] - 1}, [], "factors hold -1; they number the values from 0"),
        ({"names": np.array(["a"])}, [], "1 name for 3 factors: a"),
        ({"names": np.array("a")}, [], "1 name for 3 factors: a"),
        ({"values_hew": np.zeros(3)}, [], "has values of hew, and no such factor; the factors are"),
        ({"values_hue": np.zeros(2)}, [], "values_hue is float64 of shape (2,); it holds the 4 va"),
        ({"values_hue": np.zeros(4)}, [], "factor hue repeats a value"),
        ({"codes": draw()["codes"][:5]}, [], "codes of 5 images, but factors of 600"),
        ({}, ["--scenarios", "far.yaml"], "scenario far tests on Elsewhere; give codes and fact"),
        ({}, ["--other", "far"], "--other is 'far'; it is SCENARIO=FILE.npz"),
        ({}, ["--other", "far=no.npz"], "no.npz does not exist; give an .npz file"),
        ({}, ["--scenarios", "hwe.yaml"], "hwe.yaml cannot be read: No such file"),
        ({}, ["--json", "codes.npz"], "--json would replace codes.npz, which this"),
        ({}, ["--json", "./hue.yaml"], "--json would replace hue.yaml, which this"),
        ({}, ["--other", "far=hue.yaml", "--json", "hue.yaml"], "would replace hue.yaml"),
        ({}, ["--json", "."], "--json is ., which is a folder; name a file"),
        (
            {},
            ["--json", "codes.npz/a.json"],
            "--json: codes.npz/a.json cannot be written: Not a directory",
        ),
        ({}, ["--batch_size", "64"], "--batch_size is 64, and goes with runs; the codes in a file"),
        ({}, ["--reconstructions", "0"], "--reconstructions is 0, and goes with runs"),
    ],
)
def test_mistakes_in_files_end_with_one_line(
    changes: dict[str, Any],
    args: list[str],
    message: str,
    file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(file, **{key: one for key, one in (draw() | changes).items() if one is not None})
    given = args if "--scenarios" in args else ["--scenarios", "hue.yaml", *args]
    assert main(["transfer", "--codes", str(file), *given, *SETTINGS]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dislab: error: ")
    assert message in error
    assert error.count("\n") == 1


def test_files_that_are_damaged_or_hold_objects(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["transfer", "--codes", str(file), "--scenarios", "hue.yaml"]
    content = file.read_bytes()
    file.write_bytes(content[:900])
    assert main(args) == 2
    assert "codes.npz cannot be read as .npz: " in capsys.readouterr().err
    np.savez(file, codes=np.array([[{}, 2]], dtype=object), factors=draw()["factors"])
    assert main(args) == 2
    assert "it holds Python objects, which are not read" in capsys.readouterr().err
    with file.open("wb") as stream:
        np.save(stream, draw()["codes"])
    assert main(args) == 2
    assert "codes.npz holds a single array; numpy.savez(FILE, codes=" in capsys.readouterr().err
    file.write_text("codes: 1")
    assert main(args) == 2
    assert "codes.npz is a text file, and .npz files are read; load it" in capsys.readouterr().err


@pytest.mark.slow
def test_help_needs_no_torch_and_files_no_lightning(file: Path) -> None:
    code = (
        "import sys; from dislab.cli import main\n"
        "try: main(sys.argv[2:])\n"
        "except SystemExit: pass\n"
        "found = [name for name in sys.argv[1].split(',') if name in sys.modules]\n"
        "sys.exit(f'imported {found}' if found else 0)"
    )
    scored = ["transfer", "--codes", str(file), "--scenarios", "hue.yaml", *SETTINGS]
    for banned, args in (
        ("torch,numpy,lightning", ["transfer", "--help"]),
        ("lightning.pytorch.trainer", scored),
    ):
        command = [sys.executable, "-c", code, banned, *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout
