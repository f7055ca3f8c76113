"""Random forests: scikit-learn's own, with leaves of five images."""

import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

from dislab.errors import InputError
from dislab.learners import RandomForest

LABELS = torch.arange(240) % 3
NOISE = torch.randn(240, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
CODES = torch.cat([LABELS[:, None] + 0.4 * NOISE[:, :1], NOISE[:, 1:]], dim=1)


def test_the_forest_is_scikit_learns() -> None:
    own = RandomForest(trees=10, seed=4).fit(CODES, LABELS)
    model = RandomForestClassifier(n_estimators=10, min_samples_leaf=5, random_state=4)
    model.fit(CODES.numpy(), LABELS.numpy())
    assert own.importances().tolist() == model.feature_importances_.tolist()
    assert own.predict(CODES).tolist() == model.predict(CODES.numpy()).tolist()


def test_codes_that_never_change_have_no_importance() -> None:
    model = RandomForest(trees=5).fit(torch.ones(40, 3), torch.arange(40) % 2)
    assert model.importances().tolist() == [0.0, 0.0, 0.0]


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        RandomForest().predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="call fit"):
        RandomForest().importances()
    with pytest.raises(InputError, match="two kinds"):
        RandomForest().fit(torch.randn(4, 2), torch.ones(4).long())
