"""Inputs of predictors: checked codes, standardised to mean 0 and standard deviation 1."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.errors import InputError

_LEAST_SPREAD: Final = 1e-6
"""A latent whose standard deviation is below this share of its magnitude counts as constant."""


def check_training_data(
    codes: Tensor, targets: Tensor, latents: int, classes: Sequence[int]
) -> None:
    """Refuses codes and targets that no predictor can learn from.

    Args:
        codes: Codes of the same images in each run, shape (run, image, latent).
        targets: Values or class numbers, shape (image, factor).
        latents: Number of latents of the predictor.
        classes: Number of classes of each factor of the predictor; 0 if it is regressed.
    """
    check_codes(codes, latents)
    if targets.shape != (codes.shape[1], len(classes)):
        raise InputError(
            f"targets have shape {tuple(targets.shape)}; with {codes.shape[1]} images and "
            f"{len(classes)} factors they have {(codes.shape[1], len(classes))}"
        )
    if not classes:
        raise InputError("no factor is given to predict; give the number of classes of each")
    sound = targets.isfinite().all(0).tolist()
    if not all(sound):
        raise InputError(
            f"the targets of factor {sound.index(False)} hold NaN or infinity; leave out images "
            "whose factors are unknown"
        )
    for factor, count in enumerate(classes):
        column = targets[:, factor]
        if count and bool(((column < 0) | (column >= count) | (column != column.floor())).any()):
            raise InputError(
                f"factor {factor} has {count} classes, whose numbers run from 0 to {count - 1}; "
                f"its targets run from {column.min().item():g} to {column.max().item():g} or are "
                "no whole numbers"
            )


def check_codes(codes: Tensor, latents: int, runs: int | None = None) -> None:
    """Refuses codes of another shape than (run, image, latent), and NaN and infinity.

    `runs` is the number of runs in training; 0, before training, is refused as well; None accepts
    any number.
    """
    if codes.ndim != 3 or codes.shape[2] != latents:
        raise InputError(
            f"codes have shape {tuple(codes.shape)}; the predictor was made for (run, image, "
            f"latent) with {latents} latents"
        )
    for size, part in zip(codes.shape, ("run", "image", "latent"), strict=True):
        if not size:
            raise InputError(f"there are codes of no {part}; give those of at least one")
    if runs == 0:
        raise InputError("nothing has been learnt; call fit(codes, targets) first")
    if runs is not None and len(codes) != runs:
        raise InputError(
            f"there are codes of {len(codes)} runs, but the predictor learnt from {runs}; give "
            "those of the same runs in the same order"
        )
    if not codes.sum().isfinite():  # valid codes need only this sum
        _refuse_broken(codes)


def _refuse_broken(codes: Float[Tensor, "run image latent"]) -> None:
    broken = ~codes.isfinite()
    if broken.any():
        run = int(broken.any(2).any(1).int().argmax())
        count = int(broken[run].any(1).sum())
        raise InputError(
            f"{count} of {codes.shape[1]} codes of run {run} hold NaN or infinity; predictors need "
            "finite codes: look for a run that diverged"
        )


class Standard(NamedTuple):
    """Means and scales that standardise codes, in float64.

    Attributes:
        centre: Means, shape (run, 1, latent).
        scale: Inverse standard deviations; 0 for a constant latent.
    """

    centre: Tensor
    scale: Tensor

    def of(self, codes: Float[Tensor, "run image latent"]) -> Float[Tensor, "run image latent"]:
        """Standardised codes of the same runs in float64; 0 for latents that were constant."""
        return (codes.to(self.centre.device).double() - self.centre) * self.scale


def standard(codes: Float[Tensor, "run image latent"]) -> Standard:
    """The means and scales of each run's codes, of at least one image."""
    codes = codes.double()
    centre = codes.mean(1, keepdim=True)
    spread = codes.std(1, correction=0, keepdim=True)
    varies = spread > _LEAST_SPREAD * codes.abs().amax(1, keepdim=True)
    # a standard deviation that float64 cannot invert counts as 0
    scale = torch.where(varies, spread.clamp_min(1e-300).reciprocal(), 0.0)
    return Standard(centre, scale)
