"""How dependent latents are if they are taken for Gaussian, from their covariance."""

import torch
from jaxtyping import Float
from torch import Tensor


def gaussian_total_correlation(covariance: Float[Tensor, "latent latent"]) -> Float[Tensor, ""]:
    """Divergence of a Gaussian from the product of its marginals, in nats.

    It is minus half the log-determinant of the correlations; latents that stand still take no
    part. Eigenvalues are cut at the rounding error of float64, so that a latent that is a linear
    function of others counts about 17 nats instead of infinitely many.

    Args:
        covariance: Covariance of the latents.
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
    """Squared 2-Wasserstein distance of a Gaussian from the product of its marginals.

    Its unit is that of the squared codes. Dowson & Landau (1982),
    https://doi.org/10.1016/0047-259X(82)90077-X.

    Args:
        covariance: Covariance of the latents.
    """
    spread = covariance.diagonal().sqrt()
    middle = covariance * torch.outer(spread, spread)
    roots: Tensor = torch.linalg.eigvalsh(middle).clamp(min=0.0).sqrt()
    return (2 * covariance.diagonal().sum() - 2 * roots.sum()).clamp(min=0.0)


def covariance(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "latent latent"]:
    """Unbiased covariance of the latents, exactly 0 for those that stand still.

    Args:
        codes: Codes of two images at least.
    """
    moving = (codes != codes[:1]).any(0)
    centred = (codes - codes.mean(0)) * moving
    return centred.T @ centred / (len(codes) - 1)
