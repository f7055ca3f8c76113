"""A distribution of somebody else's, with one part of each group, used from YAML alone."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.processes import Started

from dislab.cli import main
from dislab.testing import (
    check_declared,
    check_regularizer,
)

ROOT = Path(__file__).parents[1]

PARTS = '''
"""Parts of another distribution."""

from typing import final

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from dislab.base import (
    DataModule, Dataset, Decoder, Encoder, ImageBatch, Metric, Objective, Penalty, Predictor,
    Regularizer, Terms,
)
from dislab.cli.arguments import Parser
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from lightning.pytorch import Callback


@final
class TinyEncoder(Encoder):
    """One linear layer."""

    def __init__(self, image_shape, outputs, scale: float = 1.0):
        super().__init__()
        self.layer = nn.Linear(int(np.prod(image_shape)), outputs)
        self.scale = scale

    def forward(self, image):
        return self.scale * self.layer(image.flatten(1))


@final
class TinyDecoder(Decoder):
    """One linear layer back."""

    def __init__(self, latent_dim, image_shape):
        super().__init__()
        self.layer = nn.Linear(latent_dim, int(np.prod(image_shape)))
        self.shape = image_shape

    def forward(self, z):
        return self.layer(z).unflatten(1, self.shape)


@final
class TinyPenalty(Regularizer):
    """Mean absolute code."""

    def __init__(self, latent_dim, train_size, weight: float = 1.0):
        super().__init__()
        self.weight = weight

    def forward(self, posterior, z, draws, step):
        size = z.abs().sum(1).mean()
        return Penalty(self.weight * size, None, {"size": size})


@final
class TinyDots(Dataset):
    """A dot at one of 5 x 5 places."""

    @property
    def factors(self):
        places = (0.0, 1.0, 2.0, 3.0, 4.0)
        return FactorSpace((Factor("row", places), Factor("column", places)))

    @property
    def image_shape(self):
        return (1, 5, 5)

    def prepare(self):
        pass

    def tables(self):
        return {"images": 255 * torch.eye(25, dtype=torch.uint8).view(25, 1, 5, 5)}

    def gather(self, tables, index):
        return tables["images"][index]

    def provenance(self):
        return {"source": "mykit"}


@final
class TinyData(DataModule):
    """All states in one batch."""

    offers = (*DataModule.offers, "dot_size")

    def __init__(self, dataset: Dataset):
        super().__init__()
        self.dataset = dataset

    @property
    def dot_size(self):
        return 1

    def indices(self, split):
        return np.arange(len(self.factors))

    def images(self, index):
        return self.dataset.images(index).float() / 255

    def train_dataloader(self):
        index = torch.arange(len(self.factors))
        factors = torch.from_numpy(self.factors.positions(index.numpy()))
        return DataLoader([ImageBatch(self.images(index), factors)] * 3, batch_size=None)

    val_dataloader = test_dataloader = predict_dataloader = train_dataloader


@final
class TinyScore(Metric):
    """Share of the codes that are positive."""

    def score(self, bank):
        codes = bank.codes
        return {"tiny_score": (codes > 0).float().mean()}


@final
class TinyGuess(Predictor):
    """The mean of the targets."""

    def __init__(self, latent_dim, classes):
        self.mean = None

    def fit(self, codes, targets):
        self.mean = targets.mean(0)

    def predict(self, codes):
        return self.mean.expand(*codes.shape[:2], -1)


@final
class TinyAutoencoder(Objective):
    """Reconstruction alone."""

    def __init__(
        self, image_shape: tuple[int, int, int], dot_size: int, train_size: int, latent_dim: int = 2
    ):
        super().__init__()
        assert dot_size == 1
        self.save_hyperparameters()
        self.encoder = TinyEncoder(image_shape, latent_dim)
        self.decoder = TinyDecoder(latent_dim, image_shape)

    def draw(self, count, stream):
        return {}

    def losses(self, batch, draws, step):
        difference = self.decoder(self.encoder(batch.image)) - batch.image
        return Terms(difference.square().sum() / len(batch.image), {})

    def codes(self, image):
        return self.encoder(image)


class TinyCount(Callback):
    """Counts steps on standard output."""

    def __init__(self, word: str = "steps"):
        self.word = word

    def on_fit_end(self, trainer, module):
        print(self.word, trainer.global_step)


def count(args):
    """Count the arguments.

    Those that are numbers must not be negative.
    """
    if "-1" in args:
        raise InputError("-1 is negative")
    if "--help" in args:
        Parser("dislab count", description="Count the arguments.").parse_args(args)
    print(len(args))
    return 1 if "bad" in args else 0
'''

GROUPS = {
    "encoders": "TinyEncoder",
    "decoders": "TinyDecoder",
    "regularizers": "TinyPenalty",
    "datasets": "TinyDots",
    "datamodules": "TinyData",
    "metrics": "TinyScore",
    "predictors": "TinyGuess",
    "objectives": "TinyAutoencoder",
    "callbacks": "TinyCount",
}

COMMON = """
data:
  class_path: TinyData
  init_args: {dataset: TinyDots}
