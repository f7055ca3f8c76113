"""Every built-in data module conforms."""

from functools import partial
from typing import Any

import pytest

from dislab.datamodules import (
    ClampedData,
    CompositionData,
    PairedData,
    SingleData,
    SymbolData,
    TransitionData,
)
from dislab.datasets import DSprites
from dislab.plugins import available
from dislab.testing import check_datamodule

DATAMODULES: dict[str, Any] = {
    "ClampedData": [partial(ClampedData, groups={"place": ["posX", "posY"], "size": ["scale"]})],
    "CompositionData": [CompositionData],
    "PairedData": [PairedData, partial(PairedData, scheme="uniform")],
    "SingleData": [SingleData],
    "SymbolData": [SymbolData, partial(SymbolData, examples_per_concept=2)],
    "TransitionData": [TransitionData],
}
SMALL: Any = {"orientation": {"max": 1.0}, "posX": {"max": 0.3}, "posY": {"min": 0.8}}


def test_every_declared_datamodule_is_checked_here() -> None:
    own = {plugin.name for plugin in available("datamodules") if plugin.distribution == "dislab"}
    assert own == set(DATAMODULES)


@pytest.mark.parametrize("hold_out", [None, {"shape": "heart", "scale": {"max": 0.75}}])
@pytest.mark.parametrize("build", [build for builds in DATAMODULES.values() for build in builds])
def test_datamodules(build: Any, hold_out: Any) -> None:
    settings = {"include": SMALL, "hold_out": hold_out, "validation": 0.1, "test": 0.2}
    check_datamodule(partial(build, DSprites(), batch_size=16, **settings))
