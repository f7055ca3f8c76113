"""Prediction from the nearest codes."""

from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Predictor
from dislab.codes.inputs import Standard, check_codes, check_training_data, standard
from dislab.functional.checks import check_count

DISTANCES_AT_ONCE: Final = 5_000_000
"""Number of distances in memory at once; changes no result."""


@final
class NearestNeighbors(Predictor):
    """Mean or most frequent value of the images with the nearest codes, never outside their range.

    Codes are standardised, distances are Euclidean; constant latents are ignored. For regression
    the prediction is the mean over the neighbours, for classification their most frequent class,
    with ties broken by the smallest class number.

    Cover and Hart (1967), https://doi.org/10.1109/TIT.1967.1053964.

    Args:
        latent_dim: Number of latents.
        classes: Number of classes of each factor; 0 for regression of a number in [0, 1].
        k: Number of neighbours; all images if there are fewer.

    Raises:
        InputError: `k` is below 1.
    """

    def __init__(self, latent_dim: int, classes: tuple[int, ...], k: int = 5) -> None:
        check_count("k", k, 1)
        self.latent_dim = latent_dim
        self.classes = tuple(classes)
        self.k = k
        self._standard = Standard(torch.empty(0), torch.empty(0))
        self._codes = self._targets = torch.empty(0)

    def fit(
        self,
        codes: Float[Tensor, "run image latent"],
        targets: Float[Tensor, "image factor"],
    ) -> None:
        """Learn from scratch: store all codes and targets."""
        check_training_data(codes, targets, self.latent_dim, self.classes)
        self._standard = standard(codes.detach())
        self._codes = self._standard.of(codes.detach())
        self._targets = targets.detach().to(codes.device, torch.float64, copy=True)

    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values or class numbers; only classes that `fit` saw."""
        check_codes(codes, self.latent_dim, len(self._codes))
        queried = self._standard.of(codes.detach())
        count = max(1, DISTANCES_AT_ONCE // len(self._targets))
        runs = [
            torch.cat([self._voted(train, some) for some in torch.split(test, count)])
            for train, test in zip(self._codes, queried, strict=True)
        ]
        return torch.stack(runs).to(codes)

    def _voted(
        self, train: Float[Tensor, "known latent"], queried: Float[Tensor, "image latent"]
    ) -> Float[Tensor, "image factor"]:
        # matrix products would be faster, but lose small distances to rounding
        apart = torch.cdist(queried, train, compute_mode="donot_use_mm_for_euclid_dist")
        nearest = apart.topk(min(self.k, len(train)), dim=1, largest=False).indices
        neighbours = self._targets[nearest]
        columns = [
            torch.nn.functional.one_hot(neighbours[..., factor].long(), count)
            .sum(1)
            .argmax(1)
            .double()
            if count
            else neighbours[..., factor].mean(1)
            for factor, count in enumerate(self.classes)
        ]
        return torch.stack(columns, 1)
