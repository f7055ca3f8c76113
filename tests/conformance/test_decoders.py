"""Every built-in decoder conforms."""

from functools import partial
from typing import Any

import pytest

from dislab.base import ImageShape
from dislab.decoders import (
    ConvDecoder64,
    ConvGenerator,
    MLPDecoder,
    ResidualDecoder128,
    SpatialBroadcastDecoder,
)
from dislab.plugins import available
from dislab.testing import check_decoder

DECODERS: dict[str, Any] = {
    "ConvDecoder64": [partial(ConvDecoder64, preset=p) for p in ("burgess", "locatello", "kim")],
    "ConvGenerator": [partial(ConvGenerator, channels=(8, 4), hidden=8)],
    "MLPDecoder": [partial(MLPDecoder, hidden=(8,))],
    "ResidualDecoder128": [ResidualDecoder128],
    "SpatialBroadcastDecoder": [partial(SpatialBroadcastDecoder, channels=(8, 8))],
}
SHAPES: dict[Any, ImageShape] = {ResidualDecoder128: (3, 128, 128)}


def test_every_declared_decoder_is_checked_here() -> None:
    own = {plugin.name for plugin in available("decoders") if plugin.distribution == "dislab"}
    assert own == set(DECODERS)


@pytest.mark.parametrize("build", [build for builds in DECODERS.values() for build in builds])
def test_decoders(build: Any) -> None:
    check_decoder(build, image_shape=SHAPES.get(build, (1, 64, 64)))
