"""Disentanglement and completeness of an importance matrix."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.errors import InputError


class ImportanceScores(NamedTuple):
    """Disentanglement and completeness, all in [0, 1].

    Attributes:
        disentanglement: Mean over latents, weighted by their share of the total importance; a
            scalar.
        completeness: Mean over factors, weighted by their share of the total importance; a scalar.
        per_latent: Disentanglement of each latent; 0 for a latent without importance.
        per_factor: Completeness of each factor; 0 for a factor without importance.
    """

    disentanglement: Tensor
    completeness: Tensor
    per_latent: Tensor
    per_factor: Tensor


def importance_scores(importance: Float[Tensor, "latent factor"]) -> ImportanceScores:
    """Disentanglement and completeness from the importances of latents for predicting factors.

    A latent's disentanglement is one minus the entropy of its importance shares over the factors,
    divided by the largest possible entropy; a factor's completeness is the same over the latents.
    Eastwood & Williams (2018), https://openreview.net/forum?id=By-7dz-AZ, section 2. There
    completeness is an unweighted mean; here it is weighted like disentanglement, as in Locatello et
    al. (2019), https://arxiv.org/abs/1811.12359.

    Raises:
        InputError: There is one latent or one factor, for which the scores are not defined, or an
            importance is negative or NaN.
    """
    check_enough(*importance.shape)
    if not (importance >= 0).all():
        raise InputError("importances must be numbers of at least 0; take absolute values")
    per_latent, per_factor = _concentration(importance), _concentration(importance.T)
    total = importance.sum()
    share = importance / torch.where(total > 0, total, torch.ones_like(total))
    return ImportanceScores(
        (share.sum(1) * per_latent).sum(), (share.sum(0) * per_factor).sum(), per_latent, per_factor
    )


def too_few(latents: int, factors: int) -> str | None:
    """Message if there are fewer than two latents or varied factors, else None."""
    if min(latents, factors) >= 2:
        return None
    counts = f"{_counted(latents, 'latent')} and {_counted(factors, 'factor')}"
    return (
        "the score compares latents and factors, and needs at least two of each that vary; "
        f"got {counts}"
    )


def check_enough(latents: int, factors: int) -> None:
    """Refuses fewer than two latents or varied factors."""
    if complaint := too_few(latents, factors):
        raise InputError(complaint)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _concentration(rows: Float[Tensor, "row column"]) -> Float[Tensor, " row"]:
    total = rows.sum(1, keepdim=True)
    share = rows / torch.where(total > 0, total, torch.ones_like(total))
    entropy = -torch.xlogy(share, share).sum(1) / math.log(rows.shape[1])
    return torch.where(total[:, 0] > 0, 1 - entropy, torch.zeros_like(entropy)).clamp(0.0, 1.0)
