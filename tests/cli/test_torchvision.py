"""A torchvision that was built for another torch spoils Lightning; the command says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dislab.errors import explained

SPOILT = 'raise RuntimeError("{message}")'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "is_explained", "command"),
    [
        ("operator torchvision::nms does not exist", True, ["fit"]),
        ("operator torchvision::nms does not exist", True, ["encode", "."]),
        ("operator torchvision::nms does not exist", True, ["report", "."]),
        (
            "Detected that PyTorch and torchvision were compiled with different CUDA versions",
            True,
            ["encode", "."],
        ),
        ("something else", False, ["fit"]),
    ],
)
def test_a_library_that_dies_on_import(
    tmp_path: Path, message: str, is_explained: bool, command: list[str]
) -> None:
    (tmp_path / "lightning.py").write_text(SPOILT.format(message=message))
    done = subprocess.run(
        [sys.executable, "-m", "dislab", *command],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert message in done.stderr
    assert ("Traceback" in done.stderr) != is_explained
    assert (done.returncode == 2) == is_explained
    if is_explained:
        assert done.stderr.startswith("dislab: error: torchvision ")
        assert "uninstall torchvision and timm" in done.stderr


def test_an_error_of_torchvision_outside_an_import_is_left_alone() -> None:
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("torchvision failed in a step")
    assert explained(raised.value) is raised.value
