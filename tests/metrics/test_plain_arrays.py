"""Scores without Lightning and without run-time type checks, as a script uses them."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"

SCRIPT = """
import sys
import torch
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import DCI, MIG, FactorVAEScore
from dislab.metrics import MCC, SAP, DownstreamAccuracy, Explicitness, InfoMEC

print([name for name in sys.modules if name.startswith('lightning.')])
space = FactorSpace((Factor("shape", (0., 1.)), Factor("scale", (0., 1., 2.))))
for kind in (MIG, DCI, FactorVAEScore):
    metric = kind(space)
    metric.update(torch.randn(8, 3), torch.rand(8, 2))
    try:
        metric.compute()
    except InputError as error:
        print(error)
for kind, setting in (
    (DCI, "learner"), (MCC, "correlation"), (SAP, "predictor"),
    (DownstreamAccuracy, "classifier"), (InfoMEC, "estimator"),
    (Explicitness, "classifier"),
):
    try:
        kind(space, **{setting: "svm"})
    except InputError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """The lines that a script of scores prints, in a process without run-time type checks."""
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_scores_need_no_lightning(printed: list[str]) -> None:
    assert printed[0] == "[]"


@pytest.mark.slow
def test_factors_that_are_no_integers_are_refused(printed: list[str]) -> None:
    for line in printed[1:4]:
        assert "integers that number the values, not torch.float32" in line


@pytest.mark.slow
def test_unknown_names_are_refused(printed: list[str]) -> None:
    assert printed[4:] == [
        "DCI.learner is 'svm'; choose one of hgbt, gbt, rf, lasso, lassocv",
        "MCC.correlation is 'svm'; choose one of pearson, spearman",
        "SAP.predictor is 'svm' (did you mean svc?); choose one of r2, svc",
        "DownstreamAccuracy.classifier is 'svm'; choose one of logistic, hgbt",
        "InfoMEC.estimator is 'svm'; choose one of knn, bins, discrete",
        "Explicitness.classifier is 'svm'; choose one of one_vs_rest, multinomial",
    ]


@pytest.mark.slow
def test_the_examples_of_the_documentation_are_true() -> None:
    results = doctest.testfile(str(DOCS), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 5
    assert results.failed == 0
