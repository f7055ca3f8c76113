"""Whether an encoder was trained on what a scenario says."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import TOLERANCE, Factor, FactorSpace, Indices
from dislab.transfer.scenario import Scenario

_CHUNK: Final = 1 << 18
_SHOWN: Final = 8


def check_encoder(
    scenario: Scenario,
    space: FactorSpace,
    seen: Indices,
    trainable: Indices,
    tests: FactorSpace,
    testable: Indices,
) -> None:
    """Refuses a scenario whose name would be wrong for this encoder.

    What counts are the values of the factors that shift, and their combinations: those of the
    predictors' training must have been seen, those of the test must have been with `encoder: in`
    and must not with `encoder: out`. Without shifted factors the images themselves must not have
    been seen with `encoder: out`, unless they are of another data set.

    Args:
        scenario: The scenario.
        space: The factors of training.
        seen: States that the encoder was trained on.
        trainable: States that predictors may learn from.
        tests: The factors of the test, of the same space or of another data set's.
        testable: States of it that predictors may be tested on.

    Raises:
        InputError: The encoder's training contradicts the scenario.
    """
    names = [name for name in scenario.shifted if name in tests.names]
    if not names:
        if scenario.encoder == "out" and not scenario.dataset:
            _check_unseen(scenario, np.intersect1d(seen, testable, assume_unique=True))
        return
    factors = [space[name] for name in names]
    known = _combinations(space, seen, factors)
    learnt = _combinations(space, trainable, factors)
    tested = _combinations(tests, testable, factors)
    if unseen := learnt - known:
        raise InputError(
            f"scenario {scenario.name}: predictors would learn from {_words(factors, unseen)}, "
            "which the encoder was not trained on; train one that was, or narrow train"
        )
    if scenario.encoder == "in" and (unseen := tested - known):
        raise InputError(
            f"scenario {scenario.name} is for an encoder that was trained on the shifted values, "
            f"and this one was not trained on {_words(factors, unseen)}; train one that was, or "
            "leave the scenario out"
        )
    if scenario.encoder == "out" and (both := tested & known):
        raise InputError(
            f"scenario {scenario.name} is for an encoder that never saw the shifted values, and "
            f"this one was trained on {_words(factors, both)}; train one with them in hold_out, or "
            "leave the scenario out"
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
    """Combinations of values that occur, as far as they are values of the given factors."""
    columns = [space.column(factor.name) for factor in factors]
    numbers = [
        _numbers(factor, space.factors[column])
        for factor, column in zip(factors, columns, strict=True)
    ]
    rows = []
    for start in range(0, len(states), _CHUNK):
        positions = space.positions(states[start : start + _CHUNK])[:, columns]
        rows.append(np.unique(positions, axis=0))
    return {
        tuple(number[place] for number, place in zip(numbers, row, strict=True))
        for row in np.unique(np.concatenate(rows), axis=0)
    }


def _numbers(factor: Factor, here: Factor) -> list[float | str]:
    """Each value of a factor as another data set has it, in the words of the first one."""
    slack = TOLERANCE * float(np.ptp(factor.numbers))
    return [_nearest(factor, value, slack) for value in here.values]


def _nearest(factor: Factor, value: float | str, slack: float) -> float | str:
    if isinstance(value, str) or isinstance(factor.values[0], str):
        return value
    distance: npt.NDArray[np.float64] = np.abs(factor.numbers - value)
    place = int(distance.argmin())
    return factor.values[place] if distance[place] <= slack else value


def _words(factors: list[Factor], combinations: Iterable[tuple[float | str, ...]]) -> str:
    rows = sorted(combinations, key=str if len(factors) > 1 else _first)
    names = " and ".join(factor.name for factor in factors)
    shown = ", ".join(
        " and ".join(one if isinstance(one, str) else f"{one:g}" for one in row)
        for row in rows[:_SHOWN]
    )
    rest = len(rows) - _SHOWN
    return f"{names} {shown}" + (f" and {rest} more" if rest > 0 else "")


def _first(row: tuple[float | str, ...]) -> tuple[int, float, str]:
    value = row[0]
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")
