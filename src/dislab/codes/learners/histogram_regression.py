"""Boosted trees on histograms that predict numbers, with importances."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.codes.learners.boosted_logits import boost
from dislab.codes.learners.boosted_trees import BoostedTrees
from dislab.codes.learners.code_bins import bin_codes
from dislab.codes.learners.tree_sums import tree_sums
from dislab.errors import InputError


@final
class HistogramRegression(BoostedTrees):
    """A regression on codes made of boosted trees that split at histogram bins.

    The trees of `HistogramBoosting` with squared errors: the algorithm of scikit-learn's
    `HistGradientBoostingRegressor` with the depth, rounds, rate and smallest leaf of its exact
    `GradientBoostingRegressor`, 255 bins and no early stopping. Codes are learnt from on the host.

    Args:
        rounds: Number of boosting rounds, each with one tree.
        depth: Largest depth of a tree, up to 8.
        rate: Shrinkage of each tree.

    Raises:
        InputError: The depth is not from 1 to 8.
    """

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1) -> None:
        super().__init__(rounds, depth, rate)
        self._middle = self._spread = torch.empty(0)

    def fit(
        self, codes: Float[Tensor, "image latent"], numbers: Float[Tensor, " image"]
    ) -> "HistogramRegression":
        """Itself, fitted.

        Args:
            codes: Finite codes to learn from.
            numbers: What to predict; at least two different ones.

        Raises:
            InputError: All numbers are equal.
        """
        (fitted,) = self.fit_each(codes, numbers[:, None])
        self._learnt, self._middle, self._spread = fitted._learnt, fitted._middle, fitted._spread
        return self

    def fit_each(
        self, codes: Float[Tensor, "image latent"], numbers: Float[Tensor, "image factor"]
    ) -> list["HistogramRegression"]:
        """A regression like this for each column of numbers, fitted together, which saves time.

        Args:
            codes: Finite codes to learn from.
            numbers: What to predict; at least two different ones in each column.

        Raises:
            InputError: All numbers of a column are equal.
        """
        wanted = numbers.cpu().double()
        if (wanted == wanted[:1]).all(0).any():
            raise InputError("a regression needs numbers of at least two kinds to learn from")
        middle, spread = wanted.mean(0), wanted.std(0, correction=0)
        scaled = ((wanted - middle) / spread).T.contiguous()
        learnt = boost(
            bin_codes(codes.cpu().numpy()), list(scaled), self.rounds, self.depth, self.rate
        )
        models = []
        for column, trees in enumerate(learnt):
            model = HistogramRegression(self.rounds, self.depth, self.rate)
            model._learnt, model._middle, model._spread = trees, middle[column], spread[column]
            models.append(model)
        return models

    def predict(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, " image"]:
        """The expected number of each code.

        Args:
            codes: Finite codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        learnt = self._fitted()
        sums = torch.from_numpy(tree_sums(learnt.trees, codes.cpu().numpy(), 1))[:, 0]
        return (sums + learnt.start) * self._spread + self._middle
