"""Linear regression with a quadratic penalty."""

import numpy as np
import pytest
import torch

from dislab.codes.learners import RidgeRegression
from dislab.errors import InputError


def test_weights_solve_the_normal_equations() -> None:
    rng = np.random.default_rng(0)
    codes = np.hstack([rng.normal(size=(80, 2)) * [3, 0.1] + 7, np.full((80, 1), 4.0)])
    numbers = 100 + codes[:, 0] + 20 * codes[:, 1] + rng.normal(size=80)
    model = RidgeRegression(penalty=2.0).fit(torch.from_numpy(codes), torch.from_numpy(numbers))
    known = (codes - codes.mean(0)) / np.where(codes.std(0) > 0, codes.std(0), 1)
    target = (numbers - numbers.mean()) / numbers.std()
    weights = np.linalg.solve(known.T @ known + 2 * np.eye(3), known.T @ target)
    expected = known @ weights * numbers.std() + numbers.mean()
    assert model.predict(torch.from_numpy(codes)).numpy() == pytest.approx(expected)


def test_refuses_what_cannot_be_learnt_from() -> None:
    with pytest.raises(InputError, match="call fit"):
        RidgeRegression().predict(torch.zeros(3, 2))
    with pytest.raises(InputError, match="at least two different"):
        RidgeRegression().fit(torch.randn(5, 2), torch.ones(5))
