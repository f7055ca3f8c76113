"""Random forests."""

from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier


@final
class RandomForest:
    """Scikit-learn's `RandomForestClassifier`, with leaves that are not single images.

    Args:
        trees: Number of trees.
        leaf: Fewest images in a leaf.
        seed: Seed of the bootstrap samples and of the latents tried at each split.
    """

    def __init__(self, trees: int = 100, leaf: int = 5, seed: int = 0) -> None:
        self.trees = trees
        self.leaf = leaf
        self.seed = seed
        self._model: RandomForestClassifier | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "RandomForest":
        """Itself, fitted.

        Args:
            codes: Codes to learn from.
            labels: What to predict; at least two different numbers.

        Raises:
            InputError: All labels are equal.
        """
        from sklearn.ensemble import RandomForestClassifier

        if (labels == labels[:1]).all():
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        model = RandomForestClassifier(
            n_estimators=self.trees, min_samples_leaf=self.leaf, random_state=self.seed
        )
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
        """Each latent's share of the impurity that splits remove; zeros where there is no split.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        return torch.from_numpy(self._fitted().feature_importances_)

    def _fitted(self) -> "RandomForestClassifier":
        if self._model is None:
            raise InputError("call fit(codes, labels) first")
        return self._model
