"""`dislab study` and `dislab compare`: mistakes before anything is trained, and real runs."""

import json
import os
import re
import resource
import shlex
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import filelock
import pandas as pd
import pytest
from tests.processes import Started
from tests.study.conftest import SCORE, TINY, planned, scored

from dislab.cli import main
from dislab.errors import InputError
from dislab.study.claims import Claims
from dislab.study.results import Done, Failed, StudyFolder
from dislab.study.schedule import Schedule, read_schedule
from dislab.study.status import Progress
from dislab.study.study import Study, StudyWarning

Command = Callable[..., Started]
STUDY = f"base: [base.yaml]\nstages: {{train: {{}}, score: {SCORE}}}\n"
AXIS = "axes: {model.regularizers.kl.beta: [1, 4]}\n"


@pytest.mark.every(8)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axes: {model.regularizers.kl.bete: [1]}", r"no setting 'bete' \(did you mean beta\?\)"),
        ("axes: {model.latent_dims: [3]}", r"no setting 'latent_dims' \(did you mean latent_dim"),
        (
            "axes: {modle.latent_dim: [3]}",
            r"no setting at the top level is named 'modle' \(did you mean model\?\)",
        ),
        (
            "axes: {model.latent_dim: [3, many]}",
            r"model.latent_dim: many: .*expected a whole number, got 'many'",
        ),
        (
            "axes: {a: {x: {}, y: {model.encoder.hidden: wide}}, model.latent_dim: [3, 4]}",
            r"a: y, model.latent_dim: 3: .*hidden",
        ),
        (
            "axes: {method: {x: {}}, strength: [1, 4]}",
            "is named 'strength'; an axis with a list or a range has the dotted name of a setting, "
            r".*; an axis with another name has a group .*, also as `axes:` inside a method$",
        ),
        ("axes: {model.encoder: [MLPEncoder, MLPEncodre]}", r"did you mean MLPEncoder\?"),
        ("axes: {model.latent_dim: [3, -1]}", r"model.latent_dim: -1: VAE.latent_dim is -1"),
        (
            "axes: {model.optimizer: [{class_path: torch.optim.Adam, init_args: {lr: -1}}]}",
            "the optimizer refuses its settings",
        ),
        ("stages: {train: {}, transfer: {scenarios: [nothing]}}", "no scenario is named 'nothing'"),
        (f"name: {'a' * 300}", "it must be .*, at most 200"),
        ("axes: {data.num_workers: [0, 1]}", "are the same run, as they differ in nothing that"),
        ("axes: {evaluate.points: [100, 200]}", "are the same run"),
        (
            "axes: {model.latent_dim: [3], evaluate.points: [100, 200]}",
            "points: 100 and evaluate.points: 200, both with model.latent_dim: 3, are the same run",
        ),
        (
            "axes: {model.regularizers.kl.beta: [1, 1.0]}",
            "mine.yaml: model.regularizers.kl.beta: 1 and model.regularizers.kl.beta: 1.0 are the",
        ),
        ("axes: {optimizer.lr: [0.1]}", "is named 'optimizer'; use model.optimizer.lr"),
        ("axes: {trainer.fast_dev_run: [true]}", "fast_dev_run keeps no run"),
        ("axes: {trainer.devices: [2]}", "trainer.devices is 2, and each run .* in one process"),
        ("axes: {trainer.devices: [[0, 1]]}", "trainer.devices is .*, and each run"),
        ("axes: {trainer.num_nodes: [2]}", "trainer.num_nodes is 2, and each run"),
        ("axes: {ckpt_path: [a.ckpt]}", "the runs of a study start by themselves"),
        ("stages: {score: {point: 3}}", r"no setting 'point' \(did you mean points\?\)"),
        (
            "stages: {score: {metrics: {mig: {class_path: MGI}}}}",
            r"no part is named MGI \(did you mean MIG\?\)",
        ),
        ("stages: {transfer: {scenarios: 3}}", "transfer.scenarios"),
        (
            "stages: {score: {metrics: {mig: {class_path: MIG, init_args: {bins: -3}}}}}",
            "bins is -3",
        ),
        (
            "axes: {score_curves: [{steps: 5, metrics: {mig: {class_path: MIG, init_args: "
            "{bins: -3}}}}]}",
            "bins is -3",
        ),
        (
            "stages: {transfer: {scenarios: [finger_ood1_a], predictors: "
            "{mlp: {class_path: MLP, init_args: {steps: -3}}}}}",
            "steps is -3",
        ),
    ],
)
def test_mistakes_are_found_before_the_first_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "mine.yaml").write_text(f"base: [base.yaml]\n{text}\n")
    assert main(["study", "run", "mine.yaml"]) == 2
    said = capsys.readouterr().err
    assert re.search(message, said), said
    assert said.startswith("dislab: error: mine.yaml")
    assert said.count("\n") <= 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base.yaml", "mine.yaml"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["rnu"], r"no 'rnu' \(did you mean run\?\)"),
        *(
            (["quick", verb, "--x"], rf"\(did you mean dislab study {verb} quick --x\?\); it has")
            for verb in ("plan", "run", "work", "status", "table", "summary")
        ),
        (["status", "."], "has no plan.json"),
        (["table", "mine.yaml"], "no folder of a study"),
        (["run", "mine.yaml", "--launcher", "proceses"], r"\(did you mean processes\?\)"),
        (["run", "mine.yaml", "--workers", "0"], "0 is no number of workers"),
        (["table", "mine.yaml", "--out", "a.xls"], "a.xls has no suffix of a table"),
        (["table", "mine.yaml", "--format", "parquet"], "needs --out FILE"),
        (["work", ".", "--stale", "0"], "--stale is 0"),
        (["plan", "mine.yaml", "--steps_per_second", "0"], "--steps_per_second is 0; it must be"),
        (["plan", "mine.yaml", "--steps_per_second", "nan"], "--steps_per_second is nan"),
        (["run", ".", "--folder", "other"], "is a folder itself"),
    ],
)
def test_mistakes_on_the_command_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "mine.yaml").write_text(STUDY)
    assert main(["study", *args]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.slow
def test_a_plan_says_what_is_to_be_done_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "mine.yaml").write_text(STUDY + AXIS + "seeds: 3\n")
    assert main(["study", "plan", "mine.yaml"]) == 0
    said = capsys.readouterr().out
    assert "mine: 6 runs in studies/mine, stages train, score" in said
    assert "model.regularizers.kl.beta: 1, 4" in said
    few = "3 seeds are too few to support the difference, by p (Holm) below 0.05; set seeds: 6"
    assert f"  seeds: 3\n  {few}\n" in said
    assert said.endswith("\nnext: dislab study run mine.yaml\n")
    assert main(["study", "plan", "mine.yaml", "--folder", "my folder"]) == 0
    next_command = "\nnext: dislab study run mine.yaml --folder 'my folder'\n"
    assert capsys.readouterr().out.endswith(next_command)
    assert not (tmp_path / "studies").exists()
    assert main(["study", "run", "mine.yaml", "--launcher", "slurm"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"{few}\n"
    assert few not in printed.out, "which is the script of the job"
    (tmp_path / "mine.yaml").write_text(STUDY + AXIS + "seeds: 6\n")
    for verb in ("plan", "run"):
        assert main(["study", verb, "mine.yaml", *["--launcher", "slurm"] * (verb == "run")]) == 0
        assert "too few" not in "".join(capsys.readouterr())
    folder, plan = StudyFolder(Path("studies/mine")), read_schedule(Path("studies/mine"))
    for run in plan.runs:
        folder.write_done(run, "train", Done(run.group.stages["train"].digest, "done", {}, 9.0, {}))
    assert main(["study", "plan", "mine.yaml"]) == 0
    told = "mine: 12 runs in studies/mine, stages train, score; left to do: score of 12 runs\n"
    assert capsys.readouterr().out.startswith(told)


@pytest.mark.slow
def test_a_plan_lists_the_strengths_of_each_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    own = "{axes: {strength: {%s: {model.latent_dim: 3}, %s: {model.latent_dim: 4}}}, %s}"
    (tmp_path / "mine.yaml").write_text(
        f"{STUDY}axes:\n  model.beta:\n"
        f"    one: {own % (1, 2, 'model.regularizers.kl.beta: 1')}\n"
        f"    two: {own % (10, 2, 'model.regularizers.kl.beta: 2')}\n"
        f"    three: {own % (30, 40, 'model.regularizers.kl.beta: 3')}\n"
    )
    assert main(["study", "plan", "mine.yaml"]) == 0
    lines = "  strength of one: 1, 2\n  strength of two: 10, 2\n  strength of three: 30, 40\n"
    said = capsys.readouterr().out
    assert f"  model.beta: one, two, three\n{lines}" in said


@pytest.mark.slow
def test_a_plan_says_how_many_hours_training_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "mine.yaml").write_text(STUDY + "seeds: 180\n")
    assert main(["study", "plan", "mine.yaml", "--steps_per_second", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "training: 3,600 steps, 20 a run\n" in said
    assert "at 0.5 steps a second: 2.0 hours of one worker; without score\n" in said


@pytest.mark.slow
def test_a_study_ends_with_means_a_verdict_and_the_next_commands(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [1, 2]}\nseeds: 2\nstages: {train: {}, score: {}}\n"
    plan = planned(tmp_path, text)
    scored(
        folder,
        plan,
        {"mig": [0.0, 0.25, 0.5, 0.75], "sap": [0.3, 0.2, 0.1, 0.0], "same": [0.5] * 4},
    )
    assert main(["study", "run", str(folder.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "4 runs: 4 finished" in lines
    # of 0 and 1/4: mean 1/8, standard deviation 1/(4√2)
    table = [line.split("  ") for line in lines if re.match("(model.b|1|2) ", line)]
    rows = [[cell.strip() for cell in row if cell.strip()] for row in table]
    assert rows == [
        ["model.b", "runs", "MIG", "SAP"],
        ["1", "2", "0.125 ± 0.177", "0.250 ± 0.071"],
        ["2", "2", "0.625 ± 0.177", "0.050 ± 0.071"],
        ["model.b", "best run", "MIG", "folder"],
        ["1", "seed 1", "0.250", plan.runs[1].id],
        ["2", "seed 1", "0.750", plan.runs[3].id],
    ]
    assert f"folders in {folder.path / 'runs'}:" in lines
    verdict = (
        "No difference in MIG is supported: 2 seeds are too few to support the difference, by p "
    )
    assert any(line.startswith(verdict) for line in lines), lines
    assert f"  dislab report {folder.path}  # one interactive page" in lines
    assert max(len(line) for line in lines if str(folder.path) not in line) <= 100
    command = ["study", "table", str(folder.path)]
    assert main([*command, "--means"]) == 0
    means = capsys.readouterr().out
    assert "\nno mean is marked: 2 seeds are too few to" in means
    assert "\n\nbest run of all: model.b 2, seed 1, MIG 0.750\n" in means
    page = folder.run(plan.runs[3].id)
    assert means.endswith(f"\n  dislab report {page}  # its page\n")
    ended = "\n".join(lines)
    assert ended.count("too few to support") == 1
    for part in means.rstrip("\n").split("\n\n"):
        if "no mean is marked" not in part:
            assert ended.count(part) == 1, "the study ends with the same"
    assert "\nno mean is marked: too few seeds\n" in ended
    assert main([*command, "--means", "--by", "model.b"]) == 0
    assert capsys.readouterr().out == means
    assert main([*command, "--means", "--target", "sap"]) == 0
    assert capsys.readouterr().out.split()[:4] == ["model.b", "runs", "SAP", "MIG"]
    assert main([*command, "--means", "--show", "sap"]) == 0
    assert capsys.readouterr().out.split()[:4] == ["model.b", "runs", "SAP", "1"]
    for words in (["same"], ["Same"], ["score.same"]):  # no measure, as it does not vary
        assert main([*command, "--means", "--show", *words, "mig"]) == 0
        shown = capsys.readouterr().out
        assert shown.split()[:4] == ["model.b", "runs", "Same", "MIG"]
        assert "best run" not in shown
    assert main([*command, "--means", "--format", "markdown"]) == 0
    assert f" seed 1 ({plan.runs[3].id}) |" in capsys.readouterr().out
    assert main(["study", "summary", str(folder.path), "--out", str(tmp_path / "found")]) == 0
    assert f"\n  dislab report {page}  # its page\n" in capsys.readouterr().out
    assert main([*command, "--means", "--show", "sap", "mig", "--target", "mig"]) == 0
    assert capsys.readouterr().out.split()[:4] == ["model.b", "runs", "MIG", "SAP"]
    for options, message in (
        (["--show", "mig"], "--show is for the scores of --means; give both"),
        (["--show", "mgi"], "'mgi' is no score of mine (did you mean mig?)"),
        (
            ["--target", "mgi"],
            "'mgi' is no measure of mine (did you mean mig?); the measures are mig",
        ),
        (
            ["--means", "--show", "migs"],
            "'migs' is no score of mine (did you mean mig?); it has 3 scores, such as mig, sap: ",
        ),
        (["--by", "model.b"], "--by is for the rows of --means; give both"),
        (["--target", "mig"], "--target is for the best runs of --means; give both"),
        (["--means", "--target", "migs"], "'migs' is no measure of"),
        (
            ["--means", "--by", "model.c"],
            "--by is 'model.c' (did you mean model.b?); choose one of model.b",
        ),
    ):
        assert main([*command, *options]) == 2
        assert message in capsys.readouterr().err


def test_means_of_a_single_finished_run_say_that_the_other_one_diverged(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2]}\n")
    scored(folder, plan, {"mig": [0.25, None], "elbo_mean_train": [-3.0, None]})
    run = plan.runs[1]
    stage = run.group.stages["train"].digest
    folder.write_done(run, "train", Done(stage, "diverged", {}, 1.0, {}, "NaN"))
    assert main(["study", "table", str(folder.path)]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == [
        "run",
        "model.b",
        "seed",
        "state",
        "MIG",
    ]
    command = ["study", "table", str(folder.path), "--means"]
    assert main(command) == 0
    means = capsys.readouterr().out
    assert re.search(r"^1 +1 +0\.250", means, re.M), means
    assert "\n2 runs: 1 finished, 1 diverged\n" in means
    assert main(["study", "run", str(folder.path)]) == 0
    said = capsys.readouterr().out
    assert means in said
    assert "Nothing to compare: no two values of model.b have scores of one seed." in said
    assert f"dislab report {folder.path}" in said
    assert "dislab study summary" not in said  # which is refused below
    assert main([*command, "--format", "csv"]) == 0
    printed = capsys.readouterr()
    assert "score.mig,0.25," in printed.out
    assert "2 runs: 1 finished, 1 diverged; means are of the finished ones" in printed.err
    assert main(["study", "summary", str(folder.path), "--out", str(tmp_path / "out")]) == 2
    assert "take two finished runs with different scores" in capsys.readouterr().err
    shutil.rmtree(folder.run(plan.runs[0].id) / "stages")
    assert main(command) == 2
    assert "no run has a score yet (2 runs: 1 diverged, 1 waiting)" in capsys.readouterr().err


@pytest.mark.slow
def test_means_of_an_interrupted_study_say_how_many_runs_wait(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [1, 2]}\nseeds: 2\nstages: {train: {}, score: {}}\n"
    scored(folder, planned(tmp_path, text), {"mig": [0.1, 0.2, 0.4, None]})
    line = "4 runs: 3 finished, 1 waiting"
    out = str(tmp_path / "out")
    for command in (
        ["table", str(folder.path), "--means"],
        ["table", str(folder.path), "--means", "--format", "latex"],
        ["summary", str(folder.path), "--out", out],
    ):
        assert main(["study", *command]) == 0
        printed = capsys.readouterr().out
        assert line in printed
        assert ("1 of 2" in printed) == ("--means" in command)
    assert main(["report", str(folder.path), "--out", f"{out}.html"]) == 0
    assert line in Path(f"{out}.html").read_text()


@pytest.mark.slow
def test_scores_have_one_order_in_all_tables(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [1, 2]}\nseeds: 2\nstages: {train: {}, score: {}}\n"
    names = ["sap_r2", "factor_vae_score", "mig", "dci_hgbt_disentanglement"]
    scored(folder, planned(tmp_path, text), {name: [0.1, 0.2, 0.3, 0.4] for name in names})
    out = tmp_path / "out"
    assert main(["study", "summary", str(folder.path), "--out", str(out)]) == 0
    assert main(["report", str(folder.path), "--out", f"{out}.html"]) == 0
    capsys.readouterr()
    tables = [(out / "summary.md").read_text(), Path(f"{out}.html").read_text()]
    for options in ([], ["--means"]):
        assert main(["study", "table", str(folder.path), *options]) == 0
        tables.append(capsys.readouterr().out)
    tables.append(tables[1].partition('"columns":')[2])  # the runs on the page
    heads = ["DCI disentanglement", "MIG", "FactorVAE score"]
    between = (" | ", '</th><th scope="col">', " +", " +", '".*?"label": ?"')
    for shown, part in zip(tables, between, strict=True):
        assert re.search(part.replace("|", r"\|").join(heads), shown), shown[:3000]


def test_a_mistyped_axis_is_refused_before_runs_are_read(
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    planned(tmp_path, "base: [base.yaml]\naxes: {model.b.a: [1, 2]}\n").write(folder.path)
    monkeypatch.delattr(Study, "table")
    assert main(["study", "table", str(folder.path), "--means", "--by", "b.c"]) == 2
    assert "did you mean b.a?); choose one of b.a, model.b.a" in capsys.readouterr().err
    with pytest.raises(AttributeError):  # the short name is an axis, and the runs are read
        main(["study", "table", str(folder.path), "--means", "--by", "b.a"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_means_in_a_file_are_numbers_as_in_a_summary(
    folder: StudyFolder, tmp_path: Path, suffix: str
) -> None:
    axes = "axes: {model.b: [1, 2], model.c: [x, y]}"
    plan = planned(tmp_path, f"base: [base.yaml]\n{axes}\nseeds: 2\n")
    scored(folder, plan, {"mig": [0.0, 0.25, 0.5, 0.75] * 2, "same": [0.5] * 8})
    out = tmp_path / f"means{suffix}"
    command = ["study", "table", str(folder.path), "--means", "--out", str(out)]
    for more, axis, rows in (
        ([], ["model.b"], 4),
        (["--by", "model.b", "model.c", "--show", "mig"], ["model.b", "model.c"], 4),
    ):  # the second file replaces the first
        assert main([*command, *more]) == 0
        means = (pd.read_csv if suffix == ".csv" else pd.read_parquet)(out).reset_index()
        numbers = ["mean", "sd", "low", "high", "runs", "seeds", "missing"]
        assert [*means][-8 - len(axis) :] == [*axis, "score", *numbers]
        assert len(means) == rows
        assert all(pd.api.types.is_numeric_dtype(means[name]) for name in numbers)
    # of 0 and 1/4
    first = means[["score", "mean", "sd", "runs"]].iloc[0].tolist()
    assert first == ["score.mig", 0.125, pytest.approx(0.25 / 2**0.5), 2]


def test_a_repeated_stage_is_told_with_its_log_and_without_the_time_of_training(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [1, 2]}\nstages: {train: {}, score: {points: 9}}\n"
    scored(folder, planned(tmp_path, text), {"mig": [0.1, 0.2]})
    plan = planned(tmp_path, text.replace("9", "7"))
    run = plan.runs[0]
    progress = Progress(Study.of(folder.path, plan), 4)
    claims = Claims(folder.claims)
    claim = claims.take(run.id)
    assert claim is not None
    progress.tick()
    log = folder.stage(run.id, "score") / "log.txt"
    assert capsys.readouterr().out.splitlines() == [
        f"mine: 2 runs to do, score without training, with 2 workers in {folder.path}",
        f"the first run has begun: {run.id}: model.b 1, seed 0, score; its progress: {log}",
    ]
    digest = run.group.stages["score"].digest
    folder.write_done(run, "score", Done(digest, "done", {"mig": 0.3}, 7.0, {}))
    claim.release()
    claims.close()
    progress.close()
    assert capsys.readouterr().out.endswith(f"{run.id}: model.b 1, seed 0, MIG 0.300 (7 s)\n")


def test_a_run_whose_last_stage_has_just_failed_does_not_end_the_progress(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the record of a failure and the end of its claim, no stage is left."""
    text = "base: [base.yaml]\naxes: {model.b: [1]}\nstages: {train: {}, score: {}}\n"
    scored(folder, planned(tmp_path, text), {"mig": [0.1]})
    plan = planned(tmp_path, text.replace("score: {}", "score: {points: 7}"))
    (run,) = plan.runs
    progress = Progress(Study.of(folder.path, plan), 4)
    claims = Claims(folder.claims)
    claim = claims.take(run.id)
    assert claim is not None
    digest = run.group.stages["score"].digest
    folder.write_failed(run, "score", Failed(digest, "exception", "a bug"))
    progress.tick()
    assert f"the first run has begun: {run.id}" in capsys.readouterr().out
    claim.release()
    claims.close()
    progress.close()


def test_a_failed_attempt_gets_a_line_where_it_is_tried_again(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2]}\n")
    plan.write(folder.path)
    run = plan.runs[0]
    digest = run.group.stages["train"].digest
    what = "train failed (out of memory), attempt %d of 3; tried again"
    line = f"{run.id}: model.b 1, seed 0: {what}\n"
    progress = Progress(Study.of(folder.path, plan), 1)
    progress.tick()
    capsys.readouterr()
    for attempts in (1, 2):
        failed = Failed(digest, "memory", "too large", attempts=attempts)
        folder.write_failed(run, "train", failed)
        for said in (line % attempts, ""):
            progress._due = 0
            progress.tick()
            assert capsys.readouterr().out == said
    folder.write_failed(run, "train", Failed(digest, "memory", "too large", attempts=3))
    progress.close()
    assert "tried again" not in capsys.readouterr().out
    Progress(Study.of(folder.path, plan), 1).close()
    assert "tried again" not in capsys.readouterr().out


def test_each_run_that_ends_gets_a_line(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2, 3], model.c: [5]}\n")
    first, second, third = plan.runs

    def finish(*dci: float | None) -> None:
        mig = [score and 0.1 for score in dci]
        scored(folder, plan, {"mig": mig, "dci_hgbt_disentanglement": dci})

    plan.write(folder.path)
    before = Progress(Study.of(folder.path, plan))
    before.close()
    assert not capsys.readouterr().out, "nothing has begun"
    finish(0.25, None, None)
    progress = Progress(Study.of(folder.path, plan), 4)
    progress.tick()
    assert capsys.readouterr().out == f"mine: 2 runs to do with 2 workers in {folder.path}\n"
    claims = Claims(folder.claims)
    claim = claims.take(second.id)
    assert claim is not None
    log = folder.stage(second.id, "train") / "log.txt"
    for said in (
        f"the first run has begun: {second.id}: model.b 2, seed 0; its progress: {log}\n",
        "",
    ):
        progress._due = 0
        progress.tick()
        assert capsys.readouterr().out == said
    claim.release()
    claims.close()
    finish(0.25, 0.5, None)
    progress._due = 0
    progress.tick()
    finish(0.25, 0.5, 0.75)
    progress.close()
    assert capsys.readouterr().out.splitlines() == [
        f"[2/3, about 3 min left] {second.id}: model.b 2, seed 0, "
        "DCI disentanglement 0.500 (3 min)",
        f"[3/3] {third.id}: model.b 3, seed 0, DCI disentanglement 0.750 (3 min)",
    ]
    assert first.id  # it had ended before
    finish(None, None, None)
    for run in plan.runs[:2]:
        shutil.rmtree(folder.run(run.id) / "stages")
    late = Progress(Study.of(folder.path, plan))
    finish(0.25, 0.5, None)
    late.close()
    ended = capsys.readouterr().out.splitlines()
    assert [line.partition("]")[0] for line in ended] == ["[2/3", "[3/3"]


@pytest.mark.parametrize(
    ("options", "status", "is_kept"), [([], 1, True), (["--retry_failed"], 0, False)]
)
def test_failed_stages_are_tried_again_on_request(
    folder: StudyFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    status: int,
    is_kept: bool,
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\n")
    plan.write(folder.path)
    run = plan.runs[0]
    digest = run.group.stages["train"].digest
    folder.write_failed(run, "train", Failed(digest, "exception", "a bug"))
    # slurm starts nothing: it prints a script for the work that is left
    command = ["study", "run", str(folder.path), "--launcher", "slurm"]
    assert main([*command, *options]) == status
    assert (folder.failed(run, "train") is not None) == is_kept
    remedy = f"1 failed run is left out; `dislab study run {folder.path} --retry_failed` tries "
    said = capsys.readouterr().out
    assert (remedy in said) == is_kept
    assert said.count("log.txt") == said.count(str(folder.stage(run.id, "train") / "log.txt"))
    assert (said.count("log.txt") == 1) == is_kept


@pytest.mark.slow
def test_a_file_that_replaces_the_plan_of_another_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    sizes = {"first": "[2, 3]", "longer": "[2, 3, 4]", "other": "[3, 5]"}
    for file, values in sizes.items():
        text = f"name: mine\n{STUDY}axes: {{model.latent_dim: {values}}}\n"
        (tmp_path / f"{file}.yaml").write_text(text)
    for file in ("first", "longer"):  # which has all runs of the first
        assert main(["study", "run", f"{file}.yaml", "--launcher", "slurm"]) == 0
        assert "earlier plan" not in capsys.readouterr().err
    for command in (["plan"], ["run", "--launcher", "slurm"]):
        assert main(["study", *command, "other.yaml"]) == 0
        said = capsys.readouterr().err
        assert (
            "other.yaml has the name mine of an earlier plan in studies/mine and lacks 2 of "
            in said
        )
        assert "keeps the runs in studies/mine/runs; set another `name:` to keep both" in said
        command_named = "; `dislab study run` replaces that plan" in said
        assert command_named == (command == ["plan"])
        assert ("; this replaces that plan" in said) == (command[0] == "run")


@pytest.mark.slow
def test_a_worker_takes_the_plan_of_its_own_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two studies run in one folder at once; the second writes its plan after the first."""
    monkeypatch.chdir(tmp_path)
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):  # which workers set
        monkeypatch.setenv(name, "")
    (tmp_path / "base.yaml").write_text(TINY)
    commands = []
    for study, latent_dim in (("one", 2), ("two", 3)):
        (tmp_path / f"{study}.yaml").write_text(
            STUDY + f"axes: {{model.latent_dim: [{latent_dim}]}}"
        )
        run = ["study", "run", f"{study}.yaml", "--folder", "shared", "--launcher", "slurm"]
        assert main(run) == 0
        script, said = capsys.readouterr()
        is_second = study == "two"
        assert ("shared also holds the study one; commands on this fold" in said) == is_second
        commands.append(next(line for line in script.splitlines() if "study work" in line))
    taken: list[str] = []

    class Worker:
        def __init__(self, folder: StudyFolder, plan: Schedule, *more: object) -> None:
            taken.append(plan.name)

        def work(self) -> None: ...

    monkeypatch.setattr("dislab.study.worker.Worker", Worker)
    for line in commands:
        _, _, args = line.removesuffix(" &").partition(" -m dislab ")
        assert main(shlex.split(args)) == 0
    assert taken == ["one", "two"]


@pytest.mark.parametrize("verb", ["plan", "status", "table", "summary"])
def test_a_folder_of_two_studies_says_which_is_shown(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    text = "base: [base.yaml]\naxes: {beta: [1, 4]}\n"
    scored(folder, planned(tmp_path, text), {"mig": [0.1, 0.2]})
    Study(folder.path)  # a single study has no warning
    scored(folder, planned(tmp_path, text, "quick"), {"mig": [0.1, 0.2]})
    notice = "mine holds several studies; this is quick, the one that was last run; for the study"
    with pytest.warns(StudyWarning, match=notice):
        Study(folder.path)
    main(["study", verb, str(folder.path)])
    assert notice in " ".join(capsys.readouterr().err.split())
    main(["study", verb, str(tmp_path / "mine.yaml"), "--folder", str(folder.path)])
    assert notice not in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.filterwarnings("always::dislab.study.study.StudyWarning")
@pytest.mark.parametrize(
    ("command", "file"), [(["report"], "report.html"), (["study", "summary"], "summary/summary.md")]
)
def test_a_file_of_one_study_that_another_one_replaces_is_named(
    folder: StudyFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    file: str,
) -> None:
    text = "base: [base.yaml]\naxes: {beta: [1, 4]}\n"
    said = []
    for study in ("one", "one", "two_a"):
        scored(folder, planned(tmp_path, text, study), {"mig": [0.1, 0.2]})
        assert main([*command, str(folder.path)]) == 0
        said.append(" ".join(capsys.readouterr().err.split()))
    replaced = f"{folder.path / file} of one is replaced by that of the study two_a; to keep one"
    assert [line.count(replaced) for line in said] == [0, 0, 1]
    assert main([*command, str(folder.path), "--out", str(tmp_path / "other.html")]) == 0
    assert " is replaced by " not in capsys.readouterr().err


@pytest.mark.filterwarnings("always::dislab.study.study.StudyWarning")
def test_a_run_that_another_study_has_scored_otherwise_says_so(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [%s]}\nstages: {train: {}, score: {points: %s}}\n"
    shown, same = planned(tmp_path, text % ("1, 2", 9), "b"), planned(tmp_path, text % (1, 9), "c")
    scored(folder, planned(tmp_path, text % (1, 7), "a"), {"mig": [0.1]})
    same.write(folder.path)
    shown.write(folder.path)
    begun = (
        "stage score of 1 run that b shares with the study a is done with the settings of a; b "
        "makes it anew, and a will have to make its own again; another --folder keeps both"
    )
    assert main(["study", "plan", str(folder.path)]) == 0
    assert begun in " ".join(capsys.readouterr().err.split())
    waits = "1 run waits: stage score was done with other settings by the study a; `dislab study"
    assert main(["study", "status", str(folder.path)]) == 0
    assert waits in capsys.readouterr().out
    assert main(["study", "table", str(folder.path)]) == 0
    assert waits in " ".join(capsys.readouterr().err.split())
    scored(folder, shown, {"mig": [0.1, 0.2]})
    for verb in ("plan", "status", "table"):
        assert main(["study", verb, str(folder.path)]) == 0
        assert "other settings" not in (said := "".join(capsys.readouterr()))
        assert "anew" not in said


@pytest.mark.slow
def test_a_study_file_shows_its_own_study_in_a_shared_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    shared = ["--folder", "shared"]
    for study, latent_dim in (("one", 2), ("two", 3)):
        axes = f"axes: {{model.latent_dim: [{latent_dim}]}}"
        (tmp_path / f"{study}.yaml").write_text(STUDY + axes)
        assert main(["study", "run", f"{study}.yaml", *shared, "--launcher", "slurm"]) == 0
    capsys.readouterr()
    for study, latent_dim in (("one", 2), ("two", 3)):
        assert main(["study", "status", f"{study}.yaml", *shared]) == 0
        assert f"{study} in shared\n" in capsys.readouterr().out
        assert main(["report", f"{study}.yaml", *shared, "--out", f"{study}.html"]) == 0
        assert f"model.latent_dim: [{latent_dim}]" in (tmp_path / f"{study}.html").read_text()
    # a folder of an earlier dislab keeps the last plan and the last study file alone
    shutil.rmtree(tmp_path / "shared" / "plans")
    capsys.readouterr()
    assert main(["study", "status", "two.yaml", *shared]) == 0
    assert main(["report", "two.yaml", *shared, "--out", "old.html"]) == 0
    assert "model.latent_dim: [3]" in (tmp_path / "old.html").read_text()
    assert main(["study", "status", "one.yaml", *shared]) == 2
    assert "shared has no plan of the study one" in capsys.readouterr().err
    assert main(["study", "status", "missing.yaml", *shared]) == 2


@pytest.mark.slow
def test_runs_of_a_study_have_no_page_unless_its_file_asks_for_it(tmp_path: Path) -> None:
    from dislab.cli.study_runs import resolver
    from dislab.study.resolving import make_schedule
    from dislab.study.study_file import read_study_file

    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "page.yaml").write_text("report: true\n")
    (tmp_path / "mine.yaml").write_text("""
base: [base.yaml]
axes:
  page:
    unset: {trainer.max_steps: 5}
    file: {trainer.max_steps: 6, config: page.yaml}
    value: {trainer.max_steps: 7, report: true}
""")
    plan = make_schedule(read_study_file(tmp_path / "mine.yaml"), resolver, {})
    assert [run.config["report"] for run in plan.runs] == [False, True, True]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            "studies/quik",
            "no study is named 'studies/quik' (did you mean studies/quick?); ",
        ),
        (
            "nowhere.yaml",
            "no file and no study is named 'nowhere.yaml'; `dislab configs list studies`",
        ),
    ],
)
def test_a_study_that_is_not_there(
    named: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["study", "status", named]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.every(8)
@pytest.mark.parametrize("named", ["shaeps", "studies/shaeps", "elsewhere/shaeps"])
@pytest.mark.parametrize(
    "command",
    [
        *([["study", verb] for verb in ("plan", "run", "work", "status", "table")]),
        ["study", "summary", "--out", "found"],
        ["report"],
        ["compare"],
        ["cite"],
    ],
    ids=" ".join,
)
def test_a_misspelt_study_of_the_user_gets_a_hint(
    command: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("studies/shapes", "studies/colours", "elsewhere/shapes"):
        Path(name).mkdir(parents=True)
        Path(name, "plan.json").write_text("{}")
    assert main([*command, named]) == 2
    said = capsys.readouterr().err
    assert f"{named}" in said
    meant = named.replace("shaeps", "shapes")
    assert f"(did you mean {meant}?)" in said
    with pytest.raises(InputError, match=rf"\(did you mean {meant}\?\)"):
        Study(named)


def test_the_end_of_a_study_shows_how_to_see_scores_without_room(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2]}\n")
    scored(folder, plan, {name: [0.0, 0.25] for name in ("mig", "sap", "irs", "mine", "yours")})
    assert main(["study", "run", str(folder.path)]) == 0
    _, _, steps = capsys.readouterr().out.partition("Next:\n")
    command = f"dislab study table {folder.path} --means --show mine yours"
    assert steps.splitlines()[0] == f"  {command}  # other scores"
    assert main(command.split()[1:]) == 0
    assert capsys.readouterr().out.split()[:4] == ["model.b", "runs", "Mine", "Yours"]


def test_a_misspelt_folder_or_study_in_a_folder_gets_a_hint(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2]}\n")
    scored(folder, plan, {"mig": [0.0, 0.25]})
    misspelt = f"{folder.path}s"
    assert main(["study", "status", str(tmp_path / "mine.yaml"), "--folder", misspelt]) == 2
    assert f"(did you mean {folder.path}?)" in capsys.readouterr().err
    assert main(["study", "work", str(folder.path), "--study", "mein"]) == 2
    assert "study mein (did you mean mine?), only of mine; " in capsys.readouterr().err


def test_a_section_without_settings_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "section.yaml").write_text("traversals: 3\n")
    (tmp_path / "mine.yaml").write_text("base: [base.yaml, section.yaml]\n")
    assert main(["study", "plan", "mine.yaml"]) == 2
    assert "traversals is 3; it must hold settings" in capsys.readouterr().err


def test_a_study_in_a_place_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "mine.yaml").write_text(STUDY)
    (tmp_path / "studies").write_text("a file")
    assert main(["study", "run", "mine.yaml"]) == 2
    assert "studies/mine/plan.json cannot be written: Not a directory" in capsys.readouterr().err


@pytest.mark.slow
def test_a_study_of_real_runs(command: Command, tmp_path: Path) -> None:
    """Interrupts it, goes on, changes its scores, compares its runs."""
    # so large a learning rate makes the loss infinite
    axes = "axes: {size: {small: {}, huge: {model.optimizer: Adam, model.optimizer.lr: 1.0e+30}}}\n"
    (tmp_path / "mine.yaml").write_text(STUDY + axes + "seeds: 2\n")
    text = TINY.replace("pictures: false", "pictures: true")
    (tmp_path / "base.yaml").write_text(text)
    first = command("study", "run", "mine.yaml", "--workers", "2")
    wait_for(tmp_path, "studies/mine/runs/*/metrics.csv")
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=300)
    assert first.returncode == 130, errors
    assert "Run again: dislab study run mine.yaml" in errors
    assert not list(tmp_path.glob("studies/mine/claims/*"))
    said = finished(command("study", "run", "mine.yaml"))
    assert "4 runs: 2 finished, 2 diverged" in said
    assert re.search("^size +best run +MIG +folder", said, re.MULTILINE)
    table = finished(command("study", "table", "mine.yaml", "--format=csv"))
    assert table.count(",finished,") == 2
    assert table.count(",diverged,") == 2
    assert not list(tmp_path.glob("studies/mine/runs/*/report.html"))
    before = {path: path.stat() for path in tmp_path.glob("studies/mine/runs/*/stages/*/done.json")}
    pictures = {path: path.stat() for path in tmp_path.glob("studies/mine/runs/*/images/*.png")}
    text = (tmp_path / "mine.yaml").read_text().replace("points: 200", "points: 150")
    (tmp_path / "mine.yaml").write_text(text)
    assert "2 finished, 2 diverged" in finished(command("study", "run", "mine.yaml"))
    again = {path.parent.name for path, status in before.items() if path.stat() != status}
    assert again == {"score"}
    assert pictures
    assert all(path.stat() == status for path, status in pictures.items())
    done = sorted(path.parents[2] for path in before if path.parent.name == "score")
    rows = finished(command("compare", *map(str, done), "--format=csv")).splitlines()
    assert rows[0].startswith("run,size,seed,state")  # the axis comes first
    assert len(rows) == 3


def take_locks_away() -> None:
    """Acts like a file system without locks."""

    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError

    filelock.FileLock.acquire = refuse  # type: ignore[assignment, method-assign]


def fill_the_disk() -> None:
    """Lets files grow to 64 KB, as on a disk that has no more room; a checkpoint has more."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


@pytest.mark.slow
def test_a_worker_on_another_version_and_without_locks(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STUDY)
    finished(command("study", "run", "mine.yaml"))
    plan = tmp_path / "studies/mine/plan.json"
    record = json.loads(plan.read_text())
    record["versions"]["torch"] = "1.0"
    record["runs"].append(["another", 5, 0])
    plan.write_text(json.dumps(record))
    worker = command("study", "work", "studies/mine", before=take_locks_away)
    _, errors = worker.communicate(timeout=300)
    assert worker.returncode == 0, errors
    assert "warning: this worker is of other versions than the study's plan: torch" in errors
    log = (tmp_path / "studies/mine/runs/another/stages/train/log.txt").read_text()
    assert "on a file system without locks" in log
    done = tmp_path / "studies/mine/runs/another/stages/train/done.json"
    text = done.read_text()
    done.write_text(re.sub(r'"torch": "[^"]*"', '"torch": "1.0"', text))
    table = command("study", "table", "studies/mine", "--format=csv")
    out, errors = table.communicate(timeout=60)
    assert out.count(",finished,") == 2
    assert "these numbers come from several versions: torch 1.0, " in errors


@pytest.mark.slow
def test_a_full_disk(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STUDY + AXIS)
    full = command("study", "run", "mine.yaml", "--workers", "1", before=fill_the_disk)
    _, errors = full.communicate(timeout=300)
    assert full.returncode == 2, errors
    (message,) = [line for line in errors.splitlines() if line.startswith("dislab: error: ")]
    assert "make room, and run the study again" in message
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("studies/mine/runs/*/stages/*/failed.json"))
    assert "2 runs: 2 finished" in finished(command("study", "run", "mine.yaml"))


@pytest.mark.slow
def test_two_workers_of_ray_of_which_one_is_killed(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STUDY + AXIS + "seeds: 2\n")
    running = command("study", "run", "mine.yaml", "--launcher", "ray", "--workers", "2")
    wait_for(tmp_path, "studies/mine/runs/*/metrics.csv")
    claim = json.loads(next(iter(tmp_path.glob("studies/mine/claims/*.0"))).read_text())
    os.kill(claim["process"], signal.SIGKILL)
    assert "4 runs: 4 finished" in finished(running)


def wait_for(folder: Path, pattern: str) -> None:
    for _ in range(1200):
        if any(folder.glob(pattern)):
            return
        time.sleep(0.1)
    raise AssertionError(f"no file appeared that fits {pattern}")


def finished(process: Started) -> str:
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, out + errors
    return out


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_file_of_an_axis_that_overwrites_base_is_named(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dislab.cli.study._keep", _stop)
    (tmp_path / "base.yaml").write_text(TINY)
    (tmp_path / "other.yaml").write_text("data: {init_args: {dataset: DSprites}}")
    (tmp_path / "third.yaml").write_text("data: {init_args: {dataset: Cars3D}}")
    (tmp_path / "same.yaml").write_text("data: {init_args: {dataset: GaussianBlob}}")
    files = "b: {config: other.yaml}, c: {config: third.yaml}, d: {config: same.yaml}"
    axis = f"axes: {{way: {{a: {{}}, {files}}}}}\nexclude: [{{way: d}}]"
    (tmp_path / "mine.yaml").write_text(f"base: [base.yaml]\n{axis}\nstages: {{train: {{}}}}\n")
    status = main(["study", verb, "mine.yaml"])
    assert status == (0 if verb == "plan" else 2)
    printed = capsys.readouterr()
    warning = "other.yaml, third.yaml come after base and overwrite its data.dataset\n"
    assert f"dislab: warning: {warning}" in printed.err
    assert printed.err.count("after base") == 1
    if verb == "plan":
        assert re.search(r"all runs: method VAE; (.|\n)*way a: data set GaussianBlob", printed.out)
        assert re.search(r"way b: data set DSprites", printed.out)


def _stop(*args: object) -> None:
    raise InputError("planned")


def test_a_worker_with_nothing_to_do_says_so(
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):  # which workers set
        monkeypatch.setenv(name, "")
    monkeypatch.setattr("dislab.cli.study_runs.preload", lambda: None)
    monkeypatch.setattr("dislab.cli.study._warn_of_versions", lambda schedule: None)
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2]}\n")
    scored(folder, plan, {"mig": [0.1, 0.2]})
    assert main(["study", "work", str(folder.path), "--study", "mine"]) == 0
    assert capsys.readouterr().out == "mine: nothing left to do; 2 runs: 2 finished\n"


def test_a_table_without_spread_does_not_explain_it(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\naxes: {model.b: [1, 2]}\n")
    scored(folder, plan, {"mig": [0.1, 0.2]})
    for more in ([], ["--format", "latex"]):
        assert main(["study", "table", str(folder.path), "--means", *more]) == 0
        said = capsys.readouterr().out
        assert "0.100" in said
        assert "tandard deviation" not in said


def test_a_folder_with_the_name_of_a_study_leads_to_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "studies/mine"):
        Path(name).mkdir(parents=True)
    Path("studies/mine/plan.json").write_text("{}")
    assert main(["compare", "mine"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "it has no config.yaml; studies/mine is a study, whose runs are in studies/mi" in said
