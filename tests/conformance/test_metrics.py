"""Every built-in score conforms."""

from functools import partial
from typing import Any

import pytest

from dislab.metrics import (
    DCI,
    DCIMIG,
    IRS,
    JEMMIG,
    MCC,
    MIG,
    SAP,
    BetaVAEScore,
    DownstreamAccuracy,
    Explicitness,
    FactorVAEScore,
    GaussianTotalCorrelation,
    InfoMEC,
    MeanPairwiseMI,
    MIGSup,
    Modularity,
    WassersteinCorrelation,
)
from dislab.plugins import available
from dislab.testing import check_metric

METRICS: dict[str, Any] = {
    "BetaVAEScore": [partial(BetaVAEScore, points_train=500, points_test=200)],
    "DCI": [DCI, *(partial(DCI, learner=learner) for learner in ("rf", "lasso", "lassocv"))],
    "DCIMIG": [DCIMIG],
    "DownstreamAccuracy": [
        partial(DownstreamAccuracy, classifier=classifier, labels=(10, 100), tested=150)
        for classifier in ("logistic", "hgbt")
    ],
    "Explicitness": [Explicitness],
    "FactorVAEScore": [FactorVAEScore],
    "GaussianTotalCorrelation": [GaussianTotalCorrelation],
    "IRS": [IRS],
    "InfoMEC": [InfoMEC, partial(InfoMEC, estimator="bins")],
    "JEMMIG": [JEMMIG],
    "MCC": [MCC, partial(MCC, correlation="spearman")],
    "MIG": [MIG],
    "MIGSup": [MIGSup],
    "MeanPairwiseMI": [MeanPairwiseMI],
    "Modularity": [Modularity, partial(Modularity, active_only=True)],
    "SAP": [SAP, partial(SAP, predictor="svc")],
    "WassersteinCorrelation": [WassersteinCorrelation],
}


def test_every_declared_metric_is_checked_here() -> None:
    own = {plugin.name for plugin in available("metrics") if plugin.distribution == "dislab"}
    assert own == set(METRICS)


@pytest.mark.parametrize("build", [build for builds in METRICS.values() for build in builds])
def test_metrics(build: Any) -> None:
    check_metric(build)
