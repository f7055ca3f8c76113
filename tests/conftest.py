"""Settings that every test shares."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")

import pytest
import torch

torch.set_num_threads(1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a card where there is none, nor one made of Python."""
    if torch.cuda.is_available() or os.environ.get("DISLAB_SIMULATED_DEVICE"):
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
