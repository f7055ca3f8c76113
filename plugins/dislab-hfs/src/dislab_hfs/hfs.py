"""Regulariser for factorised support by a Hausdorff distance."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.runtime import gather_rows
from dislab.functional.streams import Stream
from dislab_hfs.hausdorff import hausdorff_gaps, missing_spread, unit_scale


@final
class HFS(Regularizer):
    """Hausdorff distance of the codes from the product of their latents' supports.

    Roth et al. (2023), https://arxiv.org/abs/2210.07347. It encourages every value of one latent to
    occur with every value of another, without requiring independence; so factors may be correlated.
    For each pair of latents, points are drawn at random from the product of the two latents' values
    in the batch; the squared distance of the point that is farthest from all codes is summed over
    pairs. Codes are the posterior means. Use it together with `KL`, whose beta is the paper's β and
    may be 0.

    Departures from the authors' code: unless `normalize` is off, codes are divided by each latent's
    standard deviation over the batch, so that shrinking codes does not lower the penalty; the term
    that keeps codes from shrinking uses the range of each latent over the batch instead of the
    range of each image's latents, and is off by default if codes are normalised.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        gamma: Weight of the distance; the paper searches 0.1 to 10,000.
        normalize: Whether codes are first scaled to unit standard deviation; a standard deviation
            below 0.05 counts as 0.05.
        spread: Weight of the term that encourages each latent to cover [0, 1] in every batch; 1 in
            the authors' code, where codes are not normalised. Unless given, it is 0 with
            `normalize` and 1 without.
        pairs: Number of pairs of latents per step, drawn without replacement; all pairs if there
            are fewer.
        points: Number of points per step and pair.

    Raises:
        InputError: A weight is negative, there is a single latent, or nothing is drawn.
    """

    smallest_batch = 2

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        gamma: float = 100.0,
        normalize: bool = True,
        spread: float | None = None,
        pairs: int = 25,
        points: int = 100,
    ) -> None:
        super().__init__()
        if spread is None:
            spread = 0.0 if normalize else 1.0
        check_at_least("gamma", gamma, 0)
        check_at_least("spread", spread, 0)
        check_at_least("pairs", pairs, 1)
        check_at_least("points", points, 1)
        if latent_dim < 2:
            raise InputError(
                f"HFS compares pairs of latents; latent_dim is {latent_dim} and must be at least 2"
            )
        self.latent_dim = latent_dim
        self.gamma = gamma
        self.normalize = normalize
        self.spread = spread
        self.pairs = min(pairs, latent_dim * (latent_dim - 1) // 2)
        self.points = points

    def draw(self, count: int, stream: Stream) -> Draws:
        """Draws pairs of latents, and two images of the global batch for each point and pair.

        All rows are the same, because every process needs all draws.
        """
        every = torch.triu_indices(self.latent_dim, self.latent_dim, 1, device=stream.device).T
        order = stream.permutations("pairs", len(every), 1)[:, 0]
        pairs = every[order[: self.pairs]]
        points = stream.integers("points", count, self.points, self.pairs, 2)
        return {
            "pairs": pairs.expand(count, *pairs.shape),
            "points": points.expand(count, *points.shape),
        }

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """Weighted penalty, with unweighted terms `hausdorff`, a sum over pairs, and `spread`.

        Args:
            posterior: Posteriors of the batch.
            z: Not used.
            draws: Result of `draw`.
            step: Not used.
        """
        codes = gather_rows(posterior.mean)
        missing = missing_spread(codes)
        scaled = unit_scale(codes) if self.normalize else codes
        hausdorff = hausdorff_gaps(scaled, draws["pairs"][0], draws["points"][0]).sum()
        penalty = self.gamma * hausdorff + self.spread * missing
        return Penalty(penalty, None, {"hausdorff": hausdorff, "spread": missing})
