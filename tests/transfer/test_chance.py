"""The prediction without codes, beside the predictors."""

from typing import Any

import numpy as np
import pytest

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.predictors import Ridge
from dislab.transfer import Scenario, transfer_scores
from dislab.transfer.images import Sizes, scenario_images
from dislab.transfer.predictor_errors import _no_better as no_better
from dislab.transfer.table import transfer_table

SPACE = FactorSpace(
    (
        Factor("side", (0.0, 1.0)),
        Factor("x", (0.0, 1.0, 2.0, 4.0)),
        Factor("shape", ("cube", "ball"), "categorical"),
    )
)
SHIFT = Scenario("shift", {"side": 0}, {"side": 1}, shifted=("side",))


def drawn(images: int = 600) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    factors = np.stack(
        [
            rng.integers(2, size=images),
            rng.choice(4, size=images, p=[0.6, 0.1, 0.1, 0.2]),
            rng.choice(2, size=images, p=[0.25, 0.75]),
        ],
        axis=1,
    )
    return SPACE.values(factors * [1, 1, 0]) * 1.0, factors


def test_chance_is_the_median_of_numbers_and_the_most_frequent_kind() -> None:
    codes, factors = drawn()
    found = transfer_scores(codes, factors, SPACE, [SHIFT], {"r": Ridge}, 10**6, 10**6)
    tested = factors[factors[:, 0] == 1]
    # the median of x is its lowest value, so that its error is the mean of x / 4
    expected = SPACE.values(tested)[:, 1].mean() / 4
    assert found.values["shift/chance"] == pytest.approx(expected)
    assert found.parts["shift"]["chance"]["error"] == {"x": pytest.approx(expected)}
    assert found.values["shift/chance/accuracy"] == pytest.approx((tested[:, 2] == 1).mean())
    assert 0.2 < found.values["shift/chance/in_distribution"] < 0.4
    assert found.values["shift/r"] < 0.01
    assert len(found.notes) == 2
    assert not any("chance" in note for note in found.notes)
    rows = [line.split() for line in transfer_table({"run": found}).splitlines()]
    assert [row[0] for row in rows[:3]] == ["scenario/predictor", "shift/r", "shift/chance"]
    assert rows[2][1] == f"{expected:.4f}"
    assert list(found.predictors) == ["r"]


def test_a_table_of_many_runs_fits_a_terminal() -> None:
    codes, factors = drawn()
    found = transfer_scores(codes, factors, SPACE, [SHIFT], {"r": Ridge}, 10**6, 10**6)
    two = transfer_table({"a": found, "b": found}).splitlines()
    assert sum(line.startswith("shift/r") for line in two) == 1
    many = transfer_table({f"run{number}": found for number in range(6)}).splitlines()
    table = [line for line in many if not line.startswith("note: ")]
    assert max(map(len, table)) <= 100
    assert sum(line.startswith("shift/r") for line in table) == 6


def test_a_predictor_that_errs_exactly_as_chance_is_no_better() -> None:
    values = {"shift/chance": 0.25, "shift/equal": 0.25, "shift/worse": 0.5, "shift/good": 0.1}
    (note,) = no_better("shift", ["equal", "worse", "good"], values)
    assert note.endswith("under the shift: equal, worse")


def test_a_predictor_that_errs_as_much_is_named() -> None:
    _, factors = drawn()
    noise = np.random.default_rng(1).normal(size=(len(factors), 3))
    chosen = {"r": Ridge, "good": lambda latents, classes: Ridge(latents, classes)}
    found = transfer_scores(noise, factors, SPACE, [SHIFT], chosen)
    chance = found.values["shift/chance"]
    assert found.values["shift/r"] >= chance
    assert found.notes[-1] == (
        f"shift: no better than chance, which errs by {chance:.3f}, under the shift: r, good"
    )


def test_no_predictor_can_have_its_name() -> None:
    with pytest.raises(InputError, match="no predictor can be called chance"):
        transfer_scores(*drawn(), SPACE, [SHIFT], {"chance": Ridge})


def test_the_seed_draws_the_images_to_learn_from_and_to_test_on() -> None:
    first, again, other = (
        scenario_images(SHIFT, np.arange(90), np.arange(90, 180), Sizes(20, 20, seed))
        for seed in (0, 0, 1)
    )
    for part in ("train", "held_back", "test"):
        assert np.array_equal(getattr(first, part), getattr(again, part))
        assert not np.array_equal(getattr(first, part), getattr(other, part))
