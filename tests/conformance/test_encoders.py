"""Every built-in encoder conforms."""

from functools import partial
from typing import Any

import pytest

from dislab.base import ImageShape
from dislab.encoders import ConvCritic, ConvEncoder64, MLPEncoder, ResidualEncoder128
from dislab.plugins import available
from dislab.testing import check_encoder

ENCODERS: dict[str, Any] = {
    "ConvEncoder64": [partial(ConvEncoder64, preset=p) for p in ("burgess", "locatello", "kim")],
    "ConvCritic": [partial(ConvCritic, channels=(4, 8), hidden=8)],
    "MLPEncoder": [partial(MLPEncoder, hidden=(8,))],
    "ResidualEncoder128": [ResidualEncoder128],
    "TimmEncoder": [],  # tests/timm
}
SHAPES: dict[Any, ImageShape] = {ResidualEncoder128: (3, 128, 128)}


def test_every_declared_encoder_is_checked_here() -> None:
    own = {plugin.name for plugin in available("encoders") if plugin.distribution == "dislab"}
    assert own == set(ENCODERS)


@pytest.mark.parametrize("build", [build for builds in ENCODERS.values() for build in builds])
def test_encoders(build: Any) -> None:
    check_encoder(build, SHAPES.get(build, (1, 64, 64)))
