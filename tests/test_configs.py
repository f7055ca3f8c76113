"""Every configuration parses, runs a batch of each split, and says what its name says."""

import ctypes
import gc
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dislab.cli import main
from dislab.cli.study_runs import resolver
from dislab.datamodules import SingleData
from dislab.datamodules._symbol_plans import Attributes
from dislab.datasets import Shapes3D

CONFIGS = Path(__file__).parents[1] / "configs"
OVERLAYS = ("quick",)
FIRST_RUN = "first_run"
"""The budget and the data of `make fit`, on top of factorvae.yaml alone."""
HOME = "home"
"""The model of the docs' home page, on top of adagvae.yaml alone."""
ROOMS = "rooms"
"""An easy task for VAEs, on top of any of theirs."""
DATA_OVERLAYS = {
    "montero_shapes3d": "montero_vae",
    "montero_shapes3d_code": "montero_vae_code",
    "montero_mpi3d_code": "montero_factorvae20_code",
}
"""Files for another data set, with a configuration to put them on."""
LABELS = ("labels100", "labels1000")
"""Files with labels for a few images, to put on configurations of methods with regularisers."""
LABELLED = (
    *("vae", "betavae", "annealedvae", "factorvae", "betatcvae", "dipvae1", "dipvae2"),
    *("adagvae", "adamlvae", "dcign_heads", "composition", "betavae_dae"),
)
"""The configurations on which they are tried."""
NEEDED = {
    "betavae_dae": "dae",
    "scan": "scan_vision",
    "scan_u": "scan_vision_u",
    "scan_recombinator": "scan",
    "scan_shapes3d": "scan_vision_shapes3d",
}
"""Configurations that start from a run of another one."""
METHODS = sorted(
    path.stem
    for path in CONFIGS.glob("*.yaml")
    if path.stem not in (*OVERLAYS, *DATA_OVERLAYS, *LABELS, FIRST_RUN, HOME, ROOMS)
)
PAPERS = ("burgess_", "chen_", "higgins_", "infogan_", "kim_", "kulkarni_", "montero_")
"""Settings of papers for methods that other configurations train: slow to train one by one."""
ALIKE = (
    *("vae", "betavae", "annealedvae", "dipvae1", "dipvae2"),  # factorvae and betatcvae are tried
    *("dittadi_unsupervised", "scan_vision_shapes3d", "scan_vision_u"),
    *("adamlvae", "dittadi_weak"),  # adagvae is tried, and so is dittadi_unsupervised by make slow
)
"""Configurations whose method, networks and data module another one that is tried has too."""


STAND_INS: dict[str, dict[str, Any]] = {
    "MNIST": {"class_path": "DSprites"},  # is read from a published file
    "ParametricHeads": {
        "class_path": "ParametricHeads",
        "init_args": {"identities": 12, "azimuths": 6, "elevations": 4, "lights": 4},
    },
    "CelebA": {"class_path": "ColorDSprites"},
    "ParametricChairs": {"class_path": "DSprites"},  # takes minutes to render
    "RobotFinger": {
        "class_path": "RobotFinger",
        "init_args": {"states": 256, "side": 128, "partners": 1},
    },
}
"""Smaller data sets for tests, in place of those that are fetched or take minutes to render."""


OPTIONS = {
    "chen_dsprites": ["--data.batch_size=64"],
    "chen_heads": ["--data.batch_size=64"],
    "dcign_heads": ["--data.validation=0.3", "--data.test=0.3"],  # enough states for each group
    "kulkarni_chairs": [  # the stand-in is dSprites
        "--data.groups={azimuth: [posX], elevation: [posY], intrinsic: [shape, scale, orientation]}"
    ],
    "dittadi_unsupervised": ["--data.batch_size=2", "--data.eval_batch_size=2"],
    "dittadi_weak": [
        "--data.batch_size=2",
        "--data.eval_batch_size=2",
        "--data.validation=0.2",
        "--data.test=0.2",
    ],
}
"""Further settings that a test changes."""


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    return content


def test_every_configuration_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in (CONFIGS.parent / "docs").rglob("*.md"))
    assert [name for name in METHODS if f"configs/{name}.yaml" not in pages] == []


