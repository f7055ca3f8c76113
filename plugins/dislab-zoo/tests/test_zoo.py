import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from dislab.errors import InputError
from dislab.metrics import evaluate
from dislab.runs import open_run
from dislab_zoo import load, names, path
from dislab_zoo.command import run

COMPARED = ("mig", "sap_r2", "factor_vae_score", "dci_hgbt_disentanglement")
CHEAP = {"mig": "MIG", "sap_r2": "SAP", "factor_vae_score": "FactorVAEScore"}
RESCORED = (
    "betatcvae-dsprites",
    "composition-dsprites-element",
    "dipvae2-dsprites",
    "factorvae-dsprites",
    "factorvae-shapes3d",
)


def record(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path(name) / "zoo.json").read_text(encoding="utf-8"))
    return content


def test_there_are_a_dozen_small_models() -> None:
    assert len(names()) >= 12
    sizes = [file.stat().st_size for name in names() for file in path(name).iterdir()]
    assert sum(sizes) <= 30e6


@pytest.mark.parametrize("name", names())
def test_a_model_is_whole(name: str) -> None:
    model = load(f"zoo/{name}")
    assert not model.training
    weights = model.state_dict().values()
    assert all(tensor.isfinite().all() for tensor in weights)
    assert {tensor.dtype for tensor in weights if tensor.is_floating_point()} == {torch.float32}
    codes = model.codes(torch.zeros(2, *model.hparams["image_shape"]))
    assert codes.isfinite().all()
    assert codes.shape == (2, model.hparams["latent_dim"])

    card = (path(name) / "README.md").read_text(encoding="utf-8")
    chosen, command = record(name)["chosen"], record(name)["command"]
    for text in (f"# zoo/{name}\n", chosen, *(tensor.partition("=")[0] for tensor in command[2:])):
        assert text in card
    config = yaml.safe_load((path(name) / "config.yaml").read_text(encoding="utf-8"))
    assert config["name"] == name
    assert config["seed_everything"] == record(name)["seed"]
    assert json.loads((path(name) / "scores.json").read_text(encoding="utf-8"))["test"]["scores"]


@pytest.mark.parametrize("name", names())
def test_half_precision_changes_no_score_by_a_hundredth(name: str) -> None:
    scores = record(name)["rescored"]
    assert set(scores["single"]) == set(scores["half"]) == set(COMPARED)
    for score in COMPARED:
        assert scores["half"][score] == pytest.approx(scores["single"][score], abs=0.01)


@pytest.mark.filterwarnings("ignore:.*took one value only.*")
@pytest.mark.parametrize("name", RESCORED)
def test_a_model_has_its_scores(name: str) -> None:
    # On the processor of the stored scores the difference was 0; another one rounds differently,
    # which moves single images over an edge between the bins of MIG.
    stored = record(name)["rescored"]
    opened = open_run(path(name))
    some = opened.encode("all", stored["images"])
    scores = evaluate(some.codes, some.factors, list(CHEAP.values()), space=opened.data.factors)
    for score in CHEAP:
        assert scores[score] == pytest.approx(stored["half"][score], abs=0.002), score


@pytest.mark.parametrize("call", [path, load])
def test_a_misspelt_name_is_answered_with_the_nearest(call: Any) -> None:
    with pytest.raises(InputError, match=r"'zoo/factorvae-dsprite' \(did you mean factorvae-dsp"):
        call("zoo/factorvae-dsprite")
    for outside in ("..", "zoo/", "", "/etc"):
        with pytest.raises(InputError, match="the zoo has no model"):
            call(outside)


def test_the_command_lists_and_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert capsys.readouterr().out.split() == names()
    assert run(["vae-shapes3d"]) == 0
    assert Path(capsys.readouterr().out.strip()) == path("vae-shapes3d")
    out = tmp_path / "mine"
    assert run(["zoo/composition-dsprites-element", "--out", str(out)]) == 0
    assert {file.name for file in out.iterdir()} == {
        file.name for file in path("composition-dsprites-element").iterdir()
    }
    with pytest.raises(InputError, match=r"--out is .*mine, which exists"):
        run(["vae-shapes3d", "--out", str(out)])
    (tmp_path / "file").write_text("mine")
    for name, message in (
        ("file", "is a file"),
        ("file/below", "cannot be written"),
        ("a\0", "na"),
    ):
        with pytest.raises(InputError, match=f"--out.*{message}"):
            run(["vae-shapes3d", "--out", str(tmp_path / name)])
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(InputError, match="did you mean vae-shapes3d"):
        run(["vae-shapes3", "--out", str(tmp_path / "other")])
