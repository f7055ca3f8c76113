"""Laws of the factor space and of selections over it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

SHAPE = Factor("shape", ("square", "ellipse", "heart"), "categorical")
SCALE = Factor("scale", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
ANGLE = Factor(
    "orientation", tuple(np.linspace(0, 2 * np.pi, 40).tolist()), "circular", "rad", 2 * np.pi
)
SPACE = FactorSpace((SHAPE, SCALE, ANGLE))
PARTIAL = FactorSpace((SHAPE, SCALE), np.array([[2, 5], [0, 0], [1, 3], [0, 4]]))


def space_of(sizes: list[int], table: np.ndarray | None = None) -> FactorSpace:
    factors = tuple(Factor(f"f{n}", tuple(map(float, range(size)))) for n, size in enumerate(sizes))
    return FactorSpace(factors, table)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.none() | st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=20),
)
def test_index_and_position_are_each_others_inverse(
    sizes: list[int], kept: list[float] | None
) -> None:
    space = space_of(sizes)
    if kept is not None:
        some = list({int(share * len(space)): None for share in kept})
        space = space_of(sizes, space.positions(some))
    states = np.arange(len(space))
    positions = space.positions(states)
    assert positions.shape == (len(space), len(space.sizes))
    assert len(np.unique(positions, axis=0)) == len(space)
    assert (space.index(positions) == states).all()
    assert (space.index(positions[0]) == 0).all()


def test_last_factor_is_fastest() -> None:
    assert SPACE.positions([0, 1, 40, 240]).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert SPACE.positions([[5, 719]]).tolist() == [[[0, 0, 5], [2, 5, 39]]]
    assert len(SPACE) == 720


def test_a_table_keeps_its_order() -> None:
    assert PARTIAL.positions([2, 0]).tolist() == [[1, 3], [2, 5]]
    assert PARTIAL.index([[0, 4], [2, 5]]).tolist() == [3, 0]
    with pytest.raises(InputError, match="not in the data set"):
        PARTIAL.index([0, 1])


def test_a_table_may_have_more_combinations_than_64_bits() -> None:
    table = np.array([[9999, 0, 3, 9, 1, 2], [0, 9999, 3, 9, 1, 2], [5, 5, 5, 5, 5, 5]])
    space = space_of([10_000] * 6, table)
    assert space.index(table[[2, 0, 1]]).tolist() == [2, 0, 1]
    with pytest.raises(InputError, match="not in the data set"):
        space.index([5, 5, 5, 5, 5, 6])
    with pytest.raises(InputError, match="more combinations than 64 bits"):
        space_of([10_000] * 6)


def test_values_are_in_units_and_names_count() -> None:
    values = SPACE.values([[2, 1, 13], [0, 5, 26]])
    assert np.allclose(values, [[2, 0.6, 2 * np.pi / 3], [0, 1.0, 4 * np.pi / 3]])


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        ({}, 720),
        ({"shape": "heart"}, 240),
        ({"shape": ["heart", "square"]}, 480),
        ({"scale": 0.7}, 120),
        ({"scale": 0.7 + 4e-7}, 120),
        ({"scale": {"min": 0.9}}, 240),
        ({"scale": {"min": 0.6, "max": 0.8}}, 360),
        ({"scale": {"max": 0.6 - 4e-7}}, 240),
        ({"scale": {"max": 0.6 - 6e-7}}, 120),
        ({"scale": [0.5, 1], "shape": "square"}, 80),
        # Exactly orientations 13 to 26, whose ends floating point alone would miss.
        ({"orientation": {"min": 2.0943951, "max": 4.1887902}}, 14 * 18),
        ({"orientation": {"min": 120 * np.pi / 180, "max": 240 * np.pi / 180}}, 14 * 18),
    ],
)
def test_selections_count(selection: dict[str, object], count: int) -> None:
    states = SPACE.where(selection)  # type: ignore[arg-type]
    assert len(states) == count
    assert (np.diff(states) > 0).all()


def test_a_selection_means_every_condition() -> None:
    states = SPACE.where({"shape": "ellipse", "scale": {"max": 0.6}})
    assert {tuple(row) for row in SPACE.positions(states)[:, :2].tolist()} == {(1, 0), (1, 1)}
    assert PARTIAL.where({"shape": "square", "scale": {"min": 0.6}}).tolist() == [3]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"shpe": "heart"}, "did you mean shape.*shape, scale, orientation"),
        (
            {"colour": "red"},
            "no factor is named 'colour'; the factors are shape, scale, orientation",
        ),
        ({"shape": "hart"}, r"no value 'hart' \(did you mean heart\?\).*square, ellipse, heart"),
        ({"scale": 0.65}, "no value 0.65; they are 0.5, 0.6, 0.7, 0.8, 0.9, 1"),
        ({"scale": "large"}, "has numbers for values, not 'large'"),
        ({"scale": []}, "matches none"),
        ({"scale": {"min": 1.1}}, "matches none"),
        ({"scale": {"mn": 0.5}}, "is no range"),
        ({"scale": {}}, "is no range"),
        ({"shape": {"min": 1}}, "numeric factors only"),
        ({"orientation": 1.0}, r"0, 0\.161107, … 6\.28319 \(40 of them\) rad"),
    ],
)
def test_bad_selections_say_what_exists(selection: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SPACE.where(selection)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (True, "has numbers for values, not True"),
        (None, "None is no condition; give a value, a list of values or a range"),
        ({"min": "0.5"}, "'0.5' is no number"),
        ({"max": False}, "False is no number"),
    ],
)
def test_conditions_of_a_wrong_type(condition: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SCALE.allowed(condition)


def test_conditions_that_never_meet() -> None:
    with pytest.raises(InputError, match="matches no state"):
        PARTIAL.where({"shape": "heart", "scale": 0.5})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", ()), "has no values"),
        (("a", (1.0, 1.0)), "repeats a value"),
        (("a", ("x", "y")), "has names for values, but is ordinal"),
        (("a", (0.0, 1.0), "circular"), "is circular and needs a period"),
        (("a", (0.0, 1.0), "circular", "", 0.0), "has the period 0.0; it must be above 0"),
        (("a", (0.0, float("nan"))), "infinite or no number"),
        (("a", (0.0, 1.0), "ordinal", "rad", 2.0), "has the period 2 and is ordinal"),
    ],
)
def test_bad_factors(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Factor(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 3), dtype=int), r"shape \(2, 3\)"),
        (np.zeros((0, 2), dtype=int), "holds no state"),
        (np.array([[0, 6]]), "out of range"),
        (np.array([[-2, 0]]), "out of range"),
        (np.array([[0, 1], [0, 1]]), "repeats a state"),
    ],
)
def test_bad_tables(table: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FactorSpace((SHAPE, SCALE), table)


def test_names_are_unique() -> None:
    with pytest.raises(InputError, match="two factors are named 'scale'; give each factor a diff"):
        FactorSpace((SCALE, SCALE))


@pytest.mark.slow  # where types of arguments are not checked
@pytest.mark.parametrize("values", [4, None, "round"])
def test_values_are_a_sequence(values: Any) -> None:
    with pytest.raises(InputError, match=r"factor a has the values .*; give them in a tuple"):
        Factor("a", values)


@pytest.mark.slow  # where types of arguments are not checked
def test_a_space_holds_factors() -> None:
    factors: Any = [("a", 4)]
    with pytest.raises(InputError, match=r"factors holds \('a', 4\); it holds Factor objects"):
        FactorSpace(factors)


def test_a_space_has_a_factor() -> None:
    with pytest.raises(InputError, match="factors is empty; give at least one factor"):
        FactorSpace(())


def test_numbers_and_positions_must_exist() -> None:
    with pytest.raises(InputError, match="from 0 to 719"):
        SPACE.positions([720])
    with pytest.raises(InputError, match="from 0 to 719"):
        SPACE.positions([-1])
    with pytest.raises(InputError, match="3 value numbers; got shape"):
        SPACE.index([[0, 1]])
    with pytest.raises(InputError, match="below"):
        SPACE.index([0, 6, 0])


def test_look_up_by_name() -> None:
    assert SPACE["scale"] is SCALE
    assert SPACE.column("orientation") == 2
    with pytest.raises(InputError, match="did you mean scale"):
        SPACE["Scales"]


def test_many_names_are_not_all_listed() -> None:
    many = Factor("object", tuple(map(float, range(183))), "categorical")
    with pytest.raises(InputError, match=r"no value 200; they are 0, 1, .*, 49 and 133 more$"):
        many.allowed(200)


def test_factors_without_the_nuisance() -> None:
    kept = (Factor("a", (0.0, 1.0)), Factor("b", (0.0, 1.0, 2.0)))
    nuisance = Factor("n", (0.0, 1.0), nuisance=True)
    grid = FactorSpace((kept[0], nuisance, kept[1]))
    assert grid.essential == (0, 2)
    assert grid.essential_names == (kept[0].name, kept[1].name)
    assert grid.without_nuisance().factors == kept
    assert grid.without_nuisance().table is None
    rows = np.array([[1, 0, 2], [1, 1, 2], [0, 0, 1]])
    some = FactorSpace(grid.factors, rows).without_nuisance()
    assert some.table is not None
    assert some.table.tolist() == [[0, 1], [1, 2]]
    plain = FactorSpace(kept)
    assert plain.without_nuisance() is plain


X = Factor("x", (0.125, 0.25, 0.5, 2.125), "continuous", "cm")


def test_a_continuous_factor_is_selected_by_range() -> None:
    assert X.allowed({"min": 0.2, "max": 1}).tolist() == [False, True, True, False]
    assert X.allowed(0.25).tolist() == [False, True, False, False]
    assert X.places.tolist() == [0.0, 0.0625, 0.1875, 1.0]
    assert ANGLE.places.tolist() == [number / 39 for number in range(40)]
    assert Factor("one", (3.0,), "continuous").places.tolist() == [0.0]
    with pytest.raises(InputError, match=r"no value 0\.3; they are 4 numbers from 0\.125 to 2\.12"):
        X.allowed(0.3)
    with pytest.raises(InputError, match="give a range"):
        X.allowed([0.3])


def test_numbers_too_far_apart_are_refused() -> None:
    with pytest.raises(InputError, match="too far apart"):
        Factor("x", (-1.7e308, 1.7e308), "continuous")


@pytest.mark.parametrize(
    ("text", "number"), [("1e5", 1e5), ("0x10", 16), ("010", 10), ("1e1638797704", math.inf)]
)
def test_a_number_that_one_text_spells_means_this_text(text: str, number: float) -> None:
    names = Factor("code", ("a", text, "nan"), "categorical")
    assert names.allowed([number]).tolist() == [False, True, False]
    twice = Factor("code", (text, f" {text}"), "categorical")
    with pytest.raises(InputError, match="factor code has no value"):
        twice.allowed(number)


def test_a_space_is_shown_in_a_line() -> None:
    space = FactorSpace((Factor("shape", ("a", "b"), "categorical"), Factor("x", (0.0, 0.5, 1.0))))
    assert repr(space) == "FactorSpace(shape 2, x 3; 6 states)"
