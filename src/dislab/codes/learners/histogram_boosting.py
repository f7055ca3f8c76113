"""Boosted trees on histograms, with importances."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.codes.learners.boosted_logits import boost
from dislab.codes.learners.boosted_trees import BoostedTrees
from dislab.codes.learners.code_bins import bin_codes
from dislab.codes.learners.tree_sums import tree_sums
from dislab.errors import InputError


@final
class HistogramBoosting(BoostedTrees):
    """A classifier of codes made of boosted trees that split at histogram bins.

    The algorithm of scikit-learn's histogram gradient boosting, with the depth, rounds, rate and
    smallest leaf of its exact `GradientBoostingClassifier`, 255 bins and no early stopping, for
    all values, and all columns of labels, at once. Splits are the same but where two of them are
    as good as each other up to rounding. Codes are learnt from on the host.

    Args:
        rounds: Number of boosting rounds, each with one tree a class.
        depth: Largest depth of a tree, up to 8.
        rate: Shrinkage of each tree.

    Raises:
        InputError: The depth is not from 1 to 8.
    """

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1) -> None:
        super().__init__(rounds, depth, rate)
        self._kinds = torch.empty(0, dtype=torch.int64)

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "HistogramBoosting":
        """Itself, fitted.

        Args:
            codes: Finite codes to learn from.
            labels: What to predict; at least two different numbers.

        Raises:
            InputError: All labels are equal.
        """
        (fitted,) = self.fit_each(codes, labels[:, None])
        self._kinds, self._learnt = fitted._kinds, fitted._learnt
        return self

    def fit_each(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, "image factor"]
    ) -> list["HistogramBoosting"]:
        """A classifier like this for each column of labels, fitted together, which saves time.

        Args:
            codes: Finite codes to learn from.
            labels: What to predict; at least two different numbers in each column.

        Raises:
            InputError: All labels of a column are equal.
        """
        if (labels == labels[:1]).all(0).any():
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        known = [column.unique(return_inverse=True) for column in labels.cpu().T]
        bins = bin_codes(codes.cpu().numpy())
        learnt = boost(bins, [number for _, number in known], self.rounds, self.depth, self.rate)
        models = []
        for (kinds, _), logits in zip(known, learnt, strict=True):
            model = HistogramBoosting(self.rounds, self.depth, self.rate)
            model._kinds, model._learnt = kinds, logits
            models.append(model)
        return models

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, " image"]:
        """The most probable label of each code; only labels that `fit` saw.

        Args:
            codes: Finite codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        logits = self.logits(codes)
        best = logits.argmax(1) if logits.shape[1] > 1 else (logits[:, 0] > 0).long()
        return self._kinds[best]

    def logits(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image kind"]:
        """The logit of each label, in their order; of two labels, that of the second one alone.

        Args:
            codes: Finite codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        learnt = self._fitted()
        sums = tree_sums(learnt.trees, codes.cpu().numpy(), len(learnt.start))
        return torch.from_numpy(sums) + learnt.start
