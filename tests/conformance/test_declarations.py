"""Every part is declared under its name."""

import pytest

from dislab.plugins import GROUPS, available
from dislab.testing import check_declared


@pytest.mark.parametrize("group", GROUPS)
def test_every_part_is_declared_under_its_name(group: str) -> None:
    check_declared(group, [plugin.name for plugin in available(group)])
