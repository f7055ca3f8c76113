"""One model for each run and factor, which know nothing of each other."""

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


@runtime_checkable
class ColumnModel(Protocol):
    """What scikit-learn's regressors and classifiers do."""

    def fit(self, codes: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Any:
        """Learns from scratch.

        Args:
            codes: One row an image.
            targets: One number an image.
        """

    def predict(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One number an image.

        Args:
            codes: One row an image.
        """


class _Constant(NamedTuple):
    """What is learnt from images that all have one value.

    Attributes:
        value: The value.
    """

    value: float

    def fit(self, codes: npt.NDArray[Any], targets: npt.NDArray[Any]) -> "_Constant":
        """Itself: there is nothing to learn.

        Args:
            codes: Not used.
            targets: Not used.
        """
        return self

    def predict(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The value, for every image.

        Args:
            codes: One row an image.
        """
        return np.full(len(codes), self.value)


def fitted_columns(
    codes: Float[Tensor, "run image latent"],
    targets: Float[Tensor, "image factor"],
    classes: Sequence[int],
    make: Callable[[bool], ColumnModel],
) -> list[list[ColumnModel]]:
    """A fitted model for each run, and in it for each factor.

    They are fitted side by side in as many threads as PyTorch uses. Each uses one, since trees
    this small take tens of microseconds each: threads that wait for each other cost more than
    they give.

    Args:
        codes: What each run makes of the same images.
        targets: Values or class numbers.
        classes: Number of classes of each factor; 0 for a number.
        make: Makes a new model; its argument says whether the model is a classifier.
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
    """What each model predicts from the codes of its run, as codes are typed and placed.

    Args:
        models: A fitted model for each run, and in it for each factor.
        codes: What each run makes of the same images.
    """
    arrays = codes.detach().cpu().double().numpy()

    def predict(task: tuple[int, int]) -> Tensor:
        run, factor = task
        with threadpool_limits(1, user_api="openmp"):
            return torch.as_tensor(models[run][factor].predict(arrays[run])).to(codes)

    tasks = list(product(range(len(arrays)), range(len(models[0]))))
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        columns = torch.stack(list(pool.map(predict, tasks)))
    return columns.view(len(models), -1, codes.shape[1]).mT.contiguous()