report: false
trainer:
  {max_steps: 6, log_every_n_steps: 1, accelerator: cpu, devices: 1, callbacks: [TinyCount]}
evaluate: {metrics: {tiny: {class_path: TinyScore}}, points: 20}
traversals: {images: 1, steps: 3, points: 10}
"""

PARTS_IN_A_VAE = f"""
name: parts
model:
  class_path: VAE
  init_args:
    latent_dim: 2
    encoder: {{class_path: TinyEncoder, init_args: {{scale: 0.5}}}}
    decoder: TinyDecoder
    regularizers: {{kl: {{class_path: KL}}, tiny: {{class_path: TinyPenalty}}}}
{COMMON}
"""

OBJECTIVE = f"""
name: objective
model: {{class_path: TinyAutoencoder, init_args: {{latent_dim: 3}}}}
{COMMON}
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that holds the distribution as an installer leaves it."""
    site = tmp_path / "site"
    (site / "mykit").mkdir(parents=True)
    (site / "mykit/__init__.py").write_text("")
    (site / "mykit/parts.py").write_text(PARTS)
    info = site / "mykit-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mykit\nVersion: 1.2\n")
    lines = [f"[dislab.{group}]\n{name} = mykit.parts:{name}\n" for group, name in GROUPS.items()]
    lines.append("[dislab.commands]\ncount = mykit.parts:count\nbroken = mykit.missing:run\n")
    (info / "entry_points.txt").write_text("".join(lines))
    return site


def dislab(site: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The command in a process that finds the distribution."""
    process = Started(site.parent, with_site, str(site), list(args), apart=True)
    said = process.communicate()
    return subprocess.CompletedProcess(args, process.wait(), *said)


def with_site(site: str, args: list[str]) -> int:
    sys.path.insert(0, site)
    return main(args)


def test_its_parts_are_listed(installed: Path) -> None:
    done = dislab(installed, "plugins", "--json")
    mine = [row for row in json.loads(done.stdout) if row["distribution"] == "mykit"]
    assert {row["group"]: row["name"] for row in mine} == GROUPS
    assert all(row["version"] == "1.2" and row["summary"] for row in mine)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["mykit", "MyKit"])
def test_the_name_of_the_distribution_lists_its_parts(installed: Path, word: str) -> None:
    rows = json.loads(dislab(installed, "plugins", word, "--json").stdout)
    assert {row["group"]: row["name"] for row in rows} == GROUPS
    rows = json.loads(dislab(installed, "plugins", "metrics", word, "--json").stdout)
    assert [row["name"] for row in rows] == [GROUPS["metrics"]]


