"""Checks of codes and factors before they are scored."""

from collections.abc import Sequence
from typing import Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.errors import InputError, warn
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count

NAMES_SHOWN: Final = 8
"""Largest number of names or numbers listed in a message; the rest are counted."""
LARGEST: Final = 1e15
"""Largest allowed magnitude of a code, so that sums of squares fit into single precision."""
SMALLEST: Final = 1e-100
"""Smallest allowed magnitude of a latent's largest code, other than 0, so that its square is not
0."""

MOST_BINS: Final = 10_000
"""Largest number of bins of a latent or a factor, so that tables of counts fit into memory."""


class ConstantFactorWarning(UserWarning):
    """A factor has one value in all images: it is left out of a score, and names no latent."""


def check_bins(name: str, bins: object) -> None:
    """Refuses a number of bins that is not a whole number from 2 to 10,000."""
    check_count(name, bins, 2, MOST_BINS)


def checked_codes(batches: Sequence[Tensor]) -> Float[Tensor, "image latent"]:
    """Joins the batches, in float64; refuses wrong shapes, NaN, and values unfit for squaring."""
    if not batches:
        raise InputError("the score has no codes; call update(codes, factors) before compute()")
    shapes = {tuple(batch.shape[1:]) for batch in batches}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1 or not next(iter(shapes))[0]:
        got = ", ".join(str(tuple(batch.shape)) for batch in batches[:NAMES_SHOWN])
        remedy = "; codes[:, None] makes them one latent" if shapes == {()} else ""
        raise InputError(
            "codes have shape (images, latents), with as many latents in each batch; got "
            f"{got}{remedy}"
        )
    codes = torch.cat([batch.detach() for batch in batches])
    if codes.is_complex():
        raise InputError(
            "codes are complex numbers; give real ones, such as real and imaginary parts as columns"
        )
    codes = codes.to(torch.float64)
    if len(codes):
        low, high = codes.aminmax(dim=0)  # valid codes need only this pass
        size = torch.maximum(-low, high)
        if not bool((size.isfinite() & (size <= LARGEST)).all()):
            _refuse_broken(codes)
            _refuse_size(size, size > LARGEST, "scale them down")
        if bool((tiny := (size > 0) & (size < SMALLEST)).any()):
            _refuse_size(size, tiny, "scale them up")
    return codes


def checked_factors(batches: Sequence[Tensor], space: FactorSpace) -> Int[Tensor, "image factor"]:
    """Joins the batches, in int64; refuses numbers that are not positions of the space."""
    wrong = {str(part.dtype) for part in batches if part.is_floating_point() or part.is_complex()}
    wrong |= {str(part.dtype) for part in batches if part.dtype == torch.bool}
    if wrong:
        raise InputError(
            f"factors are positions, integers that number the values, not {', '.join(wrong)}; "
            "FactorSpace.positions gives them"
        )
    for batch in batches:
        if batch.ndim != 2 or batch.shape[1] != len(space.factors):
            scored = batch.ndim == 2 and batch.shape[1] == len(space.essential)
            hint = "; without nuisance factors, the space is space.without_nuisance()"
            raise InputError(
                f"factors of shape {tuple(batch.shape)} do not fit; there is one column for each "
                f"of {', '.join(space.names)}{hint if scored else ''}"
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


def rows_advice(codes: Sequence[int], factors: Sequence[int]) -> str:
    """What to do about codes and factors of different numbers of images.

    Args:
        codes: Shape of the codes.
        factors: Shape of the factors.

    >>> rows_advice((10, 500), (500, 3))
    'codes have one row per image: give codes.T'
    >>> rows_advice((100, 5), (500, 5))
    'give one row of factors for each code'
    """
    if codes[1] == factors[0] > codes[0]:
        return "codes have one row per image: give codes.T"
    if codes[0] == factors[1] > factors[0]:
        return "factors have one row per image: give factors.T"
    if codes[1] == factors[1] > max(codes[0], factors[0]):
        return "both have one row per image: give codes.T and factors.T"
    return "give one row of factors for each code"


def check_images(count: int, least: int) -> None:
    """Refuses fewer images than the score needs."""
    if count < least:
        raise InputError(f"the score got {_images(count)} and needs at least {least}; encode more")


def single_factor(varied: int) -> str | None:
    """Message if fewer than two factors vary, which no score need tell apart, else None."""
    if varied >= 2:
        return None
    return (
        "the score tells factors apart, and needs at least two that vary; got "
        f"{varied} factor{'' if varied == 1 else 's'}"
    )


def varied_factors(
    factors: Int[Tensor, "image factor"], space: FactorSpace
) -> Bool[Tensor, " factor"]:
    """Which factors take more than one value and are not nuisance factors; at least one must.

    Warns:
        ConstantFactorWarning: Some take one value only.
    """
    scored = torch.tensor([not factor.nuisance for factor in space.factors], device=factors.device)
    varied = (factors != factors[:1]).any(0) & scored
    constant = [
        factor.name
        for factor, varies in zip(space.factors, varied.tolist(), strict=True)
        if not varies and not factor.nuisance
    ]
    if not varied.any():
        raise InputError(
            f"none of {some_of(space.names)} takes more than one value in "
            f"{_images(len(factors))}; score images whose factors vary"
        )
    if constant:
        warn(
            f"{some_of(constant)} took one value only in {_images(len(factors))} and was "
            "left out of the score",
            ConstantFactorWarning,
        )
    return varied


def _refuse_broken(codes: Float[Tensor, "image latent"]) -> None:
    broken = ~codes.isfinite()
    if broken.any():
        latents = broken.any(0).nonzero().flatten().tolist()
        raise InputError(
            f"{int(broken.any(1).sum())} of {len(codes)} codes hold NaN or infinity, in "
            f"{_listed('latent', latents)}; scores need finite codes: look for a run that diverged"
        )


def _refuse_size(size: Float[Tensor, " latent"], wrong: Bool[Tensor, " latent"], do: str) -> None:
    latents = wrong.nonzero().flatten().tolist()
    raise InputError(
        f"codes reach {float(size[latents[0]]):.3g} at most in {_listed('latent', latents)}; "
        f"scores square them, which takes numbers from {SMALLEST:g} to {LARGEST:g}, or 0: {do}"
    )


def _images(count: int) -> str:
    return "1 image" if count == 1 else f"{count:,} images"


def some_of(names: Sequence[object]) -> str:
    """The first eight of some names, and how many more there are."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(map(str, names[:NAMES_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _listed(noun: str, numbers: list[int]) -> str:
    return f"{noun}{'s' if len(numbers) > 1 else ''} {some_of(numbers)}"
