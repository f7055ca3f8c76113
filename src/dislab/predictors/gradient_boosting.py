"""Prediction with gradient-boosted trees."""

from typing import Literal, final

from dislab.functional.checks import check_above, check_count
from dislab.functional.random import short_seed
from dislab.predictors._tree_predictor import ColumnModel, TreePredictor

Engine = Literal["histogram", "exact"]
"""Split points: edges of histogram bins, or any point between two codes."""


@final
class GradientBoosting(TreePredictor):
    """Boosted trees for each factor; predictions stay in the range of the training values.

    Factors with 0 classes are regressed with squared errors, others classified with the logistic or
    softmax loss. `exact` is scikit-learn's `GradientBoostingRegressor` or
    `GradientBoostingClassifier`, and `histogram` its `HistGradientBoostingRegressor` or
    `HistGradientBoostingClassifier` with the same depth, rounds, rate and smallest leaf of one
    image, and without early stopping. For a factor with a single value in all images, this value is
    predicted.

    Friedman (2001), https://doi.org/10.1214/aos/1013203451.

    Args:
        latent_dim: Number of latents.
        classes: Number of classes of each factor; 0 for regression of a number in [0, 1].
        engine: `histogram`, with up to 255 bins per latent, or `exact`, which takes about
            twenty-five times as long.
        rounds: Number of boosting rounds, each with one tree, or one tree per class.
        depth: Largest depth of a tree.
        rate: Shrinkage of each tree.
        seed: Seed of the order in which equally good splits are tried.

    Raises:
        InputError: The engine is unknown, or a setting is too small.
    """

    def __init__(
        self,
        latent_dim: int,
        classes: tuple[int, ...],
        engine: Engine = "histogram",
        rounds: int = 100,
        depth: int = 3,
        rate: float = 0.1,
        seed: int = 0,
    ) -> None:
        check_count("rounds", rounds, 1, most=100_000)
        check_count("depth", depth, 1, most=100)
        check_above("rate", rate, 0)
        self.latent_dim = latent_dim
        self.classes = tuple(classes)
        self.engine = engine
        self.rounds = rounds
        self.depth = depth
        self.rate = rate
        self.seed = seed

    def _model(self, kind: bool) -> ColumnModel:
        from sklearn import ensemble

        model: ColumnModel
        if self.engine == "exact":
            exact = (
                ensemble.GradientBoostingClassifier if kind else ensemble.GradientBoostingRegressor
            )
            model = exact(
                n_estimators=self.rounds,
                max_depth=self.depth,
                learning_rate=self.rate,
                random_state=short_seed(self.seed),
            )
        else:
            histogram = (
                ensemble.HistGradientBoostingClassifier
                if kind
                else ensemble.HistGradientBoostingRegressor
            )
            model = histogram(
                max_iter=self.rounds,
                max_depth=self.depth,
                learning_rate=self.rate,
                max_leaf_nodes=None,
                min_samples_leaf=1,
                early_stopping=False,
                random_state=short_seed(self.seed),
            )
        return model
