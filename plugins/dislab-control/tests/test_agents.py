import csv
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from dislab.errors import InputError
from dislab_control import agents
from dislab_control.agents import fit_agent, resume_agent

TINY: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 16, "batch_size": 32, "n_epochs": 2},
    "A2C": {"n_steps": 8},
    "DQN": {"learning_starts": 32, "buffer_size": 80, "batch_size": 16},
}


def trained(out: Path, agent: str, steps: int = 192, **more: Any) -> Path:
    usual = {"observations": "factors", "copies": 2, "settings": TINY[agent]}
    settings: dict[str, Any] = {**usual, **more}
    return fit_agent(out, agent=agent, steps=steps, env_settings={"length": 10}, **settings)


def weights(folder: Path) -> Any:
    from stable_baselines3.common.save_util import load_from_zip_file

    _, parameters, _ = load_from_zip_file(folder / "agent.zip", load_data=False)
    assert parameters is not None
    return parameters["policy"]


def equal(agent: Path, reference: Path) -> bool:
    first, second = weights(agent), weights(reference)
    assert first.keys() == second.keys()
    return all(torch.equal(value, second[name]) for name, value in first.items())


@pytest.mark.parametrize("agent", list(TINY))
def test_an_interrupted_training_goes_on_as_if_it_had_not_been(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dislab_control.agent_progress.EVERY", 32)
    uninterrupted = trained(tmp_path / "whole", agent)

    def interrupt(steps: int, mean: float | None) -> None:
        if steps >= 96:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"after \d+ steps"):
        trained(tmp_path / "broken", agent, report=interrupt)
    broken = tmp_path / "broken" / f"{agent}-factors-0"
    assert (broken / "state.pt").is_file()
    assert not (broken / "agent.zip").exists()
    torch.manual_seed(99)
    assert resume_agent(broken) == broken
    assert equal(uninterrupted, broken)
    assert not (broken / "state.pt").exists()
    assert (uninterrupted / "progress.csv").read_text() == (broken / "progress.csv").read_text()
    rows = list(csv.DictReader((uninterrupted / "progress.csv").read_text().splitlines()))
    assert float(rows[-1]["steps"]) == 192


def test_the_seed_decides_an_agent_and_a_finished_one_is_left_alone(tmp_path: Path) -> None:
    first, second = (trained(tmp_path / name, "A2C", 64) for name in "ab")
    assert equal(first, second)
    assert not equal(first, trained(tmp_path / "c", "A2C", 64, seed=1))
    before = (first / "agent.zip").stat().st_mtime_ns
    assert trained(tmp_path / "a", "A2C", 64) == first
    assert (first / "agent.zip").stat().st_mtime_ns == before
    with pytest.raises(InputError, match="whose steps is 64, not 65; choose another --out"):
        trained(tmp_path / "a", "A2C", 65)


@pytest.mark.parametrize("observations", ["codes", "untrained", "pixels"])
def test_agents_learn_on_what_is_drawn(observations: str, tmp_path: Path, runs: Any) -> None:
    folder = trained(tmp_path / "agents", "A2C", 16, observations=observations, encoder=runs())
    assert (folder / "agent.zip").is_file()
    assert folder.name == f"A2C-{observations}-0"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "PP0"}, r"agent is 'PP0' \(did you mean PPO\?\); choose one of PPO, A2C, DQN"),
        ({"env": "dislab/SeekAvoid-v1"}, r"env is 'dislab/SeekAvoid-v1' \(did you mean"),
        ({"env": "dislab/GridObjects-v0"}, "has no task: every reward is 0; choose dislab/SeekAv"),
        ({"env_settings": {"domain": "sauce"}}, r"domain is 'sauce' \(did you mean source"),
        ({"steps": 0}, "steps is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"copies": 0}, "copies is 0"),
        ({"settings": {"n_step": 1}}, r"PPO has no setting 'n_step' \(did you mean n_steps\?\)"),
        ({"settings": {"n_steps": "many"}}, "settings: PPO refuses them"),
        ({"observations": "codes"}, "needs the run of a trained model"),
        ({"observations": "codes", "encoder": "nowhere"}, "nowhere is no run: it does not exist"),
    ],
)
def test_wrong_settings_are_refused_before_a_folder_is_made(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        fit_agent(tmp_path / "agents", **({"observations": "factors"} | settings))
    assert not (tmp_path / "agents").exists()


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no agent: it has no agent\.json"):
        resume_agent(tmp_path)
    folder = trained(tmp_path, "A2C", 16)
    (folder / "agent.zip").unlink()
    (folder / "state.pt").write_bytes(b"no state")
    with pytest.raises(InputError, match=r"state\.pt is damaged"):
        resume_agent(folder)
    (folder / "agent.json").write_text("{")
    with pytest.raises(InputError, match=r"agent\.json is no JSON"):
        resume_agent(folder)


def test_a_state_is_written_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "SAVE_EVERY", 0.0)
    seen: list[bool] = []
    folder = tmp_path / "A2C-factors-0"
    trained(tmp_path, "A2C", 48, report=lambda *_: seen.append((folder / "state.pt").is_file()))
    assert seen == [False, True, True, True]
