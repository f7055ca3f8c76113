"""Every built-in objective and regulariser compiles to one graph."""

import subprocess
import sys
from pathlib import Path

import pytest

COMPILED = """
import sys
import tempfile
from functools import partial
from pathlib import Path
from dislab.testing import check_compiles
from tests import cases

images = cases.BATCHES[cases.ImageBatch]._replace(labelled=cases.LABELLED)
with tempfile.TemporaryDirectory() as folder:
    for case in cases.objectives(likelihoods=False):
        build, batch = case.values
        check_compiles(cases.ready(build, Path(folder)), batch)
    [vae, *_] = cases.builds("objectives", "VAE")
    every = enumerate(cases.cases("regularizers"))
    regularizers = {f"one_{number}": case.values[0] for number, case in every}
    check_compiles(partial(vae, regularizers=regularizers), images)
    [pairs, *_] = cases.builds("objectives", "AdaGVAE")
    noise = {"likelihood": "discretized", "input_noise": (0.1, 0.1)}
    check_compiles(partial(pairs, **noise), cases.PAIRS)
print("compiled")
"""


@pytest.mark.slow
def test_objectives_compile_to_one_graph() -> None:
    """In a process of its own, without the type checks, which the compiler cannot look into."""
    command = [sys.executable, "-W", "ignore", "-c", COMPILED]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "compiled\n"
