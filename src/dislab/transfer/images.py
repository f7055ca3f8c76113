"""Training and test images of a scenario, and checks against the encoder's training."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import MISSING, TOLERANCE, Factor, FactorSpace, Indices, Selection
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator
from dislab.transfer.scenario import Scenario

_TRAIN, _TEST = 0, 1
"""Random streams of the two draws."""

_HELD_BACK: Final = 5
"""If there are too few states for `tested`, at least one in this many is held back."""

_CHUNK: Final = 1 << 18
_SHOWN: Final = 8


class Sizes(NamedTuple):
    """Requested numbers of images, and the seed of the draws.

    Attributes:
        labels: Number of labelled training images of a predictor.
        tested: Number of images of each test.
        seed: Seed of the draws.
    """

    labels: int
    tested: int
    seed: int


class ScenarioImages(NamedTuple):
    """The images of one scenario, by number.

    Attributes:
        scenario: The scenario.
        train: Training images of predictors.
        held_back: Held-back test images of the same distribution.
        test: Test images of the shifted distribution, from the other data set if there is one.
        notes: Remarks for the user.
        counts: Numbers of used and available images.
    """

    scenario: Scenario
    train: Indices
    held_back: Indices
    test: Indices
    notes: list[str]
    counts: dict[str, Any]


def check_sizes(sizes: Sizes) -> None:
    """Rejects numbers that leave no training or no test images."""
    check_count("labels", sizes.labels, 2)
    check_count("tested", sizes.tested, 1)


def scenario_images(
    scenario: Scenario, trainable: Indices, testable: Indices, sizes: Sizes
) -> ScenarioImages:
    """Draws the images of a scenario; equal seeds and equal images give equal draws.

    If there are too few images, a fifth is held back, and predictors are trained on the rest.

    Args:
        scenario: The scenario.
        trainable: Images that its training selection matches.
        testable: Images that its test selection matches.
        sizes: Requested numbers of images.

    Raises:
        InputError: Too few images match, or an image matches both selections.
    """
    if len(trainable) < 3:
        raise InputError(
            f"scenario {scenario.name}: there are {len(trainable)} images to learn from and to "
            "hold back; it needs at least 3"
        )
    if not scenario.dataset:
        _check_disjoint(scenario, trainable, testable)
    held_back = min(
        sizes.tested, max(len(trainable) - sizes.labels, -(-len(trainable) // _HELD_BACK))
    )
    labels = min(sizes.labels, len(trainable) - held_back)
    states = host_generator(sizes.seed, _TRAIN).permutation(trainable)[: labels + held_back]
    test = host_generator(sizes.seed, _TEST).permutation(testable)[: sizes.tested]
    notes = []
    if labels < sizes.labels:
        notes.append(
            f"{scenario.name}: predictors learnt from {labels:,} labels, not {sizes.labels:,}, as "
            f"there are {len(trainable):,} images, of which {held_back:,} were held back"
        )
    if len(test) < sizes.tested:
        notes.append(f"{scenario.name}: tested on all {len(test):,} images that there are")
    counts = {
        "labels": labels,
        "held_back": held_back,
        "tested": len(test),
        "available": {"train": len(trainable), "test": len(testable)},
    }
    return ScenarioImages(scenario, states[:labels], states[labels:], test, notes, counts)


def matching(
    scenario: Scenario, space: FactorSpace, positions: Indices, selection: Selection
) -> Indices:
    """Ascending row numbers of the states that a selection matches, at least one."""
    matches = np.ones(len(positions), dtype=np.bool_)
    with of_scenario(scenario):
        for name, condition in selection.items():
            column = space.column(name)
            matches &= space.factors[column].allowed(condition)[positions[:, column]]
    if not matches.any():
        raise InputError(
            f"scenario {scenario.name}: {dict(selection)!r} matches none of the "
            f"{len(positions):,} images; widen it, or give images that it matches"
        )
    return np.flatnonzero(matches)


def check_factors(scenario: Scenario, space: FactorSpace) -> None:
    """Rejects a scenario that names factors which do not exist in training."""
    with of_scenario(scenario):
        for name in (*scenario.shifted, *scenario.also_without):
            space.column(name)


@contextmanager
def of_scenario(scenario: Scenario) -> Iterator[None]:
    """Prepends the scenario's name to the message of an `InputError`."""
    try:
        yield
    except InputError as error:
        raise InputError(f"scenario {scenario.name}: {error}") from error


def _check_disjoint(scenario: Scenario, trainable: Indices, testable: Indices) -> None:
    both = np.intersect1d(trainable, testable, assume_unique=True)
    if len(both):
        raise InputError(
            f"scenario {scenario.name}: train and test overlap in {len(both):,} images, of "
            f"{len(trainable):,} and {len(testable):,}; narrow one of them"
        )


