import subprocess
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[1] / "studies"
RUNS = {"icebeem": 12, "slowvae_rooms": 16}


def test_every_study_is_listed() -> None:
    assert {path.stem for path in STUDIES.glob("*.yaml")} == set(RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_study_can_be_planned(name: str, tmp_path: Path) -> None:
    file = STUDIES / f"{name}.yaml"
    command = [sys.executable, "-m", "dislab", "study", "plan", str(file)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: {RUNS[name]} runs" in done.stdout
    assert f" {RUNS[name]} models" in file.read_text(encoding="utf-8")
