"""Scores equal plain computations from the formulas of papers and published code."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dislab.plugins import available

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZES = (3, 4, 5)
TOLERANCES = {
    "DCI, lasso": 1e-3,  # the published lasso stops early
    "DCI, lassocv": 1e-3,
    "Explicitness": 1e-3,  # as do its regressions
    "Explicitness, multinomial": 1e-3,
    "BlockMCC, kernel": 0.01,  # an R² below 0 counts 0
    "BlockMCC, linear": 0.01,
    "InfoMEC": 0.05,  # other noise separates equal codes
    "MCC, linear": 1e-4,  # as do its canonical variates
    "SAP, svc": 0.02,  # the published machines stop early: an image or two of 150
}
"""Largest differences where there is a reason for any; 1e-9 for other scores."""
DRAWN = {"BetaVAEScore", "FactorVAEScore"}
"""Scores that draw other points than the plain computation."""
OTHER = {"DCI, hgbt", "DownstreamAccuracy, hgbt", "DownstreamAccuracy, logistic"}
"""Scores with other learners than published code, as the page of the scores says."""
TREES = {"DCI, gbt", "DCI, rf", "DCIES, rf"}
"""Scores that take seconds; `test_dci.py` and `test_dcies.py` compare their learners."""


@pytest.fixture(scope="module")
def published() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        before = set(sys.modules)
        yield import_module("published_scores")
        for name in {"published_scores", "standard_codes", "hardware"} - before:
            sys.modules.pop(name, None)


def test_every_score_is_compared(published: Any) -> None:
    compared = {key.partition(",")[0] for key in published.COMPARED}
    own = {plugin.name for plugin in available("metrics") if plugin.distribution == "dislab"}
    assert own - published.UNPUBLISHED == compared


@pytest.mark.parametrize("kind", ["noisy", "dead"])
def test_scores_equal_the_published_formulas(kind: str, published: Any) -> None:
    factors = published.draw_factors(SIZES, 300, 0)
    codes = published.standard_codes(factors, 5, 0)[kind]
    for key in sorted(published.COMPARED.keys() - DRAWN - OTHER - TREES):
        for name, (own, other) in published.compare(key, codes, factors, SIZES).items():
            if other is None:  # the covariance of dead latents has no logarithm
                assert (kind, name) == ("dead", "gaussian_total_correlation")
                continue
            assert own == pytest.approx(other, abs=TOLERANCES.get(key, 1e-9)), name
