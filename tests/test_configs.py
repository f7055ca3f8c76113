"""Every configuration parses, runs a batch of each split, and says what its name says."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dislab.cli import main
from dislab.plugins import available

CONFIGS = Path(__file__).parents[1] / "configs"
OVERLAYS = ("quick",)
NEEDED = {"betavae_dae": "dae", "scan": "scan_vision", "scan_recombinator": "scan"}
"""Configurations that start from a run of another one."""
METHODS = sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem not in OVERLAYS)


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    return content


def test_the_named_methods_have_configurations() -> None:
    assert METHODS == [
        "annealedvae",
        "betatcvae",
        "betavae",
        "betavae_dae",
        "bottleneck",
        "composition",
        "dae",
        "dipvae1",
        "dipvae2",
        "factorvae",
        "gtdecoder",
        "jmvae",
        "scan",
        "scan_recombinator",
        "scan_vision",
        "telbo",
        "vae",
    ]


def ready(name: str) -> bool:
    """Whether the configuration's data module is installed."""
    installed = {plugin.name for plugin in available("datamodules")}
    return load(name)["data"]["class_path"] in installed


def make_run(name: str) -> None:
    """Trains a configuration for one step, after those that it needs itself."""
    if name in NEEDED:
        make_run(NEEDED[name])
    settings = [
        "trainer.max_steps=1",
        "trainer.limit_val_batches=1",
        "trainer.limit_test_batches=1",
    ]
    settings += ["trainer.accelerator=cpu", "evaluate.metrics=null", "traversals.points=16"]
    command = ["fit", f"--config={CONFIGS / name}.yaml", *(f"--{one}" for one in settings)]
    assert main(command) == 0


@pytest.mark.parametrize("overlays", [(), OVERLAYS], ids=["alone", "quick"])
@pytest.mark.parametrize("name", METHODS)
def test_configuration_runs(
    name: str, overlays: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not ready(name):
        pytest.skip("the data module of this configuration is not installed")
    monkeypatch.chdir(tmp_path)
    if name in NEEDED:
        make_run(NEEDED[name])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    files = [f"--config={CONFIGS / file}.yaml" for file in (name, *overlays)]
    assert main(["fit", *files, "--trainer.fast_dev_run=true", "--trainer.accelerator=cpu"]) == 0
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", METHODS)
def test_the_file_is_named_and_shows_its_command(name: str) -> None:
    assert load(name)["name"] == name
    assert f"# dislab fit --config configs/{name}.yaml" in (CONFIGS / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name", ["betatcvae", "betavae", "dipvae1", "dipvae2", "factorvae", "vae"])
def test_recipe_of_locatello(name: str) -> None:
    config = load(name)
    model = config["model"]["init_args"]
    assert model["encoder"]["init_args"] == {"preset": "locatello", "initialization": "glorot"}
    assert model["optimizer"]["init_args"] == {"lr": 1e-4, "betas": [0.9, 0.999]}
    assert (model["latent_dim"], model["likelihood"]) == (10, "bernoulli")
    assert config["data"]["init_args"]["batch_size"] == 64
    assert config["trainer"]["max_steps"] == 300_000


def test_recipe_of_burgess() -> None:
    config = load("annealedvae")
    model = config["model"]["init_args"]
    assert model["encoder"]["init_args"] == {"preset": "burgess"}
    assert model["optimizer"]["init_args"]["lr"] == 5e-4
    capacity = model["regularizers"]["kl"]["init_args"]
    assert capacity == {"gamma": 1000, "capacity": 25, "steps": 100_000}
    assert config["trainer"]["max_steps"] == 100_000
