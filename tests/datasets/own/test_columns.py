import warnings

import numpy as np
import pytest

from dislab.datasets.own._columns import Column, Traits, labelled, unlabelled
from dislab.errors import InputError
from dislab.factors import ContinuousFactorWarning

NOTHING = Traits({}, {}, {})


def test_a_complete_grid_in_any_order_needs_no_table() -> None:
    columns: dict[str, Column] = {"a": [2.0, 1.0, 2.0, 1.0], "b": ["x", "y", "y", "x"]}
    space, order = labelled(columns, NOTHING)
    assert space.table is None
    assert space["a"].values == (1.0, 2.0)
    assert (space["a"].kind, space["b"].kind) == ("ordinal", "categorical")
    assert space["b"].values == ("x", "y")
    assert order.tolist() == [3, 1, 0, 2]


def test_a_partial_grid_keeps_its_states() -> None:
    columns = {"a": [5.0, 1.0, 1.0], "b": [0.0, 7.0, 3.0]}
    space, order = labelled(columns, NOTHING)
    assert len(space) == 3
    assert space.sizes == (2, 3)
    assert order.tolist() == [2, 1, 0]
    values = space.values(space.positions(np.arange(3)))
    assert values.tolist() == [[1, 3], [1, 7], [5, 0]]


def test_images_with_equal_values_get_a_last_factor() -> None:
    columns = {"digit": [3.0, 1.0, 3.0, 3.0, 1.0]}
    space, order = labelled(columns, NOTHING)
    assert space.names == ("digit", "instance")
    assert space["instance"].kind == "categorical"
    assert order.tolist() == [1, 4, 0, 2, 3]  # in their own order among equals
    assert space.positions(np.arange(5)).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    assert space.table is not None


def test_traits_describe_the_factors() -> None:
    traits = Traits({"a": "categorical"}, {"b": "deg"}, {"b": 360.0})
    space, _ = labelled({"a": [0.0, 1.0], "b": [0.0, 90.0]}, traits)
    assert space["a"].kind == "categorical"
    assert (space["b"].kind, space["b"].unit, space["b"].period) == ("circular", "deg", 360)


@pytest.mark.parametrize(
    ("columns", "traits", "message"),
    [
        ({"a": [0.0]}, Traits({"b": "ordinal"}, {}, {}), "kinds names 'b', which is no factor"),
        ({"size": [0.0]}, Traits({}, {"siz": "m"}, {}), r"units names 'siz' \(did you mean size"),
        ({"a": [0.0, float("inf")]}, NOTHING, "factor a has a value that is infinite"),
        ({"a": [0.0, float("nan")]}, NOTHING, "factor a has a value that is infinite or no"),
        ({"a": ["x", "y"]}, Traits({"a": "ordinal"}, {}, {}), "has names for values, but is ord"),
        ({"a": [0.0]}, Traits({"a": "circular"}, {}, {}), "a is circular and needs a period"),
        (
            {"a": [0.0]},
            Traits({"a": "ordinal"}, {}, {"a": 9.0}),
            "leave out its kind ordinal, or its",
        ),
        ({"instance": [1.0, 1.0]}, NOTHING, "instance is a factor already"),
    ],
)
def test_refuses_what_contradicts_itself(
    columns: dict[str, list[float]], traits: Traits, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        labelled(columns, traits)


def test_images_without_factors_are_numbered() -> None:
    space = unlabelled(3)
    assert space.names == ("image",)
    assert len(space) == 3


LEAVE_OUT = "leave out of factors what only numbers the images"


def measured(images: int) -> list[float]:
    numbers: list[float] = np.random.default_rng(0).random(images).tolist()
    return numbers


def test_nearly_as_many_numbers_as_images_are_measurements() -> None:
    columns: dict[str, Column] = {"level": [float(n % 20) for n in range(21)], "x": measured(21)}
    with pytest.warns(ContinuousFactorWarning) as said:
        space, order = labelled(columns, NOTHING)
    (message,) = [str(one.message) for one in said]
    assert message.startswith("x is continuous: it has 21 different numbers in 21 images;")
    assert message.endswith(f"name another kind in kinds, such as x: ordinal; {LEAVE_OUT}")
    assert (space["level"].kind, space["x"].kind) == ("ordinal", "continuous")
    values = space.values(space.positions(np.arange(21)))
    assert values[:, 1].tolist() == [columns["x"][number] for number in order]


@pytest.mark.parametrize(
    ("images", "numbers", "traits", "kind"),
    [
        (20, 20, NOTHING, "ordinal"),
        (60, 30, NOTHING, "ordinal"),
        (60, 31, NOTHING, "continuous"),
        (60, 60, Traits({"x": "ordinal"}, {}, {}), "ordinal"),
        (60, 3, Traits({"x": "continuous"}, {}, {}), "continuous"),
        (60, 60, Traits({}, {}, {"x": 2.0}), "continuous"),
        (60, 60, Traits({"x": "circular"}, {}, {"x": 2.0}), "circular"),
    ],
)
def test_kinds_of_numbers(images: int, numbers: int, traits: Traits, kind: str) -> None:
    column = [n % numbers / 64 for n in range(images)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContinuousFactorWarning)
        space, _ = labelled({"x": column}, traits)
    assert space["x"].kind == kind
    assert space["x"].period == traits.periods.get("x")


def test_one_line_names_all_factors_that_were_measured() -> None:
    columns = {name: measured(30) for name in "abcdefghijk"}
    with pytest.warns(ContinuousFactorWarning) as said:
        labelled(columns, Traits({"a": "ordinal"}, {}, {"b": 1.0}))
    assert [str(one.message) for one in said] == [
        "b, c, d, e, f, g, h, i and 2 more are continuous: they have 30 different numbers in 30 "
        f"images; if each is a value of its own, name another kind in kinds, such as b: circular; "
        f"{LEAVE_OUT}"
    ]


def test_the_example_of_another_kind_is_no_angle() -> None:
    columns = {"hue": measured(30), "x": measured(30)}
    with pytest.warns(ContinuousFactorWarning, match="such as x: ordinal;"):
        labelled(columns, NOTHING)
    with pytest.warns(ContinuousFactorWarning, match="name another kind in kinds;"):
        labelled({"hue": columns["hue"]}, NOTHING)
