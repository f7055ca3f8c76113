import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dislab.errors import InputError
from dislab_control.act import run
from dislab_control.agents import fit_agent

FIT = ["fit", "--agent=A2C", "--observations", "factors", "--steps=16", "--copies=2"]
SMALL = ["--settings", "n_steps=8", "learning_rate=1e-3", "--env_settings", "length=10"]


def test_agents_are_trained_and_tested_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "agents"
    command = [*FIT, *SMALL, f"--out={out}", "--seed", "0", "1"]
    assert run(command) == 0
    folders = [out / "A2C-factors-0", out / "A2C-factors-1"]
    assert capsys.readouterr().out.split() == [str(folder) for folder in folders]
    config = json.loads((folders[1] / "agent.json").read_text())
    assert config["settings"]["learning_rate"] == 0.001
    assert (config["seed"], config["env_settings"]) == (1, {"length": 10})
    assert run(command) == 0  # finished ones stay
    capsys.readouterr()
    assert run(["test", str(out), "--episodes=3", "--domains", "target"]) == 0
    output = capsys.readouterr().out
    assert [str(folder) in output for folder in folders] == [True, True]
    assert output.count("target") == 3
    assert "A2C-factors, mean ± standard error of 2 agents" in output
    assert all((folder / "returns.json").is_file() for folder in folders)


def test_an_unfinished_agent_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(steps: int, mean: float | None) -> None:
        if steps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_agent(tmp_path, agent="A2C", observations="factors", steps=200, report=stop)
    folder = tmp_path / "A2C-factors-0"
    assert not (folder / "agent.zip").exists()
    assert run(["fit", f"--resume={folder}"]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert (folder / "agent.zip").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "fit|test must be given; write "),
        (["fit", "--agent=PPQ", "--observations=factors"], "agent is 'PPQ'"),
        (["fit"], "observations is 'codes', which needs the run of a trained model"),
        (["fit", "--encoder=nowhere"], "nowhere is no run: it does not exist"),
        (["fit", "--observations=factors", "--settings", "gamma"], "write NAME=VALUE"),
        (["fit", "--observations=factors", "--settings", "gamma=["], "not valid YAML: "),
        (["fit", "--observations=factors", "--device=gpu"], "--device is 'gpu', which torch"),
        (["fit", "--resume=nowhere"], "nowhere holds no agent"),
        (["test", "nowhere"], "nowhere holds no agent, and no folders with agents"),
        (
            ["fit", "--agent=DQN", "--env=dislab/FingerReach-v0", "--observations=factors"],
            "DQN chooses among numbered actions",
        ),
    ],
)
def test_mistakes_have_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as raised:
        run(arguments)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_the_lack_of_the_library_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(InputError, match="is not installed; install it: pip install stable-base"):
        run(["test", "anything"])


def test_the_lack_of_gymnasium_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = [name for name in sys.modules if name.partition(".")[0] == "dislab_control"]
    for name in modules:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ModuleNotFoundError, match="install it: pip install gymnasium"):
        __import__("dislab_control")


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, options in {"fit": ["--encoder", "--resume"], "test": ["--domains"]}.items():
        with pytest.raises(SystemExit):
            run([verb, "--help"])
        output: Any = capsys.readouterr().out
        assert all(option in output for option in options)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("agents", r"--out: .* cannot be written"),
        ("agents/A2C-factors-0", r"--out: .* cannot be written"),
        ("agents/A2C-factors-0/agent.zip", "--out has a folder A2C-factors-0 with files of some"),
    ],
)
def test_no_agent_replaces_files_of_the_user(name: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(InputError, match=message):
        run([*FIT, *SMALL, f"--out={tmp_path / 'agents'}"])
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"]
