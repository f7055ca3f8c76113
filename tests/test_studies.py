"""The studies that ship: each can be planned, and is as large as its first lines say."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from dislab.cli import main
from dislab.cli.study_settings import resolver
from dislab.study.schedule import make_schedule
from dislab.study.study_file import read_study_file

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
    "correlated_rooms": "efc74344d2b6",
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


@pytest.mark.parametrize("name", [one for one in RUNS if one not in LARGE])
def test_every_configuration_of_it_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["study", "plan", str(STUDIES / f"{name}.yaml")]) == 0
    assert f"{name}: {RUNS[name]} runs in studies/{name}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_every_value_of_a_large_one_can_be_read(name: str) -> None:
    """Each axis in turn, with the first value of all others: all combinations take minutes."""
    study = read_study_file(STUDIES / f"{name}.yaml")
    first = {axis: values[:1] for axis, values in study.axes.items()}
    for axis, values in study.axes.items():
        part = replace(study, axes={**first, axis: values})
        assert len(make_schedule(part, resolver, {}).runs) >= len(values) * len(study.seeds)


@pytest.mark.parametrize("name", IDS)
def test_runs_keep_their_names(name: str) -> None:
    plan = make_schedule(read_study_file(STUDIES / f"{name}.yaml"), resolver, {})
    names = " ".join(run.id for run in plan.runs)
    assert hashlib.sha256(names.encode()).hexdigest()[:12] == IDS[name]
