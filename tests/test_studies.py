"""The studies that ship: each can be planned, and is as large as its first lines say."""

from pathlib import Path

import pytest

from dislab.cli import main
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
}
LARGE = ("locatello_dsprites", "dittadi_1080")


def test_every_study_is_listed() -> None:
    assert {path.stem for path in STUDIES.glob("*.yaml")} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_how_many_runs_it_has(name: str) -> None:
    study = read_study_file(STUDIES / f"{name}.yaml")
    assert study.name == name
    assert len(study.groups()) * len(study.seeds) == RUNS[name]


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow) if one in LARGE else one for one in RUNS]
)
def test_every_configuration_of_it_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["study", "plan", str(STUDIES / f"{name}.yaml")]) == 0
    assert f"{name}: {RUNS[name]} runs in studies/{name}" in capsys.readouterr().out
