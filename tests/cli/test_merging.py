"""Later configuration files merge named parts, null removes one: each entrance, each group."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dislab.cli import main
from dislab.cli.study_runs import resolver
from dislab.errors import InputError
from dislab.report.run_record import read_run
from dislab.study.resolving import make_schedule
from dislab.study.study_file import read_study_file
from dislab.yaml_files import parse_yaml

BASE = """
model:
  class_path: VAE
  init_args:
    latent_dim: 3
    encoder: {class_path: MLPEncoder, init_args: {hidden: [8]}}
    decoder: {class_path: MLPDecoder, init_args: {hidden: [8]}}
    regularizers:
      kl: {class_path: KL, init_args: {beta: 2.0}}
      tc: {class_path: TotalCorrelation, init_args: {gamma: 7.0}}
data: {class_path: SingleData, init_args: {dataset: GaussianBlob, batch_size: 8}}
trainer: {max_steps: 2, accelerator: cpu}
evaluate: {metrics: {mig: {class_path: MIG, init_args: {bins: 9}}}}
score_curves: {metrics: {mig: {class_path: MIG}}}
transfer: {predictors: {ridge: {class_path: Ridge, init_args: {penalty: 0.5}}}}
"""
GROUPS = {
    "model.regularizers": ("tc", "CapacityKL"),
    "evaluate.metrics": ("mig", "SAP"),
    "score_curves.metrics": ("mig", "SAP"),
    "transfer.predictors": ("ridge", "Ridge"),
}
"""A part of each group that BASE sets, and the class of another one."""


def settings(parts: Callable[[str, str], dict[str, Any]], shown: bool = True) -> str:
    """A file with parts of every group, made from the name of an existing part and a class."""
    found: dict[str, Any] = {}
    for place, names in GROUPS.items():
        section, group = place.split(".")
        inner = {group: parts(*names)}
        found[section] = {**found.get(section, {}), **inner}
    if shown:
        found["model"] = {"init_args": found["model"]}
    return json.dumps(found)


def groups(config: Any) -> dict[str, dict[str, Any]]:
    """The parts of every group of a complete configuration."""
    sections = {**config, "model": config["model"]["init_args"]}
    return {place: sections[place.split(".")[0]][place.split(".")[1]] for place in GROUPS}


def printed(args: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["fit", *args, "--print_config"])
    assert ended.value.code == 0
    return parse_yaml(capsys.readouterr().out, "printed")


def in_study(folder: Path, names: Sequence[str], on_axis: bool = False) -> Any:
    """The configuration of a study's run, whose files stand in `base` or on an axis."""
    axis = {"axes": {"way": {"other": {"config": names}}}} if on_axis else {}
    base = ["base.yaml"] if on_axis else ["base.yaml", *names]
    (folder / "study.yaml").write_text(json.dumps({"base": base, **axis}))
    return make_schedule(read_study_file(folder / "study.yaml"), resolver, {}).runs[0].config


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(BASE)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("entrance", ["fit", "text", "base", "axis"])
def test_later_files_add_change_and_remove_parts_of_every_group(
    entrance: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "more.yaml").write_text(settings(lambda name, other: {"mine": {"class_path": other}}))
    (folder / "same.yaml").write_text(settings(lambda name, other: {name: {}}, shown=False))
    (folder / "less.yaml").write_text(settings(lambda name, other: {name: None}))

    def seen(*names: str) -> dict[str, dict[str, Any]]:
        if entrance == "fit":
            found = printed([f"--config={one}" for one in ["base.yaml", *names]], capsys)
        elif entrance == "text":
            texts = [Path(one).read_text() for one in names]
            found = printed([f"--config={one}" for one in ["base.yaml", *texts]], capsys)
        else:
            found = in_study(folder, names, entrance == "axis")
        return groups(found)

    before, less = groups(printed(["--config=base.yaml"], capsys)), {}
    added = seen("more.yaml", "same.yaml")
    for place, (name, other) in GROUPS.items():
        assert added[place] == {**before[place], "mine": added[place]["mine"]}
        assert added[place]["mine"]["class_path"].endswith(f".{other}")
        less[place] = {key: one for key, one in added[place].items() if key != name}
    assert seen("more.yaml", "less.yaml") == less


