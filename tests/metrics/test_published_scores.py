"""Scores equal plain computations from the formulas of papers and published code."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.laws import SCORES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZES = (3, 4, 5)
TOLERANCES = {
    "dci_lasso": 1e-3,  # the published lasso stops early
    "dci_lassocv": 1e-3,
    "explicitness": 1e-3,  # as do its regressions
    "explicitness_multinomial": 1e-3,
    "block_mcc_kernel": 0.01,  # an R² below 0 counts 0
    "block_mcc_linear": 0.01,
    "infomec_bins": 0.05,  # regressions weigh values alike there
    "infomec_discrete": 0.05,
    "infomec_knn": 0.05,  # other noise separates equal codes
    "mcc_linear": 1e-4,  # as do its canonical variates
    "mcc_linear_spearman": 0.01,  # rounding parts equal variates, each in its own way
    "udr": 1e-4,  # as does its lasso
    "rdc": 0.01,  # other sine functions
    "sap_svc": 0.02,  # the published machines stop early: an image or two of 150
}
"""Largest differences where there is a reason for any; 1e-9 for other scores."""
DRAWN = {"beta_vae_score", "factor_vae_score"}
"""Scores that draw other points than the plain computation."""
OTHER = {"dci_hgbt", "downstream_hgbt", "downstream_logistic"}
"""Scores with other learners than published code, as the page of the scores says."""
TREES = {"dci_gbt", "dci_rf", "dcies_rf"}
"""Scores that take seconds; `test_dci.py` and `test_dcies.py` compare their learners."""


@pytest.fixture(scope="module")
def published() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        before = set(sys.modules)
        yield import_module("published_scores")
        for name in {"published_scores", "standard_codes", "hardware"} - before:
            sys.modules.pop(name, None)


def test_every_variant_is_compared(published: Any) -> None:
    """A new score or variant gets a line in both tables, and `udr` scores several models."""
    assert set(SCORES) - published.UNPUBLISHED == published.COMPARED.keys() - {"udr"}


def test_every_result_of_the_page_is_of_a_score_that_is_compared(published: Any) -> None:
    report = json.loads((BENCHMARKS / "results/published_scores.json").read_text())["results"]
    assert list(report) == list(published.COMPARED)
    empty = [key for key, by_kind in report.items() if not by_kind]
    assert not empty, f"run benchmarks/published_scores.py --scores {' '.join(empty)}"


@pytest.mark.slow
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


def test_scores_with_bins_equal_the_published_ones_where_factors_have_more_values(
    published: Any,
) -> None:
    factors = published.draw_factors(published.MANY, 400, 0)
    codes = published.standard_codes(factors, 5, 0)["noisy"]
    for key in ("irs", "mig", "mig_sup", "jemmig", "dcimig", "modularity"):
        for name, (own, other) in published.compare(key, codes, factors, published.MANY).items():
            assert own == pytest.approx(other, abs=1e-9), name
