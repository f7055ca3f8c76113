"""A seed gives the same draws in every release, so that figures can be repeated."""

import hashlib
from typing import Any, cast

import numpy as np
import pytest
import torch

from dislab.base import Dataset
from dislab.datamodules import (
    ClampedData,
    CompositionData,
    PairedData,
    SingleData,
    SymbolData,
    TransitionData,
)

CORRELATION: Any = {"factors": ["angle", "place"], "strength": 0.3}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "single": (SingleData, {}),
    "single, correlated": (SingleData, {"correlation": CORRELATION}),
    "paired": (PairedData, {}),
    "paired, uniform": (PairedData, {"scheme": "uniform"}),
    "clamped": (ClampedData, {"groups": {"place": ["place"], "rest": ["shape", "angle"]}}),
    "composition": (CompositionData, {}),
    "composition, across": (CompositionData, {"triplets": "across_splits"}),
    "symbols": (SymbolData, {}),
    "symbols, per concept": (SymbolData, {"examples_per_concept": 2}),
    "transitions": (TransitionData, {}),
}
KEPT = {
    "single": "55322cb17e9f2e90",
    "single, correlated": "674038dcc7b41737",
    "paired": "b83728cd67571c90",
    "paired, uniform": "a31d00c2d9357866",
    "clamped": "7cddf72d1798a29d",
    "composition": "c6457e784f69f5dd",
    "composition, across": "9d5223b1fa40f5c7",
    "symbols": "1a62520c2efb0319",
    "symbols, per concept": "4a8e41f120d74cd9",
    "transitions": "eb6da37817270423",
}


def digest(data: Any) -> str:
    """Of the states, value numbers and labels of batches of every loader."""
    torch.manual_seed(5)
    data.setup("fit")
    kept = hashlib.sha256()
    training = iter(data.train_dataloader())
    loaders = [[next(training) for _ in range(3)], data.val_dataloader(), data.test_dataloader()]
    loaders += [data.predict_dataloader(), data.sample_loader("train", 20, 3)]
    for loader in loaders:
        for number, numbers in enumerate(cast("Any", loader)):
            if number == 3:
                break
            labels = [numbers.labels[name] for name in sorted(numbers.labels)]
            for part in (numbers.states, numbers.positions, *labels):
                kept.update(np.ascontiguousarray(part.numpy()).tobytes())
    return kept.hexdigest()[:16]


@pytest.mark.parametrize("case", CASES)
def test_a_seed_draws_what_it_drew(case: str, tiny: Dataset) -> None:
    build, settings = CASES[case]
    data = build(tiny, batch_size=8, eval_batch_size=16, validation=0.2, test=0.2, **settings)
    assert digest(data) == KEPT[case]
