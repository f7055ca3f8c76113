from pathlib import Path
from typing import Any

import pytest

from dislab.errors import InputError
from dislab_control.act import run
from dislab_control.stages import ActStage, ActTransferStage

ACT: dict[str, Any] = {
    "agent": "A2C",
    "observations": ["codes", "untrained"],
    "steps": 16,
    "seed": [0, 1],
    "copies": 2,
    "settings": {"n_steps": 8},
    "env_settings": {"length": 4},
}


@pytest.mark.slow
def test_stages_train_and_test_agents_of_a_run(runs: Any) -> None:
    encoder = runs()
    act, transfer = ActStage(), ActTransferStage()
    command, *arguments = act.arguments(encoder, act.checked(ACT), {})
    assert command == "act"
    assert run(arguments) == 0
    assert set(act.scores(encoder)) == {"A2C/codes/return", "A2C/untrained/return"}
    settings = transfer.checked({"domains": "target", "episodes": 4, "greedy": True})
    command, *arguments = transfer.arguments(encoder, settings, {})
    assert run(arguments) == 0
    scores = transfer.scores(encoder)
    assert {name for name in scores if "codes" in name} == {
        f"A2C/codes/{domain}/{value}"
        for domain in ("source", "target")
        for value in ("return", "ratio")
    }
    assert scores["A2C/codes/source/ratio"] is None
    folders = [encoder / "act" / f"A2C-codes-{seed}" for seed in (0, 1)]
    assert all((folder / "returns.json").is_file() for folder in folders)


@pytest.mark.parametrize(
    ("stage", "settings", "message"),
    [
        (ActStage(), {"agents": "PPO"}, r"act has no setting 'agents' \(did you mean agent\?\)"),
        (ActStage(), {"agent": ["PPO", "DDPG"]}, "act.agent is 'DDPG'"),
        (ActStage(), {"observations": "code"}, "act.observations is 'code'"),
        (ActStage(), {"steps": 0}, "act.steps is 0"),
        (ActStage(), {"seed": -1}, "act.seed is -1"),
        (ActStage(), {"env": "SeekAvoid"}, "env is 'SeekAvoid'"),
        (ActStage(), {"settings": ["gamma=1"]}, "act.settings is .* it is a mapping"),
        (ActTransferStage(), {"episode": 3}, "act-transfer has no setting 'episode'"),
        (ActTransferStage(), {"episodes": 1}, "act-transfer.episodes is 1"),
        (ActTransferStage(), {"seed": [1]}, "act-transfer.seed is .* one number"),
    ],
)
def test_wrong_settings_of_stages_are_refused(stage: Any, settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        stage.checked(settings)


def test_a_run_without_agents_has_no_scores(tmp_path: Path) -> None:
    assert ActStage().scores(tmp_path) == {}
