"""The studies that ship: each can be planned, and is as large as its first lines say."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dislab.cli import main
from dislab.cli.study_runs import resolver
from dislab.study.resolving import make_schedule
from dislab.study.schedule import ScheduledGroup
from dislab.study.study_file import StudyFile, read_study_file

STUDIES = Path(__file__).parents[1] / "configs" / "studies"
RUNS = {
    "quick": 8,
    "locatello_dsprites": 1800,
    "locatello_laptop": 60,
    "dittadi_1080": 1080,
    "dittadi_laptop": 24,
    "montero_laptop": 45,
    "correlated_laptop": 27,
    "locatello_rooms": 144,
    "dittadi_rooms": 96,
    "montero_rooms": 84,
    "correlated_rooms": 54,
    "chen_tradeoff": 72,
    "kim_tradeoff": 12,
    "higgins_surface": 72,
}
IDS = {
    "quick": "1a42741c3146",
    "locatello_laptop": "d6da40d27f04",
    "dittadi_laptop": "b378980f39a3",
    "montero_laptop": "dc3efded8490",
    "correlated_laptop": "eb6b2fb0362d",
    "locatello_rooms": "f0e5907bd9ae",
    "dittadi_rooms": "9fe6e9eca359",
    "montero_rooms": "f314f50bed89",
    "correlated_rooms": "eb79a0731303",
    "chen_tradeoff": "c242673bee30",
    "kim_tradeoff": "d21a6b3abf4d",
    "higgins_surface": "5155652efd3f",
}
"""Digests of the names of all runs. Results that lie in a folder belong to these names: stages,
scores and new options of dislab must not change them."""
LARGE = ("locatello_dsprites", "dittadi_1080")


def test_every_study_is_listed() -> None:
    assert {path.stem for path in STUDIES.glob("*.yaml")} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_how_many_runs_it_has(name: str) -> None:
    study = read_study_file(STUDIES / f"{name}.yaml")
    assert study.name == name
    assert len(study.groups()) * len(study.seeds) == RUNS[name]


def each_value_once(study: StudyFile) -> Iterator[StudyFile]:
    """The study with each axis in turn, and the first value of all others."""
    first = {axis: values[:1] for axis, values in study.axes.items()}
    for axis, values in study.axes.items():
        yield replace(study, axes={**first, axis: values})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["quick", *(pytest.param(name, marks=pytest.mark.slow) for name in IDS if name != "quick")],
)
def test_its_runs_can_be_built_and_keep_their_names(name: str) -> None:
    """Every configuration is parsed, and the parts are built for each value of each axis."""
    study = read_study_file(STUDIES / f"{name}.yaml")
    built: dict[str, ScheduledGroup] = {}
    for part in each_value_once(study):
        runs = make_schedule(part, partial(resolver, builds=True), {}, built.values()).runs
        built |= {run.group.read: run.group for run in runs}
    plan = make_schedule(study, resolver, {}, built.values())
    assert built.keys() <= {run.group.read for run in plan.runs}
    names = " ".join(run.id for run in plan.runs)
    assert hashlib.sha256(names.encode()).hexdigest()[:12] == IDS[name]
    methods = {run.group.axes["method"] for run in plan.runs if "method" in run.group.axes}
    assert set(plan.method_names().get("method", {})) == methods  # tables show names of methods


@pytest.mark.slow
def test_the_command_plans_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["study", "plan", str(STUDIES / "quick.yaml")]) == 0
    shown = capsys.readouterr().out
    assert f"quick: {RUNS['quick']} runs in studies/quick" in shown
    assert "\n  method betavae: β-VAE\n" in shown


PAGE = (Path(__file__).parents[1] / "docs" / "studies.md").read_text(encoding="utf-8")
SHOWN = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "axes:" in block]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_a_study_file_of_the_page_can_be_copied(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder without dislab's configurations."""
    assert len(SHOWN) == 3
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(SHOWN[number].replace("optuna", "random"), encoding="utf-8")
    assert main(["study", "plan", "mine.yaml"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_every_value_of_a_large_one_can_be_read(name: str) -> None:
    """All combinations take minutes."""
    study = read_study_file(STUDIES / f"{name}.yaml")
    for part in each_value_once(study):
        groups = len(list(part.groups()))  # axes inside of values have groups of their own
        assert len(make_schedule(part, resolver, {}).runs) == groups * len(study.seeds)
