"""Settings that every test shares."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")

from collections.abc import Iterator

import pytest
import torch
from jsonargparse import _common

torch.set_num_threads(1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a card where there is none, nor one made of Python."""
    if torch.cuda.is_available() or os.environ.get("DISLAB_SIMULATED_DEVICE"):
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(autouse=True)
def _parsers_of_its_own() -> Iterator[None]:
    """Ends the limits that a command sets to the parsers of its process, without a public call."""
    before = dict(_common.parsing_settings)
    yield
    _common.parsing_settings.clear()
    _common.parsing_settings.update(before)
