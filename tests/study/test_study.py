"""The content of a study's folder: states, tables, versions, time that is left."""

import io
import itertools
import json
import math
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from tests.study.conftest import made_up, planned, scored

from dislab.cli import main
from dislab.errors import InputError
from dislab.naming.builders import versions
from dislab.storage import duration
from dislab.study.resolving import Resolver, make_schedule
from dislab.study.results import Done, Failed, StudyFolder
from dislab.study.schedule import Schedule, read_schedule, study_file_of
from dislab.study.statistics import udr
from dislab.study.status import lines
from dislab.study.study import Study, StudyWarning
from dislab.study.study_file import read_study_file
from dislab.study.tables import table_bytes, write_table
from dislab.yaml_files import PLAN

TEXT = (
    "base: [base.yaml]\n"
    "axes: {model.b: [1, 2], supervision: {weak: {}, none: {model.a: 3}}}\n"
    "seeds: [3, 5]\n"
    "exclude: [{model.b: 2, supervision: none}]\n"
    "stages: {train: {}, score: {}, generalisation: {}}\n"
)


@pytest.fixture
def plan(folder: StudyFolder, tmp_path: Path) -> Schedule:
    return planned(tmp_path, TEXT)


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("seeds: [3, 5]", "seeds: [3, 5, 6]", "6 runs, 9 in the file"),
        ("seeds: [3, 5]", "seeds: [3]", "6 runs, 3 in the file"),
        ("model.b: [1, 2]", "model.b: [1, 2, 4]", "6 runs, 10 in the file, 6 of them new"),
        ("model.a: 3", "model.a: 4", "6 runs, 6 in the file, 2 of them new"),
        ("seeds: [3, 5]", "seeds: [5, 6, 7]", "6 runs, 9 in the file, 6 of them new"),
        (
            "score: {}",
            "score: {points: 100}",
            "0 new; stage score of 6 runs is repeated, without training",
        ),
        (
            "score: {}, generalisation: {}",
            "score: {points: 100}, codes: {}",
            "0 new; stage score of 6 runs is repeated, without training; stage codes of 6 runs is "
            "added, without training; stage generalisation of 6 runs is left out",
        ),
        (
            "[3, 5]\nexclude: [{model.b: 2, supervision: none}]\nstages: {train: {}, score: {}",
            "[3]\nexclude: [{model.b: 2, supervision: none}]\nstages: {train: {}, score: {a: 1}",
            "6 runs, 3 in the file; stage score of 3 runs is repeated, without training",
        ),
        ("base: [base.yaml]", "base: [base.yaml] # the same\nresources: {cpus: 2}", ""),
    ],
)
def test_a_file_that_has_changed_since_it_was_run_is_told(
    folder: StudyFolder,
    plan: Schedule,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    counts: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    plan.write(folder.path)
    study_file_of(folder.path, "mine").write_text(TEXT)
    text = TEXT.replace(old, new)
    if "4]" in new:
        text = text.replace("model.b: 2, supervision: none", "model.b: 2, supervision: weak")
    Path("mine.yaml").write_text(text)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Study("mine.yaml")
        Study("studies/mine")
    told = (
        f"mine.yaml differs from the study that was run ({counts}), which is shown; "
        "`dislab study run mine.yaml` takes up the file and keeps all runs"
    )
    assert [str(one.message) for one in found] == [told] * bool(counts)


@pytest.mark.parametrize("copy", ["stages: {train: {}, of_a_later_version: {}}", "{", ""])
def test_a_copy_of_the_file_that_cannot_be_read_stops_no_status(
    folder: StudyFolder, plan: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    plan.write(folder.path)
    study_file_of(folder.path, "mine").write_text(copy)
    Path("mine.yaml").write_text(TEXT.replace("score: {}", "score: {points: 100}"))
    with pytest.warns(StudyWarning, match="differs from the study that was run"):
        assert len(Study("mine.yaml").status().runs) == 6


@pytest.mark.slow
def test_every_command_tells_that_the_file_has_changed(
    folder: StudyFolder,
    plan: Schedule,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    scored(folder, plan, {"mig": [0.1 * number for number in range(len(plan.runs))]})
    Path("mine.yaml").write_text(TEXT.replace("seeds: [3, 5]", "seeds: [3, 5, 6]"))
    for run in plan.runs:
        (folder.run(run.id) / "config.yaml").write_text("model: {class_path: VAE}\n")
    warnings.simplefilter("always")
    for text in ("study status", "study table", "study summary --out=a", "cite", "compare"):
        command, *options = text.split(" --")
        args = [*command.split(), "mine.yaml", *(f"--{option}" for option in options)]
        assert main(args) == 0
        said = capsys.readouterr().err
        assert "dislab: warning: mine.yaml differs from the study" in said, text
    assert main(["study", "status", "studies/mine"]) == 0
    assert not capsys.readouterr().err


def finish(
    folder: StudyFolder,
    plan: Schedule,
    number: int,
    stage: str,
    seconds: float = 10.0,
    **more: float,
) -> None:
    run = plan.runs[number]
    digest = run.group.stages[stage].digest
    done = Done(digest, "done", dict(more), seconds, {"dislab": "1", "torch": "2"})
    folder.write_done(run, stage, done)


def test_a_table(folder: StudyFolder, plan: Schedule) -> None:
    for number in range(2):
        finish(folder, plan, number, "train")
        finish(folder, plan, number, "score", mig=number + 0.5)
    finish(folder, plan, 0, "generalisation", mean_ratio=1.5)
    run = plan.runs[5]
    folder.write_failed(run, "train", Failed(run.group.stages["train"].digest, "input", "wrong"))
    table = Study.of(folder.path, plan).table()
    expected = pd.DataFrame(
        {
            "model.b": [1, 1, 1, 1, 2, 2],
            "supervision": ["weak", "weak", "none", "none", "weak", "weak"],
            "seed": [3, 5, 3, 5, 3, 5],
            "state": ["finished", "waiting", "waiting", "waiting", "waiting", "failed"],
            "score.mig": [0.5, 1.5, *[math.nan] * 4],
            "generalisation.mean_ratio": [1.5, *[math.nan] * 5],
        },
        index=pd.Index([run.id for run in plan.runs], name="run"),
    )
    pd.testing.assert_frame_equal(table, expected)


def test_time_that_is_left(folder: StudyFolder, plan: Schedule) -> None:
    study = Study.of(folder.path, plan)
    assert study.status().remaining is None
    for number, seconds in enumerate((10.0, 20.0, 60.0)):
        finish(folder, plan, number, "train", seconds)
    finish(folder, plan, 0, "score", 4.0)
    assert study.status().remaining is None  # nothing is known of generalisation
    finish(folder, plan, 0, "generalisation", 1.0)
    status = study.status()
    # 60 seconds of the setting of one run to be trained, medians of 20, 4 and 1 of all others
    assert status.remaining == 60 + 2 * 20 + 5 * 4 + 5 * 1
    said = "\n".join(lines(study))
    assert "6 runs: 1 finished, 5 waiting (2 of them begun and to be continued)\n" in said
    assert "train: 3 done, 30 s each" in said
    assert "work left: 2 min of one worker" in said


def test_a_run_that_was_stopped_at_a_checkpoint_counts_as_begun(
    folder: StudyFolder, plan: Schedule
) -> None:
    study = Study.of(folder.path, plan)
    assert next(lines(study)) == "6 runs: 6 waiting"
    checkpoints = folder.run(plan.runs[2].id) / "checkpoints"
    checkpoints.mkdir(parents=True)
    (checkpoints / "last.ckpt").touch()
    assert next(lines(study)) == "6 runs: 6 waiting (1 of them begun and to be continued)"


def test_a_mixture_of_versions_warns(folder: StudyFolder, plan: Schedule) -> None:
    finish(folder, plan, 0, "train")
    finish(folder, plan, 1, "train")
    study = Study.of(folder.path, plan)
    study.table()
    done = folder.done(plan.runs[1], "train")
    assert done is not None
    folder.write_done(plan.runs[1], "train", replace(done, versions={"dislab": "1", "torch": "3"}))
    with pytest.warns(StudyWarning, match="several versions: torch 2, 3"):
        study.table()


def test_results_of_other_settings_do_not_count(
    folder: StudyFolder, plan: Schedule, tmp_path: Path
) -> None:
    finish(folder, plan, 0, "train")
    finish(folder, plan, 0, "score", mig=0.5)
    other = planned(tmp_path, TEXT.replace("score: {}", "score: {points: 7}"))
    assert [run.id for run in other.runs] == [run.id for run in plan.runs]
    study = Study.of(folder.path, other)
    assert "score.mig" not in study.table()
    assert study.status().runs[0].done.keys() == {"train"}


def test_a_plan_is_read_back(folder: StudyFolder, plan: Schedule) -> None:
    plan.write(folder.path)
    assert read_schedule(folder.path) == plan
    assert read_schedule(folder.path, plan.name) == plan
    with pytest.raises(InputError, match="has no plan of the study other, only of mine"):
        read_schedule(folder.path, "other")


def test_a_study_shows_its_runs_axes_and_folder(folder: StudyFolder, plan: Schedule) -> None:
    count, axes = len(plan.runs), ", ".join(plan.axes)
    expected = f"<Study mine: {count} planned runs; axes {axes}; in {folder.path}>"
    assert repr(Study.of(folder.path, plan)) == expected


def test_a_plan_that_has_not_changed_is_not_read_again(
    folder: StudyFolder, plan: Schedule, tmp_path: Path
) -> None:
    def unneeded() -> Resolver:
        raise AssertionError

    known = [run.group for run in plan.runs]
    file = read_study_file(tmp_path / "mine.yaml")
    assert make_schedule(file, unneeded, plan.versions, known) == plan
    base = (tmp_path / "base.yaml").read_text()
    (tmp_path / "base.yaml").write_text("model: {class_path: AdaGVAE}\n")
    with pytest.raises(AssertionError):
        make_schedule(file, unneeded, plan.versions, known)
    (tmp_path / "base.yaml").write_text(f"{base}data: part.yaml\n")
    (tmp_path / "part.yaml").write_text("class_path: SingleData\n")
    known = [run.group for run in make_schedule(file, lambda: made_up, plan.versions).runs]
    make_schedule(file, unneeded, plan.versions, known)
    (tmp_path / "part.yaml").write_text("class_path: PairedData\n")
    with pytest.raises(AssertionError):
        make_schedule(file, unneeded, plan.versions, known)


def test_a_plan_that_has_not_changed_is_listed_without_pytorch(
    folder: StudyFolder, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT)
    make_schedule(read_study_file(path), lambda: made_up, versions()).write(folder.path)
    code = (
        "import sys; from argparse import Namespace; from pathlib import Path; "
        "from dislab.cli.study import _scheduled; "
        f"_scheduled(Namespace(study=Path({str(path)!r}), folder=Path({str(folder.path)!r}))); "
        "print({'torch', 'lightning'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is no folder of a study"),
        ("{", "is no JSON: .*; make it again"),
        ("[]", "holds no JSON object; make it again"),
        ('{"format": 1}', "is damaged"),
        ('{"format": 99, "versions": {"dislab": "9.0"}}', r"of another dislab \(9.0\)"),
    ],
)
def test_plans_that_cannot_be_read(folder: StudyFolder, text: str | None, message: str) -> None:
    if text is not None:
        (folder.path / PLAN).write_text(text)
    with pytest.raises(InputError, match=message):
        Study(folder.path)


def test_the_folder_of_a_study_that_ran_elsewhere_can_be_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it does not exist; .* --folder FOLDER names"):
        read_schedule(tmp_path / "elsewhere", "quick")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5.4, "5 s"), (119, "119 s"), (125, "2 min"), (3725, "1 h 2 min"), (200_000, "2 d 7 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(float(seconds)) == text


def test_tables_in_every_format(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"model.b": [1, "a|b"], "seed": [0, 1], "score.mig_x": [0.123456789, math.nan]},
        index=pd.Index(["r1", "r2"], name="run"),
    )
    csv = table_bytes(table, "csv").decode()
    assert csv == "run,model.b,seed,score.mig_x\nr1,1,0,0.123456789\nr2,a|b,1,\n"
    markdown = table_bytes(table, "markdown").decode().splitlines()
    assert markdown[2] == "| r1 | 1 | 0 | 0.123 |"
    assert "a\\|b" in markdown[3]
    assert "score.mig\\_x" in table_bytes(table, "latex").decode()
    write_table(table, tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet")
    assert back["score.mig_x"].tolist()[0] == 0.123456789
    assert back["model.b"].tolist() == ["1", "a|b"]


def keep_codes(
    folder: StudyFolder, plan: Schedule, number: int, codes: np.ndarray[Any, Any]
) -> None:
    finish(folder, plan, number, "codes")
    run = folder.run(plan.runs[number].id)
    np.savez(run / "codes.npz", codes=codes, kl=[1.0, 0.5, 0.0], states=np.arange(len(codes)))


def test_agreement_of_runs_of_one_setting(folder: StudyFolder, tmp_path: Path) -> None:
    text = (
        "base: [base.yaml]\naxes: {model.b: [1, 2]}\nseeds: 6\n"
        "stages: {train: {}, codes: {images: 500}}\n"
    )
    plan = planned(tmp_path, text)
    study = Study.of(folder.path, plan)
    assert study.agreement().isna().all(axis=None)
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(500, 3))
    for number in range(6):  # the same two latents in any order, and one that is not informative
        keep_codes(folder, plan, number, factors[:, [number % 2, 1 - number % 2, 2]])
    for number in range(6, 9):  # fewer than five
        keep_codes(folder, plan, number, factors)
    found = study.agreement()
    assert list(found.index) == [run.id for run in plan.runs]
    assert found["agreement.informative"].tolist()[:9] == [2] * 9
    first = found.iloc[:6]
    assert (first["agreement.alignment"] > 0.999).all()
    for similarity, form in itertools.product(("lasso", "spearman"), ("pooled", "averaged")):
        codes = [factors[:, [number % 2, 1 - number % 2, 2]] for number in range(6)]
        kl = [np.array([1.0, 0.5, 0.0])] * 6
        expected = udr(codes, kl, similarity, form).scores  # type: ignore[arg-type]
        np.testing.assert_allclose(first[f"agreement.udr_{similarity}_{form}"], expected)
        assert found[f"agreement.udr_{similarity}_{form}"].iloc[6:].isna().all()
    assert found["agreement.alignment"].notna().tolist() == [True] * 9 + [False] * 3


