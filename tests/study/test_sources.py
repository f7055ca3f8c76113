"""Notices of plugins whose source files have changed since runs were done."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.study.conftest import Units, planned, scored

from dislab.cli import main
from dislab.study.results import StudyFolder
from dislab.study.schedule import Schedule
from dislab.study.sources import Sources, changed_sources
from dislab.study.worker import Worker

STUDY = """
name: mine
base: [base.yaml]
axes:
  method:
    plain: {}
    sparse: {lr: 1}
stages: {train: {}, score: {}}
"""
PART = "class Part: pass"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Installs a package with two parts, one derived from another module of the package."""
    folder = tmp_path / "site"
    package, record = folder / "changing", folder / "changing-1.dist-info"
    package.mkdir(parents=True)
    record.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text(PART)
    (package / "penalty.py").write_text("from changing.base import Part\nclass Mine(Part): pass")
    (package / "number.py").write_text("class Number: pass")
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: changing\nVersion: 1\n")
    points = "[dislab.regularizers]\nMine = changing.penalty:Mine\n"
    (record / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(folder)
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "changing"]:
        del sys.modules[name]


def plan_of(folder: StudyFolder) -> Schedule:
    """Two runs, the second with a penalty of the package, both with a score of it."""
    plan = planned(folder.path.parent.parent, STUDY)
    runs = []
    for run, path in zip(
        plan.runs, ("dislab.regularizers.KL", "changing.penalty.Mine"), strict=True
    ):
        penalties = [{"class_path": path}]
        model = {"class_path": "dislab.objectives.VAE", "init_args": {"penalties": penalties}}
        name = {"name": run.id, "method": path.rpartition(".")[2]}
        metrics = {"metrics": {"number": {"class_path": "changing.number.Number"}}}
        score = replace(run.group.stages["score"], settings=metrics)
        stages = {**run.group.stages, "score": score}
        config = {**run.group.config, **name, "model": model}
        runs.append(replace(run, group=replace(run.group, config=config, stages=stages)))
    return replace(plan, runs=tuple(runs))


def test_a_changed_file_is_named_with_a_command_that_makes_its_stages_due(
    folder: StudyFolder, site: Path
) -> None:
    plan = plan_of(folder)
    Worker(folder, plan, Units()).work()
    assert changed_sources(folder, plan) == []
    (site / "base.py").write_text(f"{PART}  # another one")
    (notice,) = changed_sources(folder, plan)
    beginning = (
        "changing/base.py has changed since 1 of 2 runs was trained (Mine); to train again, "
    )
    assert notice.startswith(beginning)
    subprocess.run(notice.partition("study: ")[2], shell=True, check=True)
    units = Units()
    Worker(folder, plan, units).work()
    run = plan.runs[1].id
    assert units.started == [(run, "train"), (run, "score")]
    assert changed_sources(folder, plan) == []

    (site / "number.py").write_text("")
    (notice,) = changed_sources(folder, plan)
    beginning = (
        "changing/number.py has changed since stage score of 2 of 2 runs was done (KL, Mine); "
    )
    assert notice.startswith(beginning)
    subprocess.run(notice.partition("study: ")[2], shell=True, check=True)
    Worker(folder, plan, units := Units()).work()
    assert {stage for _, stage in units.started} == {"score"}
    assert len(units.started) == 2


def test_records_without_digests_and_files_that_are_gone_give_no_notice(
    folder: StudyFolder, site: Path
) -> None:
    plan = plan_of(folder)
    Worker(folder, plan, Units()).work()
    for run in plan.runs:
        path = folder.stage(run.id, "train") / "done.json"
        record = json.loads(path.read_text())
        del record["sources"]  # as an older version wrote it
        path.write_text(json.dumps(record))
    (site / "penalty.py").write_text("")
    (site / "number.py").unlink()
    assert changed_sources(folder, plan) == []


def test_a_file_that_changes_while_runs_train_counts_as_it_was_imported(
    folder: StudyFolder, site: Path
) -> None:
    plan = plan_of(folder)
    Sources().of(plan.runs[1], "train")  # imports the part
    change = lambda: (site / "penalty.py").write_text("class Mine: pass")  # noqa: E731
    Worker(folder, plan, Units(during=change)).work()
    (notice,) = changed_sources(folder, plan)
    assert notice.startswith("changing/penalty.py has changed since 1 of 2 runs was trained")


def test_the_folder_of_a_command_is_quoted(folder: StudyFolder, site: Path) -> None:
    plan = plan_of(folder)
    spaced = StudyFolder(folder.path.with_name("my study"))
    spaced.path.mkdir()
    Worker(spaced, plan, Units()).work()
    (site / "penalty.py").write_text("class Mine: pass")
    (notice,) = changed_sources(spaced, plan)
    assert f"(cd {shlex.quote(str(spaced.path / 'runs'))} && rm -r " in notice


@pytest.mark.filterwarnings("always::dislab.study.study.StudyWarning")
def test_every_command_on_results_names_a_changed_file(
    folder: StudyFolder, site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(folder)
    scored(folder, plan, {"mig": [0.1, 0.2]})
    done = folder.done(plan.runs[1], "train")
    assert done is not None
    sources = Sources().of(plan.runs[1], "train")
    folder.write_done(plan.runs[1], "train", replace(done, sources=sources))
    out = str(tmp_path / "out")
    commands = [
        ["study", "status"],
        ["study", "plan"],
        ["study", "table"],
        ["study", "summary", "--out", out],
        ["report", "--out", f"{out}.html"],
    ]
    for is_changed in (False, True):
        if is_changed:
            (site / "base.py").write_text(f"{PART}  # another one")
        for command in commands:
            assert main([*command, str(folder.path)]) == 0
            said = " ".join("".join(capsys.readouterr()).split())
            assert said.count("base.py has changed since 1 of 2 runs was trained") == is_changed
