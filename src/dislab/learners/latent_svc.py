"""Support vector machines on one latent each."""

from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

ITERATIONS = 200
HALVINGS = 40
TOLERANCE = 1e-10


class _Moments(NamedTuple):
    """Sums of 1, x and x² over the smallest codes of each latent, of all and of each kind."""

    codes: Tensor  # (latent, image), ascending
    keys: Tensor  # (latent, image): kind · (images + 1) + place among all codes, ascending
    whole: Tensor  # (latent, image + 1, 3)
    by_kind: Tensor  # (latent, image + 1, 3), in the order of the keys
    first: Tensor  # (kind + 1,): where in the order of the keys each kind begins


@final
class LatentSVC:
    """A linear support vector machine for each latent alone, with balanced class weights.

    The squared hinge loss plus half the squared weight and intercept, one kind of label against
    the rest, with the weight of a kind inverse to its frequency: the problem that scikit-learn's
    `LinearSVC(C=…, class_weight="balanced")` solves on a single column. With one column each has
    two unknowns, and sums over sorted codes give its derivatives without a pass over the images,
    so that all latents and labels are solved together, to the optimum, by Newton steps.

    Args:
        C: Weight of the losses against the squared weight, as in scikit-learn.
    """

    def __init__(self, C: float = 0.01) -> None:  # noqa: N803, the name in the literature
        self.C = C
        self._kinds: Tensor | None = None
        self._line: Tensor | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "LatentSVC":
        """Itself, fitted.

        Args:
            codes: Codes to learn from.
            labels: What to predict; at least two different numbers.

        Raises:
            InputError: All labels are equal.
        """
        self._kinds, own = torch.unique(labels, return_inverse=True)
        kinds = len(self._kinds)
        if kinds < 2:
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        moments = _moments(codes.double(), own, kinds)
        balanced = self.C * len(own) / (kinds * torch.bincount(own).double())
        # as in liblinear: with two kinds one problem with both weights, otherwise the weight of
        # the one kind and no weight for the rest
        positive = balanced[1:] if kinds == 2 else balanced
        negative = balanced[:1] if kinds == 2 else torch.full_like(balanced, self.C)
        chosen = torch.arange(kinds, device=codes.device)[-len(positive) :]
        self._line = _solve(moments, chosen, positive, negative)
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, "image latent"]:
        """What each latent alone makes of each code.

        Args:
            codes: Codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        if self._kinds is None:
            raise InputError("call fit(codes, labels) first")
        columns = []
        for column, (weight, intercept) in zip(codes.double().T, self.lines(), strict=True):
            height = column[:, None] * weight + intercept
            winner = height.argmax(1) if len(weight) > 1 else (height[:, 0] > 0).long()
            columns.append(self._kinds[winner])
        return torch.stack(columns, dim=1)

    def lines(self) -> Float[Tensor, "latent 2 problem"]:
        """Weight and intercept of each latent's problems: one a label, or one for two labels.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        if self._line is None:
            raise InputError("call fit(codes, labels) first")
        return self._line


def _moments(
    codes: Float[Tensor, "image latent"], own: Int[Tensor, " image"], kinds: int
) -> _Moments:
    images = len(codes)
    ascending, order = codes.T.contiguous().sort(dim=1)
    place = torch.arange(images, device=codes.device)
    keys, by_kind = (own[order] * (images + 1) + place).sort(dim=1)
    powers = torch.stack([torch.ones_like(ascending), ascending, ascending.square()], dim=2)
    grouped = powers.gather(1, by_kind[..., None].expand_as(powers))
    first = torch.bincount(own, minlength=kinds).cumsum(0)
    return _Moments(
        ascending,
        keys,
        _from_zero(powers.cumsum(1), 1),
        _from_zero(grouped.cumsum(1), 1),
        _from_zero(first, 0),
    )


def _from_zero(sums: Tensor, dim: int) -> Tensor:
    return torch.cat([torch.zeros_like(sums.narrow(dim, 0, 1)), sums], dim=dim)


def _sums_within(
    moments: _Moments, chosen: Int[Tensor, " problem"], line: Float[Tensor, "latent 2 problem"]
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
    moments: _Moments,
    chosen: Int[Tensor, " problem"],
    positive: Float[Tensor, " problem"],
    negative: Float[Tensor, " problem"],
    line: Float[Tensor, "latent 2 problem"],
) -> Float[Tensor, "latent problem"]:
    one, rest = _sums_within(moments, chosen, line)
    losses = positive * _losses(one, line, 1.0) + negative * _losses(rest, line, -1.0)
    return line.square().sum(1) / 2 + losses


def _newton(
    moments: _Moments,
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


def _solve(
    moments: _Moments,
    chosen: Int[Tensor, " problem"],
    positive: Float[Tensor, " problem"],
    negative: Float[Tensor, " problem"],
) -> Float[Tensor, "latent 2 problem"]:
    """Weights and intercepts at the optimum: Newton steps, halved until the objective falls."""
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
