"""Scripts by which shells complete the words of dislab."""

import shutil
import subprocess

import pytest
from tests.cli.test_main import without_heavy_imports

from dislab.cli import COMMANDS, completion, configs, data, main, study
from dislab.plugins import GROUPS, available

ASKED = """
source /dev/stdin <<< "$SCRIPT"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_dislab
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script() -> str:
    return completion.script("bash")


def completed(script: str, *words: str) -> list[str]:
    """The words that bash offers for the last one."""
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(
        [bash, "--norc", "-c", ASKED, "bash", *words],
        env={"SCRIPT": script},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.split()


def names(group: str) -> list[str]:
    return [plugin.name for plugin in available(group)]


STUDIES = [one for one in configs.names() if one.startswith("studies/")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], list(COMMANDS)),
        (["co"], ["compare", "configs", "completion"]),
        (["configs", ""], ["list", "show", "copy"]),
        (["configs", "show", "factorv"], ["factorvae"]),
        (["configs", "copy", "al"], ["all"]),
        (["data", ""], list(data.ACTIONS)),
        (["data", "prepare", "Sha"], ["Shapes3D"]),
        (["data", "list", "-"], ["--help", "--json"]),
        (["plugins", ""], ["new", *GROUPS]),
        (["completion", ""], ["bash", "zsh"]),
        (["study", ""], list(study.VERBS)),
        (["study", "run", ""], STUDIES),
        (["study", "run", "--w"], ["--workers"]),
        (["study", "table", "quick", "--format", "l"], ["latex"]),
        (["compare", "run", "--format", "m"], ["markdown"]),
        (["encode", "run", "--split", "te"], ["test"]),
        (["score", "codes.npz", "--metrics", "MIG"], ["MIG", "MIGSup"]),
        (["score", "codes.npz", "--boot"], ["--bootstrap"]),
        (["fit", "--config", "betatc"], ["betatcvae"]),
        (["fit", "--config", "=", "betatc"], ["betatcvae"]),
        (["fit", "-c", "betatc"], ["betatcvae"]),
        (["fit", "--config", "vae", "--trainer.max_s"], ["--trainer.max_steps"]),
        (["fit", "--model", "Ada"], ["AdaGVAE", "AdaMLVAE"]),
        (["fit", "--model.encoder", ""], names("encoders")),
        (["fit", "--data.dataset", "DS"], ["DSprites"]),
        (["fit", "--resume", "run"], []),  # bash completes files
        (["test", "--r"], ["--resume", "--run", "--runs", "--report"]),
        (["unknown", "-"], []),
    ],
)
def test_bash_completes(script: str, words: list[str], expected: list[str]) -> None:
    assert sorted(completed(script, "dislab", *words)) == sorted(expected)


@pytest.mark.parametrize("place", [*COMMANDS])
def test_every_command_has_options(script: str, place: str) -> None:
    if place in ("configs", "data", "study", "completion"):  # those of their verbs
        return
    assert "--help" in completed(script, "dislab", place, "--h")


def test_the_script_comes_without_torch_and_is_read_by_zsh_through_its_emulation() -> None:
    text = without_heavy_imports("completion", "zsh")
    first, second, rest = text.split("\n", 2)
    assert first == "#compdef dislab"
    assert "bashcompinit" in second
    assert rest == completion.script("bash").replace("completion bash", "completion zsh")


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 2
    assert "invalid choice: 'fish' (choose from" in capsys.readouterr().err
