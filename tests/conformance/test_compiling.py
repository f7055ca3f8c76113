"""Every built-in objective and regulariser compiles to one graph."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests import cases
from tests.processes import Started

from dislab.base import ImageBatch
from dislab.testing import check_compiles

_PARTS: Final = 8
"""Number of tests that share all cases: continuous integration runs one of them."""


def compiled(part: int) -> int:
    """Compiles the cases of a part, in a process whose modules have no type checks."""
    warnings.simplefilter("ignore")
    images = cases.BATCHES[ImageBatch]._replace(labelled=cases.LABELLED)
    objectives = [case.values for case in cases.objectives(likelihoods=False)]
    checks: list[tuple[Callable[[], Any], Any]] = [
        (partial(cases.ready, build, Path()), batch) for build, batch in objectives
    ]
    [vae, *_] = cases.builds("objectives", "VAE")
    every = enumerate(cases.cases("regularizers"))
    regularizers = {f"one_{number}": case.values[0] for number, case in every}
    checks.append((lambda: partial(vae, regularizers=regularizers), images))
    [pairs, *_] = cases.builds("objectives", "AdaGVAE")
    noise = {"likelihood": "discretized", "input_noise": (0.1, 0.1)}
    checks.append((lambda: partial(pairs, **noise), cases.PAIRS))
    chosen = checks[part::_PARTS]
    for build, batch in chosen:
        check_compiles(build(), batch)
    print(f"compiled {len(chosen)} of {len(checks)}")
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(_PARTS))
def test_objectives_compile_to_one_graph(part: int, tmp_path: Path) -> None:
    """In a process of its own, without the type checks, which the compiler cannot look into."""
    process = Started(tmp_path, compiled, part, apart=True)
    output, errors = process.communicate(timeout=600)
    assert process.wait() == 0, errors
    count, of_all = map(int, output.removeprefix("compiled ").split(" of "))
    assert 0 < of_all // _PARTS <= count
