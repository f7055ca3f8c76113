"""The page on a method of one's own, followed literally; an installer's files stand in for pip."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.cli.test_skeleton import install
from tests.processes import Started

from dislab.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "own_method.md"


def followed(site: Path, commands: list[str]) -> int:
    """Runs commands in one process, with the packages in a folder; the first status but 0."""
    sys.path.insert(0, str(site))
    for command in commands:
        print(f"$ {command}", flush=True)
        program, *args = shlex.split(command)
        if program == "dislab":
            status = main(args)
        else:
            assert args[:2] == ["-m", "pytest"], command
            if not (child := os.fork()):
                os.chdir(args[2])
                os._exit(pytest.main(["-q", "-p", "no:cacheprovider"]))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            return status
    return 0


def follow(commands: list[str], folder: Path) -> str:
    """What commands print, with the packages in `site` installed."""
    site = folder / "site"
    environment = {
        "DISLAB_CACHE": str(folder / "cache"),
        "PYTEST_ADDOPTS": "",
        "PYTHONPATH": str(site),  # of the processes that they start
    }
    process = Started(folder, followed, site, commands, environment=environment)
    output, _ = process.communicate(timeout=500)
    assert process.wait() == 0, output
    return output


@pytest.mark.slow
def test_every_step_of_the_page_works(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, content in re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(content)
    commands = [
        line
        for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    (installation,) = (number for number, line in enumerate(commands) if line.startswith("pip "))
    follow(commands[:installation], tmp_path)
    package = tmp_path / "dislab-sparse"
    (formula,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert formula in (package / "src/dislab_sparse/sparse.py").read_text()
    install(package, tmp_path / "site")
    last = re.findall(r"`(dislab study summary [^`]*)`", text)
    said = follow([*commands[installation + 1 :], *last], tmp_path)
    assert "found/summary.md and" in said
    assert "dislab: warning" not in said
    assert "12 passed" in said
    assert re.search(r"SparsePenalty +dislab-sparse 0.1.0", said)
    source = tmp_path / "site/dislab_sparse/sparse.py"
    source.write_text(source.read_text().replace("z.abs()", "z.abs().sqrt()"))
    for verb in ("plan", "run", "status"):
        said = follow([f"dislab study {verb} study.yaml"], tmp_path)
        changed = "dislab_sparse/sparse.py has changed since 1 of 5 runs was trained (Sparse VAE)"
        assert said.count(changed) == 1, said
    curves = (tmp_path / "runs/vae_sparse/version_0/metrics.csv").read_text()
    assert "validation/sparse/size" in curves.partition("\n")[0]
    table = (tmp_path / "means.tex").read_text()
    assert all(method in table for method in ("FactorVAE", "Sparse VAE", "Follows"))
    assert "vae_sparse" not in table
