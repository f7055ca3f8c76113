"""Conformance checks for authors of plugins.

Call them from a test, with the class or a `functools.partial` of it:

    from dislab.testing import check_regularizer
    from mykit import L1

    def test_l1_conforms() -> None:
        check_regularizer(L1)

Each raises `AssertionError` with one sentence that names the broken rule. `stress` tries a score on
codes of known quality.
"""

from dislab.testing._claims import check_configuration, check_declared
from dislab.testing.datamodules import check_datamodule
from dislab.testing.datasets import check_dataset
from dislab.testing.metrics import check_metric
from dislab.testing.networks import check_decoder, check_encoder
from dislab.testing.objectives import check_compiles, check_objective
from dislab.testing.predictors import check_predictor
from dislab.testing.regularizers import check_regularizer
from dislab.testing.situations import Cell, Situation, Stress, stress

__all__ = [
    "Cell",
    "Situation",
    "Stress",
    "check_compiles",
    "check_configuration",
    "check_datamodule",
    "check_dataset",
    "check_declared",
    "check_decoder",
    "check_encoder",
    "check_metric",
    "check_objective",
    "check_predictor",
    "check_regularizer",
    "stress",
]
