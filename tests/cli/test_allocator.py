"""Memory of a training process."""

import gc

import pytest

from dislab.cli.process import old_objects_left_alone


@pytest.mark.slow
def test_old_objects_are_left_alone_and_later_searched_again() -> None:
    loop: list[object] = []
    loop.append(loop)
    gc.unfreeze()  # what another test may have frozen, as a worker of studies does
    with old_objects_left_alone():
        assert gc.get_freeze_count() > 1000
        assert not any(one is loop for one in gc.get_objects())
    assert gc.get_freeze_count() == 0
    assert any(one is loop for one in gc.get_objects())