def test_every_configuration_names_its_method() -> None:
    assert [name for name in METHODS if not load(name).get("method")] == []
    of_plugins = [
        (path.name, content)
        for path in CONFIGS.parent.glob("plugins/*/src/*/configs/*.yaml")
        if "model" in (content := yaml.safe_load(path.read_text())) and "name" in content
    ]
    assert len(of_plugins) >= 10
    assert [name for name, content in of_plugins if not content.get("method")] == []


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
    """Trains a configuration for one step, after those that it needs itself, without scores."""
    if name in NEEDED:
        make_run(NEEDED[name])
    settings = [
        "trainer.max_steps=1",
        "trainer.limit_val_batches=1",
        "trainer.limit_test_batches=1",
    ]
    settings += ["trainer.accelerator=cpu", "evaluate.metrics=null", "traversals.points=16"]
    settings += ["report=false", "then_test=false"]
    command = ["fit", f"--config={CONFIGS / name}.yaml", *(f"--{one}" for one in settings)]
    assert main(command) == 0


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Frees the networks of a test, and returns their memory to the system.

    Python finds models in cycles of references late, and `keep_freed_memory` keeps what is freed
    for the whole process: all configurations one after the other would take 11 GB.
    """
    yield
    gc.collect()
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


@pytest.mark.slow
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=pytest.mark.slow)
        if one in (*NEEDED, *ALIKE) or one.startswith(PAPERS)
        else one
        for one in METHODS
    ],
)
def test_configuration_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name in NEEDED:
        make_run(NEEDED[name])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    files = [f"--config={CONFIGS / name}.yaml", *stand_in(name, tmp_path), *OPTIONS.get(name, [])]
    before |= set(tmp_path.glob("stand_in.yaml"))
    small = [f"--config={CONFIGS / overlay}.yaml" for overlay in OVERLAYS]
    for budget in ([], small) if name.startswith(PAPERS) else ([],):
        short = [*budget, "--trainer.fast_dev_run=true", "--trainer.accelerator=cpu"]
        assert main(["fit", *files, *short]) == 0
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def printed(files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The whole configuration that the files give on top of each other, checked by the parser."""
    with pytest.raises(SystemExit) as end:
        main(["fit", *(f"--config={CONFIGS / name}.yaml" for name in files), "--print_config"])
    assert end.value.code in (0, None)
    content: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return content


@pytest.mark.slow
def test_every_configuration_takes_the_small_budget() -> None:
    resolve = resolver()  # one parser for all
    kinds: dict[tuple[object, ...], str] = {}
    for name in METHODS:
        content = load(name)
        optimizer = content["model"]["init_args"].get("optimizer") or {}
        parts = content["model"]["class_path"], content["data"]["class_path"]
        kinds[(*parts, optimizer.get("class_path"), "max_steps" in content["trainer"])] = name
    for name in kinds.values():
        config = resolve([f"--config={CONFIGS / file}.yaml" for file in (name, *OVERLAYS)]).config
        assert config["trainer"]["max_steps"] == 4000, name
        assert config["model"]["init_args"]["optimizer"]["init_args"]["lr"] == 1e-3, name


def test_the_first_run_is_a_factorvae_of_few_states_and_minutes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = printed(["factorvae", FIRST_RUN], capsys)
    model, data = config["model"]["init_args"], config["data"]["init_args"]
    parts = {name: part["class_path"] for name, part in model["regularizers"].items()}
    assert parts["tc"].endswith(".TotalCorrelation")
    assert parts["kl"].endswith(".CapacityKL")
    assert model["regularizers"]["kl"]["init_args"]["steps"] < config["trainer"]["max_steps"]
    assert data["dataset"]["class_path"].endswith(".Shapes3D")
    states = SingleData(Shapes3D(), include=data["include"]).indices("all")
    assert len(states) == 6**3 * 8 * 15  # hues of floor, wall and object, scales, orientations
    assert config["evaluate"]["untrained"] == 5
    command = f"dislab fit --config factorvae --config {FIRST_RUN}"
    for file in (f"configs/{FIRST_RUN}.yaml", "Makefile", "README.md", "docs/tutorial.md"):
        assert command in (CONFIGS.parent / file).read_text(), file


def test_the_first_run_trains_and_ends_with_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [f"--config={CONFIGS / name}.yaml" for name in ("factorvae", FIRST_RUN)]
    short = ["--trainer.max_steps=2", "--trainer.accelerator=cpu", "--evaluate.points=300"]
    short += ["--trainer.limit_test_batches=1", "--evaluate.untrained=2"]
    assert main(["fit", *files, *short]) == 0
    page = (tmp_path / "runs/factorvae/version_0/report.html").read_text()
    assert page.count('class="explorer"') == 1
    assert "untrained" in page  # although the shape, which is constant, has no score


def test_the_model_of_the_home_page_has_one_size_of_cubes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = printed(["adagvae", HOME], capsys)
    model, data = config["model"]["init_args"], config["data"]["init_args"]
    assert config["model"]["class_path"].endswith(".AdaGVAE")
    assert model["scheduler"]["init_args"]["T_max"] == config["trainer"]["max_steps"]
    states = SingleData(Shapes3D(), include=data["include"]).indices("all")
    assert len(states) == 6**3 * 15  # hues of floor, wall and object, orientations
    command = f"dislab fit --config adagvae --config {HOME}"
    for file in (f"configs/{HOME}.yaml", "docs/methods/adagvae.md"):
        assert command in (CONFIGS.parent / file).read_text(), file


