"""Codes and the factors behind them, checked once for every score."""

import warnings
from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from dislab.errors import InputError
from dislab.factors import UNLABELLED, FactorSpace

NAMES_SHOWN: Final = 8
"""Names or numbers that a message lists before it only counts the rest."""


class ConstantFactorWarning(UserWarning):
    """A factor has one value in all the scored images and was left out of a score."""


class CodeBank(NamedTuple):
    """Checked codes and factors of the same images.

    Attributes:
        codes: Finite codes in float64, shape (image, latent).
        factors: Positions in int64, shape (image, factor), within the space.
        varied: Which factors take more than one value, shape (factor,).
    """

    codes: Tensor
    factors: Tensor
    varied: Tensor


def checked(
    codes: Sequence[Shaped[Tensor, "..."]],
    factors: Sequence[Shaped[Tensor, "..."]],
    space: FactorSpace,
    least: int,
) -> CodeBank:
    """The batches put together, or an error that says what is wrong with them.

    Args:
        codes: Batches of codes, shape (batch, latent).
        factors: Batches of positions, shape (batch, factor), one for each batch of codes.
        space: The factors behind the images.
        least: The fewest images that the score can do with.

    Raises:
        InputError: The images have no factors, the shapes do not fit, the codes hold NaN or
            infinity, the factors are no integers or no value numbers of the space, there are too
            few images, or no factor takes more than one value.

    Warns:
        ConstantFactorWarning: Some factors take one value only.
    """
    if space.names == (UNLABELLED,):
        raise InputError(
            "a score compares codes with factors, and these images have none; give the data set "
            "a table of factors, or score nothing by metrics: {}"
        )
    latent_codes = _checked_codes(codes)
    positions = _checked_factors(factors, space).to(latent_codes.device)
    if len(latent_codes) != len(positions):
        raise InputError(
            f"there are {len(latent_codes)} codes, but the factors of {len(positions)} images; "
            "give one row of factors for each code"
        )
    if len(positions) < least:
        raise InputError(
            f"the score got {len(positions)} images and needs at least {least}; encode more"
        )
    return CodeBank(latent_codes, positions, _varied(positions, space))


def _checked_codes(batches: Sequence[Tensor]) -> Float[Tensor, "image latent"]:
    if not batches:
        raise InputError("the score has no codes; call update(codes, factors) before compute()")
    shapes = {tuple(batch.shape[1:]) for batch in batches}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1 or not next(iter(shapes))[0]:
        found = ", ".join(str(tuple(batch.shape)) for batch in batches[:NAMES_SHOWN])
        raise InputError(
            f"codes have shape (batch, latent), with as many latents in each batch; got {found}"
        )
    codes = torch.cat([batch.detach() for batch in batches])
    if codes.is_complex():
        raise InputError(f"codes are real numbers, not {codes.dtype}")
    codes = codes.to(torch.float64)
    broken = ~codes.isfinite()
    if broken.any():
        latents = broken.any(0).nonzero().flatten().tolist()
        raise InputError(
            f"{int(broken.any(1).sum())} of {len(codes)} codes hold NaN or infinity, in "
            f"{_listed('latent', latents)}; scores need finite codes: look for a run that diverged"
        )
    return codes


def _checked_factors(batches: Sequence[Tensor], space: FactorSpace) -> Int[Tensor, "image factor"]:
    wrong = {str(one.dtype) for one in batches if one.is_floating_point() or one.is_complex()}
    wrong |= {str(one.dtype) for one in batches if one.dtype == torch.bool}
    if wrong:
        raise InputError(
            f"factors are positions, integers that number the values, not {', '.join(wrong)}; "
            "FactorSpace.positions gives them"
        )
    for batch in batches:
        if batch.ndim != 2 or batch.shape[1] != len(space.factors):
            raise InputError(
                f"factors of shape {tuple(batch.shape)} do not fit; there is one column for each "
                f"of {', '.join(space.names)}"
            )
    factors = torch.cat([batch.to(torch.int64) for batch in batches])
    sizes = torch.tensor(space.sizes, device=factors.device)
    outside = ((factors < 0) | (factors >= sizes)).any(0).tolist()
    if any(outside):
        first = space.factors[outside.index(True)]
        raise InputError(
            f"value numbers of factor {first.name} run from 0 to {len(first) - 1}; some do not"
        )
    return factors


def _varied(factors: Int[Tensor, "image factor"], space: FactorSpace) -> Bool[Tensor, " factor"]:
    varied = (factors != factors[:1]).any(0)
    constant = [
        name for name, varies in zip(space.names, varied.tolist(), strict=True) if not varies
    ]
    if len(constant) == len(space.factors):
        raise InputError(
            f"none of {', '.join(space.names)} takes more than one value in these "
            f"{len(factors)} images; score images whose factors vary"
        )
    if constant:
        warnings.warn(
            f"{', '.join(constant)} took one value only in these {len(factors)} images and was "
            "left out of the score",
            ConstantFactorWarning,
            stacklevel=4,
        )
    return varied


def _listed(noun: str, numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:NAMES_SHOWN]))
    rest = len(numbers) - NAMES_SHOWN
    return f"{noun}{'s' if len(numbers) > 1 else ''} {shown}" + (
        f" and {rest} more" if rest > 0 else ""
    )
