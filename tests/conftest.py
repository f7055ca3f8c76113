"""Settings that every test shares."""

import gc
import logging
import os
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

from collections.abc import Callable, Iterator

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from jsonargparse import _common

torch.set_num_threads(1)
gc.set_threshold(100_000, 50, 50)  # Python's own thresholds cost tests 6 % of their time
sys.path.insert(0, str(Path(__file__).parents[1]))  # for `from tests import cases`


_LONGEST = (
    "test_simulated_device.py",
    "test_kills.py",
    "test_study_kills.py",
    "test_distributed.py",
    "test_resuming.py",
    "test_commands.py",
    "test_damage.py",
    "test_parametric_chairs.py",
    "test_compiling.py",
)
"""Files with tests of minutes, which begin first, so that none runs last while others idle."""


_cases: Counter[str] = Counter()
"""Number of cases collected of each test with the mark `every`."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks as slow the cases that a test with the mark `every` leaves out of the fast tests."""
    if mark := item.get_closest_marker("every"):
        test = item.nodeid.partition("[")[0]
        if _cases[test] % mark.args[0]:
            item.add_marker(pytest.mark.slow)
        _cases[test] += 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begins with the longest tests, and skips what needs a card without one."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)  # other orders stay
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


@pytest.fixture
def lightnings_level() -> Iterator[None]:
    """Restores the level of Lightning's notes, which a page may set."""
    logger = logging.getLogger(pl.__name__)
    before = logger.level
    yield
    logger.setLevel(before)


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Seeds the global generators, so that a test without a seed has the same result each time."""
    seed = int(os.environ.get("DISLAB_TESTS_SEED", "0"))
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Undoes the threads that Lightning sets to start processes; draws keep their order."""
    yield
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture
def small_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Copies the finished run of a configuration's text into the folder of the test.

    The run is trained once a session for each text and options, and lies in `RUN`, with its
    configuration in `small.yaml`.
    """
    from tests.small_runs import RUN, trained_once  # imports the command

    def copied(text: str, *options: str) -> Path:
        monkeypatch.chdir(tmp_path)
        workplace = trained_once(tmp_path_factory.getbasetemp(), text, *options)
        shutil.copytree(workplace, tmp_path, dirs_exist_ok=True)
        return RUN

    return copied
