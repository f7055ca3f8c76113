"""Scores without Lightning and without run-time type checks, as a script uses them."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"

PRELUDE = """
import torch
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import DCI, MIG, FactorVAEScore
space = FactorSpace((Factor("shape", (0., 1.)), Factor("scale", (0., 1., 2.))))
"""


def run(script: str) -> str:
    command = [sys.executable, "-c", PRELUDE + script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_scores_need_no_lightning() -> None:
    script = "import sys\nprint([name for name in sys.modules if name.startswith('lightning.')])"
    assert run(script) == "[]"


@pytest.mark.parametrize("score", ["MIG", "DCI", "FactorVAEScore"])
def test_factors_that_are_no_integers_are_refused(score: str) -> None:
    script = f"""
metric = {score}(space)
metric.update(torch.randn(8, 3), torch.rand(8, 2))
try:
    metric.compute()
except InputError as error:
    print(error)
"""
    assert "integers that number the values, not torch.float32" in run(script)


def test_unknown_names_are_refused() -> None:
    script = """
from dislab.metrics import MCC, SAP, DownstreamAccuracy, Explicitness, InfoMEC
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
    assert run(script).splitlines() == [
        "DCI.learner is 'svm'; choose one of hgbt, gbt, rf, lasso, lassocv",
        "MCC.correlation is 'svm'; choose one of pearson, spearman",
        "SAP.predictor is 'svm' (did you mean svc?); choose one of r2, svc",
        "DownstreamAccuracy.classifier is 'svm'; choose one of logistic, hgbt",
        "InfoMEC.estimator is 'svm'; choose one of knn, bins, discrete",
        "Explicitness.classifier is 'svm'; choose one of one_vs_rest, multinomial",
    ]


def test_the_examples_of_the_documentation_are_true() -> None:
    results = doctest.testfile(str(DOCS), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 5
    assert results.failed == 0
