"""A trained run as a transformer of scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dislab.base import is_vector
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.runs import OpenRun, open_run
from dislab_identify.vector_dataset import VectorDataset


class Representation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The encoder of a trained run, as a step of a scikit-learn pipeline.

    `fit` opens the run and trains nothing. Rows of a `VectorDataset` are given in the units of its
    file and standardised as in training. Rows of images are their pixels in [0, 1], channels first.

    Args:
        run: Folder of the run.
        batch_size: Rows encoded together.
    """

    def __init__(self, run: str = "", batch_size: int = 1024) -> None:
        self.run = run
        self.batch_size = batch_size

    def fit(self, X: npt.ArrayLike, y: Any = None) -> "Representation":  # noqa: N803
        """Opens the run, and checks that rows fit it.

        Args:
            X: Rows, shape (row, feature).
            y: Ignored.

        Raises:
            InputError: There is no such run, or its data have another number of features.
        """
        check_count("batch_size", self.batch_size, 1)
        if not self.run:
            raise InputError("run is empty; give the folder of a trained run")
        rows = validate_data(self, X, dtype=np.float64)
        opened = self._open(rows.shape[1])
        self.image_shape_ = opened.data.image_shape
        if rows.shape[1] != (features := int(np.prod(self.image_shape_))):
            raise InputError(
                f"X has {rows.shape[1]} features, and the run was trained on {features}; give the "
                "same columns in the same order"
            )
        self.model_ = opened.model
        self.dataset_ = opened.data.dataset
        return self

    def _open(self, features: int) -> OpenRun:
        """The run; a stand-in may choose it by the number of features."""
        return open_run(Path(self.run))

    def transform(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:  # noqa: N803
        """Codes of rows, shape (row, latent).

        Args:
            X: Rows, shape (row, feature).
        """
        check_is_fitted(self, "model_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        if is_vector(self.image_shape_) and isinstance(self.dataset_, VectorDataset):
            rows = self.dataset_.scaled_rows(rows)
        images = torch.from_numpy(rows.copy()).to(self.model_.dtype).view(-1, *self.image_shape_)
        model = self.model_.eval()
        with torch.inference_mode():
            parts = torch.split(images, self.batch_size)
            codes = [model.codes(part.to(model.device)).cpu() for part in parts]
        return np.asarray(torch.cat(codes).double().numpy())
