from types import SimpleNamespace

import pytest
from tests.conftest import pytest_itemcollected


def is_slow(case: str, *marks: pytest.MarkDecorator) -> bool:
    item = SimpleNamespace(nodeid=f"tests/test_marks.py::collected[{case}]", added=[*marks])
    item.get_closest_marker = lambda name: next(
        (mark.mark for mark in item.added if mark.name == name), None
    )
    item.add_marker = item.added.append
    pytest_itemcollected(item)  # type: ignore[arg-type]  # what the hook reads of an item
    return item.get_closest_marker("slow") is not None


def test_every_nth_case_is_fast_from_the_first_one_on() -> None:
    slow = [is_slow(str(case), pytest.mark.every(3)) for case in range(7)]
    assert slow == [False, True, True, False, True, True, False]
    assert not is_slow("another")
