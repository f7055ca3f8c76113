"""The methods that predictors with scikit-learn's trees share."""

from abc import abstractmethod
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from dislab.base import Predictor
from dislab.codes.inputs import check_codes, check_lesson
from dislab.codes.learners.column_models import ColumnModel, fitted_columns, predicted_columns


class TreePredictor(Predictor):
    """One model of scikit-learn for each run and factor.

    A concrete class has a constructor, which sets `latent_dim` and `classes`, and `_model`.
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
        """Learns from scratch, from values in [0, 1] or class numbers, one column a factor.

        Raises:
            InputError: Codes or targets do not fit or are not finite.
        """
        check_lesson(codes, targets, self.latent_dim, self.classes)
        self._models = fitted_columns(codes, targets, self.classes, self._model)

    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values or class numbers; only classes that `fit` saw. The codes may be on any device.

        Raises:
            InputError: `fit` has not been called, or codes do not fit or are not finite.
        """
        check_codes(codes, self.latent_dim, len(self._models))
        return predicted_columns(self._models, codes)

    @abstractmethod
    def _model(self, kind: bool) -> ColumnModel:
        """An unfitted model: a classifier for a kind, a regressor for a number."""
