"""Every built-in objective and regulariser compiles to one graph."""

import warnings
from functools import partial
from pathlib import Path

import pytest
from tests import cases
from tests.processes import Started

from dislab.base import ImageBatch
from dislab.testing import check_compiles


def compiled() -> int:
    """Compiles all, in a process whose modules have no type checks."""
    warnings.simplefilter("ignore")
    images = cases.BATCHES[ImageBatch]._replace(labelled=cases.LABELLED)
    for case in cases.objectives(likelihoods=False):
        build, batch = case.values
        check_compiles(cases.ready(build, Path()), batch)
    [vae, *_] = cases.builds("objectives", "VAE")
    every = enumerate(cases.cases("regularizers"))
    regularizers = {f"one_{number}": case.values[0] for number, case in every}
    check_compiles(partial(vae, regularizers=regularizers), images)
    [pairs, *_] = cases.builds("objectives", "AdaGVAE")
    noise = {"likelihood": "discretized", "input_noise": (0.1, 0.1)}
    check_compiles(partial(pairs, **noise), cases.PAIRS)
    print("compiled")
    return 0


@pytest.mark.slow
def test_objectives_compile_to_one_graph(tmp_path: Path) -> None:
    """In a process of its own, without the type checks, which the compiler cannot look into."""
    process = Started(tmp_path, compiled, apart=True)
    output, errors = process.communicate(timeout=600)
    assert process.wait() == 0, errors
    assert output == "compiled\n"
