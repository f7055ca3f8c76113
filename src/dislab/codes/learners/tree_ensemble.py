"""Scikit-learn's tree ensembles with their importances, and the prediction of a constant."""

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

    Floating-point labels are predicted by `GradientBoostingRegressor` or `RandomForestRegressor`.
    All settings not listed here are scikit-learn's defaults.

    Args:
        kind: `boosting`, the published learner of DCI, or `forest`.
        trees: Number of trees; in boosting the number of rounds, each with one tree per class.
        leaf: Fewest images in a leaf.
        seed: Seed of the bootstrap samples and of the latents tried at each split; in boosting, of
            the order in which equally good splits are tried.
        depth: Largest depth of a tree; null takes scikit-learn's default.
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
        """Learn from codes and at least two different labels; return itself."""
        from sklearn import ensemble

        if (labels == labels[:1]).all():
            raise InputError("a classifier needs at least two different labels to learn from")
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
        """The most probable training label of each code, or the predicted number."""
        return torch.from_numpy(self._fitted().predict(codes.cpu().numpy()))

    def importances(self) -> Float[Tensor, " latent"]:
        """Each latent's share of the gains of all splits; zeros where no tree has a split."""
        # rounding makes some importances of boosting slightly negative, such as -1e-18
        return torch.from_numpy(self._fitted().feature_importances_).clamp(min=0.0)

    def _fitted(self) -> "Model":
        if self._model is None:
            raise InputError("call fit(codes, labels) first")
        return self._model


@final
class Constant:
    """Predicts the most frequent training label, or the mean of floating-point labels.

    It gives the chance level of every learner. Integer labels are classes.
    """

    def __init__(
        self, latents: int, labels: Int[Tensor, " image"] | Float[Tensor, " image"]
    ) -> None:
        self._latents = latents
        measured = labels.is_floating_point()
        self._value = labels.mean() if measured else labels.mode().values

    def importances(self) -> Float[Tensor, " latent"]:
        """Zeros for all latents."""
        return torch.zeros(self._latents, dtype=torch.float64)

    def predict(
        self, codes: Float[Tensor, "image latent"]
    ) -> Int[Tensor, " image"] | Float[Tensor, " image"]:
        """The same value for every image."""
        return self._value.expand(len(codes))