def test_its_command_is_one_of_dislab(
    installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    assert main(["--help"]) == 0
    assert re.search(r"\n  count +count the arguments \(mykit 1.2\)\n", capsys.readouterr().out)
    assert main(["count", "a", "b"]) == 0
    assert capsys.readouterr().out == "2\n"
    assert main(["count", "bad"]) == 1
    with pytest.raises(SystemExit) as ended:
        main(["count", "--help"])
    assert ended.value.code == 0
    assert "usage: dislab count" in capsys.readouterr().out
    for args, message in (
        (["count", "-1"], "-1 is negative"),
        (["cuont"], "no command is named 'cuont' (did you mean count?); the commands are fit, "),
        (["broken"], "dislab.commands: broken of mykit 1.2 cannot be used: there is no module "),
    ):
        capsys.readouterr()
        assert main(args) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"dislab: error: {message}")


@pytest.mark.slow
@pytest.mark.parametrize("config", [PARTS_IN_A_VAE, OBJECTIVE], ids=["parts", "objective"])
def test_its_parts_train_and_score_from_yaml_alone(config: str, installed: Path) -> None:
    folder = installed.parent
    (folder / "config.yaml").write_text(config)
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "steps 6" in done.stdout.splitlines()
    (run,) = folder.glob("runs/*/version_0")
    record = json.loads((run / "scores.json").read_text())["test"]
    assert 0 <= record["scores"]["tiny_score"] <= 1
    assert record["data"]["provenance"] == {"source": "mykit"}
    again = dislab(installed, "test", f"--run={run}")
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads((run / "scores.json").read_text())["test"]["scores"] == record["scores"]


@pytest.mark.slow
def test_data_that_do_not_offer_what_a_model_needs_are_refused(installed: Path) -> None:
    (installed.parent / "config.yaml").write_text(OBJECTIVE.replace("TinyData", "SingleData"))
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1:] == [
        "dislab: error: TinyAutoencoder needs dot_size from the data, which SingleData does not "
        "offer; choose TinyData"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("TinyPenalty}", "TinyPenaly}"),
            "no part is named TinyPenaly (did you mean TinyPenalty?)",
        ),
        (("scale: 0.5", "scal: 0.5"), "TinyEncoder has no setting 'scal' (did you mean scale?)"),
        (("scale: 0.5", "scale: big"), "model.encoder.scale: expected a number, got 'big'"),
    ],
)
def test_mistakes_in_its_names_are_explained(
    change: tuple[str, str], message: str, installed: Path
) -> None:
    (installed.parent / "config.yaml").write_text(PARTS_IN_A_VAE.replace(*change))
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("raise RuntimeError('out of order')", "RuntimeError: out of order"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_fails_to_import_is_one_line_and_its_parts_are_left_out(
    code: str, error: str, installed: Path
) -> None:
    (installed / "mykit/parts.py").write_text(f"{code}\n")
    error = f"{error} (parts.py, line 1)"
    (installed.parent / "config.yaml").write_text(PARTS_IN_A_VAE)
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 2
    cause = f"dislab.encoders: TinyEncoder of mykit 1.2 cannot be used: {error}\n"
    assert done.stderr == f"dislab: error: config.yaml: model.encoder: {cause}"
    path = "--model.encoder=mykit.parts.TinyEncoder"
    dotted = dislab(installed, "fit", "--config=betavae", path, "--print_config")
    if "exit" not in code:  # which ends the parser
        assert f"TinyEncoder of mykit 1.2 was left out: {error}; " in dotted.stderr
    told = dislab(installed, "help", "TinyEncoder")
    assert (told.returncode, told.stderr) == (2, f"dislab: error: model: {cause}")
    unused = dislab(installed, "fit", "--config=betavae", "--print_config")
    assert (unused.returncode, unused.stderr) == (0, "")
    undeclared = dislab(
        installed, "fit", "--config=betavae", "--model.encoder=Further", "--print_config"
    )
    assert undeclared.returncode == 2
    first, second = undeclared.stderr.splitlines()
    assert first == (
        f"dislab: warning: dislab.encoders: TinyEncoder of mykit 1.2 was left out: {error}"
    )
    assert second.startswith("dislab: error: model.encoder: no part is named Further; available ")
    listed = dislab(installed, "plugins")
    assert listed.returncode == 1
    assert "MIG " in listed.stdout
    assert " ".join(listed.stdout.split()).count(f"mykit 1.2 cannot be used: {error}") == 9
    rows = json.loads(dislab(installed, "plugins", "--json").stdout)
    assert {row["error"] for row in rows if row["distribution"] == "mykit"} == {error}
    assert {row["error"] for row in rows if row["distribution"] == "dislab"} == {None}


@pytest.mark.slow
def test_a_part_with_a_wrong_entry_point_trains_by_its_name(
    installed: Path,
) -> None:
    entries = installed / "mykit-1.2.dist-info/entry_points.txt"
    text = entries.read_text()
    entries.write_text(text.replace("parts:TinyEncoder", "parts:TinyEncodr"))
    (installed.parent / "config.yaml").write_text(PARTS_IN_A_VAE)
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 0, done.stderr
    assert "mykit" not in done.stderr
    listed = dislab(installed, "plugins", "TinyEncoder").stdout
    assert "has a wrong entry point: mykit.parts has no TinyEncodr (did you mean TinyEncoder?)" in (
        " ".join(listed.split())
    )


@pytest.mark.slow
def test_an_entry_point_without_a_class_is_named_and_the_others_work(installed: Path) -> None:
    with (installed / "mykit-1.2.dist-info/entry_points.txt").open("a") as stream:
        stream.write("Sharpen\n")
    done = dislab(installed, "plugins", "metrics")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "dislab: warning: mykit 1.2 was left out: 'Sharpen' in its entry_points.txt has no '='; an "
        "entry point is Name = module:Class"
    ]
    assert "MIG" in done.stdout


