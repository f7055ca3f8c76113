"""Descriptions of images: k-hot vectors of named attributes, and how they recombine."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from dislab.functional.factor_inputs import one_hot
from dislab.functional.precision import full_precision

OPERATORS: Final = ("and", "in_common", "ignore")
"""How two concepts become one; their numbers are their places."""


class Recombination(NamedTuple):
    """Two concepts and the operator that makes a third one of them.

    Attributes:
        first: The first concepts, k-hot, shape (batch, symbol).
        second: The second concepts, likewise.
        operator: Numbers of the operators, shape (batch,).
    """

    first: Tensor
    second: Tensor
    operator: Tensor


def factor_of_each(names: Sequence[str]) -> tuple[int, ...]:
    """Number of the factor that each attribute belongs to, in order of appearance.

    Args:
        names: Names of the attributes, such as `shape=heart`; the part before the first = tells
            the factor.

    >>> factor_of_each(["shape=heart", "x=low", "shape=ellipse"])
    (0, 1, 0)
    """
    factors = list(dict.fromkeys(name.partition("=")[0] for name in names))
    return tuple(factors.index(name.partition("=")[0]) for name in names)


@full_precision
def symbol_negative_log_likelihood(
    logits: Float[Tensor, "batch symbol"], symbol: Float[Tensor, "batch symbol"]
) -> Float[Tensor, ""]:
    """−log p(y|z) of Bernoulli attributes in nats per image: attributes summed, batch averaged.

    Args:
        logits: Log odds of each attribute.
        symbol: Which attributes are named, 0 or 1.
    """
    return F.binary_cross_entropy_with_logits(logits, symbol, reduction="sum") / len(symbol)


def recombination(
    symbol: Float[Tensor, "batch symbol"],
    other: Float[Tensor, "batch symbol"],
    factor: Int[Tensor, " symbol"],
    lot: Float[Tensor, "batch factor"],
    operator: Int[Tensor, " batch"],
) -> Recombination:
    """Two concepts for each description, which an operator turns into that description.

    `and` gets two parts of the description; `in_common` gets the description with more said about
    it, each time about other factors; `ignore` gets the description with more said about it, and
    this. What is added comes from another image's description and concerns factors that the
    description leaves open. Where nothing can be added, `ignore` becomes `in_common` of twice the
    same concept; where nothing can be parted, `and` gets twice the same concept.

    Args:
        symbol: Descriptions, k-hot.
        other: Descriptions of other images.
        factor: Number of the factor that each attribute belongs to.
        lot: A number in [0, 1) for each factor, which decides the parts it goes to.
        operator: Numbers of the operators.
    """
    belongs = one_hot(factor, lot.shape[1]).to(symbol.dtype)
    named = (symbol @ belongs > 0).to(symbol.dtype)
    side = (lot < 0.5).to(symbol.dtype) @ belongs.T
    added = other * ((1.0 - named) @ belongs.T)
    parts = symbol * side, symbol * (1.0 - side)
    whole = [torch.where((part > 0).any(1)[:, None], part, symbol) for part in parts]
    more = symbol + added * side, symbol + added * (1.0 - side)
    nothing = ~(added > 0).any(1)
    operator = torch.where(nothing & (operator == 2), torch.ones_like(operator), operator)
    chosen = operator[:, None]
    first = torch.where(chosen == 0, whole[0], torch.where(chosen == 1, more[0], symbol + added))
    second = torch.where(chosen == 0, whole[1], torch.where(chosen == 1, more[1], added))
    return Recombination(first, second, operator)
