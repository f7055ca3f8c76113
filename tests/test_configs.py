"""Every configuration parses, runs a batch of each split, and says what its name says."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dislab.cli import main

CONFIGS = Path(__file__).parents[1] / "configs"
OVERLAYS = ("quick",)
NEEDED = {
    "betavae_dae": "dae",
    "scan": "scan_vision",
    "scan_u": "scan_vision_u",
    "scan_recombinator": "scan",
}
"""Configurations that start from a run of another one."""
METHODS = sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem not in OVERLAYS)


STAND_INS: dict[str, dict[str, Any]] = {
    "MNIST": {"class_path": "DSprites"},  # is read from a published file
    "ParametricHeads": {
        "class_path": "ParametricHeads",
        "init_args": {"identities": 12, "azimuths": 6, "elevations": 4, "lights": 4},
    },
    "RobotFinger": {
        "class_path": "RobotFinger",
        "init_args": {"states": 256, "side": 128, "partners": 1},
    },
}
"""Smaller data sets for tests, in place of those that are fetched or take minutes to render."""


OPTIONS = {
    "dcign_heads": ["--data.validation=0.3", "--data.test=0.3"],  # enough states for each group
    "dittadi_unsupervised": ["--data.batch_size=2", "--data.eval_batch_size=2"],
    "dittadi_weak": [
        "--data.batch_size=2",
        "--data.eval_batch_size=2",
        "--data.validation=0.2",
        "--data.test=0.2",
    ],
}
"""What else a test changes."""


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    return content


def test_every_configuration_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in (CONFIGS.parent / "docs").rglob("*.md"))
    assert [name for name in METHODS if f"configs/{name}.yaml" not in pages] == []


def stand_in(name: str, folder: Path) -> list[str]:
    """The option that puts a small data set in place of a large one, if need be."""
    dataset = load(name)["data"]["init_args"]["dataset"]
    named = dataset if isinstance(dataset, str) else dataset["class_path"]
    if named not in STAND_INS:
        return []
    path = folder / "stand_in.yaml"
    path.write_text(yaml.safe_dump({"data": {"init_args": {"dataset": STAND_INS[named]}}}))
    return [f"--config={path}"]


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


@pytest.mark.parametrize(
    "overlays",
    [pytest.param((), id="alone"), pytest.param(OVERLAYS, id="quick", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.slow) if one in NEEDED else one for one in METHODS],
)
def test_configuration_runs(
    name: str, overlays: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name in NEEDED:
        make_run(NEEDED[name])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    files = [f"--config={CONFIGS / file}.yaml" for file in (name, *overlays)]
    files += [*stand_in(name, tmp_path), *OPTIONS.get(name, [])]
    before |= set(tmp_path.glob("stand_in.yaml"))
    assert main(["fit", *files, "--trainer.fast_dev_run=true", "--trainer.accelerator=cpu"]) == 0
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", METHODS)
def test_the_file_is_named_and_shows_its_command(name: str) -> None:
    assert load(name)["name"] == name
    assert f"# dislab fit --config configs/{name}.yaml" in (CONFIGS / f"{name}.yaml").read_text()


@pytest.mark.parametrize(
    "name",
    ["annealedvae", "betatcvae", "betavae", "dipvae1", "dipvae2", "factorvae", "vae"],
)
def test_recipe_of_locatello(name: str) -> None:
    config = load(name)
    model = config["model"]["init_args"]
    assert model["encoder"]["init_args"] == {"preset": "locatello", "initialization": "glorot"}
    assert model["optimizer"]["init_args"] == {"lr": 1e-4, "betas": [0.9, 0.999]}
    assert (model["latent_dim"], model["likelihood"]) == (10, "bernoulli")
    assert config["data"]["init_args"]["batch_size"] == 64
    assert config["trainer"]["max_steps"] == 300_000


def test_recipe_of_burgess() -> None:
    config = load("burgess")
    model = config["model"]["init_args"]
    assert model["encoder"]["init_args"] == {"preset": "burgess"}
    assert model["optimizer"]["init_args"]["lr"] == 5e-4
    capacity = model["regularizers"]["kl"]["init_args"]
    assert capacity == {"gamma": 1000, "capacity": 25, "steps": 100_000}
    assert config["trainer"]["max_steps"] == 100_000


@pytest.mark.parametrize("name", ["dittadi_unsupervised", "dittadi_weak"])
def test_recipe_of_dittadi(name: str) -> None:
    config = load(name)
    model = config["model"]["init_args"]
    assert (model["encoder"], model["decoder"]) == ("ResidualEncoder128", "ResidualDecoder128")
    assert model["optimizer"]["init_args"] == {"lr": 1e-4, "betas": [0.9, 0.999]}
    halved = {"milestones": [150_000, 300_000], "gamma": 0.5}
    assert model["scheduler"]["init_args"] == halved
    assert model["input_noise"] == [0.03, 0.15]
    assert config["data"]["init_args"]["batch_size"] == 64
    assert config["trainer"] == {"max_steps": 400_000, "gradient_clip_val": 1.0}


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("montero_")])
def test_recipe_of_montero(name: str) -> None:
    config = load(name)
    model = config["model"]["init_args"]
    assert model["optimizer"]["init_args"] == {"lr": 1e-4, "betas": [0.9, 0.999]}
    assert config["data"]["init_args"] == {"dataset": "DSprites", "batch_size": 64}
    assert config["trainer"] == {"max_epochs": 100}
    if name == "montero_gtdecoder":
        assert model["decoder"]["init_args"] == {"hidden": [1200, 1200, 1200]}
        return
    preset = "kim" if name == "montero_composition" else "burgess"
    assert model["latent_dim"] == 10
    assert {model[part]["init_args"]["preset"] for part in ("encoder", "decoder")} == {preset}
    assert config["evaluate"]["metrics"]["dci"]["init_args"] == {"learner": "lassocv"}


def test_weights_of_montero() -> None:
    weights = {
        name.removeprefix("montero_"): {
            key: value["init_args"].get("beta", value["init_args"].get("gamma"))
            for key, value in load(name)["model"]["init_args"].get("regularizers", {}).items()
        }
        for name in METHODS
        if name.startswith("montero_")
    }
    assert weights == {
        "vae": {"kl": 1},
        "betavae8": {"kl": 8},
        "betavae12": {"kl": 12},
        "factorvae20": {"kl": 1, "tc": 20},
        "factorvae50": {"kl": 1, "tc": 50},
        "factorvae100": {"kl": 1, "tc": 100},
        "gtdecoder": {},
        "composition": {},
    }


def test_recipe_of_kulkarni() -> None:
    config = load("dcign_heads")
    model, data = config["model"]["init_args"], config["data"]["init_args"]
    assert model["latents"] == {"azimuth": 1, "elevation": 1, "light": 1, "intrinsic": 197}
    assert model["strength"] == 0.01
    assert model["optimizer"]["class_path"] == "torch.optim.RMSprop"
    assert model["optimizer"]["init_args"]["lr"] == 5e-4
    assert data["ratios"] == {"azimuth": 1, "elevation": 1, "light": 1, "intrinsic": 10}
    assert data["groups"].keys() == model["latents"].keys()
