"""Every file of correlations fits its data set and correlates the pairs that it names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dislab.cli import main
from dislab.datamodules import SingleData
from dislab.datasets import DSprites, Shapes3D

CONFIGS = Path(__file__).parents[1] / "configs"
FILES = sorted(path.stem for path in (CONFIGS / "correlations").glob("*.yaml"))
DATASETS = {"dsprites": DSprites, "shapes3d": Shapes3D}
PAIRS = {
    "dsprites_confounder": [("shape", one) for one in ("scale", "orientation", "posX", "posY")],
    "dsprites_pairs2": [("shape", "scale"), ("posX", "posY")],
    "shapes3d_pairs3": [
        ("scale", "orientation"),
        ("shape", "wall_hue"),
        ("object_hue", "floor_hue"),
    ],
}
"""The pairs of Roth et al. (2023), by file."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_correlates_its_pairs(name: str) -> None:
    settings = yaml.safe_load((CONFIGS / f"correlations/{name}.yaml").read_text())
    dataset = DATASETS[name.partition("_")[0]]()
    data = SingleData(dataset, **settings["data"]["init_args"])
    drawn = data.plan("train").draw(np.random.default_rng(0), 20_000, 0).states
    space = data.factors
    found: Any = np.corrcoef(space.positions(drawn).T)
    named = [tuple(map(space.column, pair)) for pair in PAIRS[name]]
    assert min(found[pair] for pair in named) > 0.6
    others = [
        abs(found[first, second])
        for first in range(len(found))
        for second in range(first)
        if {(first, second), (second, first)}.isdisjoint(named)
    ]
    if "confounder" not in name:  # whose other pairs depend on each other through it
        assert max(others) < 0.05


def test_every_file_is_on_a_page_and_names_its_use() -> None:
    page = (CONFIGS.parent / "docs/supervision.md").read_text()
    for name in FILES:
        assert f"`{name}`" in page
        text = (CONFIGS / f"correlations/{name}.yaml").read_text()
        assert f"--config correlations/{name}" in text


@pytest.mark.slow
def test_a_correlated_configuration_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = ("betavae", "correlations/dsprites_confounder")
    options = [f"--config={CONFIGS / file}.yaml" for file in files]
    options += ["--evaluate.distribution=correlated", "--trainer.accelerator=cpu"]
    assert main(["fit", *options, "--trainer.fast_dev_run=true"]) == 0


@pytest.mark.slow
def test_a_list_that_cannot_be_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    option = "--data.correlation=[{factors: [shape], strength: 0.1}]"
    command = ["fit", f"--config={CONFIGS}/betavae.yaml", option]
    assert main(command) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) <= 3
    assert "correlation" in lines[-1]
    assert not any(tmp_path.iterdir())