def test_scores_on_few_labels(folder: StudyFolder, tmp_path: Path) -> None:
    """MIG of images drawn from the stored ones; NaN where these lack, lack factors, or are few."""
    plan = planned(tmp_path, "base: [base.yaml]\nseeds: 4\nstages: {train: {}, codes: {}}\n")
    study = Study.of(folder.path, plan)
    assert study.few_labels().isna().all(axis=None)
    factors = np.random.default_rng(0).integers(5, size=(300, 3))
    for number, count in enumerate((300, 300, 20)):
        keep_codes(folder, plan, number, factors[:count].astype(np.float32))
        if number:
            path = folder.run(plan.runs[number].id) / "codes.npz"
            with np.load(path) as stored:
                arrays = dict(stored)
            np.savez(path, **arrays, factors=factors[:count])
    table = study.few_labels(50)
    assert list(table) == ["labelled.mig_50_labels", "labelled.sap_r2_50_labels"]
    assert table.notna().all(axis=1).tolist() == [False, True, False, False]
    assert table["labelled.mig_50_labels"].iloc[1] > 0.7
    with pytest.raises(InputError, match="labels is 1"):
        study.few_labels(1)


def test_agreement_leaves_out_runs_without_posteriors(folder: StudyFolder, tmp_path: Path) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\nseeds: 3\nstages: {train: {}, codes: {}}\n")
    codes = np.random.default_rng(0).normal(size=(50, 3))
    for number in range(2):
        keep_codes(folder, plan, number, codes)
    np.savez(
        folder.run(plan.runs[1].id) / "codes.npz", codes=codes, kl=[np.nan] * 3, states=range(50)
    )
    finish(folder, plan, 2, "codes")
    path = "dislab.objectives.ground_truth_decoder.GroundTruthDecoder"
    plan.runs[2].group.config["model"] = {"class_path": path}  # a method without codes
    found = Study.of(folder.path, plan).agreement()
    assert found["agreement.informative"].fillna(-1).tolist() == [2, -1, -1]
    assert found["agreement.alignment"].isna().all()