@pytest.mark.slow
def test_a_part_that_does_not_derive_from_its_base_is_refused_for_that(installed: Path) -> None:
    parts = installed / "mykit/parts.py"
    parts.write_text(
        parts.read_text().replace("TinyPenalty(Regularizer)", "TinyPenalty(nn.Module)")
    )
    (installed.parent / "config.yaml").write_text(PARTS_IN_A_VAE)
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 2
    fault = "TinyPenalty derives from Module, not from dislab.base.Regularizer"
    assert done.stderr.splitlines() == [
        f"dislab: error: config.yaml: model.regularizers.tiny: {fault}, so that it cannot be one "
        "of the regularizers"
    ]
    listed = " ".join(dislab(installed, "plugins", "regularizers").stdout.split())
    assert f"cannot be used: {fault}" in listed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("        self.scale = scale\n", "        self.scale = 1 / 0\n"),
            "the encoder TinyEncoder (mykit.parts) cannot be made with image_shape=(1, 5, 5), "
            "outputs=4, scale=0.5: ZeroDivisionError: division by zero (parts.py, line ",
        ),
        (
            ("        self.weight = weight\n", "        raise ValueError('too heavy')\n"),
            "the regulariser TinyPenalty (mykit.parts) cannot be made with latent_dim=2, "
            "train_size=25, weight=1.0: ValueError: too heavy (parts.py, line ",
        ),
        (
            ("        self.dataset = dataset\n", "        self.dataset = dataset.images_of\n"),
            "the data module TinyData (mykit.parts) cannot be made with dataset=",
        ),
        (
            ("index).float() / 255", "index).float()"),
            "the data module TinyData (mykit.parts) delivers image whose pixels are torch.float32 "
            "from 0 to 255: divide them by the largest possible value, such as 255",
        ),
        (
            (
                "        return self.layer(z).unflatten(1, self.shape)",
                "        return self.layer(z)",
            ),
            "the decoder TinyDecoder (mykit.parts), decoder of the model, returns torch.float32 of "
            "shape (25, 25) on cpu for (25, 2); it must return a float tensor of shape (25, 1, 5, "
            "5)",
        ),
        (
            ("DataLoader([ImageBatch(self.images(index), factors)] * 3", "DataLoader([index.no]"),
            "the data module TinyData (mykit.parts) failed in train_dataloader: AttributeError: ",
        ),
    ],
    ids=["encoder", "regularizer", "datamodule", "pixels", "decoder", "loader"],
)
def test_a_part_that_fails_is_named_in_one_line(
    change: tuple[str, str], message: str, installed: Path
) -> None:
    parts = installed / "mykit/parts.py"
    assert change[0] in parts.read_text()
    parts.write_text(parts.read_text().replace(*change))
    (installed.parent / "config.yaml").write_text(PARTS_IN_A_VAE)
    done = dislab(installed, "fit", "--config=config.yaml")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("dislab: error: ")]
    assert errors == done.stderr.splitlines()[-1:]
    assert message in errors[0]


