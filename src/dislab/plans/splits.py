"""Division of the states into training, validation and test splits."""

from collections.abc import Callable
from itertools import product
from typing import Final

import numpy as np

from dislab.base.datamodule import Split
from dislab.base.dataset import Dataset
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices, Selection
from dislab.functional.checks import naming
from dislab.functional.random import host_generator

_FRACTIONS: Final = (0.05, 0.1, 0.2, 0.3)
"""Fractions that a message proposes if the given one leaves a split empty."""

Parts = dict[Split, Indices]


def split_states(
    dataset: Dataset,
    include: Selection | None,
    hold_out: Selection | None,
    validation: float,
    test: float,
    seed: int,
    batch_size: int = 1,
) -> Parts:
    """State numbers of each split, ascending; no image is in two of them.

    A state's split does not depend on the other states. States with equal images are in the same
    split; if only some of them are held out, the others are in no split. States without a value of
    some factor only train.

    Args:
        dataset: The images.
        include: The states that take part; None means all.
        hold_out: The states of the test split; None draws them at random.
        validation: Fraction of the states that validate.
        test: Fraction of the states that test, when none are held out.
        seed: Seed of the random draw.
        batch_size: Examples in a batch; the training split must have at least as many states.

    Raises:
        InputError: A selection matches nothing, no included state has a value of every factor, no
            held-out state is included, a split with a fraction above 0 is empty, or the training
            split is smaller than a batch; the message names every setting to change.
    """
    space = dataset.factors
    with naming("include"):
        states = space.where(include or {})
    canonical = dataset.canonical(states)
    lot = host_generator(seed).random(len(space))[canonical]
    lot[np.isin(states, _complete(space, states), invert=True)] = np.inf  # only trains
    if hold_out is not None:
        with naming("hold_out"):
            held_out = space.where(hold_out)
        tested = np.isin(states, held_out)
        included = ~np.isin(canonical, dataset.canonical(held_out))

    def divided(validation: float, test: float) -> Parts:
        if hold_out is None:
            parts = lot < test, (lot >= test) & (lot < test + validation)
            return _parts(states, *parts, ~(parts[0] | parts[1]))
        validated = included & (lot < validation)
        return _parts(states, tested, validated, included & ~validated)

    parts = divided(validation, test)
    if hold_out is not None:
        _check_held_out(parts, hold_out, len(states))
    fractions: dict[Split, float] = {"validation": validation}
    if hold_out is None:
        fractions["test"] = test
    _check(parts, len(states), fractions, divided, batch_size)
    return {**parts, "all": np.sort(np.concatenate(list(parts.values())))}


def _complete(space: FactorSpace, states: Indices) -> Indices:
    """The states with a value of every factor; refuses if there are none."""
    complete = space.complete(states)
    if not len(complete):
        raise InputError(
            f"none of the {len(states)} images has a value of every factor, which scores and "
            f"pictures need; some lack {', '.join(space.incomplete)}: leave factors out by the "
            "data set's factors, or complete the table for some images"
        )
    return complete


def _parts(
    states: Indices,
    tested: np.ndarray,
    validated: np.ndarray,
    trained: np.ndarray,
) -> Parts:
    return {"train": states[trained], "validation": states[validated], "test": states[tested]}


def _check_held_out(parts: Parts, hold_out: Selection, count: int) -> None:
    """Refuses a selection that leaves no state for the test or for training."""
    if not len(parts["test"]):
        raise InputError(
            f"hold_out {dict(hold_out)!r} matches none of the {count} included states; widen "
            "include or hold_out"
        )
    if not len(parts["train"]):
        raise InputError(
            f"none of the {count} included states is left for training: hold_out matches "
            "them all; narrow hold_out, widen include, or lower validation"
        )


def _check(
    parts: Parts,
    count: int,
    fractions: dict[Split, float],
    divided: Callable[[float, float], Parts],
    batch_size: int,
) -> None:
    """Refuses empty splits and a training split smaller than a batch, in one message."""
    faults = [
        f"the {name} split is empty ({fraction} of {count})"
        for name, fraction in fractions.items()
        if fraction and not len(parts[name])
    ]
    if not len(parts["train"]):
        faults.append("none is left for training")
    elif batch_size > len(parts["train"]):
        faults.append(f"batch_size {batch_size} exceeds the {len(parts['train'])} that train")
    if faults:
        raise InputError(
            f"{count} states are too few for these settings: {', '.join(faults)}; set "
            f"{_remedy(fractions, divided, batch_size)}"
        )


def _remedy(
    fractions: dict[Split, float], divided: Callable[[float, float], Parts], batch_size: int
) -> str:
    """Settings under which every split has states and the training split has a batch."""
    choices = [
        (fraction, *(larger for larger in _FRACTIONS if larger > fraction), 0.0)
        if fraction
        else (0.0,)
        for fraction in fractions.values()
    ]
    # unchanged settings come first, dropping a split comes last
    for chosen in sorted(product(*choices), key=lambda some: (some.count(0.0), sum(some))):
        parts = divided(chosen[0], chosen[1] if len(chosen) > 1 else 0.0)
        new_fractions = dict(zip(fractions, chosen, strict=True))
        remaining = len(parts["train"])
        if remaining and all(
            len(parts[name]) for name, fraction in new_fractions.items() if fraction
        ):
            break
    changes: dict[str, float] = {
        name: fraction for name, fraction in new_fractions.items() if fraction != fractions[name]
    }
    if batch_size > remaining:
        changes["batch_size"] = 2 ** max(0, (remaining // 2).bit_length() - 1)
    return ", ".join(f"{name}: {value}" for name, value in changes.items())
