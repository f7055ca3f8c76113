"""Boosted trees on histograms, with importances."""

from typing import TYPE_CHECKING, Final, final

import torch
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits
from torch import Tensor

from dislab.errors import InputError
from dislab.learners.residual_gains import residual_gains
from dislab.learners.tree_sums import CompleteTrees, complete_trees, tree_sums

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

LARGEST_PACKED: Final = 6
"""Deepest trees whose tests are all made at once; of deeper ones most would be in vain."""


@final
class HistogramBoosting:
    """A classifier of codes made of boosted trees that split at histogram bins.

    Scikit-learn's histogram gradient boosting with the depth, rounds, rate and smallest leaf of
    its exact `GradientBoostingClassifier`, and no early stopping. Given the same codes, results do
    not depend on the number of threads.

    Args:
        rounds: Number of boosting rounds, each with one tree a class.
        depth: Largest depth of a tree.
        rate: Shrinkage of each tree.
        seed: Seed of the subsample that places the bins when there are more than 200,000 images.
    """

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1, seed: int = 0) -> None:
        self.rounds = rounds
        self.depth = depth
        self.rate = rate
        self.seed = seed
        self._model: HistGradientBoostingClassifier | None = None
        self._packed: CompleteTrees | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "HistogramBoosting":
        """Itself, fitted.

        Args:
            codes: Codes to learn from.
            labels: What to predict; at least two different numbers.

        Raises:
            InputError: All labels are equal.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier

        if (labels == labels[:1]).all():
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        model = HistGradientBoostingClassifier(
            learning_rate=self.rate,
            max_iter=self.rounds,
            max_depth=self.depth,
            max_leaf_nodes=None,
            min_samples_leaf=1,
            early_stopping=False,
            random_state=self.seed,
        )
        # trees this small take tens of microseconds each: threads that wait for each other cost
        # more than they give, and on a busy machine over ten times as much
        with threadpool_limits(1, user_api="openmp"):
            self._model = model.fit(codes.cpu().numpy(), labels.cpu().numpy())
        self._packed = None
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, " image"]:
        """The most probable label of each code; only labels that `fit` saw.

        Args:
            codes: Finite codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        model = self._fitted()
        if self.depth > LARGEST_PACKED:
            with threadpool_limits(1, user_api="openmp"):
                return torch.from_numpy(model.predict(codes.cpu().numpy()))
        logits = self._logits(codes)
        best = logits.argmax(1) if logits.shape[1] > 1 else (logits[:, 0] > 0).long()
        return torch.from_numpy(model.classes_)[best]

    def importances(self) -> Float[Tensor, " latent"]:
        """Each latent's share of what all splits explain; zeros where no tree has a split.

        As in `GradientBoostingClassifier.feature_importances_`, the squared residuals that the
        splits explain are added up over all trees before they are normalised, so that late
        trees, which fit noise, count little. They are not kept in these trees, but follow up to
        an approximation from what is: see `residual_gains`.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        model = self._fitted()
        # The nodes are not public, but the only place where scikit-learn keeps the gains.
        trees = [tree.nodes for stage in model._predictors for tree in stage]
        gains = residual_gains(trees, self.rate, model.n_features_in_)
        total = gains.sum()
        return torch.from_numpy(gains / (total if total > 0 else 1.0))

    def _logits(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image kind"]:
        """The sums of all trees, as the model's own but for the order of adding."""
        model = self._fitted()
        if self._packed is None:
            trees = [tree.nodes for stage in model._predictors for tree in stage]
            self._packed = complete_trees(trees, self.depth)
        sums = tree_sums(self._packed, codes.cpu().numpy(), model.n_trees_per_iteration_)
        return torch.from_numpy(sums + model._baseline_prediction)

    def _fitted(self) -> "HistGradientBoostingClassifier":
        if self._model is None:
            raise InputError("call fit(codes, labels) first")
        return self._model
