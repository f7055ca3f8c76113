"""Help on parts and settings, and options that lack their value."""

import re
from pathlib import Path

import pytest

from dislab.cli import main
from dislab.cli.lightning_texts import TEXTS
from dislab.cli.training_options import with_run

BEGUN = ["--config", "betavae"]


@pytest.mark.slow
@pytest.mark.parametrize("begun", [[], BEGUN])
@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--model.encoder.help"], ["encoders:", "MLPEncoder", "--model.encoder.help NAME"]),
        (["--model.encoder.help", "MLPEncoder"], ["--model.encoder.hidden"]),
        (["--model.encoder.help", "dislab.encoders.MLPEncoder"], ["--model.encoder.hidden"]),
        (["--model.encoder.help=MLPEncoder"], ["--model.encoder.hidden"]),
        (["--data.dataset.help"], ["datasets:", "Shapes3D"]),
        (["--data.dataset.help", "Shapes3D"], ["--data.dataset.look"]),
        (["--model.regularizers.help"], ["regularizers:", "TotalCorrelation"]),
        (["--model.regularizers.help", "KL"], ["--model.regularizers.NAME.beta"]),
        (["--model.regularizers.kl.help", "KL"], ["--model.regularizers.NAME.beta"]),
        (["--evaluate.metrics.help", "MIG"], ["--evaluate.metrics.NAME.bins"]),
        (["--model.optimizer.help", "torch.optim.Adam"], ["--model.optimizer.lr"]),
    ],
)
def test_parts_are_described_with_and_without_a_configuration(
    capfd: pytest.CaptureFixture[str], begun: list[str], args: list[str], shown: list[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["fit", *begun, *args])
    output = capfd.readouterr().out
    assert all(text in output for text in shown), output
    assert "latent_dim" not in output
    assert "space" not in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [["--model.help", "VAE"], ["--model.help=VAE"], ["--model.encoder.help"], ["--data.help"]],
)
def test_help_on_a_class_may_stand_before_other_options(
    capfd: pytest.CaptureFixture[str], args: list[str]
) -> None:
    shown = []
    for order in ([*BEGUN, *args], [*args, *BEGUN]):
        with pytest.raises(SystemExit, match="0"):
            main(["fit", *order, "--name", "x"])
        shown.append(capfd.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model.latent_dim"], "--model.latent_dim has no value; write --model.latent_dim VALUE"),
        (["--data.batch_size", "--name", "x"], "--data.batch_size has no value"),
        (["--trainer.devices"], "--trainer.devices has no value; write --trainer.devices VALUE"),
        (["--name"], "--name has no value"),
        (["--trainer.help"], "`dislab fit --help trainer` lists the settings of trainer"),
        (["--help", "trainer.max_steps"], "`dislab fit --help trainer` describes the settings of"),
        (["--model.latent_dim.help"], "`dislab fit --model.help VAE` describes the settings"),
        (["--model.optimizer.help"], "needs a class of torch.optim, such as torch.optim.Adam"),
        (
            ["--model", "InfoGAN", "--model.regularizers.help"],
            "InfoGAN has no setting 'regularizers'; it has generator, ",
        ),
        (["--modle.help"], "no setting at the top level is named 'modle' (did you mean model?)"),
        (["--model.encoder.help", "MLPEncodr"], "model.encoder: no part is named MLPEncodr (did"),
        (["--model.encoder.help", "os.system"], "model.encoder: no part is named os.system;"),
        (["--model.encoder.help", "torch.nn.Linear"], "available encoders: Conv"),
        (["--model.encoder.help", "dislab.nothing.X"], "available encoders: Conv"),
        (["--data.dataset.help", "nopackage.Set"], "no package nopackage is installed here"),
        (["--model.regularizers.kl.beta", "nan"], "beta: expected a finite number, got 'nan'"),
        (["--model.optimizer.lr", "inf"], "lr: expected a finite number; got 'inf'"),
        (["--evaluate.metrics", "MIG"], "got 'MIG'; write it like {mig: MIG, dci: DCI}"),
        (["--model.optimizer", "torch.optim.Adom"], "torch.optim.Adom (did you mean Adam?)"),
        (
            ["--model.scheduler", "torch.optim.lr_scheduler.StepRL"],
            "model.scheduler: no scheduler is named torch.optim.lr_scheduler.StepRL (did you mean "
            "StepLR?); it is a class of torch.optim.lr_scheduler",
        ),
    ],
)
def test_what_is_missing_is_named_by_its_whole_name(
    capfd: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    assert main(["fit", *BEGUN, *args]) == 2
    assert message in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (
            ["help", "Shapes3D"],
            ["Shapes3D: --data.dataset Shapes3D\n", "six factors.\n", "Kim & Mnih (2018)"],
        ),
        (["help", "KL"], ["KL: --model.regularizers.NAME KL\n", "Settings:\n  --model.regulariz"]),
        (["help", "VAE"], ["\n`dislab configs show vae` shows its recipe.\n"]),
        (["help", "MLP"], ["--transfer.predictors.NAME.layers"]),
        (["help", "ConceptScores"], ["--trainer.callbacks.concepts"]),
        (["data", "show", "Shapes3D", "--help"], ["usage: dislab data show Shapes3D", "  --out "]),
        (["data", "prepare", "Cars3D", "--help"], ["azimuths.\n", "Settings:\n  --side SIDE\n"]),
    ],
)
def test_help_on_a_part_prints_all_that_its_docstring_says(
    args: list[str], shown: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(args)
    output = capfd.readouterr().out
    assert all(text in output for text in shown), output
    assert "Help for" not in output
    assert not re.search(r"^(?!Settings|Options)\S.*:\n  --", output, re.MULTILINE)


@pytest.mark.slow
def test_help_on_all_settings_is_in_plain_words(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help", "all"])
    output = capfd.readouterr().out
    for raw in ("class_path", "CLASS_PATH", "instantiat", "Disabled by", "Linked arg", "flags:"):
        assert raw not in output
    text = " ".join(output.split())
    texts = {**TEXTS}
    texts.pop("--optimizer.lr")  # of a class of torch, whose help has it
    assert not [option for option in texts if f"{option} " not in text]
    assert all(words in text for words in texts.values())
    assert "(default: mig: MIG, dci: DCI, factor_vae: FactorVAEScore;" in text


@pytest.mark.slow
def test_a_removed_part_does_not_hinder_help(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["fit", *BEGUN, "--model.regularizers.kl", "null", "--model.encoder.help"])
    assert "encoders:" in capfd.readouterr().out


@pytest.mark.slow
def test_settings_in_no_section_have_one_in_the_help(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help", "general"])
    assert "--seed_everything" in capfd.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help"])
    assert "Sections of the settings: general, trainer, model" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{gpus: 1}", "trainer has no setting 'gpus'; write accelerator: gpu and devices: 1\n"),
        ("{epochs: 1}", "trainer has no setting 'epochs'; use max_epochs\n"),
        ("{wrong: 1}", "trainer has no setting 'wrong'; `dislab fit --help trainer` lists its set"),
        (
            "{max_steps: 1e3}",
            "trainer.max_steps: expected a whole number, got '1000.0'; write 1000",
        ),
    ],
)
def test_a_wrong_setting_of_the_trainer_is_named_with_its_file(
    text: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(f"trainer: {text}\n")
    assert main(["fit", *BEGUN, "--config", "mine.yaml"]) == 2
    assert f"error: mine.yaml: {message}" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--print_config"]])
def test_a_section_holds_settings(capfd: pytest.CaptureFixture[str], more: list[str]) -> None:
    assert main(["fit", *BEGUN, "--config", "trainer: 100", *more]) == 2
    assert "trainer is 100; it must hold settings" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "word", "option"),
    [
        ("fit", "run", "--resume"),
        ("fit", "mine.yaml", "--config"),
        ("fit", "betavae", "--config"),
        ("test", "folder", "--run"),
        ("test", "runs/nowhere/version_0", "--run"),
        ("predict", "mine.yaml", "--config"),
    ],
)
def test_words_that_stand_alone_are_told_their_option(
    command: str,
    word: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.yaml").write_text("model: {class_path: VAE}\n")
    (tmp_path / "folder").mkdir()
    assert main([command, word]) == 2
    message = f"{word} has no option before it; write {option} {word}"
    assert message in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("given", "meant"), [([], []), (["run"], ["--run", "run"])])
def test_a_run_at_first_place_is_that_of_the_option(
    given: list[str], meant: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.yaml").touch()
    more = ["--pictures", "false"]
    assert with_run([*given, *more], "test") == [*meant, *more]
    assert with_run([*given, *more], "fit") == [*given, *more]
