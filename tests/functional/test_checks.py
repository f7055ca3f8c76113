"""Refusals of words and numbers."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from dislab.errors import InputError
from dislab.functional.checks import (
    check_above,
    check_at_least,
    check_choice,
    check_count,
    naming,
)


def test_a_word_that_is_allowed_passes() -> None:
    check_choice("colour", "grey", ("keep", "grey", "rgb"))


def test_another_word_is_refused_with_the_one_that_was_meant() -> None:
    message = r"colour is 'gray' \(did you mean grey\?\); choose one of keep, grey, rgb"
    with pytest.raises(InputError, match=message):
        check_choice("colour", "gray", ("keep", "grey", "rgb"))


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (check_count, 0, "size is 0; it must be a whole number of at least 1"),
        (check_count, 2.0, "size is 2.0; it must be a whole number of at least 1"),
        (check_count, True, "size is True; it must be a whole number of at least 1"),
        (check_count, None, "size is None; it must be a whole number of at least 1"),
        (check_count, 10**9 + 1, "size is 1000000001; it must be at most 1,000,000,000"),
        (check_at_least, 0.5, "size is 0.5; it must be a finite number of at least 1"),
        (check_at_least, None, "size is None; it must be a finite number of at least 1"),
        (check_at_least, math.nan, "size is nan; it must be a finite number of at least 1"),
        (check_above, 1, "size is 1; it must be a finite number above 1"),
        (check_above, "x", "size is 'x'; it must be a finite number above 1"),
        (check_above, math.inf, "size is inf; it must be a finite number above 1"),
    ],
)
def test_numbers_out_of_bounds_are_refused(
    check: Callable[[str, Any, int], None], value: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check("size", value, 1)


@pytest.mark.parametrize(("value", "most"), [(1, 1), (10**9, 10**9), (5, 7)])
def test_counts_within_their_bounds_pass(value: int, most: int) -> None:
    check_count("size", value, 1, most)


def test_a_refusal_is_named_after_the_setting() -> None:
    with pytest.raises(InputError, match="include: no factor is named 'y'"), naming("include"):
        raise InputError("no factor is named 'y'")
