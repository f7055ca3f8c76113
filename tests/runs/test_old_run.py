"""A run that an earlier commit wrote can still be loaded and scored."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from dislab.cli import main
from dislab.objectives import VAE
from dislab.runs import load_run

OLD = Path(__file__).parents[1] / "data" / "old_run"
CODES = [
    [-0.1585627943277359, -0.4759897291660309],
    [0.09519985318183899, -0.47596144676208496],
]
"""Codes that the earlier commit made of two ramps of brightness."""


def test_it_makes_the_same_codes() -> None:
    model = load_run(OLD)
    assert type(model) is VAE
    assert int(model.steps) == 3
    assert list(model.regularizers) == ["kl", "tc"]
    image = torch.linspace(0, 1, 128).reshape(2, 1, 8, 8)
    torch.testing.assert_close(model.codes(image), torch.tensor(CODES))


@pytest.mark.slow
def test_it_can_be_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OLD, tmp_path / "old_run")
    assert main(["test", "--run=old_run", "--pictures=false", "--evaluate.metrics={sap: SAP}"]) == 0
    record = json.loads((tmp_path / "old_run" / "scores.json").read_text())["test"]
    assert record["checkpoint"]["steps"] == 3
    assert "sap_r2" in record["scores"]
