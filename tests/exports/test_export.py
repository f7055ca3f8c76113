"""`dislab export`: files that other programs load, and which give the same numbers."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from tests import cases

from dislab.base import Objective
from dislab.cli import main
from dislab.errors import InputError
from dislab.exports import export, networks_of
from dislab.exports.networks import Network
from dislab.exports.programs import difference, read_program, write_program
from dislab.runs import load_run, open_run

RUN = Path(__file__).parents[1] / "data" / "old_run"
IMAGES = torch.rand((7, 1, 8, 8), generator=torch.Generator().manual_seed(1))


def exported(folder: Path, *words: str) -> Path:
    assert main(["export", str(RUN), f"--out={folder / 'out'}", "--to", *words]) == 0
    return folder / "out"


@pytest.mark.slow
def test_safetensors_make_the_model_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = exported(tmp_path, "safetensors")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{out}/model.safetensors   within 0 of the model"
    assert printed[-1] == f"{out}/README.md"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]  # nothing half-written
    mine, other = load_run(RUN), load_run(out)
    assert type(other) is type(mine)
    assert not other.training
    assert other.hparams == mine.hparams
    assert mine.state_dict().keys() == other.state_dict().keys()
    for name, tensor in mine.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])
    assert torch.equal(mine.codes(IMAGES), other.codes(IMAGES))
    assert exported(tmp_path / "again", "safetensors").is_dir()  # an export can be exported


@pytest.mark.slow
def test_others_can_read_an_export(tmp_path: Path) -> None:
    out = exported(tmp_path, "safetensors")
    assert len({path.stat().st_mode for path in out.iterdir()}) == 1


@pytest.mark.slow
def test_half_precision_takes_half_the_space(tmp_path: Path) -> None:
    whole = exported(tmp_path / "whole", "safetensors")
    half = exported(tmp_path / "half", "safetensors", "--half")
    model, stored = load_run(half), load_run(whole).state_dict()
    for name, tensor in model.state_dict().items():
        exact = stored[name]
        assert tensor.dtype == exact.dtype
        assert torch.equal(
            tensor, exact.half().to(exact.dtype) if tensor.is_floating_point() else exact
        )
    torch.testing.assert_close(
        model.codes(IMAGES), load_run(whole).codes(IMAGES), atol=5e-3, rtol=0
    )
    assert "half precision" in (half / "README.md").read_text()


@pytest.mark.slow
def test_onnx_computes_the_same_without_dislab(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    out = exported(tmp_path, "onnx")
    model = load_run(RUN)
    with torch.no_grad():
        posterior = model.encode(IMAGES)
    session = runtime.InferenceSession(out / "encoder.onnx", providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_outputs()] == ["codes", "mean", "log_var"]
    codes, mean, log_var = session.run(None, {"image": IMAGES.numpy()})
    for found, expected in (
        (codes, posterior.mean),
        (mean, posterior.mean),
        (log_var, posterior.log_var),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    decoder = runtime.InferenceSession(out / "decoder.onnx", providers=["CPUExecutionProvider"])
    [image] = decoder.run(None, {"z": mean})
    np.testing.assert_allclose(image, model.decode(posterior.mean).detach(), atol=1e-5)


@pytest.mark.slow
def test_a_program_of_torch_computes_the_same(tmp_path: Path) -> None:
    out = exported(tmp_path, "torch-export")
    network = torch.export.load(out / "encoder.pt2").module()
    torch.testing.assert_close(network(IMAGES)[0], load_run(RUN).codes(IMAGES), check_stride=False)
    decoder = torch.export.load(out / "decoder.pt2").module()
    assert decoder(torch.zeros(3, 2)).shape == (3, 1, 8, 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "batch"),
    [  # other settings of a method seldom change its networks
        pytest.param(*case.values, id=case.id, marks=() if "-0-" in case.id else pytest.mark.slow)
        for case in cases.objectives(likelihoods=False)
    ],
)
def test_networks_of_every_method_are_programs(build: Any, batch: Any, tmp_path: Path) -> None:
    model = cases.ready(build, tmp_path)().eval()
    for network in networks_of(model):
        path = write_program(network, tmp_path)
        assert difference(network, read_program(path), path.name) < 1e-4
    has_decoder = type(model).decode is not Objective.decode
    assert len(networks_of(model)) == model.has_codes + has_decoder


@pytest.mark.slow
@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_every_method_is_made_again_from_safetensors(
    build: Any, batch: Any, tmp_path: Path
) -> None:
    cases.save(cases.ready(build, tmp_path)(), tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out", ["safetensors"])
    mine, other = load_run(tmp_path / "run"), load_run(tmp_path / "out")
    for one, two in zip(networks_of(mine), networks_of(other), strict=True):
        for expected, found in zip(one.outputs(), two.outputs(), strict=True):
            assert torch.equal(expected, found)


def test_no_name_of_a_run_becomes_html_or_a_link_of_its_card(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    hostile = "![x](https://evil.example/a.png) <img src=x>"
    config = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump({**config, "name": hostile}))
    record = {
        "scores": {hostile: 0.25},
        "metrics": {"mig": {"primary": hostile}},
        "versions": {hostile: hostile},
        "skipped": {hostile: hostile},
    }
    (run / "scores.json").write_text(json.dumps({"test": record}))
    assert main(["export", str(run), f"--out={tmp_path / 'out'}", "--to", "safetensors"]) == 0
    text = (tmp_path / "out" / "README.md").read_text()
    assert "evil.example" in text
    assert "https://evil" not in text
    assert "](" not in text.replace("](https://dislab.readthedocs.io)", "")
    assert "<img" not in text


@pytest.mark.slow
def test_the_card_says_what_a_user_needs(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    record = {
        "scores": {"mig": 0.25},
        "metrics": {"mig": {"primary": "mig"}},
        "versions": {"torch": "2.13.0"},
        "checkpoint": {"path": "/home/somebody/last.ckpt", "steps": 3},
    }
    (run / "scores.json").write_text(json.dumps({"test": record}))
    assert main(["export", str(run), f"--out={tmp_path / 'out'}", "--to", "safetensors"]) == 0
    text = (tmp_path / "out" / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["library_name"] == "dislab"
    for expected in (
        "images (VAE + KL + TotalCorrelation), trained by",
        "| method | old |",
        "| objective | VAE |",
        "| data set | GaussianBlob",
        "| MIG | 0.250 |",
        "| torch | 2.13.0 |",
        "| encoder | input `image` | (batch, 1, 8, 8) | float32 | pixels in [0, 1] |",
        "| encoder | output 3, `log_var` | (batch, 2) | float32 |",
        "| decoder | input `z` | (batch, 2) | float32 |",
        "| `model.safetensors` | 0 |",
        "dislab fit --config config.yaml",
    ):
        assert expected in text, expected
    assert "\n\n\n" not in text
    assert "somebody" not in (tmp_path / "out" / "scores.json").read_text()
    assert open_run(tmp_path / "out").encode(images=3).codes.shape == (3, 2)


def test_faults_of_networks_are_found() -> None:
    network = networks_of(load_run(RUN))[0]
    shifted = [one + 0.01 for one in network.outputs()]
    with pytest.raises(InputError, match=r"codes differs by 0\.01"):
        difference(network, lambda rows: [one[: len(rows)] for one in shifted], "encoder.onnx")


def damaged(folder: Path, name: str, old: str, new: str) -> Path:
    export(RUN, folder, ["safetensors"])
    (folder / name).write_bytes((folder / name).read_bytes().replace(old.encode(), new.encode()))
    return folder


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("model.yaml", "dislab.encoders.mlp_encoder.MLPEncoder", "os.system", "names os.system"),
        ("model.yaml", "dislab.objectives.vae.VAE", "os.system", "objective os.system"),
        ("model.yaml", "format: 1", "format: 2", "has the format 2, and this dislab reads 1"),
        ("model.yaml", "arguments:", "other:", "holds no arguments"),
        ("model.yaml", "latent_dim: 2", "latent_dim: 3", "does not fit VAE"),
        ("model.yaml", "format: 1", "format: 1\nformat: 1", "format was set in line 1"),
        ("model.safetensors", "F32", "X32", "is damaged, or no safetensors"),
    ],
)
def test_hostile_and_damaged_files_are_refused(
    name: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    folder = damaged(tmp_path / "out", name, old, new)
    with pytest.raises(InputError, match=message):
        load_run(folder)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "onnx", "--half"], "--half is for weights in safetensors"),
        (["--to", "pickle"], "--to is 'pickle'; choose one of"),
        ([], "--to must be given; write dislab export RUN --to TO … --out FOLDER"),
    ],
)
def test_mistakes_get_one_message(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(RUN), f"--out={tmp_path / 'out'}", *words]) == 2
    assert message in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_folder_with_files_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").touch()
    assert main(["export", str(RUN), f"--out={tmp_path}", "--to", "safetensors"]) == 2
    assert "exists and is not empty; name a new folder" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("package", "to", "extra"),
    [("onnxscript", "onnx", "onnx"), ("safetensors.torch", "safetensors", "safetensors")],
)
def test_a_missing_package_is_named_with_its_extra(
    package: str,
    to: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for earlier in {"onnx", "onnxruntime"} - {package}:
        monkeypatch.setitem(sys.modules, earlier, sys)  # stands for an installed one
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["export", str(RUN), f"--out={tmp_path / 'out'}", "--to", to]) == 2
    assert f"pip install 'dislab[{extra}]'" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_network_without_rows_in_common_is_a_fault(tmp_path: Path) -> None:
    module = torch.nn.Flatten()
    source = networks_of(load_run(RUN))[0].source
    result = source._replace(name="codes")
    network = Network("encoder", module, IMAGES, source, (result,))
    with pytest.raises(InputError, match="differs by inf"):
        difference(network, lambda rows: [module(IMAGES)[:5]], "encoder.pt2")
