"""The output of the training commands, in processes of their own, with and without a terminal."""

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import yaml
from tests.processes import Started, obey

from dislab.cli import main
from dislab.cli.training_help import COMMON, help_text, requested
from dislab.errors import InputError
from dislab.report.run_record import read_run

SMALL = {
    "name": "small",
    "report": False,
    "pictures": False,
    "model": {
        "class_path": "VAE",
        "init_args": {
            "latent_dim": 3,
            "encoder": {"class_path": "MLPEncoder", "init_args": {"hidden": [8]}},
            "decoder": {"class_path": "MLPDecoder", "init_args": {"hidden": [8]}},
            "regularizers": {"kl": {"class_path": "KL"}},
        },
    },
    "data": {
        "class_path": "SingleData",
        "init_args": {"dataset": "GaussianBlob", "batch_size": 8, "test": 0.1, "resize": 16},
    },
    "trainer": {"max_steps": 20, "accelerator": "cpu", "devices": 1, "log_every_n_steps": 2},
    "progress": {"steps": 5},
    "evaluate": {
        "metrics": {"mig": {"class_path": "MIG"}, "dci": {"class_path": "DCI"}},
        "points": 200,
        "sheet": False,
    },
}
FIT = [sys.executable, "-m", "dislab", "fit", "--config=small.yaml"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1])
def test_no_command_that_needs_a_checkpoint_is_proposed_without_one(
    steps: int, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    args = ["--config=small.yaml", f"--trainer.max_steps={steps}", "--then_test=false"]
    assert main(["fit", *args]) == 0
    assert ("dislab encode" in capfd.readouterr().out) == (steps > 0)
    assert any(Path("runs/small/version_0/checkpoints").glob("*.ckpt")) == (steps > 0)


@pytest.mark.slow
def test_off_a_terminal_a_fit_prints_few_lines_and_ends_with_the_scores(folder: Path) -> None:
    printed, errors = Started(folder, obey, FIT[3:], apart=True).communicate()
    lines = errors.splitlines()
    assert lines[0] == "Training small: VAE with KL"
    rows = [line.split(maxsplit=1) for line in lines[1:7]]
    assert [name for name, _ in rows] == ["parameters", "data", "split", "device", "steps", "run"]
    assert rows[1][1] == "GaussianBlob, images of 1×16×16"
    assert re.fullmatch(r"\d+ train, \d+ validate, \d+ test", rows[2][1])
    assert [text for _, text in rows[3:]] == [
        "cpu, precision 32-true",
        "0 to 20",
        "runs/small/version_0",
    ]
    lines = lines[6:]
    numbers = r"loss [\d.e+-]+, [\d.e+]+ steps/s, \d\d:\d\d left"
    for line, step in zip(lines[1:4], (6, 12, 18), strict=True):  # rows of the log, 5 steps apart
        assert re.fullmatch(rf"step {step} of 20, {numbers}", line)
    assert re.fullmatch(r"Trained 20 steps in \d+ s \(.* steps/s\)", lines[4])
    assert re.match(r"test split: loss [\d.]+", lines[5])
    assert not re.search(r"reconstruction| kl [\d.]", lines[5])  # which the table below shows
    scored = "200 of 1,024 images, training included"
    assert lines[6] == f"Scoring {scored}, so few that scores are rough, by DCI, MIG …"
    assert all(line.startswith("dislab: warning: ") for line in lines[7:])  # of the few images
    table, cautions, verdict = printed.split("\n\n")[-4:-1]
    assert cautions == "Not above chance: MIG."
    assert verdict.endswith(".")
    page = read_run(folder / "runs/small/version_0", draw=False)
    assert " ".join(verdict.split()) == page.verdict
    names = [re.split("  +", line)[0] for line in table.splitlines()]
    assert names == [
        "score",
        "DCI disentanglement",  # safe_dump sorts the names
        "DCI completeness",
        "DCI informativeness",
        "MIG",
        "Active units (KL above 0.01 nats)",
    ]


@pytest.mark.slow
def test_a_name_of_a_method_is_a_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for name in ("a\nb", " ", "x" * 61):
        assert main(["fit", "--config=small.yaml", f"--method={name}"]) == 2
        assert "name it in one line of 1 to 60 characters" in capsys.readouterr().err
    assert not (folder / "runs").exists()


@pytest.mark.slow
def test_on_a_terminal_a_bar_shows_the_loss_and_the_time_left(folder: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    environment = {**os.environ, "COLUMNS": "120"}
    command = [*FIT, "--then_test=false", "--trainer.max_steps=40"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    text = shown.decode()
    assert process.returncode == 0, text
    assert re.search(r"training: 100%.* 40/40 \[\d\d:\d\d<00:00, .*steps/s, loss [\d.]+", text), (
        text
    )
    assert "step 6 of" not in text
    assert "Epoch" not in text


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("train", "fit"),
        ("evaluate", "test, or dislab score for a file of codes"),
        ("sweep", "study"),
        ("trian", "fit"),
        ("swep", "study"),
    ],
)
def test_words_of_other_programs_name_the_command(
    word: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert (
        f"no command is named {word!r} (did you mean dislab {command}?)" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--config", "a"], (None, ["--config", "a"])),
        (["--help"], ("", ["--help"])),
        (["-h", "trainer"], ("trainer", ["-h"])),
        (["--help", "--config", "a"], ("", ["--help", "--config", "a"])),
    ],
)
def test_a_section_of_the_help_follows_the_flag(
    args: list[str], expected: tuple[str | None, list[str]]
) -> None:
    assert requested(args) == expected


@pytest.mark.slow
def test_the_help_begins_with_common_options_that_exist(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main(["fit", "--help", "all"])
    full = capsys.readouterr().out
    short = help_text("fit", "Train.", full, "")
    assert len(short.splitlines()) <= 41
    assert "runs/NAME/version_N (run)" in short
    assert "after training, score the model (true)" in short
    named = [option.split()[0] for group in COMMON.values() for option in group]
    known = set(re.findall(r"--([\w.]+)", full))
    inside = ("model.", "data.")  # settings of classes, which the class decides
    assert [one for one in named if one not in known and not one.startswith(inside)] == []
    with pytest.raises(SystemExit):
        main(["fit", "--help", "trainer"])
    trainer = capsys.readouterr().out
    assert "--trainer.gradient_clip_val" in trainer
    assert "`" not in trainer
    assert re.search(r"default:\s+32-true", trainer)
    assert "--trainer.gradient_clip_val" not in help_text("fit", "Train.", full, "checkpoint")
    with pytest.raises(InputError, match=r"named 'trainr' .did you mean trainer"):
        help_text("fit", "Train.", full, "trainr")
