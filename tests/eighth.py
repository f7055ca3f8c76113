"""Leaves out all slow tests but an eighth: pytest -p tests.eighth --eighth 3."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--eighth`."""
    parser.addoption(
        "--eighth", required=True, type=int, choices=range(1, 9), help="which eighth of slow tests"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes every eighth slow test, in the order of their names."""
    slow = sorted(item.nodeid for item in items if item.get_closest_marker("slow"))
    left_out = set(slow) - set(slow[config.getoption("eighth") - 1 :: 8])
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]
