"""Refusals of words; in tests those of types stand before them wherever a part asks for one."""

import pytest

from dislab.errors import InputError
from dislab.functional.checks import check_choice


def test_a_word_that_is_allowed_passes() -> None:
    check_choice("colour", "grey", ("keep", "grey", "rgb"))


def test_another_word_is_refused_with_the_one_that_was_meant() -> None:
    message = r"colour is 'gray' \(did you mean grey\?\); choose one of keep, grey, rgb"
    with pytest.raises(InputError, match=message):
        check_choice("colour", "gray", ("keep", "grey", "rgb"))
