"""Mean randomised dependence coefficient."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.splits import spread_columns
from dislab.codes.statistics import assigned, average_ranks
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator

_RANK = 1e-7
"""Relative length of a direction that counts as 0, the tolerance of R's `cancor`."""


def random_waves(
    columns: Float[Tensor, "image column"], waves: int, scale: float, seed: int, stream: int
) -> list[Float[Tensor, "image direction"]]:
    """Orthonormal bases of the same random sine functions of the ranks of each column.

    The basis of a constant column is empty.
    """
    shares = average_ranks(columns) / len(columns)
    weights = torch.from_numpy(host_generator(seed, stream).normal(size=(2, waves)))
    slopes, phases = scale / 2 * weights.to(columns)
    bases = []
    for share in shares.T:
        features = torch.sin(share[:, None] * slopes + phases)
        centred = (features - features.mean(0)) * (share != share[0]).any()
        basis, lengths, _ = torch.linalg.svd(centred, full_matrices=False)
        bases.append(basis[:, lengths > _RANK * features.norm(dim=0).max()])
    return bases


def largest_canonical_correlation(
    first: Float[Tensor, "image direction"], second: Float[Tensor, "image other"]
) -> Float[Tensor, ""]:
    """The largest correlation of combinations of two orthonormal bases, 0 if either is empty."""
    if not first.shape[1] or not second.shape[1]:
        return first.new_zeros(())
    largest: Tensor = torch.linalg.matrix_norm(first.T @ second, 2)
    return largest.clamp(0.0, 1.0)


@final
class RDC(Metric):
    """Mean randomised dependence of each factor and its assigned latent.

    The dependence of a latent and a factor is the largest canonical correlation of random sine
    functions of their ranks: 1 for any smooth relation, monotone or not, and about 0 without one.
    Latents are assigned to factors as in `MCC`; a factor without a latent counts 0.

    Lopez-Paz, Hennig & Schölkopf (2013), https://arxiv.org/abs/1304.7717; the published code was
    read. That code draws functions anew for every pair; here all latents share theirs, and all
    factors, so that the order of latents does not matter. Factors enter as value numbers,
    continuous ones as their values; constant factors are left out.

    Args:
        space: The factors of the images.
        waves: Number of random sine functions of each latent and factor.
        scale: Scale of their frequencies and phases.
        seed: Seed of the functions.

    Raises:
        InputError: There are no waves, or the scale is not a positive number.

    Examples:
        Codes that are the squared distance of a factor from its middle, where `MCC` sees nothing:

        >>> import numpy as np
        >>> from dislab.metrics import MCC, RDC, evaluate
        >>> factors = np.indices((5, 7)).reshape(2, -1).T.repeat(20, axis=0)
        >>> scores = evaluate((factors - [2, 3]) ** 2, factors, [RDC, MCC])
        >>> round(scores["rdc"], 2), round(scores["mcc_pearson"], 2)
        (1.0, 0.0)
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # repeated images raise the largest correlation
    engines = ("numpy", "scipy")

    def __init__(
        self, space: FactorSpace, waves: int = 20, scale: float = 1 / 6, seed: int = 0
    ) -> None:
        super().__init__(space)
        check_count("waves", waves, 1)
        if scale <= 0:
            raise InputError(f"scale is {scale}; it must be a number above 0")
        self.waves = waves
        self.scale = scale
        self.seed = seed

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `rdc`, and its parts.

        Parts are `rdc_per_factor`, NaN for constant factors, and `rdc_dependence` (latent, factor),
        0 for constant latents and factors.
        """
        varied = bank.varied.nonzero().flatten().tolist()
        latents = random_waves(bank.codes, self.waves, self.scale, self.seed, 0)
        factors = random_waves(bank.numbers[:, varied], self.waves, self.scale, self.seed, 1)
        dependence = torch.stack(
            [
                torch.stack([largest_canonical_correlation(latent, factor) for factor in factors])
                for latent in latents
            ]
        )
        matched, count = assigned(dependence), len(self.space.factors)
        return {
            "rdc": matched.mean(),
            "rdc_per_factor": spread_columns(matched, varied, count, torch.nan),
            "rdc_dependence": spread_columns(dependence, varied, count, 0.0),
        }
