"""The lasso and the units that it is fit in."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso, LassoCV

from dislab.codes.learners import LassoRegression
from dislab.errors import InputError

LABELS = torch.arange(200) % 5
CODES = torch.stack(
    [3 * LABELS + torch.randn(200, generator=torch.Generator().manual_seed(0)), LABELS % 2],
    dim=1,
).double()


def test_one_standardised_latent_by_hand() -> None:
    # the weight of a standardised latent is its correlation less the penalty
    correlation = torch.corrcoef(torch.stack([CODES[:, 0], LABELS.double()]))[0, 1].item()
    model = LassoRegression(alpha=0.1).fit(CODES[:, :1], LABELS)
    assert model.importances().tolist() == pytest.approx([correlation - 0.1], abs=1e-6)


@pytest.mark.parametrize("scale", [True, False])
def test_equals_scikit_learn(scale: bool) -> None:
    array, target = CODES.numpy(), LABELS.numpy().astype(float)
    units = array.std(0) if scale else 1.0
    inputs = (array - array.mean(0)) / units
    expected = Lasso(alpha=0.02, tol=1e-10).fit(inputs, (target - target.mean()) / target.std())
    own = LassoRegression(scale=scale).fit(CODES, LABELS)
    np.testing.assert_allclose(own.importances().numpy(), np.abs(expected.coef_), atol=1e-6)
    predicted = expected.predict(inputs) * target.std() + target.mean()
    np.testing.assert_allclose(own.predict(CODES).numpy(), predicted, atol=1e-5)


def test_the_random_order_reaches_the_same_weights() -> None:
    cyclic = LassoRegression().fit(CODES, LABELS).importances()
    random = LassoRegression(selection="random", seed=3).fit(CODES, LABELS).importances()
    torch.testing.assert_close(random, cyclic, atol=1e-8, rtol=0.0)


def test_a_penalty_is_chosen_by_cross_validation() -> None:
    array, target = CODES.numpy(), LABELS.numpy().astype(float)
    inputs = (array - array.mean(0)) / array.std(0)
    expected = LassoCV(cv=5, tol=1e-10).fit(inputs, (target - target.mean()) / target.std())
    own = LassoRegression(alpha=None).fit(CODES, LABELS)
    np.testing.assert_allclose(own.importances().numpy(), np.abs(expected.coef_), atol=1e-6)


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        LassoRegression().predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="call fit"):
        LassoRegression().importances()
    with pytest.raises(InputError, match="at least two different"):
        LassoRegression().fit(torch.randn(4, 2), torch.ones(4).long())
