"""Files that name what is no part, through every door: nothing is imported or called."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
import yaml
from tests.small_runs import small_config

from dislab.base import Objective
from dislab.cli import main
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import SCAN, VAE
from dislab.regularizers import KL
from dislab.runs import from_settings, load_run, settings_of

SHAPE = (1, 64, 64)
CONFIG = small_config("blob", "{trainer: {max_steps: 2}, evaluate: {metrics: null}}")


class Scene:
    """A folder with a module that leaves a mark when it is imported, and commands that do so."""

    def __init__(self, folder: Path) -> None:
        self.marker = folder / "marker"
        source = f"open({str(self.marker)!r}, 'w').close()\nfrom dislab.base import Encoder\n"
        (folder / "evil_part.py").write_text(source + "class Part(Encoder): ...\n")
        command = {"command": f"touch {self.marker}"}
        self.bad: dict[str, Any] = {
            "function": {"class_path": "os.system", "init_args": command},
            "text": "os.system",
            "text of a function": json.dumps({"class_path": "os.system", "init_args": command}),
            "import": {"class_path": "evil_part.Part"},
            "text of an import": "evil_part.Part",
            "torch": {"class_path": "torch.hub.load", "init_args": {"repo_or_dir": "x"}},
            "dislab": {"class_path": "dislab.storage.sha256", "init_args": {"path": "x"}},
            "group": {"class_path": "dislab.datasets.GaussianBlob"},
        }

    def is_untouched(self) -> bool:
        return not self.marker.exists() and "evil_part" not in sys.modules


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Scene(tmp_path)


def vae() -> VAE:
    return VAE(
        SHAPE,
        32,
        latent_dim=3,
        encoder=partial(MLPEncoder, hidden=(5,)),
        decoder=partial(MLPDecoder, hidden=(4,)),
        regularizers={"kl": KL},
    )


def run_with(settings: dict[str, Any], folder: Path = Path("run")) -> Path:
    """A run folder whose checkpoint holds other settings."""
    path = folder / "checkpoints" / "last.ckpt"
    trainer = pl.Trainer(accelerator="cpu", devices=1, logger=False, enable_progress_bar=False)
    trainer.strategy.connect(vae())
    trainer.save_checkpoint(path)
    stored = torch.load(path, weights_only=True)
    stored["hyper_parameters"].update(settings)
    torch.save(stored, path)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


PLACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "encoder": lambda bad: {"encoder": bad},
    "regularizers.kl": lambda bad: {"regularizers": {"kl": bad}},
    "optimizer": lambda bad: {"optimizer": bad},
    "scheduler": lambda bad: {"scheduler": bad},
}
KINDS = [
    "function",
    "text",
    "text of a function",
    "import",
    "text of an import",
    "torch",
    "dislab",
    "group",
]


def python_doors(settings: dict[str, Any]) -> dict[str, Callable[[], object]]:
    run = run_with(settings)
    path = run / "checkpoints" / "last.ckpt"
    whole = {**settings_of(vae()), **settings}
    names = ("red", "blue")
    return {
        "load_run": lambda: load_run(run),
        "from_settings": lambda: from_settings(whole),
        "SCAN of a run": lambda: SCAN(SHAPE, names, str(path)),
        "SCAN of settings": lambda: SCAN(SHAPE, names, {"settings": json.dumps(whole)}),
        "VAE.load_from_checkpoint": lambda: VAE.load_from_checkpoint(path),
    }


@pytest.mark.every(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_checkpoints_from_python(place: str, kind: str, scene: Scene) -> None:
    for door, enter in python_doors(PLACES[place](scene.bad[kind])).items():
        with pytest.raises(InputError, match=f"{place} names .*nothing else may be named") as error:
            enter()
        assert "\n" not in str(error.value), door
        assert scene.is_untouched(), door


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"_instantiator": "os.system"}, "is to be built by os.system"),
        ({"_class_path": "os.system"}, "_class_path names os.system, which is no VAE"),
        ({"_class_path": "evil_part.Part"}, "_class_path names evil_part.Part"),
    ],
)
def test_what_lightning_reads_is_checked(
    settings: dict[str, Any], message: str, scene: Scene
) -> None:
    path = run_with(settings) / "checkpoints" / "last.ckpt"
    with pytest.raises(InputError, match=message):
        VAE.load_from_checkpoint(path)
    stored = torch.load(path, weights_only=True)
    stored["module_arguments"] = stored.pop("hyper_parameters")
    torch.save(stored, path)
    with pytest.raises(InputError, match=message):
        VAE.load_from_checkpoint(path)
    assert scene.is_untouched()


@pytest.mark.slow  # without types: jaxtyping's wrappers hide that the class is final
def test_lightning_still_loads_what_dislab_saved(scene: Scene) -> None:
    path = run_with({}) / "checkpoints" / "last.ckpt"
    loaded, run = VAE.load_from_checkpoint(path), load_run(path.parents[1])
    assert all(map(torch.equal, loaded.state_dict().values(), run.state_dict().values()))
    found = Objective.load_from_checkpoint(path)
    assert found.hparams["encoder"]["class_path"].endswith("MLPEncoder")
    with path.open("rb") as file:
        assert type(Objective.load_from_checkpoint(file)) is VAE


def test_settings_of_another_file_are_refused(scene: Scene) -> None:
    path = run_with({}) / "checkpoints" / "last.ckpt"
    Path("hparams.yaml").write_text(yaml.safe_dump({"encoder": scene.bad["function"]}))
    with pytest.raises(InputError, match=r"not from hparams\.yaml"):
        VAE.load_from_checkpoint(path, hparams_file="hparams.yaml")


@pytest.mark.parametrize("stored", [{}, {"settings": "{"}, {"settings": "[]"}])
def test_settings_of_an_inner_model_that_cannot_be_read(stored: dict[str, str]) -> None:
    with pytest.raises(InputError, match="the vision run cannot be used: its stored settings"):
        SCAN(SHAPE, ("red",), stored)


def refuses(scene: Scene, capfd: pytest.CaptureFixture[str], message: str, *args: str) -> None:
    try:
        status: int | str | None = main(args)
    except SystemExit as exit_:
        status = exit_.code
    said = capfd.readouterr().err
    assert status == 2, said
    assert message in said
    assert "Traceback" not in said
    assert len(said.partition("dislab: error: ")[2].strip().splitlines()) == 1
    assert scene.is_untouched()
    assert not Path("runs").exists()


COMMANDS = {
    "transfer": ("transfer", "run"),
    "test": ("test", "--run", "run"),
    "resume": ("fit", "--resume", "run"),
    "ckpt_path": ("fit", "--config=run/config.yaml", "--ckpt_path=run/checkpoints/last.ckpt"),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("command", COMMANDS)
def test_checkpoints_of_commands(
    command: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    run_with({"encoder": scene.bad["function"]})
    message = "last.ckpt: encoder names os.system, which is no Encoder"
    refuses(scene, capfd, message, *COMMANDS[command])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_checkpoint_of_every_command(
    command: str, kind: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    run_with({"regularizers": {"kl": scene.bad[kind]}})
    message = "last.ckpt: regularizers.kl names"
    refuses(scene, capfd, message, *COMMANDS[command])


CALLBACK = {
    "class_path": "LambdaCallback",
    "init_args": {"on_train_start": "dislab.storage.sha256"},
}
CONFIGURED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "model.encoder": lambda bad: {"model": {"init_args": {"encoder": bad}}},
    "model.regularizers": lambda bad: {"model": {"init_args": {"regularizers": {"kl": bad}}}},
    "model.optimizer": lambda bad: {"model": {"init_args": {"optimizer": bad}}},
    "data.dataset": lambda bad: {"data": {"init_args": {"dataset": bad}}},
    "data": lambda bad: {"data": bad},
    "model": lambda bad: {"model": bad},
    "trainer.callbacks": lambda bad: {"trainer": {"callbacks": [bad]}},
    "trainer.logger": lambda bad: {"trainer": {"logger": bad}},
    "trainer.strategy": lambda bad: {"trainer": {"strategy": bad}},
    "transfer.predictors": lambda bad: {"transfer": {"predictors": {"own": bad}}},
    "evaluate.metrics": lambda bad: {"evaluate": {"metrics": {"own": bad}}},
}


def configured(place: str, bad: Any) -> str:
    Path("config.yaml").write_text(CONFIG)
    Path("bad.yaml").write_text(yaml.safe_dump(CONFIGURED[place](bad)))
    return "bad.yaml"


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        ("model.encoder", "function", "model.encoder: os.system may not be named"),
        ("model.encoder", "import", "model.encoder: evil_part.Part may not be named"),
        ("data.dataset", "import", "data.dataset: evil_part.Part may not be named"),
        ("model.encoder", "dislab", "model.encoder names dislab.storage.sha256, which is no class"),
        ("trainer.callbacks", "function", "os.system may not be named"),
    ],
)
def test_configurations(
    place: str, kind: str, message: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    files = ("--config=config.yaml", f"--config={configured(place, scene.bad[kind])}")
    refuses(scene, capfd, message, "fit", *files)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", CONFIGURED)
def test_every_place_of_a_configuration(
    place: str, kind: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = scene.bad[kind]
    if kind == "group" and place == "data.dataset":
        bad = {"class_path": "dislab.encoders.MLPEncoder"}
    files = ("--config=config.yaml", f"--config={configured(place, bad)}")
    refuses(scene, capfd, "dislab: error: ", "fit", *files)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--model.encoder=os.system", "model.encoder: os.system may not be named"),
        ("--model.encoder=evil_part.Part", "model.encoder: evil_part.Part may not be named"),
        ("--trainer.callbacks+=evil_part.Part", "evil_part.Part may not be named"),
    ],
)
def test_options(
    option: str, message: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("config.yaml").write_text(CONFIG)
    refuses(scene, capfd, message, "fit", "--config=config.yaml", option)


def test_a_callback_is_given_no_function_of_a_file(
    scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    files = ("--config=config.yaml", f"--config={configured('trainer.callbacks', CALLBACK)}")
    refuses(scene, capfd, "names dislab.storage.downloads.sha256", "fit", *files)
    abort = {**CALLBACK, "init_args": {"on_train_start": "os.abort"}}
    files = ("--config=config.yaml", f"--config={configured('trainer.callbacks', abort)}")
    refuses(scene, capfd, "os.abort may not be named", "fit", *files)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("os.GaussianBlob", "dataset names os.GaussianBlob, which is no Dataset"),
        ({"class_path": "os.system"}, "dataset names os.system, which is no Dataset"),
        ({"class_path": "evil_part.Part"}, "dataset names evil_part.Part, which is no Dataset"),
    ],
)
def test_scenarios(
    dataset: Any, message: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("config.yaml").write_text(CONFIG)
    scenario = {"train": {"x": {"max": 10}}, "test": {"x": {"min": 20}}, "dataset": dataset}
    Path("shift.yaml").write_text(yaml.safe_dump(scenario))
    files = ("--config=config.yaml", "--transfer.scenarios=[shift.yaml]")
    refuses(scene, capfd, message, "fit", *files)


def test_the_data_of_a_run_that_is_scored(scene: Scene, capfd: pytest.CaptureFixture[str]) -> None:
    run = run_with({})
    bad = {"class_path": "SingleData", "init_args": {"dataset": scene.bad["import"]}}
    (run / "config.yaml").write_text(yaml.safe_dump({"data": bad}))
    message = "config.yaml: dataset names evil_part.Part, which is no Dataset"
    refuses(scene, capfd, message, "transfer", "run")
