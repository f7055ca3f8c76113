"""Every part is declared under its name, and the cases of the tests name such parts."""

import pytest
from tests import cases

from dislab.plugins import GROUPS, available
from dislab.testing import check_declared


@pytest.mark.parametrize("group", GROUPS)
def test_every_part_is_declared_under_its_name(group: str) -> None:
    check_declared(group, [plugin.name for plugin in available(group)])


@pytest.mark.parametrize("group", cases.SETTINGS)
def test_cases_are_of_declared_parts(group: str) -> None:
    assert cases.SETTINGS[group].keys() <= set(cases.own(group))
