"""Correlations of latents with factors and with each other, and ranks."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def pearson(
    codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image factor"]
) -> Float[Tensor, "latent factor"]:
    """Correlation of each latent with each factor, in [-1, 1]; 0 if either is constant."""
    unit_codes, right = _unit(codes), _unit(factors)
    return (unit_codes.T @ right).clamp(-1.0, 1.0)


def canonical_variates(
    codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image factor"], train: int
) -> tuple[Float[Tensor, "image pair"], Float[Tensor, "image pair"]]:
    """Pairs of linear combinations of latents and of factors with the largest correlations.

    The combinations are fitted on the first `train` images, where each pair has the largest
    possible correlation and is uncorrelated with the other pairs. The number of pairs is the
    smaller of the two ranks. Columns must have similar scales. Hotelling (1936),
    https://doi.org/10.1093/biomet/28.3-4.321.
    """
    white_codes, white_factors = _whitened(codes, train), _whitened(factors, train)
    turn, _, factor_turn = torch.linalg.svd(
        white_codes[:train].T @ white_factors[:train], full_matrices=False
    )
    return white_codes @ turn, white_factors @ factor_turn.T


def average_ranks(columns: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Ranks within each column, from 1; equal entries share the mean of their ranks."""
    ranks, order = _ascending_ranks(columns)
    return torch.empty_like(ranks).scatter_(1, order, ranks).T


def roc_auc(
    scores: Float[Tensor, "row column"], positive: Bool[Tensor, "row column"]
) -> Float[Tensor, " column"]:
    """Probability that a positive row has a higher score than a negative one; ties count half.

    NaN if all rows are positive or none is. Hanley & McNeil (1982),
    https://doi.org/10.1148/radiology.143.1.7063747.
    """
    ranks, order = _ascending_ranks(scores)
    count = positive.double().sum(0)
    positive_ranks = ranks * positive.T.contiguous().gather(
        1, order
    )  # the order of rows is irrelevant
    above = positive_ranks.sum(1) - count * (count + 1) / 2
    return above / (count * (len(scores) - count))


def _ascending_ranks(
    columns: Float[Tensor, "row column"],
) -> tuple[Float[Tensor, "column row"], Int[Tensor, "column row"]]:
    """Ranks of each column's entries in ascending order, and the rows of these entries."""
    ascending, order = columns.T.contiguous().sort(dim=1)
    rows = ascending.shape[1]
    position = torch.arange(rows, device=columns.device, dtype=torch.float64).expand_as(ascending)
    edge = torch.ones_like(ascending[:, :1], dtype=torch.bool)
    changes = torch.cat([edge, ascending[:, 1:] != ascending[:, :-1], edge], dim=1)
    # equal entries share the places from their first to their last one
    first = position.where(changes[:, :-1], 0.0).cummax(1).values
    last = position.where(changes[:, 1:], rows - 1.0).flip(1).cummin(1).values.flip(1)
    return (first + last) / 2 + 1, order


def _unit(columns: Float[Tensor, "image column"]) -> Float[Tensor, "image column"]:
    centred = columns - columns.mean(0)
    # exactly 0 for a constant column, whose mean may have a rounding error
    moving = (columns != columns[:1]).any(0)
    length = torch.where(moving, centred.norm(dim=0), 1.0)
    return centred * moving / torch.where(length > 0, length, 1.0)


def gaussian_total_correlation(covariance: Float[Tensor, "latent latent"]) -> Float[Tensor, ""]:
    """KL divergence of a Gaussian with this covariance from the product of its marginals, in nats.

    It is minus half the log-determinant of the correlation matrix, without constant latents.
    Eigenvalues are clipped at the rounding error of float64, so that a latent that is a linear
    function of others adds about 17 nats instead of infinity.
    """
    spread = covariance.diagonal().sqrt()
    moving = spread > 0
    correlation = (covariance / torch.outer(spread, spread))[moving][:, moving]
    least = torch.finfo(covariance.dtype).eps * max(len(correlation), 1)
    eigenvalues: Tensor = torch.linalg.eigvalsh(correlation).clamp(min=least)
    return (-eigenvalues.log().sum() / 2).clamp(min=0.0)


def gaussian_wasserstein_correlation(
    covariance: Float[Tensor, "latent latent"],
) -> Float[Tensor, ""]:
    """Squared 2-Wasserstein distance of this covariance's Gaussian from its marginals' product.

    It has the unit of squared codes. Dowson & Landau (1982),
    https://doi.org/10.1016/0047-259X(82)90077-X.
    """
    spread = covariance.diagonal().sqrt()
    middle = covariance * torch.outer(spread, spread)
    roots: Tensor = torch.linalg.eigvalsh(middle).clamp(min=0.0).sqrt()
    return (2 * covariance.diagonal().sum() - 2 * roots.sum()).clamp(min=0.0)


def covariance(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "latent latent"]:
    """Unbiased covariance of the latents of at least two images, exactly 0 for constant latents."""
    moving = (codes != codes[:1]).any(0)
    centred = (codes - codes.mean(0)) * moving
    return centred.T @ centred / (len(codes) - 1)


def _whitened(columns: Float[Tensor, "image column"], train: int) -> Float[Tensor, "image part"]:
    """Uncorrelated combinations of columns, of norm 1 over the first `train` images."""
    centred = columns - columns[:train].mean(0)
    _, lengths, directions = torch.linalg.svd(centred[:train], full_matrices=False)
    tiny = lengths.max() * max(columns.shape) * torch.finfo(lengths.dtype).eps
    nonzero = lengths > tiny
    weights: Tensor = directions[nonzero] / lengths[nonzero, None]
    return centred @ weights.T
