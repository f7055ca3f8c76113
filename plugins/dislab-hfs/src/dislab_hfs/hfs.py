"""Factorised support by a Hausdorff distance."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.distributed import gather_rows
from dislab.functional.streams import Stream
from dislab_hfs.hausdorff import hausdorff_gaps, missing_spread, unit_scale


@final
class HFS(Regularizer):
    """Hausdorff distance of the codes from the product of their latents' supports.

    Roth et al. (2023), https://arxiv.org/abs/2210.07347. It asks that any value of one latent
    occurs with any value of another, not that they are independent; so factors may be correlated.
    For each pair of latents, points are drawn at random from the product of the two latents' values
    in the batch; the squared distance of the point that is farthest from every code is summed over
    pairs. Codes are the means of the posteriors. Goes beside `KL`, whose beta is the paper's β and
    may be 0.

    Departures from the authors' code: codes are divided by each latent's standard deviation over
    the batch, so that shrinking them does not help, unless `normalize` is off; the term that keeps
    them from shrinking looks at the range of each latent over the batch, where theirs takes the
    range of each image's latents, and is off while codes are divided.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        gamma: Weight of the distance; the paper searches 0.1 to 10,000.
        normalize: Whether codes are brought to unit standard deviation first. One below 0.05 counts
            as 0.05.
        spread: Weight of the term that asks each latent to cover [0, 1] in every batch; 1 in the
            authors' code, where codes are as they are. It is 0 unless given when codes are
            normalised, 1 unless given when they are not.
        pairs: Pairs of latents that a step looks at, drawn without replacement; all where there are
            no more.
        points: Points that a step draws for each pair.

    Raises:
        InputError: A weight is negative, there is a single latent, or nothing is drawn.
    """

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
        """The pairs of latents, and for each point and pair two images of the global batch.

        Every row is the same, for all processes need all of them.
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
        """The weighted penalty; terms: `hausdorff`, the sum over pairs, and `spread`, unweighted.

        Args:
            posterior: Posteriors of the batch.
            z: Not used.
            draws: What `draw` returned.
            step: Not used.
        """
        codes = gather_rows(posterior.mean)
        missing = missing_spread(codes)
        scaled = unit_scale(codes) if self.normalize else codes
        hausdorff = hausdorff_gaps(scaled, draws["pairs"][0], draws["points"][0]).sum()
        penalty = self.gamma * hausdorff + self.spread * missing
        return Penalty(penalty, None, {"hausdorff": hausdorff, "spread": missing})
