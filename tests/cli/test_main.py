import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
import torch

from dislab import cli
from dislab.cli import COMMANDS, main
from dislab.cli.data import ACTIONS
from dislab.cli.help import OPTION, PAGES, SECTIONS, command_line, explained
from dislab.cli.study import VERBS
from dislab.errors import InputError
from dislab.plugins import (
    GROUPS,
    LAUNCHERS,
    SAMPLERS,
    STAGES,
    Plugin,
    PluginWarning,
    available,
    commands,
    configurations,
    load,
    load_all,
    load_declared,
    warn_of_faults,
)


def without_heavy_imports(*args: str) -> str:
    """The output of a fresh process; fails when the process imports torch or numpy."""
    code = (
        "import sys; from dislab.cli import main; status = main(sys.argv[1:]); "
        "heavy = {'torch', 'numpy', 'lightning'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


UNKNOWN = "no command, part, setting or configuration is named"


@pytest.mark.parametrize("args", [["--help"], ["-h"], []])
def test_help_names_every_command_without_torch(args: list[str]) -> None:
    text = without_heavy_imports(*args)
    assert all(f"  {command} " in text for command in COMMANDS)


@pytest.mark.slow
def test_a_missing_file_run_or_configuration_is_refused_without_torch() -> None:
    commands = [
        *(["--config", "nothing"], ["--resume", "nothing"]),
        *([name, "nothing"] for name in ("encode", "score", "transfer", "report", "compare")),
        *(
            ["cite", "nothing"],
            ["push", "nothing", "a/b"],
            ["export", "nothing", "--to", "onnx", "--out", "x"],
        ),
        *(["draw", "nothing", "curves", "--out", "x.png"], ["data", "check", "nothing"]),
        *(["configs", "new", "--data", "nothing"], ["study", "plan", "nothing"]),
    ]
    commands = [["fit", *args] if args[0].startswith("-") else args for args in commands]
    code = (
        "import json, sys; from dislab.cli import main\n"
        "for args in json.loads(sys.argv[1]):\n"
        "    status = main(args)\n"
        "    heavy = {'torch', 'lightning', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "    assert status == 2 and not heavy, (args, status, heavy)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    messages = done.stderr.splitlines()
    assert len(messages) == len(commands)
    assert all("nothing" in message for message in messages), messages


COMMANDS_AND_VERBS = [
    *([name] for name in COMMANDS),
    *(["study", verb] for verb in VERBS),
    *(["configs", verb] for verb in ("list", "show", "copy", "new")),
    *(["data", verb.split()[0]] for verb in ACTIONS),
    ["plugins", "new"],
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS_AND_VERBS, ids=" ".join)
def test_every_help_fits_the_terminal_and_ends_with_an_example(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = []
    for width in (72, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        with contextlib.suppress(SystemExit):
            assert main([*words, "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(f"usage: dislab {' '.join(words)} ")
        (start,) = (number for number, line in enumerate(lines) if line.startswith("Example:"))
        example = " ".join(line.removesuffix(" \\").strip() for line in lines[start:])
        assert example.startswith(f"Example:  dislab {' '.join(words)}")
        assert max(map(len, lines)) <= min(width, 100)
        pages.append(lines)
    assert len(pages[1]) < 45


def test_the_help_gives_the_default_of_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(["plugins", "new", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "predictors, regularizers (default: regularizers)" in text


def test_the_help_gives_choices_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(["encode", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--split SPLIT where they are drawn from; one of train, validation, test, all" in text
    assert "--batch_size N images encoded at a time (default: 256)" in text


@pytest.mark.every(8)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["score", "codes.npz", "--seed", "x"],
            "--seed is 'x'; it must be a whole number; see",
        ),
        (
            ["score", "codes.npz", "--seed", "-1"],
            "--seed is -1; it must be a whole number of at",
        ),
        (
            ["score", "codes.npz", "more"],
            "more is more than the command takes; leave it out; see dislab score",
        ),
        (["configs", "shw"], "VERB is 'shw' (did you mean show?); choose one of list, show, copy"),
        (["--beta", "4", "fit"], "--beta stands before the command; give dislab fit --beta"),
        (["--hlep"], "no command is named '--hlep' (did you mean --help?)"),
        (["help", "fti"], f"{UNKNOWN} 'fti' (did you mean fit?)"),
        (["help", "MGI"], f"{UNKNOWN} 'MGI' (did you mean MIG?)"),
        (["help", "nonsense"], f"{UNKNOWN} 'nonsense'; `disl"),
        (["help", "study run x"], "dislab help study run takes no further word, got 'x'"),
        (["score", "--help", "xx"], f"{UNKNOWN} 'xx'; `disl"),
        (["help", "corr"], f"{UNKNOWN} 'corr' (did you mean TotalCorrelation or "),
        (["help", "DCI", "extra"], "dislab help DCI takes no further word, got 'extra'; write one"),
        (["help", "study", "run", "x"], "dislab help study run takes no further word, got 'x'"),
        (["help", "MIG.bin"], "MIG has no setting 'bin' (did you mean bins?); `dislab help MIG`"),
        (["help", "trainer.max_stps"], "trainer has no setting 'max_stps' (did you mean max_steps"),
        (["help", "latnt_dim"], f"{UNKNOWN} 'latnt_dim' (did you mean latent_dim?)"),
        (["help", "train"], f"{UNKNOWN} 'train' (did you mean dis"),
        (["MIG"], "MIG is no command; `dislab help MIG` explains it"),
        (["fit", "--config"], "--config/-c has too few values; write --config CONFIG; see dislab"),
        (["study", "run", "nostudy"], "no file and no study is named 'nostudy'; `dislab configs"),
        (
            ["study", "status", "studies/nothere"],
            "no file and no study is named 'studies/nothere'; `dislab configs",
        ),
        (["study", "run"], "STUDY must be given; write dislab study run STUDY; see dislab study"),
        (["study", "run", "quick", "--workers", "x"], "--workers: x is no number of workers; give"),
        (["draw", "run"], "KIND and --out must be given; write dislab draw RUN KIND --out FILE; s"),
        (
            ["draw", "run", "samples", "--out", "a.pdf", "--span", "1"],
            "--span has too few values; write --span A B; see dislab draw --help",
        ),
        (
            ["import", "results.json"],
            "no command is named 'import' without the plugin dislab-import; in a clone of dislab: "
            "pip install ./plugins/dislab-import",
        ),
        (
            ["study", "run", "darla_finger"],
            "no file and no study is named 'darla_finger' without the plugin dislab-control; in a",
        ),
        (
            ["fit", "--config", "qlae"],
            "no file and no configuration is named 'qlae' without the plugin dislab-qlae; in a clo",
        ),
        (
            ["data", "show", "WorldFrames"],
            "no data set is named 'WorldFrames' without the plugin dislab-control; in a clone of d",
        ),
        (["fti"], "no command is named 'fti' (did you mean fit?); the commands are fit, validate"),
        (
            ["plugins", "encodrs"],
            "no plugin group or package is named 'encodrs' (did you mean encoders?); the ",
        ),
        (["plugins", "ne", "x"], "dislab plugins has no verb 'ne' (did you mean new?); it writes"),
        (["plugins", "nwe", "x", "--group", "metrics"], "dislab plugins has no verb 'nwe' (did"),
        *(
            (
                ["plugins", word],
                "dislab-qlae is not installed; in a clone of dislab: pip install "
                "./plugins/dislab-qlae\n",
            )
            for word in ("qlae", "QLAE", "dislab-qlae", "dislab_qlae")
        ),
        *(
            (
                [*command, "--hlp"],
                f"no option is named --hlp (did you mean --help?); see dislab {' '.join(command)} "
                "--help\n",
            )
            for command in (["encode"], ["study", "table"], ["plugins", "new"], ["data", "check"])
        ),
        (
            ["draw", "--hlp=1", "run"],
            "no option is named --hlp=1 (did you mean --help?); see dislab draw --help",
        ),
        (["encode", "--batch_size", "8"], "RUN must be given; write dislab encode RUN; see"),
        (
            ["plugins", "MGI"],
            "no plugin group or package is named 'MGI' (did you mean MIG?); the groups ",
        ),
        (
            ["plugins", "--jsn"],
            "no option is named --jsn (did you mean --json?); see dislab plugins --help",
        ),
        (["transfer", "nowhere", "--seed", "-1"], "--seed is -1; it must be a whole number of at"),
        (
            ["draw", "nowhere", "samples", "--out", "a.pdf", "--seed", "-1"],
            "--seed is -1; it must be a whole number of at",
        ),
    ],
)
def test_a_wrong_argument_is_one_message(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dislab: error: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", [(), ("score",), ("study",)])
def test_help_may_stand_before_a_command(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    pages = []
    for args in (["help", *command], [*command, "--help"]):
        with contextlib.suppress(SystemExit):
            main(args)
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1] != ""


@pytest.mark.slow
def test_each_part_and_each_configuration_has_help_by_its_name() -> None:
    assert {*OPTION} == {*GROUPS}
    for group in GROUPS:
        for plugin in available(group):
            assert explained(plugin.name) == ["fit", f"--{OPTION[group]}.help", plugin.name]
    for name in configurations():
        assert explained(name) == ["configs", "show", name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["help", "Quick"], ["configs", "show", "quick"]),
        (["help", "VAE"], ["fit", "--model.help", "VAE"]),
        (["help", "mig"], ["fit", "--evaluate.metrics.help", "MIG"]),
        (["score", "--help", "MIG"], ["fit", "--evaluate.metrics.help", "MIG"]),
        (["--help", "locatello_rooms"], ["configs", "show", "studies/locatello_rooms"]),
        (["help", "encoders"], ["plugins", "encoders"]),
        (["help", "encoder"], ["plugins", "encoders"]),
        (["help", "regularisers"], ["plugins", "regularizers"]),
        (
            ["help", "total", "correlation"],
            ["fit", "--model.regularizers.help", "TotalCorrelation"],
        ),
        (["help", "tc"], ["fit", "--model.regularizers.help", "TotalCorrelation"]),
        (["help", "trainer"], ["fit", "--help", "trainer"]),
        (["help", "model"], ["fit", "--help", "model"]),
        (["help", "fit", "model"], ["fit", "--help", "model"]),
        (["study", "--help", "run"], ["study", "run", "--help"]),
        (["help", "data", "show"], ["data", "show", "--help"]),
        (["data", "show", "--help", "Shapes3D"], ["data", "show", "Shapes3D", "--help"]),
        (["draw", "--help", "curves"], ["draw", "--help"]),
    ],
    ids=" ".join,
)
def test_help_on_a_name_is_that_of_its_own_command(
    asked: list[str], answer: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    pages = []
    for args in (asked, answer):
        with contextlib.suppress(SystemExit):
            assert main(args) == 0
        pages.append(capfd.readouterr().out)
    assert pages[0] == pages[1] != ""


def test_help_on_a_method_describes_it_before_its_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "show", "factorvae"]) == 0
    file = capfd.readouterr().out
    assert main(["help", "FactorVAE"]) == 0
    about, _, rest = capfd.readouterr().out.partition("\n\n# ")
    assert f"# {rest}" == file
    assert "  tc: TotalCorrelation  Total correlation estimated by" in about
    assert "--model.regularizers.tc.gamma" in about


@pytest.mark.slow
def test_every_section_of_a_configuration_has_help_by_its_name(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help"])
    output = " ".join(capfd.readouterr().out.split())
    assert f"Sections of the settings: {', '.join(SECTIONS)}. " in output
    for section in SECTIONS:
        line = [section, "--help"] if section in COMMANDS else ["fit", "--help", section]
        assert command_line([section], COMMANDS) == line


DCI = ("dci_hgbt_disentanglement", "DCI disentanglement", "DCI.disentanglement")
"""Names of one score, in a file, in a table and as if it were a setting."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "shown"),
    [
        (
            "data",
            ["usage: dislab data", "data is also a section of a configuration: see `dislab f"],
        ),
        ("evaluate", ["  --evaluate.points POINTS", "Python: `dislab.evaluate(codes)`"]),
        ("callbacks", ["ConceptScores", "A list `callbacks` in the section `trainer`"]),
        ("logger", ["  --logger {tensorboard,", "  --trainer.logger LOGGER", "one of the five"]),
        ("optimizer", ["  --model.optimizer OPTIMIZER\n", "Makes the optimiser", "that of VAE"]),
        ("hold_out", ["  --data.hold_out HOLD_OUT\n", "states of the test split", "ClampedData"]),
        ("kinds", ["ordinal, categorical,", "--data.dataset.kinds.size"]),
        ("periods", ["Period of each", "--data.dataset.periods.angle", "NumpyDataset"]),
        (
            "factorvae",
            [
                "  tc: TotalCorrelation  Total correlation estimated",
                "--model.regularizers.tc.gamma",
                "/methods/factorvae/\n",
            ],
        ),
        ("kim_shapes3d", ["/methods/factorvae/\n"]),
        ("adamlvae", ["/methods/adagvae/\n"]),
        ("gpu", ["  --trainer.accelerator\n"]),
        ("MIG.bins", ["MIG: --evaluate.metrics.NAME MIG\n\n  --evaluate.metrics.NAME.bins BINS\n"]),
        ("tc.gamma", ["35 is the paper's best"]),
        ("lr", ["lr: a setting\n\n  --model.optimizer.lr\n", "The learning rate", "InfoWGANGP"]),
        ("learning rate", ["  --model.optimizer.lr\n"]),
        ("model.optimizer.lr", ["  --model.optimizer.lr", "learning rate"]),
        ("model.regularizers.kl.beta", ["KL: --model.regularizers.NAME KL\n\n", ".beta BETA\n"]),
        ("trainer.max_steps", ["  --trainer.max_steps MAX_STEPS"]),
        ("evaluate.points", ["  --evaluate.points POINTS"]),
        ("epochs", ["  --trainer.max_epochs\n"]),
        ("seed", ["  --seed_everything"]),
        ("max steps", ["  --trainer.max_steps MAX_STEPS"]),
        ("elbo", ["ELBO: evidence lower bound, "]),
        ("ELBO of mean codes, no bound", ["ELBO of mean codes, no bound: minus the recon"]),
        ("active_units", ["Active units (KL above 0.01 nats): number of latents whose KL"]),
        ("explained_variance_test", ["Explained variance of pixels, mean codes (share): share of"]),
        *(
            (word, ["DCI makes the scores that", "DCI: --evaluate.metrics.NAME DCI"])
            for word in DCI
        ),
        ("infom_hgbt", ["InfoMEC: --evaluate.metrics.NAME"]),
        (
            "beta",
            [
                "--model.regularizers.NAME.beta  DecomposedKL, KL\n",
                "CapacityKL, which is kl in burgess, first_run, annealedvae, …, has no beta; it "
                "has gamma, capacity",
            ],
        ),
        ("max_steps", ["  --trainer.max_steps MAX_STEPS"]),
        ("data.batch_size", ["  --data.batch_size BATCH_SIZE"]),
        ("batch_size", ["  --evaluate.batch_size BATCH_SIZE", "--data.batch_size ", "PairedData"]),
    ],
)
def test_help_on_a_setting_shows_it_or_the_parts_that_have_it(
    word: str, shown: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", *word.split()]) == 0
    output = capfd.readouterr().out
    in_one_line = " ".join(output.split())  # as terminals differ in width
    assert all(text in output or text in in_one_line for text in shown), output
    if "." in word and word not in DCI:
        assert len(re.findall(r"^  --", output, re.MULTILINE)) == 1


@pytest.mark.slow
def test_no_verb_is_taken_for_the_name_of_a_part() -> None:
    assert not [words for words in COMMANDS_AND_VERBS if words[1:] and explained(words[1])]


@pytest.mark.slow
def test_the_help_on_a_verb_names_it_without_torch() -> None:
    for verb in ("show", "prepare"):
        text = without_heavy_imports("data", verb, "--help")
        assert text.startswith(f"usage: dislab data {verb} NAME ")
    assert "method: FactorVAE" in without_heavy_imports("help", "FactorVAE")


@pytest.mark.parametrize("stage", ["validate", "test"])
def test_help_says_which_states_are_scored(stage: str) -> None:
    from dislab.callbacks import Evaluate

    split = {"validate": "validation", "test": "test"}[stage]
    expected = f"compute losses on the {split} split, and scores on {Evaluate().split} states"
    summaries = {name: cli._summary(plugin) for name, plugin in cli._declared().items()}
    assert expected == summaries[stage]


def test_commands_are_entry_points() -> None:
    assert {name for name, plugin in commands().items() if plugin.distribution == "dislab"} == {
        *COMMANDS
    }
    assert all(callable(cli._function(commands()[name])) for name in COMMANDS)


@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"], ["data", "list"], ["fti"]])
def test_a_command_that_no_metadata_declares_asks_for_an_installation(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others: dict[str, Plugin] = {name: commands()[name] for name in COMMANDS if name != "export"}
    monkeypatch.setattr(cli, "commands", lambda: others)
    assert main(args) == 2
    message = capsys.readouterr().err
    assert "do not declare the command export" in message
    assert "pip install -e ." in message
    assert message.count("\n") == 1


def test_a_version_that_no_metadata_gives_asks_for_an_installation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(cli, "version", missing)
    assert main(["--version"]) == 2
    assert "do not give its version" in capsys.readouterr().err


def installed(folder: Path, name: str, points: str) -> None:
    """Installs a distribution of entry points alone."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(points)


def test_a_command_that_two_distributions_declare_is_refused_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(tmp_path, "mykit", "[dislab.commands]\nscore = mykit:run\ncount = mykit:run\n")
    installed(tmp_path, "mykit2", "[dislab.commands]\ncount = mykit2:run\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for command in ("score", "count"):
        assert main([command, "x"]) == 2
        message = capsys.readouterr().err
        assert f"{command} is declared by " in message
        assert message.rstrip().endswith(
            "and mykit2 1.2; uninstall one"
            if command == "count"
            else "and mykit 1.2; uninstall one"
        )
    assert main(["configs", "show", "quick"]) == 0
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "(cannot be used: count is declared by mykit 1.2 and mykit2 1.2; uninstall one)" in shown
    assert main(["plugins", "regularizers"]) == 0
    warned = capsys.readouterr().err
    assert "dislab.commands: count is declared by mykit 1.2 and mykit2 1.2" in warned
    assert "dislab.commands: score is declared by dislab" in warned


@pytest.mark.every(4)
@pytest.mark.parametrize("group", [*GROUPS, STAGES, LAUNCHERS, SAMPLERS])
def test_a_name_that_two_distributions_declare_is_refused_alone(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("mykit", "mykit2"):
        installed(tmp_path, name, f"[dislab.{group}]\nL1 = json:JSONDecoder\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    refused = "L1 is declared by mykit 1.2 and mykit2 1.2"
    if group not in GROUPS:
        with pytest.raises(InputError, match=refused):
            load_declared(group, "L1", object)
        assert main(["plugins", "metrics"]) == 0
        assert refused in capsys.readouterr().err
        return
    with pytest.raises(InputError, match=refused):
        load(group, "L1")
    assert "L1" not in load_all()[group]
    with pytest.warns(PluginWarning, match=f"dislab.{group}: {refused}"):
        warn_of_faults()
    assert main(["plugins", group]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(f"cannot be used: {refused}; write json.JSONDecoder, or uninstall") == 2


def test_version_comes_without_torch() -> None:
    assert without_heavy_imports("--version") == f"dislab {version('dislab')}\n"


def test_plugins_are_listed_without_torch() -> None:
    table = without_heavy_imports("plugins")
    blocks = [block.splitlines() for block in table.split("\n\n")]
    assert [block[0] for block in blocks] == [
        "encoders",
        "decoders",
        "regularizers",
        "objectives",
        "datamodules",
        "datasets",
        "metrics",
        "predictors",
        "callbacks",
    ]
    assert f"dislab {version('dislab')}" in table
    text = " ".join(table.split())
    assert "Total correlation estimated by a discriminator's density ratio (FactorVAE)." in text


def test_data_sets_are_listed_without_torch() -> None:
    assert "DSprites " in without_heavy_imports("data", "list")


@pytest.mark.parametrize(
    "args",
    [
        ["plugins", "--jso"],
        ["plugins", "new", "sparse", "--grou", "metrics"],
        ["data", "list", "--jso"],
        ["data", "show", "GaussianBlob", "--imag", "3"],
        ["encode", "nowhere", "--batch_siz", "3"],
        ["score", "codes.npz", "--metric", "MIG"],
        ["study", "plan", "quick", "--fold", "x"],
    ],
)
def test_no_command_takes_abbreviated_options(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    error = capsys.readouterr().err
    option = next(arg for arg in args[::-1] if arg.startswith("--"))
    assert f"no option is named {option}" in error or "has no setting 'imag'" in error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fit", "--model.help", "VAE"], "Number of latents. (required; a whole number)"),
        (["fit", "--model.help", "VAE"], "(default: null; a class of torch.optim)"),
        (["fit", "--model.help"], "TELBO "),
        (["fit", "--data.help", "SingleData"], "(a whole number; default: 64)"),
        (["fit", "--help", "trainer"], "--trainer.max_steps"),
        (["fit", "--help", "trainer"], "Whether to save checkpoints. (true or false or nu"),
        (["fit", "--help", "trainer"], "Whether cuDNN tries its algorithms and keeps the"),
        (["fit", "--help", "trainer"], "Optimiser steps between two rows of the log."),
        (["fit", "--help", "trainer"], "true is the logger that --logger names. (default: true"),
        (["fit", "--help", "model"], "`dislab fit --model.help VAE` lists those of VAE"),
        (["fit", "--help", "data"], "`dislab fit --data.help SingleData` lists those of SingleD"),
        (["fit", "--help", "all"], "--data.help"),
        (["test", "--help"], "usage: dislab test --run RUN | --config FILE [--config FILE …]"),
        (["data", "prepare", "FolderDataset", "--help"], "(required; text)"),
    ],
)
def test_help_has_types_in_words(
    args: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(args)
    said = " ".join(capsys.readouterr().out.split())
    assert words in said
    for word in ("type: ", "Callable[", "known subclasses", ":meth:", "~"):
        assert word not in said, word


def test_plugins_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "regularizers", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    names = [row["name"] for row in rows]
    assert names == [plugin.name for plugin in available("regularizers")]
    assert {"KL", "TotalCorrelation"} < set(names)
    assert all(row["summary"].endswith(".") for row in rows)
    assert set(rows[0]) == {"group", "name", "value", "distribution", "version", "summary", "error"}


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        (["MIG"], "MIGSup", "KL"),
        (["mutual"], "MIG", "KL"),
        (["metrics", "sup"], "MIGSup", "JEMMIG"),
        (["metric", "sup"], "MIGSup", "JEMMIG"),
        (["metric"], "MIG", "ParametricHeads"),
        (["Encoder"], "MLPEncoder", "MLPDecoder"),
        (["MLP", "MIG"], "MLPEncoder", "KL"),
    ],
)
def test_plugins_with_a_word(
    words: list[str], shown: str, hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", *words, "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert shown in names
    assert hidden not in names
    assert main(["plugins", *words]) == 0
    assert shown in capsys.readouterr().out


def test_help_knows_the_pages_on_methods() -> None:
    pages = {path.stem for path in Path(__file__).parents[2].glob("docs/methods/*.md")}
    assert pages - {"index"} == {*PAGES}


def test_data_sets_with_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "sprites", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert "DSprites" in names
    assert "Shapes3D" not in names
    assert main(["data", "list", "DSprits"]) == 2
    assert "no data set has 'DSprits' in its name" in (said := capsys.readouterr().err)
    assert "did you mean DSprites" in said


def refused_by_training() -> None:
    """As training wraps what a part raises."""
    try:
        torch.empty(10**15)
    except RuntimeError as error:
        raise InputError(str(error)) from error


@pytest.mark.parametrize(
    "ask",
    [
        lambda: np.zeros(10**15),
        lambda: np.zeros((2**40, 2**40)),
        lambda: torch.empty(10**15),
        lambda: torch.empty(2**40, 2**40),
        lambda: [0] * 2**60,
        refused_by_training,
    ],
)
def test_a_lack_of_memory_is_one_line(
    ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dislab.cli.dispatch", lambda *_: ask())
    assert main(["score"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dislab: error: memory does not suffice")
    assert "smaller batch_size" in error
    assert error.count("\n") == 1
    assert len(error) < 400


@pytest.mark.parametrize("raised", [RuntimeError("mine"), ValueError("mine"), KeyError("mine")])
def test_mistakes_of_ours_keep_their_traceback(
    raised: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise raised

    monkeypatch.setattr("dislab.cli.dispatch", fail)
    with pytest.raises(type(raised), match="mine"):
        main(["score"])


@pytest.mark.parametrize("args", [["score"], ["transfer"], ["transfer", "--codes"]])
def test_a_path_that_is_too_long_is_one_line(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = ["--scenarios", "finger_ood1_a"] if "--codes" in args else []
    assert main([*args, "x" * 5000, *scenario]) == 2
    error = capsys.readouterr().err
    assert error == f"dislab: error: {'x' * 40}…: File name too long\n"
