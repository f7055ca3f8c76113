"""Scenarios that contradict what an encoder was trained on are refused."""

import numpy as np
import pytest

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, Indices
from dislab.transfer import Scenario
from dislab.transfer.images import check_encoder

SPACE = FactorSpace(
    (
        Factor("hue", (0.0, 30.0, 60.0, 90.0), "circular", "deg", 360.0),
        Factor("shape", ("cube", "ball"), "categorical"),
    )
)
OTHER = FactorSpace((Factor("shape", ("ball",), "categorical"), Factor("hue", (60.0, 75.0))))


def states(*hues: float) -> Indices:
    return SPACE.where({"hue": list(hues)})


def check(
    scenario: Scenario, seen: Indices, space: FactorSpace = SPACE, test: Indices | None = None
) -> None:
    testable = space.where(scenario.test) if test is None else test
    check_encoder(scenario, SPACE, seen, SPACE.where(scenario.train), space, testable)


INSIDE = Scenario("i", {"hue": [0, 30]}, {"hue": 60}, "in", ("hue",))
OUTSIDE = Scenario("o", {"hue": [0, 30]}, {"hue": 60}, "out", ("hue",))


def test_suitable_encoders_pass() -> None:
    check(INSIDE, states(0, 30, 60))
    check(INSIDE, states(0, 30, 60, 90))
    check(OUTSIDE, states(0, 30))
    check(OUTSIDE, states(0, 30, 90))
    # one of the two states of each value is enough: the shape does not shift
    check(INSIDE, states(0, 30, 60)[::2])


def test_unsuitable_encoders_are_refused() -> None:
    with pytest.raises(InputError, match="never saw the shifted values, and this one was trained "):
        check(OUTSIDE, states(0, 30, 60))
    with pytest.raises(InputError, match="on hue 60; train one with them in hold_out"):
        check(OUTSIDE, states(0, 30, 60, 90))
    with pytest.raises(InputError, match="this one was not trained on hue 60; train one that was"):
        check(INSIDE, states(0, 30, 90))
    with pytest.raises(InputError, match="would learn from hue 0, which the encoder was not"):
        check(INSIDE, states(30, 60))


def test_images_without_a_shifted_value_are_no_evidence() -> None:
    gaps = FactorSpace(SPACE.factors, np.array([[-1, 0], [-1, 1], [0, 0], [1, 0], [2, 0], [3, 0]]))
    trainable, testable, missing = (
        gaps.where({"hue": [0, 30]}),
        gaps.where({"hue": 60}),
        np.array([0, 1]),
    )

    def check_gaps(scenario: Scenario, *hues: float) -> None:
        seen = np.union1d(gaps.where({"hue": list(hues)}), missing)
        check_encoder(scenario, gaps, seen, trainable, gaps, testable)

    check_gaps(INSIDE, 0, 30, 60)
    with pytest.raises(InputError, match="this one was not trained on hue 60; train one that was"):
        check_gaps(INSIDE, 0, 30)
    with pytest.raises(InputError, match="never saw some values of hue, and 2 images that this"):
        check_gaps(OUTSIDE, 0, 30)
    last = Scenario("l", {"hue": [0, 30]}, {"hue": 90}, "in", ("hue",))
    with pytest.raises(InputError, match="this one was not trained on hue 90"):
        check_encoder(
            last, gaps, np.union1d(trainable, missing), trainable, gaps, gaps.where(last.test)
        )


def test_combinations_count_where_several_factors_shift() -> None:
    scenario = Scenario(
        "r", {"shape": "cube"}, {"shape": "ball", "hue": 30}, "out", ("hue", "shape")
    )
    seen = SPACE.where({"shape": "cube"})
    check(scenario, np.union1d(seen, SPACE.where({"shape": "ball", "hue": 60})))
    with pytest.raises(InputError, match="trained on hue and shape 30 and ball"):
        check(scenario, np.union1d(seen, SPACE.where({"shape": "ball", "hue": 30})))


def test_values_of_another_data_set_are_compared_as_values() -> None:
    scenario = Scenario("o", {"hue": 0}, {}, "out", ("hue",), dataset="Other")
    check(scenario, states(0, 30), OTHER)
    with pytest.raises(InputError, match="was trained on hue 60;"):
        check(scenario, states(0, 60), OTHER)
    # a factor that the other data set lacks says nothing
    check(scenario, states(0, 60), FactorSpace((Factor("x", (0.0, 1.0)),)))


def test_without_shifted_factors_the_states_count() -> None:
    scenario = Scenario("o", {"hue": 0}, {"hue": 60}, "out")
    check(scenario, states(0, 30))
    with pytest.raises(InputError, match="was trained on 2 of them"):
        check(scenario, states(0, 60))
    check(Scenario("i", {"hue": 0}, {"hue": 60}), states(0))