def check(site: str) -> int:
    sys.path.insert(0, site)
    tests = runpy.run_path(str(Path(site).parent / "mykit/tests/test_slow.py"))
    tests["test_the_method_conforms"]()
    check_declared("objectives", ["SlowAutoencoder"])
    return 0


FILES = re.compile(r"```(?:python|toml|yaml)\n# (\S+)\n(.*?)```", re.DOTALL)


def install_the_package_of_the_page(folder: Path, site: Path) -> dict[str, str]:
    """Builds a wheel of the files that the page prints, and unpacks it; their texts by name."""
    texts: dict[str, str] = {}
    for name, text in FILES.findall((ROOT / "docs/plugins.md").read_text()):
        texts[name] = f"{texts[name]}\n{text}" if name in texts else text
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    project = tomllib.loads(texts["pyproject.toml"])
    assert project["build-system"]["build-backend"] == "hatchling.build"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    with ZipFile(wheel) as archive:
        archive.extractall(site)
    for points in project["project"]["entry-points"].values():
        for module in (point.partition(":")[0].replace(".", "/") for point in points.values()):
            assert (site / module).is_dir() or (site / f"{module}.py").is_file(), module
    return texts


def conforms_regularizer(site: str) -> int:
    sys.path.insert(0, site)
    from mykit.l1 import L1  # type: ignore[import-not-found]

    check_regularizer(L1)
    check_declared("regularizers", ["L1"])
    return main(["parameters", "--help"])


@pytest.mark.slow
def test_the_package_of_the_page_is_built_from_its_files_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    texts = install_the_package_of_the_page(tmp_path / "mykit", site)
    assert {name for name in texts if name.startswith("src/")} == {
        str(path.relative_to(tmp_path / "mykit")) for path in (tmp_path / "mykit/src").rglob("*.*")
    }
    process = Started(tmp_path, conforms_regularizer, str(site))
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "Count the parameters of a run." in said
    shown = dislab(site, "configs", "show", "slow")
    assert "class_path: SlowAutoencoder" in shown.stdout, shown.stderr


@pytest.mark.slow
def test_the_whole_method_of_the_page_conforms_and_trains(tmp_path: Path) -> None:
    site = tmp_path / "site"
    texts = install_the_package_of_the_page(tmp_path / "mykit", site)
    assert texts["src/mykit/slow.py"].count("\n") <= 135
    process = Started(tmp_path, check, str(site))
    said, _ = process.communicate()
    assert process.returncode == 0, said
    listed = dislab(site, "configs", "list", "all")
    assert re.search(r"slow .*Autoencoder with slow codes on small images", listed.stdout)
    done = dislab(site, "fit", "--config=slow", "--trainer.accelerator=cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    scores = json.loads((tmp_path / "runs/slow/version_0/scores.json").read_text())
    assert scores["test"]["scores"]["factor_vae_score"] > 0.8, scores
    assert scores["test"]["scores"]["dci_hgbt_disentanglement"] > 0.05, scores
    (table,) = tmp_path.glob("runs/slow/version_0/metrics.csv")
    assert "test/distance" in table.read_text()
    pictures = {path.stem for path in table.parent.glob("images/*.png")}
    assert {"traversals", "interpolations", "reconstructions"} <= pictures
    lines = [line for line in done.stderr.splitlines() if "nothing to draw" in line]
    assert lines == ["Samples: nothing to draw, as SlowAutoencoder has no prior"]