@pytest.mark.parametrize("name", ["betatcvae", "adamlvae"])
def test_vaes_take_the_easy_task(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    config, below = printed([name, ROOMS], capsys), load(name)
    model, first = config["model"]["init_args"], load(FIRST_RUN)["model"]["init_args"]
    assert set(model["regularizers"]) == set(below["model"]["init_args"]["regularizers"])
    assert config["data"]["class_path"].endswith(f".{below['data']['class_path']}")
    for part in ("encoder", "decoder", "optimizer"):
        assert model[part]["init_args"].items() >= first[part]["init_args"].items()
    assert load(ROOMS)["data"] == load(FIRST_RUN)["data"]


@pytest.mark.parametrize(("name", "below"), DATA_OVERLAYS.items())
def test_another_data_set_lies_on_top(
    name: str, below: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = printed([below, name], capsys)
    dataset = {"shapes3d": "Shapes3D", "mpi3d": "MPI3D"}[name.split("_")[1]]
    assert config["data"]["init_args"]["dataset"]["class_path"].endswith(f".{dataset}")
    network = config["model"]["init_args"]["encoder"]["init_args"]
    if name.endswith("_code"):
        assert (network["preset"], network["hidden"]) == ("kim", 256)
        assert network["initialization"] == "kaiming"
    else:
        assert network["preset"] == "burgess"
        assert config["trainer"]["max_epochs"] == 65
    assert f"--config {name}" in (CONFIGS / f"{name}.yaml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "below"),
    [*((LABELS[0], below) for below in LABELLED), *((name, "betavae") for name in LABELS[1:])],
)
def test_labels_lie_on_top(name: str, below: str, capsys: pytest.CaptureFixture[str]) -> None:
    config, alone = printed([below, name], capsys), load(below)
    parts = alone["model"]["init_args"].get("regularizers", {})
    assert set(config["model"]["init_args"]["regularizers"]) == {*parts, "labels"}
    data = config["data"]["init_args"]
    assert data["few_labels"] == {"count": int(name.removeprefix("labels"))}
    assert config["data"]["class_path"].endswith(alone["data"]["class_path"])
    assert data["batch_size"] == alone["data"]["init_args"]["batch_size"]
    assert f"--config {name}" in (CONFIGS / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name", METHODS)
def test_the_file_is_named_and_shows_its_command(name: str) -> None:
    assert load(name)["name"] == name
    assert f"# dislab fit --config {name}" in (CONFIGS / f"{name}.yaml").read_text()


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


MONTERO = [name for name in METHODS if name.startswith("montero_") and "_code" not in name]


@pytest.mark.parametrize("name", MONTERO)
def test_recipe_of_montero_in_the_text(name: str) -> None:
    config = load(name)
    model = config["model"]["init_args"]
    assert model["optimizer"]["init_args"] == {"lr": 1e-4, "betas": [0.9, 0.999]}
    assert config["data"]["init_args"] == {"dataset": "DSprites", "batch_size": 64}
    assert config["trainer"] == {"max_epochs": 100}
    if name == "montero_gtdecoder":
        assert model["decoder"]["init_args"] == {"hidden": [1200, 1200, 1200]}
        return
    assert model["latent_dim"] == 10
    assert {model[part]["init_args"]["preset"] for part in ("encoder", "decoder")} == {"burgess"}
    assert config["evaluate"]["metrics"]["dci"]["init_args"] == {"learner": "lassocv"}


@pytest.mark.parametrize("name", MONTERO)
def test_recipe_of_montero_in_the_code(name: str) -> None:
    """Differences of the published code; compare its configs, losses and run scripts."""
    config, text = load(f"{name}_code"), load(name)
    model, data = config["model"]["init_args"], config["data"]["init_args"]
    method = name.removeprefix("montero_").rstrip("0123456789")
    factor = method == "factorvae"
    assert model["optimizer"]["init_args"]["lr"] == (1e-3 if method == "gtdecoder" else 1e-4)
    assert data["batch_size"] == (128 if factor else 64)
    steps = {"gtdecoder": 5000, "composition": 30 * (10_000 // 64)}
    budget = {"max_steps": steps[method]} if method in steps else {"max_epochs": 30}
    assert config["trainer"] == budget
    if method == "gtdecoder":
        assert model["decoder"] == text["model"]["init_args"]["decoder"]
        return
    network = {"preset": "kim", "hidden": 256} if factor else {"preset": "montero"}
    for part in ("encoder", "decoder"):
        assert model[part]["init_args"] == {**network, "initialization": "kaiming"}
    if method == "composition":
        assert (model["mixing"], model["beta"]) == ("linear_code", 1)
        return
    regularizers, of_text = (
        settings["model"]["init_args"]["regularizers"] for settings in (config, text)
    )
    assert regularizers["kl"] == of_text["kl"]
    if factor:
        critic = regularizers["tc"]["init_args"]
        assert critic == {
            "gamma": of_text["tc"]["init_args"]["gamma"],
            "lr": 1e-5,
            "betas": [0.5, 0.9],
            "slope": 0.01,
            "batches": "two",
        }


def test_weights_of_montero() -> None:
    weights = {
        name.removeprefix("montero_"): {
            key: value["init_args"].get("beta", value["init_args"].get("gamma"))
            for key, value in load(name)["model"]["init_args"].get("regularizers", {}).items()
        }
        for name in MONTERO
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


def test_recipe_of_kim() -> None:
    settings = {}
    for name in ("dsprites", "shapes3d", "chairs"):
        config = load(f"kim_{name}")
        model = config["model"]["init_args"]
        critic = model["regularizers"]["tc"]["init_args"]
        assert (critic["batches"], config["data"]["init_args"]["batch_size"]) == ("two", 128)
        assert model["encoder"]["init_args"] == {"preset": "kim"}
        assert model["optimizer"]["init_args"] == {"lr": 1e-4, "betas": [0.9, 0.999]}
        settings[name] = (critic["gamma"], critic["lr"], config["trainer"]["max_steps"])
    assert settings == {
        "dsprites": (35, 1e-4, 300_000),
        "shapes3d": (7, 1e-5, 500_000),
        "chairs": (3.2, 1e-5, 1_000_000),
    }


def test_recipe_of_chen() -> None:
    """The defaults and the example of https://github.com/rtqichen/beta-tcvae, vae_quant.py."""
    for name in ("chen_dsprites", "chen_heads"):
        config = load(name)
        model = config["model"]["init_args"]
        weights = {"beta": 6, "form": "sampled", "estimator": "mws"}
        assert model["regularizers"]["kl"]["init_args"] == weights
        assert model["optimizer"]["init_args"]["lr"] == 1e-3
        assert config["data"]["init_args"]["batch_size"] == 2048
        assert config["trainer"] == {"max_epochs": 50}


def test_recipe_of_higgins() -> None:
    config = load("higgins_dsprites")["model"]["init_args"]
    assert config["encoder"]["init_args"] == {"hidden": [1200, 1200]}
    assert config["decoder"]["init_args"] == {"hidden": [1200, 1200, 1200]}
    assert config["optimizer"]["class_path"] == "torch.optim.Adagrad"
    assert config["optimizer"]["init_args"] == {"lr": 1e-2}
    weights = {
        name: load(f"higgins_{name}")["model"]["init_args"]["regularizers"]["kl"]["init_args"]
        for name in ("dsprites", "chairs", "heads", "celeba")
    }
    assert {name: settings["beta"] for name, settings in weights.items()} == {
        "dsprites": 4,
        "chairs": 5,
        "heads": 20,
        "celeba": 250,
    }


@pytest.mark.parametrize(
    ("name", "noise", "categorical", "continuous", "inputs"),
    [
        ("mnist", 62, [10], 2, 74),
        ("heads", 128, [], 5, 133),
        ("chairs", 128, [20, 20, 20], 1, 189),
    ],
)
def test_codes_of_chen_et_al(
    name: str, noise: int, categorical: list[int], continuous: int, inputs: int
) -> None:
    """Chen et al. (2016), appendix C, with the length of the generator's input that it states."""
    model = load(f"infogan_{name}")["model"]["init_args"]
    assert (model["noise_dim"], model["noise"]) == (noise, "uniform")
    assert (model["categorical"], model["continuous"]) == (categorical, continuous)
    assert noise + sum(categorical) + continuous == inputs


def test_recipe_of_infogan_on_mnist() -> None:
    config = load("infogan_mnist")
    critic = config["model"]["init_args"]["critic"]["init_args"]
    assert (critic["hidden"], critic["recognition_hidden"]) == (1024, 128)
    assert config["trainer"] == {"max_steps": 50 * 100}
    assert config["data"]["init_args"]["batch_size"] == 128


def test_rooms_of_scan_have_a_symbol_for_every_colour_and_shape() -> None:
    settings = load("scan_shapes3d")["data"]["init_args"]
    space = Shapes3D().factors
    attributes = Attributes(space, settings["attributes"], 3)
    described = ["floor_hue", "wall_hue", "object_hue", "shape"]
    assert attributes.columns == [space.column(name) for name in described]
    assert len(attributes.names) == sum(len(space[name]) for name in described) == 34
    assert {"floor_hue=red", "wall_hue=azure", "object_hue=pink", "shape=capsule"} < {
        *attributes.names
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
