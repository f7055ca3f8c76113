"""Which images teach and test the predictors of a scenario."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np

from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices, Selection
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator
from dislab.transfer.scenario import Scenario

_TRAIN, _TEST = 0, 1
"""Streams of the two draws."""

_HELD_BACK: Final = 5
"""One of so many states is held back at least, where there are too few to hold back enough."""


class Sizes(NamedTuple):
    """How many images are wanted, and what decides which.

    Attributes:
        labels: Images with labels that a predictor learns from.
        tested: Images of each test.
        seed: Decides the draws.
    """

    labels: int
    tested: int
    seed: int


class Plan(NamedTuple):
    """The images of one scenario, by number.

    Attributes:
        scenario: The scenario.
        train: Images that predictors learn from.
        held: Images of the same distribution that they are tested on first.
        test: Images of the shifted distribution; of the other data set where there is one.
        notes: What the user should know.
        counts: How many images were used and how many there are.
    """

    scenario: Scenario
    train: Indices
    held: Indices
    test: Indices
    notes: list[str]
    counts: dict[str, Any]


def check_sizes(sizes: Sizes) -> None:
    """Refuses numbers that leave nothing to learn from or to test on.

    Args:
        sizes: The numbers.

    Raises:
        InputError: There are too few.
    """
    check_count("labels", sizes.labels, 2)
    check_count("tested", sizes.tested, 1)


def plan(scenario: Scenario, trainable: Indices, testable: Indices, sizes: Sizes) -> Plan:
    """Draws the images of a scenario; equal seeds and equal images give equal draws.

    Where there are too few, a fifth is held back, and predictors learn from the rest.

    Args:
        scenario: The scenario.
        trainable: Images that its training selection matches.
        testable: Images that its test selection matches.
        sizes: How many are wanted.

    Raises:
        InputError: There are too few to learn from, or an image is in both.
    """
    if len(trainable) < 3:
        raise InputError(
            f"scenario {scenario.name}: there are {len(trainable)} images to learn from and to "
            "hold back; it needs at least 3"
        )
    if not scenario.dataset:
        _check_disjoint(scenario, trainable, testable)
    held = min(sizes.tested, max(len(trainable) - sizes.labels, -(-len(trainable) // _HELD_BACK)))
    labels = min(sizes.labels, len(trainable) - held)
    drawn = host_generator(sizes.seed, _TRAIN).permutation(trainable)[: labels + held]
    test = host_generator(sizes.seed, _TEST).permutation(testable)[: sizes.tested]
    notes = []
    if labels < sizes.labels:
        notes.append(
            f"{scenario.name}: predictors learnt from {labels:,} labels, not {sizes.labels:,}, as "
            f"there are {len(trainable):,} images, of which {held:,} were held back"
        )
    if len(test) < sizes.tested:
        notes.append(f"{scenario.name}: tested on all {len(test):,} images that there are")
    counts = {
        "labels": labels,
        "held_back": held,
        "tested": len(test),
        "available": {"train": len(trainable), "test": len(testable)},
    }
    return Plan(scenario, drawn[:labels], drawn[labels:], test, notes, counts)


def matching(
    scenario: Scenario, space: FactorSpace, positions: Indices, selection: Selection
) -> Indices:
    """Rows of a table of positions that a selection matches, ascending.

    Args:
        scenario: The scenario, for messages.
        space: The factors behind the positions.
        positions: Value numbers, one row an image.
        selection: Conditions on factors.

    Raises:
        InputError: A factor or value does not exist, or no row matches.
    """
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


def check_names(scenario: Scenario, space: FactorSpace) -> None:
    """Refuses a scenario that leaves out factors which do not exist.

    Args:
        scenario: The scenario.
        space: The factors of training.

    Raises:
        InputError: There is no factor of a name; the message lists them.
    """
    with of_scenario(scenario):
        for name in (*scenario.shifted, *scenario.also_without):
            space.column(name)


@contextmanager
def of_scenario(scenario: Scenario) -> Iterator[None]:
    """Puts the scenario's name before the message of a mistake.

    Args:
        scenario: The scenario.

    Raises:
        InputError: What the block raised, with the name before it.
    """
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
