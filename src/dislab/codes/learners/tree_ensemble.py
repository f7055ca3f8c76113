"""Scikit-learn's classifiers and regressions of many trees, with their importances."""

from typing import TYPE_CHECKING, Literal, TypeAlias, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError

if TYPE_CHECKING:
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    Model: TypeAlias = (
        GradientBoostingClassifier
        | GradientBoostingRegressor
        | RandomForestClassifier
        | RandomForestRegressor
    )


@final
class TreeEnsemble:
    """Scikit-learn's `GradientBoostingClassifier` or `RandomForestClassifier`.

    Floating-point labels are numbers, which `GradientBoostingRegressor` or `RandomForestRegressor`
    predicts. All settings but those named here are scikit-learn's own.

    Args:
        kind: `boosting`, the published learner of DCI, or `forest`.
        trees: Number of trees; in boosting of rounds, each with one tree a class.
        leaf: Fewest images in a leaf.
        seed: Seed of the bootstrap samples and of the latents tried at each split; in boosting of
            the order in which equally good splits are tried.
        depth: Largest depth of a tree; scikit-learn's own where null.
    """

    def __init__(
        self,
        kind: Literal["boosting", "forest"],
        trees: int = 100,
        leaf: int = 1,
        seed: int = 0,
        depth: int | None = None,
    ) -> None:
        self.kind = kind
        self.trees = trees
        self.leaf = leaf
        self.seed = seed
        self.depth = depth
        self._model: Model | None = None

    def fit(
        self,
        codes: Float[Tensor, "image latent"],
        labels: Int[Tensor, " image"] | Float[Tensor, " image"],
    ) -> "TreeEnsemble":
        """Learns from codes and at least two different labels; returns itself."""
        from sklearn import ensemble

        if (labels == labels[:1]).all():
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        task = "Regressor" if labels.is_floating_point() else "Classifier"
        name = "GradientBoosting" if self.kind == "boosting" else "RandomForest"
        make: type[Model] = getattr(ensemble, f"{name}{task}")
        model = make(n_estimators=self.trees, min_samples_leaf=self.leaf, random_state=self.seed)
        if self.depth is not None:
            model.set_params(max_depth=self.depth)
        self._model = model.fit(codes.cpu().numpy(), labels.cpu().numpy())
        return self

    def predict(
        self, codes: Float[Tensor, "image latent"]
    ) -> Int[Tensor, " image"] | Float[Tensor, " image"]:
        """The most probable label of each code, out of the lesson, or the expected number."""
        return torch.from_numpy(self._fitted().predict(codes.cpu().numpy()))

    def importances(self) -> Float[Tensor, " latent"]:
        """Each latent's share of the gains of all splits; zeros where no tree has a split."""
        # rounding leaves some of boosting's a little below zero, such as -1e-18
        return torch.from_numpy(self._fitted().feature_importances_).clamp(min=0.0)

    def _fitted(self) -> "Model":
        if self._model is None:
            raise InputError("call fit(codes, labels) first")
        return self._model
