"""Which states train, validate and test."""

import numpy as np

from dislab.base.datamodule import Split
from dislab.base.dataset import Dataset
from dislab.errors import InputError
from dislab.factors import Indices, Selection
from dislab.functional.checks import naming
from dislab.functional.random import host_generator


def split_states(
    dataset: Dataset,
    include: Selection | None,
    hold_out: Selection | None,
    validation: float,
    test: float,
    seed: int,
) -> dict[Split, Indices]:
    """State numbers of each split, ascending; no image is in two of them.

    A state's split does not depend on the other states. States with equal images share one;
    where that cannot be, because only some of them are held out, the others are in no split.

    Args:
        dataset: The images.
        include: The states that take part; None means all.
        hold_out: The states of the test split; None draws them at random.
        validation: Fraction of the states that validate.
        test: Fraction of the states that test, when none are held out.
        seed: Decides the random draw.

    Raises:
        InputError: A selection matches nothing, no held-out state is included, or a split is
            empty whose fraction is not 0.
    """
    space = dataset.factors
    with naming("include"):
        states = space.where(include or {})
    canonical = dataset.canonical(states)
    lot = host_generator(seed).random(len(space))[canonical]
    if hold_out is None:
        tested = lot < test
        kept, bound = ~tested, test + validation
    else:
        with naming("hold_out"):
            held = space.where(hold_out)
        tested = np.isin(states, held)
        kept, bound = ~np.isin(canonical, dataset.canonical(held)), validation
    validated = kept & (lot < bound)
    parts: dict[Split, Indices] = {
        "train": states[kept & ~validated],
        "validation": states[validated],
        "test": states[tested],
    }
    _check(parts, len(states), validation, test, hold_out)
    return {**parts, "all": np.sort(np.concatenate(list(parts.values())))}


def _check(
    parts: dict[Split, Indices],
    count: int,
    validation: float,
    test: float,
    hold_out: Selection | None,
) -> None:
    if hold_out is not None and not len(parts["test"]):
        raise InputError(
            f"hold_out {dict(hold_out)!r} matches none of the {count} included states; widen "
            "include or hold_out"
        )
    if not len(parts["train"]):
        cause = "hold_out matches them all" if hold_out is not None else "there are too few"
        raise InputError(
            f"none of the {count} included states is left for training: {cause}; narrow hold_out, "
            "widen include, or lower validation and test"
        )
    fractions: dict[Split, float] = {"validation": validation}
    if hold_out is None:
        fractions["test"] = test
    for name, fraction in fractions.items():
        if fraction and not len(parts[name]):
            raise InputError(
                f"the {name} split is empty: {fraction} of {count} states; raise {name}, or set it "
                "to 0 to go without"
            )
