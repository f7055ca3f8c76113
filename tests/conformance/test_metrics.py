"""Every built-in score conforms."""

from typing import Any

import pytest
from tests import cases

from dislab.testing import check_metric


@pytest.mark.parametrize("build", cases.cases("metrics"))
def test_metrics(build: Any) -> None:
    check_metric(build, images=600)
