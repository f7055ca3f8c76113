import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from dislab.cli import COMMANDS, main


def without_heavy_imports(*args: str) -> str:
    """What a fresh process prints; it fails when the process imports torch or numpy."""
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


@pytest.mark.parametrize("args", [["--help"], ["-h"], []])
def test_help_names_every_command_without_torch(args: list[str]) -> None:
    text = without_heavy_imports(*args)
    assert all(f"  {command} " in text for command in COMMANDS)


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
    ]
    assert f"dislab {version('dislab')}" in table
    assert "Total correlation estimated by a discriminator's density ratio (FactorVAE)." in table


def test_data_sets_are_listed_without_torch() -> None:
    assert "DSprites " in without_heavy_imports("data", "list")


def test_plugins_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "regularizers", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [
        "CapacityKL",
        "DIP",
        "DecomposedKL",
        "KL",
        "TotalCorrelation",
    ]
    assert all(row["summary"].endswith(".") for row in rows)
    assert set(rows[0]) == {"group", "name", "value", "distribution", "version", "summary"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fti"], "there is no command 'fti' (did you mean fit?); there are fit, validate"),
        (
            ["plugins", "encodrs"],
            "there is no plugin group 'encodrs' (did you mean encoders?); the groups are encoders",
        ),
        (["plugins", "--jsn"], "unrecognized arguments: --jsn; see dislab plugins --help"),
    ],
)
def test_mistakes_end_with_one_line_and_status_two(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dislab: error: {message}")
    assert error.count("\n") == 1
