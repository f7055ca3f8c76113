"""Every built-in objective conforms."""

from pathlib import Path
from typing import Any

import pytest
from tests import cases

from dislab.testing import check_objective


@pytest.mark.parametrize(("build", "batch"), cases.objectives())
def test_objectives(build: Any, batch: Any, tmp_path: Path) -> None:
    check_objective(cases.ready(build, tmp_path), batch)
