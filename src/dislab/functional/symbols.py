"""Descriptions of images as k-hot vectors, their recombination, and factors as network inputs."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from dislab.functional.runtime import full_precision
from dislab.functional.streams import Stream

OPERATORS: Final = ("and", "in_common", "ignore")
"""Operators that combine two concepts; an operator's number is its index here."""


class Recombination(NamedTuple):
    """Two concepts, an operator, and the concept that results from them.

    Attributes:
        first: The first concepts, k-hot, shape (batch, symbol).
        second: The second concepts, likewise.
        operator: Numbers of the operators, shape (batch,).
        result: Results of the operators, k-hot, shape (batch, symbol).
    """

    first: Tensor
    second: Tensor
    operator: Tensor
    result: Tensor


class RecombinationDraws(NamedTuple):
    """Random numbers for `recombination`.

    Attributes:
        operator: Numbers of the operators, shape (batch,).
        lot: A number in [0, 1) for each factor, which decides which of the two concepts name it,
            shape (batch, factor).
        order: A number in [0, 1) for each attribute; the attribute of a factor with the highest
            number is added first, shape (batch, symbol).
        left_open: The factor that is removed from a description of all factors, shape (batch,).
    """

    operator: Tensor
    lot: Tensor
    order: Tensor
    left_open: Tensor


def factor_of_each(names: Sequence[str]) -> tuple[int, ...]:
    """Factor number of each attribute; factors are numbered in order of appearance.

    Args:
        names: Names of the attributes, such as `shape=heart`; the part before the first = is the
            factor.

    >>> factor_of_each(["shape=heart", "x=low", "shape=ellipse"])
    (0, 1, 0)
    """
    factors = list(dict.fromkeys(name.partition("=")[0] for name in names))
    return tuple(factors.index(name.partition("=")[0]) for name in names)


@full_precision
def symbol_negative_log_likelihood(
    logits: Float[Tensor, "batch symbol"], symbol: Float[Tensor, "batch symbol"]
) -> Float[Tensor, ""]:
    """−log p(y|z) of Bernoulli attributes in nats, summed over attributes, averaged over images."""
    return F.binary_cross_entropy_with_logits(logits, symbol, reduction="sum") / len(symbol)


def draw_recombination(
    count: int, factors: int, symbols: int, stream: Stream
) -> RecombinationDraws:
    """Random numbers for `recombination`, on the device of the stream."""
    return RecombinationDraws(
        stream.integers("operator", len(OPERATORS), count),
        stream.uniform("lot", count, factors),
        stream.uniform("order", count, symbols),
        stream.integers("left_open", factors, count),
    )


def combined(
    first: Float[Tensor, "batch symbol"],
    second: Float[Tensor, "batch symbol"],
    operator: Int[Tensor, " batch"],
) -> Float[Tensor, "batch symbol"]:
    """Combine two concepts, as sets of attributes, by an operator.

    `and` is the union, `in_common` the intersection, `ignore` the difference. If the concepts
    disagree on a factor, it is open in the result of `in_common`, `ignore` keeps the attribute of
    the first concept, and the result of `and` is a contradiction that no image shows.

    Args:
        first: The first concepts, k-hot.
        second: The second concepts, k-hot.
        operator: Numbers of the operators.
    """
    chosen = operator[:, None]
    difference = torch.where(chosen == 1, first * second, first * (1.0 - second))
    return torch.where(chosen == 0, torch.maximum(first, second), difference)


