"""Predictors with scikit-learn's trees: one model for each run and factor, fitted in parallel."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from threadpoolctl import threadpool_limits
from torch import Tensor

from dislab.base import Predictor
from dislab.codes.inputs import check_codes, check_training_data


@runtime_checkable
class ColumnModel(Protocol):
    """Interface of scikit-learn's regressors and classifiers."""

    def fit(self, codes: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Any:
        """Learn from scratch, from one row of codes and one target per image."""

    def predict(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One prediction per image."""


class _Constant(NamedTuple):
    """Predicts the only value of the training images."""

    value: float

    def fit(self, codes: npt.NDArray[Any], targets: npt.NDArray[Any]) -> "_Constant":
        """Returns itself; there is nothing to learn."""
        return self

    def predict(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The value, for every image."""
        return np.full(len(codes), self.value)


def fitted_columns(
    codes: Float[Tensor, "run image latent"],
    targets: Float[Tensor, "image factor"],
    classes: Sequence[int],
    make: Callable[[bool], ColumnModel],
) -> list[list[ColumnModel]]:
    """A fitted model for each run and factor.

    The models are fitted in parallel in as many threads as PyTorch uses, one thread per model: such
    small trees take tens of microseconds each, too short for several threads. A factor with 0
    classes is regressed; the argument of `make` says whether the model classifies.
    """
    arrays = codes.detach().cpu().double().numpy()
    columns = [
        column.long().numpy() if count else column.double().numpy()
        for column, count in zip(targets.cpu().T.contiguous(), classes, strict=True)
    ]

    def fit(task: tuple[int, int]) -> ColumnModel:
        run, factor = task
        column = columns[factor]
        if (column == column[0]).all():
            return _Constant(float(column[0]))
        model = make(classes[factor] > 0)
        with threadpool_limits(1, user_api="openmp"):
            model.fit(arrays[run], column)
        return model

    tasks = list(product(range(len(arrays)), range(len(classes))))
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        fitted = list(pool.map(fit, tasks))
    return [fitted[start : start + len(classes)] for start in range(0, len(fitted), len(classes))]


def predicted_columns(
    models: Sequence[Sequence[ColumnModel]], codes: Float[Tensor, "run image latent"]
) -> Float[Tensor, "run image factor"]:
    """Predictions of each model from its run's codes, in their dtype and on their device."""
    arrays = codes.detach().cpu().double().numpy()

    def predict(task: tuple[int, int]) -> Tensor:
        run, factor = task
        with threadpool_limits(1, user_api="openmp"):
            return torch.as_tensor(models[run][factor].predict(arrays[run])).to(codes)

    tasks = list(product(range(len(arrays)), range(len(models[0]))))
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        columns = torch.stack(list(pool.map(predict, tasks)))
    return columns.view(len(models), -1, codes.shape[1]).mT.contiguous()


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
        """Learn from scratch, from values in [0, 1] or class numbers, one column per factor."""
        check_training_data(codes, targets, self.latent_dim, self.classes)
        self._models = fitted_columns(codes, targets, self.classes, self._model)

    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values or class numbers; only classes that `fit` saw. The codes may be on any device."""
        check_codes(codes, self.latent_dim, len(self._models))
        return predicted_columns(self._models, codes)

    @abstractmethod
    def _model(self, kind: bool) -> ColumnModel:
        """An unfitted model: a classifier if `kind` is true, else a regressor."""
