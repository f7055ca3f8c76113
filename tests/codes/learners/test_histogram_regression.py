"""Boosted trees that predict numbers."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

from dislab.codes.learners import HistogramRegression
from dislab.errors import InputError


def drawn(images: int = 900) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    codes = rng.normal(size=(images, 4))
    return codes, 1e3 + 5 * codes[:, 0] ** 2 + 3 * codes[:, 2] + rng.normal(size=images)


@pytest.mark.parametrize("depth", [1, 3])
def test_predictions_are_those_of_scikit_learn(depth: int) -> None:
    codes, numbers = drawn()
    reference = HistGradientBoostingRegressor(
        max_iter=10, max_depth=depth, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    ).fit(codes[:600], numbers[:600])
    model = HistogramRegression(rounds=10, depth=depth)
    model.fit(torch.from_numpy(codes[:600]), torch.from_numpy(numbers[:600]))
    found = model.predict(torch.from_numpy(codes)).numpy()
    assert found == pytest.approx(reference.predict(codes), abs=1e-3)


def test_importances_are_near_those_of_exact_boosting() -> None:
    codes, numbers = drawn()
    exact = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(codes, numbers)
    model = HistogramRegression(rounds=20)
    model.fit(torch.from_numpy(codes), torch.from_numpy(numbers))
    assert model.importances().numpy() == pytest.approx(exact.feature_importances_, abs=0.01)
    assert model.importances().sum().item() == pytest.approx(1.0)


def test_columns_fitted_together_are_those_fitted_alone() -> None:
    codes, numbers = drawn(200)
    both = torch.from_numpy(np.stack([numbers, codes[:, 3]], axis=1))
    tensor = torch.from_numpy(codes)
    together = HistogramRegression(rounds=5).fit_each(tensor, both)
    for model, column in zip(together, both.T, strict=True):
        alone = HistogramRegression(rounds=5).fit(tensor, column)
        assert torch.allclose(model.predict(tensor), alone.predict(tensor), atol=1e-3)


def test_refuses_what_cannot_be_learnt_from() -> None:
    with pytest.raises(InputError, match="call fit"):
        HistogramRegression().predict(torch.zeros(3, 2))
    with pytest.raises(InputError, match="at least two kinds"):
        HistogramRegression().fit(torch.randn(5, 2), torch.ones(5))
    with pytest.raises(InputError, match="the depth of trees is 9; it must be from 1 to 8"):
        HistogramRegression(depth=9)
