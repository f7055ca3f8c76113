"""Every built-in encoder conforms."""

from typing import Any

import pytest
from tests import cases

from dislab.base import ImageShape
from dislab.testing import check_encoder


@pytest.mark.parametrize(("build", "shape"), cases.networks("encoders"))
def test_encoders(build: Any, shape: ImageShape) -> None:
    check_encoder(build, shape)
