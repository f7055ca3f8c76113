"""Scores that are read off a matrix of mutual information."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def modularity_per_latent(
    information: Float[Tensor, "latent factor"],
) -> Float[Tensor, " latent"]:
    """One minus the squared information about other factors, in units of the largest possible.

    It is 1 where a latent tells of one factor only, 0 where of all alike, and 0 for a latent
    that tells nothing. Ridgeway & Mozer (2018), https://arxiv.org/abs/1802.05312.

    Args:
        information: Mutual information, of two factors at least.
    """
    squared = information.square()
    best = squared.max(1).values
    others = (squared.sum(1) - best) / (squared.shape[1] - 1)
    return torch.where(best > 0, 1 - others / torch.where(best > 0, best, 1.0), 0.0)


def informed_latents(
    information: Float[Tensor, "latent factor"], entropy: Float[Tensor, " factor"], share: float
) -> Bool[Tensor, " latent"]:
    """Which latents carry at least some share of the entropy of some factor.

    Args:
        information: Mutual information, nats.
        entropy: Entropies of the factors, nats, none zero.
        share: The share, in [0, 1].
    """
    largest = (information / entropy).max(1).values
    return (largest >= share) & (largest > 0)


def gaps_per_latent(
    information: Float[Tensor, "latent factor"], entropy: Float[Tensor, " factor"]
) -> Float[Tensor, " latent"]:
    """By how much a latent's best factor is ahead of its second, in shares of their entropies.

    With one factor the second counts as unknown. Li et al. (2020),
    https://arxiv.org/abs/2002.10549.

    Args:
        information: Mutual information, nats.
        entropy: Entropies of the factors, nats, none zero.
    """
    share = information / entropy
    best = torch.cat([share, torch.zeros_like(share[:, :1])], dim=1).topk(2, dim=1).values
    return best[:, 0] - best[:, 1]


def joint_entropy_excess(
    information: Float[Tensor, "latent factor"],
    entropy: Float[Tensor, " factor"],
    latent_entropy: Float[Tensor, " latent"],
) -> Float[Tensor, " factor"]:
    """Joint entropy of a factor and its best latent, minus the gap to the second, in nats.

    It is 0 at best: the latent then holds the factor, nothing else, and no other latent knows of
    it. Do & Tran (2020), https://arxiv.org/abs/1908.09961.

    Args:
        information: Mutual information, nats.
        entropy: Entropies of the factors, nats.
        latent_entropy: Entropies of the binned latents, nats.
    """
    padded = torch.cat([information, torch.zeros_like(information[:1])])
    best, index = padded.topk(2, dim=0)
    joint = latent_entropy[index[0].clamp(max=len(latent_entropy) - 1)] + entropy - best[0]
    return (joint - best[0] + best[1]).clamp(min=0.0)


def exclusive_gaps(information: Float[Tensor, "latent factor"]) -> Float[Tensor, " factor"]:
    """The largest gap to a second factor among the latents that know most of each factor, in nats.

    A latent belongs to the factor of which it knows most. A factor without latents gets 0.
    Sepliarskaia et al. (2019), https://arxiv.org/abs/1910.05587.

    Args:
        information: Mutual information, nats.
    """
    padded = torch.cat([information, torch.zeros_like(information[:, :1])], dim=1)
    best, index = padded.topk(2, dim=1)
    gap = best[:, 0] - best[:, 1]
    own = torch.zeros_like(padded).scatter(1, index[:, :1], gap[:, None])
    return own[:, :-1].max(0).values


def concentration_ratio(
    shares: Float[Tensor, "row column"],
) -> Float[Tensor, " row"]:
    """The largest entry's share of each row, moved and scaled so that equal entries give 0.

    A row without any is 0. Hsu et al. (2023), https://arxiv.org/abs/2305.18378; the
    mean over rows of a normalised matrix of mutual information is InfoM or InfoC.

    Args:
        shares: Numbers of at least 0.
    """
    columns = shares.shape[1]
    if columns < 2:
        return (shares[:, 0] > 0).to(shares.dtype)
    total = shares.sum(1)
    ratio = shares.max(1).values / torch.where(total > 0, total, 1.0)
    return torch.where(total > 0, (ratio - 1 / columns) / (1 - 1 / columns), 0.0).clamp(0.0, 1.0)


def bin_entropies(binned: Int[Tensor, "image latent"], bins: int) -> Float[Tensor, " latent"]:
    """Entropy of the bin numbers of each latent, in nats.

    Args:
        binned: Bin numbers.
        bins: Number of bins.
    """
    shift = torch.arange(binned.shape[1], device=binned.device) * bins
    counts = torch.bincount((binned + shift).flatten(), minlength=bins * binned.shape[1])
    wide = counts.view(-1, bins).double()
    entropy = math.log(len(binned)) - torch.xlogy(wide, wide).sum(1) / len(binned)
    return entropy.clamp(min=0.0) * (wide < len(binned)).all(1)  # exactly 0 for a single bin
