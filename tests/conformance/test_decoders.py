"""Every built-in decoder conforms."""

from typing import Any

import pytest
from tests import cases

from dislab.base import ImageShape
from dislab.testing import check_decoder


@pytest.mark.slow
@pytest.mark.parametrize(("build", "shape"), cases.networks("decoders"))
def test_decoders(build: Any, shape: ImageShape) -> None:
    check_decoder(build, image_shape=shape)
