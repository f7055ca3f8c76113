"""Lines that tell one kind of code from the rest, on one latent each, by squared hinge losses."""

from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

ITERATIONS: Final = 200
HALVINGS: Final = 40
TOLERANCE: Final = 1e-10


class SortedMoments(NamedTuple):
    """Sums of 1, x and x² over the smallest codes of each latent, of all and of each kind.

    Attributes:
        codes: Codes, ascending, shape (latent, image).
        keys: Kind · (images + 1) + place among all codes, ascending, shape (latent, image).
        whole: Sums over all kinds, shape (latent, image + 1, 3).
        by_kind: Sums in the order of the keys, shape (latent, image + 1, 3).
        first: Where in the order of the keys each kind begins, shape (kind + 1,).
    """

    codes: Tensor
    keys: Tensor
    whole: Tensor
    by_kind: Tensor
    first: Tensor


def sorted_moments(
    codes: Float[Tensor, "image latent"], own: Int[Tensor, " image"], kinds: int
) -> SortedMoments:
    """The sums behind all derivatives, made once.

    Args:
        codes: Codes to learn from.
        own: Which kind each image is of, from 0.
        kinds: Number of kinds.
    """
    images = len(codes)
    ascending, order = codes.T.contiguous().sort(dim=1)
    place = torch.arange(images, device=codes.device)
    keys, by_kind = (own[order] * (images + 1) + place).sort(dim=1)
    powers = torch.stack([torch.ones_like(ascending), ascending, ascending.square()], dim=2)
    grouped = powers.gather(1, by_kind[..., None].expand_as(powers))
    first = torch.bincount(own, minlength=kinds).cumsum(0)
    return SortedMoments(
        ascending,
        keys,
        _from_zero(powers.cumsum(1), 1),
        _from_zero(grouped.cumsum(1), 1),
        _from_zero(first, 0),
    )


def hinge_lines(
    moments: SortedMoments,
    chosen: Int[Tensor, " problem"],
    positive: Float[Tensor, " problem"],
    negative: Float[Tensor, " problem"],
) -> Float[Tensor, "latent 2 problem"]:
    """Weights and intercepts of the least squared hinge losses plus half their own squares.

    Newton steps, halved until the objective falls. The objective is convex and piecewise
    quadratic, so that few steps reach its minimum. It is that of LIBLINEAR's classifier with
    squared hinge losses, Fan et al. (2008), https://www.jmlr.org/papers/v9/fan08a.html, whose
    penalty counts the intercept too.

    Args:
        moments: Sums over sorted codes.
        chosen: The kind that each problem tells from the rest.
        positive: Weight of the losses of the one kind.
        negative: Weight of the losses of the rest.
    """
    given = (moments, chosen, positive, negative)
    line = moments.codes.new_zeros(len(moments.codes), 2, len(chosen))
    value = _objective(*given, line)
    for _ in range(ITERATIONS):
        step, slope = _newton(*given, line)
        if (-slope <= TOLERANCE * value).all():
            break
        share = torch.ones_like(value)
        for _ in range(HALVINGS):
            reached = _objective(*given, line + share[:, None] * step)
            short = reached > value + 1e-4 * share * slope
            if not short.any():
                break
            share = torch.where(short, share / 2, share)
        better = reached < value
        line = torch.where(better[:, None], line + share[:, None] * step, line)
        value = torch.where(better, reached, value)
        if not better.any():
            break
    return line


def _from_zero(sums: Tensor, dim: int) -> Tensor:
    return torch.cat([torch.zeros_like(sums.narrow(dim, 0, 1)), sums], dim=dim)


def _sums_within(
    moments: SortedMoments, chosen: Int[Tensor, " problem"], line: Float[Tensor, "latent 2 problem"]
) -> tuple[Float[Tensor, "latent problem 3"], Float[Tensor, "latent problem 3"]]:
    """Sums of 1, x and x² over the images with a loss: of the one kind, and of the rest."""
    weight, intercept = line.unbind(1)
    images = moments.codes.shape[1]
    rising = (weight >= 0)[..., None]
    slope = torch.where(weight == 0, 1e-300, weight)

    def below(height: float) -> tuple[Tensor, Tensor]:
        edge = ((height - intercept) / slope).nan_to_num(nan=0.0).contiguous()
        place = torch.searchsorted(moments.codes, edge)
        inside = torch.searchsorted(moments.keys, chosen * (images + 1) + place)
        return _picked(moments.whole, place), _picked(moments.by_kind, inside)

    start = moments.by_kind[:, moments.first[chosen]]
    end = moments.by_kind[:, moments.first[chosen + 1]]
    _, kind = below(1.0)
    positive = torch.where(rising, kind - start, end - kind)
    whole, kind = below(-1.0)
    rest = whole - (kind - start)
    everything = moments.whole[:, -1:] - (end - start)
    return positive, torch.where(rising, everything - rest, rest)


def _picked(sums: Tensor, place: Tensor) -> Tensor:
    return sums.gather(1, place[..., None].expand(*place.shape, 3))


def _losses(
    sums: Float[Tensor, "latent problem 3"], line: Float[Tensor, "latent 2 problem"], side: float
) -> Float[Tensor, "latent problem"]:
    """Sum of (weight · x + intercept − side)²."""
    weight, shift = line[:, 0], line[:, 1] - side
    return weight.square() * sums[..., 2] + shift * (
        2 * weight * sums[..., 1] + shift * sums[..., 0]
    )


def _objective(
    moments: SortedMoments,
    chosen: Int[Tensor, " problem"],
    positive: Float[Tensor, " problem"],
    negative: Float[Tensor, " problem"],
    line: Float[Tensor, "latent 2 problem"],
) -> Float[Tensor, "latent problem"]:
    one, rest = _sums_within(moments, chosen, line)
    losses = positive * _losses(one, line, 1.0) + negative * _losses(rest, line, -1.0)
    return line.square().sum(1) / 2 + losses


def _newton(
    moments: SortedMoments,
    chosen: Int[Tensor, " problem"],
    positive: Float[Tensor, " problem"],
    negative: Float[Tensor, " problem"],
    line: Float[Tensor, "latent 2 problem"],
) -> tuple[Float[Tensor, "latent 2 problem"], Float[Tensor, "latent problem"]]:
    """The Newton step of each problem, and by how much its slope falls along it."""
    one, rest = _sums_within(moments, chosen, line)
    weight, intercept = line.unbind(1)
    total = 2 * (positive[:, None] * one + negative[:, None] * rest)
    pull = 2 * (positive[:, None] * one - negative[:, None] * rest)
    by_weight = weight + weight * total[..., 2] + intercept * total[..., 1] - pull[..., 1]
    by_shift = intercept + weight * total[..., 1] + intercept * total[..., 0] - pull[..., 0]
    curved, mixed, flat = 1 + total[..., 2], total[..., 1], 1 + total[..., 0]
    determinant = curved * flat - mixed.square()
    step = torch.stack(
        [
            (mixed * by_shift - flat * by_weight) / determinant,
            (mixed * by_weight - curved * by_shift) / determinant,
        ],
        dim=1,
    )
    return step, step[:, 0] * by_weight + step[:, 1] * by_shift
