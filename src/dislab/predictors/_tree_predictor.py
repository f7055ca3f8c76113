"""Common methods of the predictors with scikit-learn's trees."""

from abc import abstractmethod
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from dislab.base import Predictor
from dislab.codes.inputs import check_codes, check_training_data
from dislab.codes.learners.column_models import ColumnModel, fitted_columns, predicted_columns


class TreePredictor(Predictor):
    """One scikit-learn model for each run and factor.

    A concrete class implements `_model`, and a constructor that sets `latent_dim` and `classes`.
    """

    engines = ("scikit-learn",)

    latent_dim: int
    classes: tuple[int, ...]
    _models: Sequence[Sequence[ColumnModel]] = ()

    def fit(
        self,
        codes: Float[Tensor, "run image latent"],
        targets: Float[Tensor, "image factor"],
    ) -> None:
        """Learn from scratch, from values in [0, 1] or class numbers, one column per factor.

        Raises:
            InputError: Codes or targets have wrong shapes or values, or are not finite.
        """
        check_training_data(codes, targets, self.latent_dim, self.classes)
        self._models = fitted_columns(codes, targets, self.classes, self._model)

    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values or class numbers; only classes that `fit` saw. The codes may be on any device.

        Raises:
            InputError: `fit` has not been called, or codes have a wrong shape or are not finite.
        """
        check_codes(codes, self.latent_dim, len(self._models))
        return predicted_columns(self._models, codes)

    @abstractmethod
    def _model(self, kind: bool) -> ColumnModel:
        """An unfitted model: a classifier if `kind` is true, else a regressor."""
