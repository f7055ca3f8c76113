"""Exact boosting: scikit-learn's own, with its settings."""

import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier

from dislab.errors import InputError
from dislab.learners import ExactBoosting

LABELS = torch.arange(240) % 3
NOISE = torch.randn(240, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
CODES = torch.cat([LABELS[:, None] + 0.4 * NOISE[:, :1], NOISE[:, 1:]], dim=1)


def test_exact_boosting_is_scikit_learns() -> None:
    own = ExactBoosting(rounds=10, seed=4).fit(CODES, LABELS)
    model = GradientBoostingClassifier(n_estimators=10, random_state=4)
    model.fit(CODES.numpy(), LABELS.numpy())
    assert own.importances().tolist() == model.feature_importances_.clip(0).tolist()
    assert own.predict(CODES).tolist() == model.predict(CODES.numpy()).tolist()


def test_rounding_leaves_no_importance_below_zero() -> None:
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(600, 7, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (600,), generator=generator)
    codes = torch.cat([labels[:, None].double(), noise], dim=1)
    own = ExactBoosting().fit(codes, labels).importances()
    assert bool((own >= 0).all())
    assert own[0].item() == pytest.approx(1.0)


def test_codes_that_never_change_have_no_importance() -> None:
    model = ExactBoosting(rounds=5).fit(torch.ones(40, 3), torch.arange(40) % 2)
    assert model.importances().tolist() == [0.0, 0.0, 0.0]


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        ExactBoosting().predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="call fit"):
        ExactBoosting().importances()
    with pytest.raises(InputError, match="two kinds"):
        ExactBoosting().fit(torch.randn(4, 2), torch.ones(4).long())