def test_codes_of_other_images_are_not_compared(folder: StudyFolder, tmp_path: Path) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\nseeds: 3\nstages: {train: {}, codes: {}}\n")
    codes = np.random.default_rng(0).normal(size=(50, 3))
    for number in range(3):
        keep_codes(folder, plan, number, codes)
    odd = folder.run(plan.runs[0].id)
    np.savez(odd / "codes.npz", codes=codes, kl=[1.0] * 3, states=np.arange(50)[::-1])
    message = (
        rf"codes of {odd.name} are of other images .*; remove {odd}/stages/codes/done.json and"
    )
    with pytest.raises(InputError, match=message):
        Study.of(folder.path, plan).agreement()


@pytest.mark.parametrize("content", [None, b"torn"])
def test_codes_that_were_lost_are_taken_again(
    folder: StudyFolder, tmp_path: Path, content: bytes | None
) -> None:
    plan = planned(tmp_path, "base: [base.yaml]\nseeds: 2\nstages: {train: {}, codes: {}}\n")
    path = "dislab.objectives.vae.VAE"
    for number, run in enumerate(plan.runs):
        run.group.config["model"] = {"class_path": path}
        keep_codes(folder, plan, number, np.eye(3))
    lost = folder.run(plan.runs[1].id)
    (lost / "codes.npz").unlink()
    if content is not None:
        (lost / "codes.npz").write_bytes(content)
    with pytest.raises(InputError, match=f"remove {lost}/stages/codes/done.json"):
        Study.of(folder.path, plan).agreement()


