"""Transfer scores of plain arrays against numbers worked out by hand."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.predictors import NearestNeighbors, Ridge
from dislab.transfer import (
    Domain,
    Scenario,
    Transfer,
    transfer_scores,
    transfer_scores_of_runs,
)
from dislab.transfer.images import Sizes, scenario_images

# with settings in dictionaries, which mypy cannot follow
score: Callable[..., Transfer] = transfer_scores
score_runs: Callable[..., list[Transfer]] = transfer_scores_of_runs
SHIFT = Scenario("shift", {"hue": [0, 90]}, {"hue": [180, 270]}, shifted=("hue",))
ONE_HUE = Scenario("one", {"hue": 0}, {"hue": [90, 180, 270]}, shifted=("hue",))
SMALL = {"labels": 400, "tested": 200}


def test_the_mean_leaves_out_what_shifts_and_what_stands_still(images: Any, means: Any) -> None:
    found = score(*images, [SHIFT, ONE_HUE], {"mean": means}, labels=10**6, tested=10**6)
    # x is at 0, ½ and 1, a mean of ½ errs by 1/3; y is at 0 and 1, and errs by ½
    expected = (1 / 3 + 1 / 2) / 2
    assert found.values["shift/mean"] == pytest.approx(expected, abs=0.01)
    assert found.values["one/mean"] == pytest.approx(expected, abs=0.02)
    assert found.values["shift/mean/in_distribution"] == pytest.approx(expected, abs=0.03)
    assert found.values["shift/mean/accuracy"] == 0.5
    errors = found.parts["shift"]["mean"]["error"]
    # trained on 0 and 90 degrees, whose mean is 1/6 of the declared range; tested on 2/3 and 1
    assert errors["hue"] == pytest.approx(5 / 6 - 1 / 6, abs=0.01)
    assert errors.keys() == {"hue", "x", "y"}
    assert found.parts["one"]["mean"]["error"].keys() == {"x", "y"}
    assert found.scenarios["one"]["constant"] == ["hue"]
    assert found.scenarios["shift"]["constant"] == []
    assert found.parts["one"]["mean"]["accuracy"] == {"shape": 0.5}


def test_a_linear_predictor_of_the_values_transfers(images: Any) -> None:
    found = score(*images, [SHIFT], {"r": functools.partial(Ridge, penalty=1e-6)})
    assert found.values["shift/r"] < 1e-5
    assert found.values["shift/r/accuracy"] == 1.0
    assert found.parts["shift"]["r"]["error"]["hue"] < 1e-5


def test_codes_that_the_shift_moves_transfer_worse(images: Any) -> None:
    codes = images.codes.copy()
    codes[:, 1] += np.where(images.factors[:, 0] >= 2, 4.0, 0.0)  # x looks one range further
    found = score(codes, images.factors, images.space, [SHIFT], "Ridge")
    part = found.parts["shift"]["Ridge"]
    assert part["in_distribution"]["x"] < 0.01
    assert part["error"]["x"] == pytest.approx(1.0, abs=0.02)
    assert found.values["shift/Ridge"] == pytest.approx(0.5, abs=0.02)


def test_runs_that_are_scored_together_are_scored_alike(images: Any) -> None:
    other = images.codes @ np.random.default_rng(0).normal(size=(4, 4)) ** 3
    other[::3] += 1.0
    runs = np.stack([images.codes, other])
    together = score_runs(runs, *images[1:], [SHIFT, ONE_HUE], "Ridge", **SMALL)
    for codes, found in zip(runs, together, strict=True):
        alone = score(codes, *images[1:], [SHIFT, ONE_HUE], "Ridge", **SMALL)
        assert alone.values == pytest.approx(found.values, abs=1e-6)
    assert together[0].values["shift/Ridge"] != together[1].values["shift/Ridge"]


def test_equal_training_images_are_learnt_once(
    images: Any, means: Any, fitted: list[tuple[int, ...]]
) -> None:
    again = Scenario("again", SHIFT.train, {"hue": 180}, shifted=("hue",))
    found = score(*images, [SHIFT, again, ONE_HUE], {"m": means}, **SMALL)
    assert fitted == [(1, 400, 4), (1, 400, 4)]
    assert set(found.predictors) == {"m"}


def test_the_seed_decides_the_images(images: Any) -> None:
    noisy = images.codes + np.random.default_rng(1).normal(size=images.codes.shape)
    found = [
        score(noisy, *images[1:], [SHIFT], "Ridge", 300, 200, seed).values for seed in (0, 0, 1)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_the_seed_draws_images_to_learn_from_to_hold_back_and_to_test_on() -> None:
    states = np.arange(1000)
    first, again, other = (
        scenario_images(SHIFT, states[:500], states[500:], Sizes(100, 50, seed))
        for seed in (0, 0, 1)
    )
    for part in ("train", "held_back", "test"):
        assert np.array_equal(getattr(first, part), getattr(again, part))
        assert not np.array_equal(getattr(first, part), getattr(other, part)), part


def test_in_distribution_errors_are_those_of_images_held_back(images: Any) -> None:
    """A predictor that knows its own images by heart errs on others."""
    noisy = images.codes + np.random.default_rng(1).normal(size=images.codes.shape)
    nearest = functools.partial(NearestNeighbors, k=1)
    found = score(noisy, *images[1:], [SHIFT], {"nearest": nearest}, **SMALL)
    assert found.parts["shift"]["nearest"]["in_distribution"]["x"] > 0.1


def test_too_few_images_are_used_and_it_is_said(images: Any, means: Any) -> None:
    found = score(*images, [SHIFT], {"m": means}, labels=1500, tested=800)
    # 1,200 images are trainable: a fifth is held back
    counts = found.scenarios["shift"]["images"]
    assert counts == {
        "labels": 960,
        "held_back": 240,
        "tested": 800,
        "available": {"train": 1200, "test": 1200},
    }
    (note,) = found.notes
    assert note == (
        "shift: predictors learnt from 960 labels, not 1,500, as there are 1,200 images, of which "
        "240 were held back"
    )


def test_another_data_set_is_matched_by_names_and_values(images: Any, means: Any) -> None:
    elsewhere = FactorSpace(
        (
            Factor("shape", ("ball", "cube"), "categorical"),
            Factor("x", (0.0, 4.0)),
            Factor("light", (0.0, 1.0)),
        )
    )
    positions = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    scenario = Scenario("far", {}, {}, "out", also_without=("x",), dataset="Elsewhere")
    other = Domain(np.zeros((4, 4)), positions, elsewhere)
    found = score(*images, [scenario], {"m": means}, others={"far": other}, **SMALL)
    part = found.parts["far"]["m"]
    # 0 is ½ of the range −2 … 2 of training, and 4 is 1.5; class 1 of training is the ball
    assert part["error"] == {"x": pytest.approx((0 + 1) / 2, abs=0.05)}
    assert part["accuracy"] == {"shape": 0.75}
    assert found.values["far/m"] == part["error"]["x"]
    assert found.scenarios["far"]["absent"] == ["hue", "y"]
    assert "far/m/without_x" not in found.values

    exact = other._replace(values=np.array([[0, 1.0, 0]] * 4))
    found = score(*images, [scenario], {"m": means}, others={"far": exact}, **SMALL)
    assert found.parts["far"]["m"]["error"]["x"] == pytest.approx(0.25, abs=0.05)


def test_a_second_mean_leaves_out_more(images: Any, means: Any) -> None:
    scenario = Scenario("two", {"hue": [0, 90]}, {"hue": [180, 270]}, also_without=("hue",))
    found = score(*images, [scenario], {"m": means}, **SMALL)
    errors = found.parts["two"]["m"]["error"]
    assert found.values["two/m"] == pytest.approx(sum(errors.values()) / 3)
    without = (errors["x"] + errors["y"]) / 2
    assert found.values["two/m/without_hue"] == pytest.approx(without)


def test_a_kind_of_numbers_is_regressed_and_classified(means: Any) -> None:
    space = FactorSpace((Factor("kind", (1.0, 2.0), "categorical"), Factor("s", (0.0, 1.0))))
    factors = np.tile(space.positions(np.arange(4)), (30, 1))
    scenario = Scenario("s", {"s": 0}, {"s": 1}, shifted=("s",))
    found = score(space.values(factors), factors, space, [scenario], "Ridge")
    assert found.parts["s"]["Ridge"]["error"]["kind"] < 0.05
    assert found.values["s/Ridge/accuracy"] == 1.0


def test_nuisance_factors_are_left_alone(means: Any) -> None:
    space = FactorSpace(
        (
            Factor("a", (0.0, 1.0)),
            Factor("b", (0.0, 1.0)),
            Factor("instance", tuple(map(float, range(9))), nuisance=True),
        )
    )
    factors = space.positions(np.arange(36))
    scenario = Scenario("s", {"a": 0}, {"a": 1}, shifted=("a",))
    found = score(space.values(factors), factors, space, [scenario], {"m": means})
    assert found.parts["s"]["m"]["error"].keys() == {"b"}


def test_the_record_says_how_it_came_about(images: Any) -> None:
    ridge = functools.partial(Ridge, penalty=2.0)
    found = score(*images, [SHIFT], {"r": ridge}, 300, 100, seed=4)
    record = found.record()
    assert record["predictors"]["r"]["init_args"] == {"penalty": 2.0}
    assert record["predictors"]["r"]["class_path"] == "dislab.predictors.ridge.Ridge"
    assert record["predictors"]["r"]["versions"]["dislab"]
    assert record["sample"] == {
        "labels": 300,
        "tested": 100,
        "seed": 4,
        "runs": 1,
        "latents": 4,
        "factors": {"hue": 4, "x": 3, "y": 2, "shape": 2},
    }
    assert record["scenarios"]["shift"]["train"] == {"hue": [0, 90]}
    assert {"dislab", "torch"} <= record["versions"].keys()


OTHER = Scenario("o", {}, {}, dataset="Elsewhere")


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (Scenario("s", {"hue": [0, 90]}, {"hue": [90, 180]}), "overlap in 600 images, of 1,200"),
        (Scenario("s", {}, {}), "scenario s: train and test overlap in 2,400 images"),
        (Scenario("s", {"hue": 45}, {}), "scenario s: factor hue has no value 45; they are 0, 90"),
        (Scenario("s", {"hew": 45}, {}), "no factor is named 'hew' (did you mean hue?)"),
        (Scenario("s", {"hue": 0}, {"hue": 90}, shifted=("z",)), "no factor is named 'z'"),
        (Scenario("s", {"x": 0}, {"x": 2}, shifted=("y", "hue")), "no factor is left for the"),
        (OTHER, "scenario o tests on Elsewhere; give codes and factors of its images as others"),
        ("finger_ood1_d", "no scenario is named 'finger_ood1_d' (did you mean finger_ood1_"),
    ],
)
def test_a_scenario_that_cannot_be_scored_is_a_message(
    scenario: Any, message: str, images: Any
) -> None:
    if getattr(scenario, "shifted", ()) == ("y", "hue"):
        images = images._replace(
            space=FactorSpace((*images.space.factors[:3],)),
            factors=images.factors[:, :3],
        )
    with pytest.raises(InputError) as error:
        score(*images, [scenario], "Ridge")
    assert message in str(error.value)


def test_bad_arrays_and_settings_are_a_message(images: Any, means: Any) -> None:
    codes, factors, space = images
    broken = codes.copy()
    broken[3, 1] = np.nan
    flat = FactorSpace((Factor("image", tuple(map(float, range(2400)))),))
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((codes[0], factors, space), {}, "codes have shape (image, latent), not (4,)"),
        ((codes[:9], factors, space), {}, "codes of 9 images, but factors of 2400"),
        ((broken, factors, space), {}, "1 of 2400 codes hold NaN or infinity"),
        ((codes, factors + 1, space), {}, "value numbers of factor hue run from 0 to 3"),
        ((codes, factors[:, :1], flat), {}, "these images have none; give the data set a table"),
        (tuple(images), {"labels": 1}, "labels is 1; it must be a whole number of at least 2"),
        (tuple(images), {"tested": 0}, "tested is 0"),
        (tuple(images), {"predictors": "Rigde"}, "none of the predictors is named 'Rigde'"),
        (tuple(images), {"predictors": []}, "no predictor was chosen"),
        (tuple(images), {"predictors": {"chance": "Ridge"}}, "no predictor can be called chance"),
        (
            tuple(images),
            {"predictors": {"t": lambda *_: 1}},
            "int is no dislab.base.Predictor; give",
        ),
    ]
    for arrays, settings, message in cases:
        with pytest.raises(InputError) as error:
            score(*arrays, [SHIFT], **({"predictors": "Ridge"} | settings))
        assert message in str(error.value)
    with pytest.raises(InputError, match="no scenario was chosen; with dislab come"):
        score(*images, [])
    with pytest.raises(InputError, match="two scenarios are called shift"):
        score(*images, [SHIFT, SHIFT])


def test_codes_that_no_scenario_tests_on_are_refused(images: Any) -> None:
    others = {"shift": Domain(*images), "o": Domain(*images)}
    with pytest.raises(
        InputError, match=r"another data set for shift; .* another one are o; leave"
    ):
        score(*images, [SHIFT, OTHER], "Ridge", others=others)
    with pytest.raises(InputError, match=r"for shift, o; .* another one are none; "):
        score(*images, [SHIFT], "Ridge", others=others)


def test_tensors_are_taken_as_arrays_are(images: Any) -> None:
    found = score(
        torch.from_numpy(images.codes),
        torch.from_numpy(images.factors),
        images.space,
        [SHIFT],
        "Ridge",
    )
    again = score(*images, [SHIFT], "Ridge")
    assert found.values == again.values
