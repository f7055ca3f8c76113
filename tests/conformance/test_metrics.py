"""Every built-in score conforms."""

from typing import Any

import pytest
from tests import cases

from dislab.testing import check_metric

COSTLY = ("DCI-0", "DCI-1", "DCI-2", "DCIES-0", "BlockMCC-1", "DownstreamAccuracy-1")
"""Trees, kernels and networks, which take seconds; other settings of these classes are quick."""


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "build",
    [
        pytest.param(*case.values, id=case.id, marks=pytest.mark.slow if case.id in COSTLY else ())
        for case in cases.cases("metrics")
    ],
)
def test_metrics(build: Any) -> None:
    check_metric(build, images=600)