def check_encoder(
    scenario: Scenario,
    space: FactorSpace,
    seen: Indices,
    trainable: Indices,
    tests: FactorSpace,
    testable: Indices,
) -> None:
    """Rejects a scenario that contradicts the training of the encoder.

    The check compares values of the shifted factors, and their combinations. Those of the
    predictors' training must occur in the encoder's training. Those of the test must occur in it
    with `encoder: in`, and must not with `encoder: out`. Without shifted factors, `encoder: out`
    forbids test images in the encoder's training, unless they belong to another data set. Training
    images without a value of a shifted factor are no evidence of `in`, and rule out `out`.

    Args:
        scenario: The scenario.
        space: The factors of training.
        seen: States that the encoder was trained on.
        trainable: States that predictors may be trained on.
        tests: The factors of the test: the same space, or that of another data set.
        testable: States of `tests` that predictors may be tested on.

    Raises:
        InputError: The encoder's training contradicts the scenario.
    """
    names = [name for name in scenario.shifted if name in tests.names]
    if not names:
        if scenario.encoder == "out" and not scenario.dataset:
            _check_unseen(scenario, np.intersect1d(seen, testable, assume_unique=True))
        return
    factors = [space[name] for name in names]
    if scenario.encoder == "out":
        _check_values(scenario, space, seen, names)
    encoder_combinations = _combinations(space, seen, factors)
    trained = _combinations(space, trainable, factors)
    tested = _combinations(tests, testable, factors)
    if unseen := trained - encoder_combinations:
        raise InputError(
            f"scenario {scenario.name}: predictors would learn from {_words(factors, unseen)}, "
            "which the encoder was not trained on; train one that was, or narrow train"
        )
    if scenario.encoder == "in" and (unseen := tested - encoder_combinations):
        raise InputError(
            f"scenario {scenario.name} is for an encoder that was trained on the shifted values, "
            f"and this one was not trained on {_words(factors, unseen)}; train one that was, or "
            "leave the scenario out"
        )
    if scenario.encoder == "out" and (both := tested & encoder_combinations):
        raise InputError(
            f"scenario {scenario.name} is for an encoder that never saw the shifted values, and "
            f"this one was trained on {_words(factors, both)}; train one with them in hold_out, or "
            "leave the scenario out"
        )


def _check_values(scenario: Scenario, space: FactorSpace, seen: Indices, names: list[str]) -> None:
    columns = [space.column(name) for name in names if name in space.incomplete]
    lacking = int((space.positions(seen)[:, columns] == MISSING).any(1).sum())
    if lacking:
        raise InputError(
            f"scenario {scenario.name} is for an encoder that never saw some values of "
            f"{', '.join(names)}, and {lacking:,} images that this one was trained on have no "
            "value there; train one with gaps: drop, or leave the scenario out"
        )


def _check_unseen(scenario: Scenario, both: Indices) -> None:
    if len(both):
        raise InputError(
            f"scenario {scenario.name} is for an encoder that never saw the images of the test, "
            f"and this one was trained on {len(both):,} of them; train one with them in hold_out, "
            "or leave the scenario out"
        )


def _combinations(
    space: FactorSpace, states: Indices, factors: list[Factor]
) -> set[tuple[float | str, ...]]:
    """Combinations of values of the given factors that occur in the states."""
    columns = [space.column(factor.name) for factor in factors]
    numbers = [
        _numbers(factor, space.factors[column])
        for factor, column in zip(factors, columns, strict=True)
    ]
    rows = []
    for start in range(0, len(states), _CHUNK):
        positions = space.positions(states[start : start + _CHUNK])[:, columns]
        rows.append(np.unique(positions[(positions != MISSING).all(1)], axis=0))
    return {
        tuple(values[index] for values, index in zip(numbers, row, strict=True))
        for row in np.unique(np.concatenate(rows), axis=0)
    }


def _numbers(factor: Factor, here: Factor) -> list[float | str]:
    """Values of a factor in another data set, with values equal up to rounding replaced."""
    slack = TOLERANCE * float(np.ptp(factor.numbers))
    return [_nearest(factor, value, slack) for value in here.values]


def _nearest(factor: Factor, value: float | str, slack: float) -> float | str:
    if isinstance(value, str) or isinstance(factor.values[0], str):
        return value
    distance: npt.NDArray[np.float64] = np.abs(factor.numbers - value)
    index = int(distance.argmin())
    return factor.values[index] if distance[index] <= slack else value


def _words(factors: list[Factor], combinations: Iterable[tuple[float | str, ...]]) -> str:
    rows = sorted(combinations, key=str if len(factors) > 1 else _first)
    names = " and ".join(factor.name for factor in factors)
    listing = ", ".join(
        " and ".join(value if isinstance(value, str) else f"{value:g}" for value in row)
        for row in rows[:_SHOWN]
    )
    hidden = len(rows) - _SHOWN
    return f"{names} {listing}" + (f" and {hidden} more" if hidden > 0 else "")


def _first(row: tuple[float | str, ...]) -> tuple[int, float, str]:
    value = row[0]
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")
