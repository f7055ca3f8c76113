"""Exact gradient boosting, the published learner of DCI."""

from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingClassifier


@final
class ExactBoosting:
    """Scikit-learn's `GradientBoostingClassifier` with its own settings.

    Args:
        rounds: Number of boosting rounds, each with one tree a class.
        seed: Seed of the order in which equally good splits are tried.
    """

    def __init__(self, rounds: int = 100, seed: int = 0) -> None:
        self.rounds = rounds
        self.seed = seed
        self._model: GradientBoostingClassifier | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "ExactBoosting":
        """Itself, fitted.

        Args:
            codes: Codes to learn from.
            labels: What to predict; at least two different numbers.

        Raises:
            InputError: All labels are equal.
        """
        from sklearn.ensemble import GradientBoostingClassifier

        if (labels == labels[:1]).all():
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        model = GradientBoostingClassifier(n_estimators=self.rounds, random_state=self.seed)
        self._model = model.fit(codes.cpu().numpy(), labels.cpu().numpy())
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, " image"]:
        """The most probable label of each code; only labels that `fit` saw.

        Args:
            codes: Codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        return torch.from_numpy(self._fitted().predict(codes.cpu().numpy()))

    def importances(self) -> Float[Tensor, " latent"]:
        """Each latent's share of what all splits explain; zeros where no tree has a split.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        # rounding leaves some of scikit-learn's a little below zero, such as -1e-18
        return torch.from_numpy(self._fitted().feature_importances_).clamp(min=0.0)

    def _fitted(self) -> "GradientBoostingClassifier":
        if self._model is None:
            raise InputError("call fit(codes, labels) first")
        return self._model
