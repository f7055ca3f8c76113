"""Every built-in data module conforms."""

from functools import partial
from typing import Any

import pytest
from tests import cases

from dislab.datasets import DSprites
from dislab.testing import check_datamodule


@pytest.mark.slow
@pytest.mark.parametrize("hold_out", [None, {"shape": "heart", "scale": {"max": 0.75}}])
@pytest.mark.parametrize("build", cases.datamodules())
def test_datamodules(build: Any, hold_out: Any) -> None:
    settings = {"include": cases.INCLUDED, "hold_out": hold_out, "validation": 0.1, "test": 0.2}
    check_datamodule(partial(build, DSprites(), batch_size=16, **settings))
