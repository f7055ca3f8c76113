"""Matrices of abstract reasoning, as value numbers of factors."""

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Bool, Int

from dislab.errors import InputError
from dislab.functional.checks import check_choice, check_count
from dislab.functional.random import host_generator

SIDE: Final = 3
"""Rows and columns of a matrix."""
CONTEXT: Final = SIDE**2 - 1
"""Panels of a matrix without the missing one."""
ANSWERS: Final = 6
"""Answers to choose from."""
CHANCE: Final = 1 / ANSWERS
"""Accuracy of a random choice."""

Answers = Literal["easy", "hard"]
"""Origin of wrong answers: random panels, or the right one with changes."""


class Matrices(NamedTuple):
    """Matrices with their answers.

    Attributes:
        panels: Value numbers of the 8 context panels, row by row, then of the 6 answers.
        right: Number of the right answer among the 6.
        constant: Factors that are constant in each row.
    """

    panels: Int[np.ndarray, "matrix 14 factor"]
    right: Int[np.ndarray, " matrix"]
    constant: Bool[np.ndarray, "matrix factor"]


def draw_matrices(
    sizes: Sequence[int], count: int, seed: int = 0, answers: Answers = "easy"
) -> Matrices:
    """Draws matrices in which one to three random factors are constant in each row.

    Every other factor is neither constant nor without repeats in both of the first two rows, so
    that these rows show the rule. The six answers differ from each other, and only the right one
    keeps all constant factors of the last row. `easy` wrong answers are random panels; `hard` ones
    are the right answer with another value of one constant factor and new values of the factors
    without a rule.

    Van Steenkiste et al. (2019), https://arxiv.org/abs/1905.12506. Their code may repeat a wrong
    answer.

    Args:
        sizes: Number of values of each factor.
        count: Number of matrices.
        seed: Seed of the draw.
        answers: Origin of wrong answers.

    Raises:
        InputError: A factor has fewer values than a matrix has columns, or there are too few
            different wrong answers.
    """
    check_count("count", count, 1)
    check_choice("answers", answers, get_args(Answers))
    check_sizes(sizes, answers)
    generator = host_generator(seed, count)
    limits = np.array(sizes)
    relations = generator.integers(1, min(SIDE, len(sizes)), count, endpoint=True)
    order = generator.permuted(np.tile(np.arange(len(sizes)), (count, 1)), axis=1)
    constant = order < relations[:, None]
    grid = _grid(limits, constant, generator)
    wrong = _wrong_answers(grid[:, -1, -1], limits, constant, answers, generator)
    right = generator.integers(ANSWERS, size=count)
    choices = np.concatenate([wrong, grid[:, -1, -1:]], 1)
    rows = np.arange(count)
    choices[rows, -1], choices[rows, right] = choices[rows, right], grid[:, -1, -1]
    context = grid.reshape(count, SIDE**2, -1)[:, :CONTEXT]
    return Matrices(np.concatenate([context, choices], 1), right, constant)


def check_sizes(sizes: Sequence[int], answers: Answers, names: Sequence[str] = ()) -> None:
    """Refuses factors from which no matrix can be drawn.

    Args:
        sizes: Number of values of each factor.
        answers: Origin of wrong answers.
        names: Names of the factors, for messages.

    Raises:
        InputError: A factor has fewer values than a matrix has columns, or there are too few
            different wrong answers.
    """
    names = names or [f"factor {column}" for column in range(len(sizes))]
    if small := [name for name, size in zip(names, sizes, strict=True) if size < SIDE]:
        raise InputError(
            f"{', '.join(small)} has fewer than {SIDE} values, and a matrix has {SIDE} columns; "
            "give the factors that take part without it, which keeps its first value"
        )
    if not sizes:
        raise InputError(f"no factor varies; a matrix needs one of at least {SIDE} values")
    least = min(
        _count_wrong(sizes, chosen, answers)
        for count in range(1, min(SIDE, len(sizes)) + 1)
        for chosen in combinations(range(len(sizes)), count)
    )
    if least < ANSWERS - 1:
        raise InputError(
            f"{', '.join(names)} with {', '.join(map(str, sizes))} values allow only {least} "
            f"different wrong answers to some matrices, which need {ANSWERS - 1}; use more factors "
            "or more values"
        )


def _count_wrong(sizes: Sequence[int], constant: tuple[int, ...], answers: Answers) -> int:
    """Number of different wrong answers to a matrix with these constant factors."""
    right = prod(size for column, size in enumerate(sizes) if column not in constant)
    if answers == "easy":
        return prod(sizes) - right
    return right * sum(sizes[column] - 1 for column in constant)


def _grid(
    sizes: Int[np.ndarray, " factor"],
    constant: Bool[np.ndarray, "matrix factor"],
    generator: np.random.Generator,
) -> Int[np.ndarray, "matrix 3 3 factor"]:
    shape = (len(constant), SIDE, SIDE, len(sizes))
    grid = generator.integers(sizes, size=shape)
    unclear = ~constant
    while unclear.any():
        grid = np.where(unclear[:, None, None], generator.integers(sizes, size=shape), grid)
        first, second, third = np.moveaxis(grid[:, :-1], 2, 0)  # the columns of all rows but one
        equal = (first == second) & (second == third)
        distinct = (first != second) & (second != third) & (first != third)
        unclear = ~constant & (equal.all(1) | distinct.all(1))
    return np.where(constant[:, None, None], grid[:, :, :1], grid)


def _wrong_answers(
    right: Int[np.ndarray, "matrix factor"],
    sizes: Int[np.ndarray, " factor"],
    constant: Bool[np.ndarray, "matrix factor"],
    answers: Answers,
    generator: np.random.Generator,
) -> Int[np.ndarray, "matrix 5 factor"]:
    shape = (len(right), ANSWERS - 1, len(sizes))
    fixed = np.broadcast_to(constant[:, None], shape)
    wrong = np.broadcast_to(right[:, None], shape)
    refused = np.ones(shape[:2], bool)
    earlier = np.tril(np.ones((ANSWERS - 1, ANSWERS - 1), bool), -1)
    while refused.any():
        drawn = generator.integers(sizes, size=shape)
        if answers == "hard":
            lots = np.where(fixed, generator.random(shape), -1.0)
            changed = ~fixed | (np.arange(len(sizes)) == lots.argmax(2)[..., None])
            drawn = np.where(changed, drawn, right[:, None])
        wrong = np.where(refused[..., None], drawn, wrong)
        is_right = ((wrong == right[:, None]) | ~fixed).all(2)
        equal = (wrong[:, :, None] == wrong[:, None]).all(3)
        refused = is_right | (equal & earlier).any(2)
    return wrong