def test_agreement_needs_the_stage(folder: StudyFolder, plan: Schedule) -> None:
    with pytest.raises(InputError, match=r"mine keeps no codes.*`codes: \{images: 5000\}`"):
        Study.of(folder.path, plan).agreement()


def test_primary_scores_of_a_study(folder: StudyFolder, plan: Schedule) -> None:
    study = Study.of(folder.path, plan)
    assert study.primary_scores() == {}
    finish(folder, plan, 2, "score", mig=0.5)
    metrics = {
        "mig": {"primary": "mig", "higher_is_better": True},
        "sampled/mig": {"primary": "sampled/mig", "higher_is_better": True},
        "tc": {"primary": "gaussian_tc", "higher_is_better": False},
    }
    record = {"scores": {"mig": 0.5}, "metrics": metrics}
    path = folder.run(plan.runs[2].id) / "scores.json"
    path.write_text(json.dumps({"validate": record}))
    assert study.primary_scores() == {"score.mig": "highest", "score.gaussian_tc": "lowest"}
    finish(folder, plan, 4, "score", sap=0.5)  # of another setting
    record = {"metrics": {"sap": {"primary": "sap", "higher_is_better": True}}}
    path = folder.run(plan.runs[4].id) / "scores.json"
    path.write_text(json.dumps({"validate": record}))
    assert list(study.primary_scores()) == ["score.mig", "score.gaussian_tc", "score.sap"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{image: 3}", r"codes has no setting 'image' \(did you mean images\?\)"),
        ("{images: 1}", "codes.images is 1; it must be a whole number of at least 2"),
        ("{images: true}", "codes.images is True"),
        ("{split: half}", "codes.split is 'half'; choose one of train, validation, test, all"),
    ],
)
def test_settings_of_the_stage_that_keeps_codes(
    folder: StudyFolder, tmp_path: Path, settings: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        planned(tmp_path, f"base: [base.yaml]\nstages: {{codes: {settings}}}\n")


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    formula = "=HYPERLINK(A1)"
    table = pd.DataFrame(
        {formula: [formula, " +1+1"], "@x": ["-1.5", -2.5], "score": [-0.5, 1.0]},
        index=pd.Index(["-x", "plain"], name="run"),
    )
    assert table_bytes(table, "csv").decode().splitlines() == [
        "run,'=HYPERLINK(A1),'@x,score",
        "'-x,'=HYPERLINK(A1),-1.5,-0.5",
        "plain,' +1+1,-2.5,1.0",
    ]


NAMED = """base: [base.yaml]
axes:
  method:
    betavae: {name: betavae, method: β-VAE}
    factorvae: {name: factorvae, method: FactorVAE}
    mine: {name: other, method: FactorVAE}
  model.b: [1, 2]
seeds: 1
stages: {train: {}, score: {}}
"""


def test_names_of_configurations_are_shown_as_methods(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, NAMED)
    study = Study.of(folder.path, plan)
    scored(folder, plan, {"mig": [number / 10 for number in range(len(plan.runs))]})
    assert list(study.table()["method"].unique()) == ["betavae", "factorvae", "mine"]
    titled = study.titled(study.table())
    assert list(titled["method"].unique()) == ["β-VAE", "FactorVAE", "mine"]
    assert list(titled["model.b"]) == [1, 2] * 3
    assert study.summary().tables["means"].table["method"].iloc[0] == "β-VAE"
    for options in (["--format", "csv"], ["--format", "markdown"], ["--means", "--format", "csv"]):
        assert main(["study", "table", str(folder.path), *options]) == 0
        assert "β-VAE" in (said := capsys.readouterr().out)
        assert "betavae" not in said


@pytest.mark.slow
def test_a_whole_number_is_written_in_one_way(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [0.25, 1, 2.0], model.c: [5.0]}\nseeds: 2\n"
    plan = planned(tmp_path, text)
    scored(folder, plan, {"mig": [number / 10 for number in range(6)]})
    path = str(folder.path)
    means, runs = ["study", "table", path, "--means"], ["study", "table", path]
    tex = ["--format", "latex"]
    summarized = ["study", "summary", path, "--pictures", "none"]
    for command in (means, runs, [*means, *tex], [*runs, *tex], summarized, ["study", "run", path]):
        assert main(command) == 0
    said = capsys.readouterr().out + (folder.path / "summary" / "summary.md").read_text()
    twice = r"\b[12]\.0\b|^(\| )?(0\.250|[125]\.000)\b"
    assert re.search(twice, said, re.MULTILINE) is None, said
    assert "| 0.25 − 1 |" in said
    table = Study(path).titled(Study(path).table())
    written = pd.read_parquet(io.BytesIO(table_bytes(table, "parquet")))
    assert list(written["model.b"]) == [0.25, 0.25, 1, 1, 2, 2]
    assert written["model.b"].dtype == float


def test_values_that_would_share_a_name_keep_their_own(folder: StudyFolder, tmp_path: Path) -> None:
    text = NAMED.replace("name: other", "name: mine")
    assert planned(tmp_path, text).method_names() == {}
    text = NAMED.replace("mine:", "FactorVAE:")
    assert planned(tmp_path, text, "others").method_names() == {}


def test_an_axis_of_a_part_that_only_another_method_has_is_answered(tmp_path: Path) -> None:
    def resolver() -> Resolver:
        def resolve(args: Sequence[str]) -> NoReturn:
            raise InputError("model.regularizers.tc: no class is named; give its class_path too")

        return resolve

    path = tmp_path / "mine.yaml"
    axis = "model.regularizers.tc.gamma: [1, 2]"
    methods = "method: {betavae: {config: betavae}, factorvae: {config: factorvae}}"
    path.write_text(f"axes: {{{methods}, {axis}}}")
    remedy = "betavae has no model.regularizers.tc; move this setting into `axes:` of factorvae"
    with pytest.raises(InputError, match=f"gamma: 1: {remedy}$"):
        make_schedule(read_study_file(path), resolver, {})
    path.write_text(f"base: betavae\naxes: {{{axis}}}")
    with pytest.raises(InputError, match=r"gamma: 1: model.regularizers.tc: no class is named;"):
        make_schedule(read_study_file(path), resolver, {})