def recombination(
    symbol: Float[Tensor, "batch symbol"],
    allowed: Float[Tensor, " symbol"],
    factor: Int[Tensor, " symbol"],
    draws: RecombinationDraws,
) -> Recombination:
    """For each description, two concepts that an operator combines into that description.

    `and` gets two parts of the description. `in_common` gets the description twice, with added
    attributes of open factors: in one of the concepts, or in both, which then disagree. `ignore`
    gets the description with added attributes as its first concept, and the added attributes as its
    second one; the second concept may also name factors that the first leaves open, or another
    attribute of a factor than the first. Added attributes do not depend on the described image, so
    that the images of a result show all attributes of an open factor.

    One factor is first removed from a description of all factors, except for `and`. If nothing can
    be added, `ignore` is replaced by `in_common` of two equal concepts; if the description cannot
    be divided, `and` gets two equal concepts.

    Args:
        symbol: Descriptions, k-hot, with at most one attribute per factor.
        allowed: Mask of the attributes that may be added, 0 or 1.
        factor: Number of the factor that each attribute belongs to.
        draws: Result of `draw_recombination` for as many descriptions.
    """
    belongs = one_hot(factor, draws.lot.shape[1]).to(symbol.dtype)
    operation = draws.operator[:, None]
    full = (symbol @ belongs > 0).all(1, keepdim=True) & (operation != 0) & (belongs.shape[1] > 1)
    left_open = one_hot(draws.left_open, belongs.shape[1]).to(symbol.dtype) @ belongs.T
    result = torch.where(full, symbol * (1.0 - left_open), symbol)
    lot = draws.lot.to(symbol.dtype) @ belongs.T
    described = (result @ belongs > 0).to(symbol.dtype) @ belongs.T
    first_added, second_added = _two_of_each(allowed * (1.0 - result), belongs, draws.order)
    added = first_added * (1.0 - described)
    pairs = (
        _united(result, lot),
        _in_common(result, added, second_added * (1.0 - described), lot),
        _ignored(result, added, first_added * described, lot),
    )
    nothing = ~(added > 0).any(1)
    operator = torch.where(nothing & (draws.operator == 2), 1, draws.operator)
    rows = torch.arange(len(symbol), device=symbol.device)
    first, second = (torch.stack(ways)[operator, rows] for ways in zip(*pairs, strict=True))
    return Recombination(first, second, operator, result)


def _united(result: Tensor, lot: Tensor) -> tuple[Tensor, Tensor]:
    """Two descriptions whose union is the given one; both are equal to it if one would be empty."""
    parts = result * (lot < 0.5), result * (lot >= 0.5)
    first, second = (torch.where((part > 0).any(1)[:, None], part, result) for part in parts)
    return first, second


def _in_common(
    result: Tensor, added: Tensor, another: Tensor, lot: Tensor
) -> tuple[Tensor, Tensor]:
    """Two descriptions with the given intersection, and possibly further attributes."""
    disagree = (lot >= 0.5) & (lot < 0.75)
    first = (lot < 0.25) | disagree
    second = (lot >= 0.25) & (lot < 0.5)
    return result + added * first, result + added * second + another * disagree


def _ignored(
    result: Tensor, added: Tensor, alternative: Tensor, lot: Tensor
) -> tuple[Tensor, Tensor]:
    """Two descriptions with the given difference; at least one attribute is ignored."""
    both = added * (lot < 0.5)
    some = (both > 0).any(1)[:, None]
    both = torch.where(some, both, added)
    alone = torch.where(some, added, 0.0) * ((lot >= 0.5) & (lot < 0.75))
    return result + both, both + alone + alternative * (lot >= 0.75)


def _two_of_each(candidates: Tensor, belongs: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second candidate of each factor in a random order, k-hot each."""
    position = torch.arange(len(belongs), device=order.device)
    rank = torch.where(candidates > 0, order, -1.0)
    higher = rank[:, None, :] > rank[:, :, None]
    tied = (rank[:, None, :] == rank[:, :, None]) & (position[None, :] < position[:, None])
    same = belongs @ belongs.T > 0
    ahead = ((higher | tied) & same).sum(2)
    return candidates * (ahead == 0), candidates * (ahead == 1)


def normalized(
    factors: Int[Tensor, "batch factor"], last: Float[Tensor, " factor"]
) -> Float[Tensor, "batch factor"]:
    """Value numbers scaled from 0, the first value, to 1, the last one; 0 for a single value.

    Args:
        factors: Positions: value numbers.
        last: Number of each factor's last value, its size minus one.
    """
    return factors / last.clamp(min=1.0)


def one_hot(numbers: Int[Tensor, " batch"], size: int) -> Bool[Tensor, "batch size"]:
    """True in the column of each number, without waiting for the device."""
    return numbers[:, None] == torch.arange(size, device=numbers.device)


def factor_inputs(
    factors: Int[Tensor, "batch factor"],
    last: Float[Tensor, " factor"],
    sizes: Sequence[int],
    as_one_hot: Sequence[int],
) -> Float[Tensor, "batch inputs"]:
    """One number in [0, 1] for each factor, or one column per value for one-hot factors.

    Args:
        factors: Positions: value numbers.
        last: Number of each factor's last value, its size minus one.
        sizes: Number of values of each factor.
        as_one_hot: Numbers of the factors that become one-hot vectors.
    """
    scaled = normalized(factors, last)
    columns = []
    for factor, size in enumerate(sizes):
        if factor in as_one_hot:
            columns.append(one_hot(factors[:, factor], size).to(scaled.dtype))
        else:
            columns.append(scaled[:, factor, None])
    return torch.cat(columns, dim=1)
