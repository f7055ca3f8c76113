import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CONFIGS = Path(__file__).parents[1] / "src/dislab_control/configs"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icf_grid", "icf_maze", "icf_generated"])
def test_a_configuration_trains(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    done = dislab(
        "fit", f"--config={CONFIGS / name}.yaml", "--trainer.max_steps=3", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs" / name).iterdir()
    assert (run / "control.json").exists()
    assert {path.name for path in (run / "images").iterdir()} >= {"control.png", "policies.png"}


@pytest.mark.slow
def test_data_without_actions_are_one_line_on_the_terminal(tmp_path: Path) -> None:
    config = yaml.safe_load((CONFIGS / "icf_grid.yaml").read_text())
    config["data"]["class_path"] = "SingleData"
    (tmp_path / "single.yaml").write_text(yaml.safe_dump(config))
    done = dislab("fit", "--config=single.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert "needs action_names from the data, which SingleData does not offer" in done.stderr
    assert "choose ActionData or TransitionData" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    assert not list(tmp_path.glob("runs/*/*"))


def dislab(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dislab", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