@pytest.mark.every(5)
@pytest.mark.parametrize("place", ["model.init_args.regularizers", *GROUPS])
def test_an_option_removes_a_part(
    place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word = place.replace(".init_args", "")
    name, other = GROUPS[word]
    added = [f"--{place}.mine={other}", f"--{place}.{name}", "null"]
    assert list(groups(printed(["--config=base.yaml", *added], capsys))[word]) == [
        one for one in ("kl", "mine") if one == "mine" or word == "model.regularizers"
    ]


@pytest.mark.slow
def test_a_part_that_is_not_there_cannot_be_removed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "less.yaml").write_text('{"model": {"init_args": {"regularizers": {"nope": null}}}}')
    message = "model.regularizers.nope is null, which removes a part, and there is none"
    for less in ("--config=less.yaml", "--model.regularizers.nope=null"):
        capsys.readouterr()
        with suppress(SystemExit):
            assert main(["fit", "--config=base.yaml", less]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(InputError, match=message):
        in_study(folder, ["less.yaml"])


@pytest.mark.slow
def test_an_empty_group_removes_all_and_the_default_scores_are_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = BASE.replace("evaluate: {metrics: {mig: {class_path: MIG, init_args: {bins: 9}}}}", "")
    (folder / "base.yaml").write_text(base)

    def scores(*texts: str) -> list[str]:
        found = printed(["--config=base.yaml", *(f"--config={one}" for one in texts)], capsys)
        return list(found["evaluate"]["metrics"])

    sap, modularity = (
        f"{{evaluate: {{metrics: {{{one.lower()}: {one}}}}}}}" for one in ("SAP", "Modularity")
    )
    assert scores() == ["mig", "dci", "factor_vae"]
    assert scores(sap) == ["sap"]
    assert scores(sap, modularity) == ["sap", "modularity"]
    assert scores("{evaluate: {metrics: {dci: null}}}", sap) == ["mig", "factor_vae", "sap"]
    assert scores(sap, "{evaluate: {metrics: {}}}") == []


@pytest.mark.slow
def test_settings_that_are_no_parts_are_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "--config={data: {init_args: {hold_out: {x: [1.0]}}}}"
    second = "--config={data: {init_args: {hold_out: {y: [2.0]}}}}"
    found = printed(["--config=base.yaml", first, second], capsys)
    assert found["data"]["init_args"]["hold_out"] == {"y": [2.0]}


def test_null_of_a_setting_stays_null(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--data.dataset=DSprites", "--data.dataset.path=a.npz", "--data.dataset.path", "null"]
    found = printed(["--config=base.yaml", *args], capsys)
    assert found["data"]["init_args"]["dataset"]["init_args"]["path"] is None


@pytest.mark.slow
def test_a_file_that_adds_a_regularizer_of_another_method_is_named(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = {"later": "mine: CapacityKL", "changed": "kl: CapacityKL"}
    for name, part in files.items():
        Path(f"{name}.yaml").write_text(f"{{model: {{init_args: {{regularizers: {{{part}}}}}}}}}")
        args = [f"--config={name}.yaml", "--report=false", "--pictures=false"]
        assert main(["fit", "--config=base.yaml", *args, "--then_test=false"]) == 0
    (note,) = [message for message in caplog.messages if message.startswith("note: ")]
    assert note == (
        "note: this trains another objective than base.yaml, as a file behind it (later.yaml) or "
        "an option adds the regularizer mine; to train that of base.yaml, remove mine there"
    )


@pytest.mark.slow
def test_the_first_line_names_what_differs(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    later = "{model: {init_args: {regularizers: {mine: CapacityKL, tc: null}}}}"
    args = ["--report=false", "--pictures=false", "--evaluate.metrics={}", "--then_test=false"]
    assert main(["fit", "--config=base.yaml", f"--config={later}", *args]) == 0
    (text,) = [message for message in caplog.messages if message.startswith("Training VAE")]
    assert text.endswith(
        "  settings    base.yaml; other parts: regularizers: +mine, -tc; metrics: -mig"
    )
    method = read_run(Path("runs/run/version_0"), draw=False).facts["method"]
    assert method == "VAE with other terms (regularizers: +mine, -tc)"
    caplog.clear()
    assert main(["fit", "--config=base.yaml", "--trainer.max_steps=3", *args[:2], args[3]]) == 0
    (text,) = [message for message in caplog.messages if message.startswith("Training VAE")]
    assert text.endswith("  run         runs/run/version_1")
    assert read_run(Path("runs/run/version_1"), draw=False).facts["method"] == "VAE"
