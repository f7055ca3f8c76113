"""Prediction with random forests."""

from typing import final

from dislab.functional.checks import check_count
from dislab.functional.random import short_seed
from dislab.predictors._tree_predictor import ColumnModel, TreePredictor


@final
class RandomForest(TreePredictor):
    """A random forest for each factor; predictions stay in the range of the training values.

    Scikit-learn's `RandomForestRegressor` for factors with 0 classes and `RandomForestClassifier`
    for others, with their default settings: trees grow until a leaf holds one image; each split
    tries all latents in regression, and the square root of their number in classification. For a
    factor with a single value in all images, this value is predicted.

    Breiman (2001), https://doi.org/10.1023/A:1010933404324.

    Args:
        latent_dim: Number of latents.
        classes: Number of classes of each factor; 0 for regression of a number in [0, 1].
        trees: Number of trees.
        leaf: Fewest images in a leaf.
        seed: Seed of the bootstrap samples and of the latents tried at each split.

    Raises:
        InputError: A setting is too small.
    """

    def __init__(
        self,
        latent_dim: int,
        classes: tuple[int, ...],
        trees: int = 100,
        leaf: int = 1,
        seed: int = 0,
    ) -> None:
        check_count("trees", trees, 1, most=100_000)
        check_count("leaf", leaf, 1)
        self.latent_dim = latent_dim
        self.classes = tuple(classes)
        self.trees = trees
        self.leaf = leaf
        self.seed = seed

    def _model(self, kind: bool) -> ColumnModel:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        forest = RandomForestClassifier if kind else RandomForestRegressor
        model: ColumnModel = forest(
            n_estimators=self.trees,
            min_samples_leaf=self.leaf,
            random_state=short_seed(self.seed),
        )
        return model
