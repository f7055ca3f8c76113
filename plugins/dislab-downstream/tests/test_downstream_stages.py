"""Stages of a study: settings, commands, and results of a small run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dislab.errors import InputError
from dislab.study import compare
from dislab_downstream import commands
from dislab_downstream.stages import FairnessStage, ReasoningStage

ROOT = Path(__file__).parents[3]
STUDIES = Path(__file__).parents[1] / "studies"
CONFIG: dict[str, Any] = {
    "model": {
        "class_path": "VAE",
        "init_args": {
            "latent_dim": 2,
            "encoder": {"class_path": "MLPEncoder", "init_args": {"hidden": [8]}},
            "decoder": {"class_path": "MLPDecoder", "init_args": {"hidden": [8]}},
            "regularizers": {"kl": {"class_path": "KL"}},
        },
    },
    "data": {
        "class_path": "SingleData",
        "init_args": {
            "dataset": "GaussianBlob",
            "batch_size": 8,
            "include": {"posX": {"max": 0.3}, "posY": {"max": 0.3}},
        },
    },
    "trainer": {"max_steps": 2, "accelerator": "cpu", "logger": False},
    "pictures": False,
    "report": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two steps."""
    root = tmp_path_factory.mktemp("downstream")
    path = root / "small.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "name": "small", "runs": str(root)}))
    fit = [sys.executable, "-P", "-m", "dislab", "fit", f"--config={path}"]
    done = subprocess.run(fit, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return root / "small" / "version_0"


def test_the_stage_of_fairness_scores_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = FairnessStage()
    settings = stage.checked({"train": 20, "test": 10, "targets": "posX"})
    command, *arguments = stage.arguments(folder, settings, {})
    assert command == "fairness"
    assert commands.fairness(arguments) == 0
    assert "posX" in capsys.readouterr().out
    scores = stage.scores(folder)
    assert set(scores) == {"unfairness", "worst_pair", "accuracy", "posX/posY"}
    assert scores["unfairness"] == scores["worst_pair"] == scores["posX/posY"]
    record = json.loads((folder / "fairness.json").read_text())
    assert record["settings"]["targets"] == ["posX"]
    assert record["data"]["dataset"] == "GaussianBlob"
    assert commands.fairness(arguments) == 0  # over the first result
    assert stage.scores(folder) == scores


@pytest.mark.slow
def test_the_stage_of_reasoning_scores_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = ReasoningStage()
    settings = stage.checked(
        {"sources": ["codes", "pixels", "factors"], "samples": [20, 10], "steps": 2, "test": 10}
    )
    command, *arguments = stage.arguments(folder, settings, {})
    assert command == "reasoning"
    assert commands.reasoning(arguments) == 0
    assert "matrices" in capsys.readouterr().out
    scores = stage.scores(folder)
    assert set(scores) == {
        f"{source}/{count}" for source in ("codes", "pixels", "factors") for count in (10, 20)
    }
    assert commands.reasoning(arguments) == 0
    assert stage.scores(folder) == scores


def test_a_command_that_fails_leaves_the_earlier_record(folder: Path) -> None:
    (folder / "fairness.json").write_text('{"scores": {"unfairness": 0.5}}')
    with pytest.raises(InputError, match="no factor is named 'pos'"):
        commands.fairness([str(folder), "--targets", "pos"])
    assert FairnessStage().scores(folder) == {"unfairness": 0.5}


@pytest.mark.parametrize(
    ("stage", "settings", "message"),
    [
        (FairnessStage(), {"label": 3}, "fairness has no setting 'label'; it has targets"),
        (FairnessStage(), {"train": 9}, "fairness.train is 9"),
        (FairnessStage(), {"seed": -1}, "fairness.seed is -1"),
        (FairnessStage(), {"targets": [3]}, r"fairness.targets is \[3\]; it is a list such as"),
        (FairnessStage(), {"sensitive": []}, r"fairness.sensitive is \[\]"),
        (FairnessStage(), {"targets": ["--seed"]}, "fairness.targets is"),
        (ReasoningStage(), {"source": "codes"}, r"has no setting 'source' \(did you mean sources"),
        (ReasoningStage(), {"sources": "images"}, "reasoning.sources is 'images'"),
        (ReasoningStage(), {"answers": "medium"}, "reasoning.answers is 'medium'"),
        (ReasoningStage(), {"answers": ["easy", "hard"]}, "reasoning.answers is a list"),
        (ReasoningStage(), {"samples": [0.5]}, r"reasoning.samples is \[0.5\]"),
        (ReasoningStage(), {"values": 2}, "reasoning.values is 2"),
    ],
)
def test_wrong_settings_of_stages_are_refused(stage: Any, settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        stage.checked(settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "fairness.json"),
        ("{", "is no JSON"),
        ("{}", "has no scores"),
        ('{"scores": {"unfairness": "low"}}', "fairness.json"),
    ],
)
def test_damaged_records_are_named(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "fairness.json").write_text(text)
    with pytest.raises(InputError, match=message):
        FairnessStage().scores(tmp_path)


def test_the_study_of_tasks_trains_no_model_again() -> None:
    sweep = ROOT / "configs" / "studies" / "locatello_rooms.yaml"
    tasks = STUDIES / "rooms.yaml"
    for key in ("axes", "seeds"):
        assert _with_whole_paths(tasks)[key] == _with_whole_paths(sweep)[key]


def _with_whole_paths(study: Path) -> dict[str, Any]:
    """The content of a study file; its configurations are absolute paths."""
    text = re.sub(
        r"[\w./]+\.yaml",
        lambda name: os.path.normpath(study.parent / name[0]),
        study.read_text(encoding="utf-8"),
    )
    content: dict[str, Any] = yaml.safe_load(text)
    return content


@pytest.mark.slow
def test_the_study_of_labels_can_be_planned() -> None:
    plan = [
        sys.executable,
        "-P",
        "-m",
        "dislab",
        "study",
        "plan",
        str(STUDIES / "labels_rooms.yaml"),
    ]
    done = subprocess.run(plan, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "labels_rooms: 48 runs" in done.stdout


def test_loose_runs_are_compared_by_both_tasks(tmp_path: Path) -> None:
    for run, unfairness in (("a", 0.25), ("b", 0.5)):
        (tmp_path / run).mkdir()
        (tmp_path / run / "config.yaml").write_text("model: {class_path: VAE}\n")
        record = {"scores": {"unfairness": unfairness}}
        (tmp_path / run / "fairness.json").write_text(json.dumps(record))
    (tmp_path / "a" / "reasoning.json").write_text('{"scores": {"codes/100": 0.75}}')
    (tmp_path / "b" / "reasoning.json").write_text("{")
    with pytest.warns(UserWarning, match=r"reasoning\.json .*is no JSON"):
        table = compare([tmp_path / "a", tmp_path / "b"])
    assert table["fairness.unfairness"].tolist() == [0.25, 0.5]
    assert table["reasoning.codes/100"].isna().tolist() == [False, True]
    assert table["state"].tolist() == ["finished", "finished"]
