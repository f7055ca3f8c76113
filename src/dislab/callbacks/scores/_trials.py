"""Images that a method must generate when its concepts are scored."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Objective
from dislab.functional.streams import Stream
from dislab.functional.symbols import (
    OPERATORS,
    draw_recombination,
    recombination,
)

_DISAGREEING: Final = "disagreeing"
_DISAGREE: Final = 0.5
"""Value of `lot` for which the concepts of IN COMMON disagree about a factor."""


class Trial(NamedTuple):
    """A concept, and a function that generates images of it.

    Attributes:
        concept: Attributes that the images must show, shape (symbol,).
        operator: Operator that forms the concept from two others, or `disagreeing` for IN COMMON
            of two that disagree about every other factor; empty if the concept itself is given.
        draw: Generates a given number of images of the concept.
    """

    concept: Tensor
    operator: str
    draw: Callable[[int, Draws], Tensor]


def can_draw(module: Objective) -> bool:
    """Whether a method generates images from descriptions or from combined descriptions."""
    return any(callable(getattr(module, name, None)) for name in ("sym2img", "recombined_images"))


def trials(
    module: Objective,
    concepts: Float[Tensor, "concept symbol"],
    described: Float[Tensor, "image symbol"],
    factor: Int[Tensor, " symbol"],
    seed: int,
) -> list[Trial]:
    """One trial per concept, or one per operator that can form it from two other concepts.

    IN COMMON is tried twice for each concept: with two concepts as in training, and with two that
    disagree about every factor that the concept leaves unspecified.
    """
    method: Any = module
    if callable(getattr(module, "sym2img", None)):
        return [Trial(concept, "", _from_concept(method, concept)) for concept in concepts]
    factors = int(factor.max()) + 1
    recombinations = draw_recombination(
        len(concepts), factors, len(factor), Stream(seed).of("concepts")
    )
    disagreeing = recombinations._replace(lot=torch.full_like(recombinations.lot, _DISAGREE))
    kinds = [(name, name, recombinations) for name in OPERATORS]
    kinds.append((_DISAGREEING, "in_common", disagreeing))
    present, concept_trials = described.amax(0), []
    for kind, operator, draws in kinds:
        index = OPERATORS.index(operator)
        draws = draws._replace(operator=torch.full_like(draws.operator, index))
        recombined = recombination(concepts, present, factor, draws)
        # excludes concepts that would be formed from themselves, as nothing can be split or added
        real = (recombined.operator == index) & (recombined.first != recombined.second).any(1)
        real &= (recombined.result == concepts).all(1)
        if kind == _DISAGREEING:  # a factor with only one known attribute cannot differ
            real &= (recombined.second != concepts).any(1)
        for row in torch.where(real)[0].tolist():
            pair = recombined.first[row], recombined.second[row]
            concept_trials.append(
                Trial(concepts[row], kind, _from_operator(method, *pair, operator))
            )
    return concept_trials


def _from_concept(method: Any, concept: Tensor) -> Callable[[int, Draws], Tensor]:
    def draw(count: int, draws: Draws) -> Tensor:
        image: Tensor = method.sym2img(_repeated(method, concept, count), draws)
        return image

    return draw


def _from_operator(
    method: Any, first: Tensor, second: Tensor, operator: str
) -> Callable[[int, Draws], Tensor]:
    def draw(count: int, draws: Draws) -> Tensor:
        concepts = (_repeated(method, concept, count) for concept in (first, second))
        image: Tensor = method.recombined_images(*concepts, operator, draws)
        return image

    return draw


def _repeated(method: Objective, concept: Tensor, count: int) -> Tensor:
    return concept.to(method.device).expand(count, -1)
