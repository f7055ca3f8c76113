import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from dislab.errors import InputError
from dislab.predictors import RandomForest

SOURCE = torch.Generator().manual_seed(0)
CODES = torch.randn(2, 90, 3, generator=SOURCE)
KINDS = (CODES[0, :, 0] > 0).float() + (CODES[0, :, 1] > 0).float()
TARGETS = torch.stack([torch.sigmoid(CODES[0, :, 0]), KINDS], 1)


def test_its_forests_are_scikit_learns() -> None:
    own = RandomForest(3, (0, 3), trees=4, leaf=2, seed=3)
    own.fit(CODES, TARGETS)
    found = own.predict(CODES)
    for run in range(2):
        codes = CODES[run].double().numpy()
        for factor, kind in enumerate((RandomForestRegressor, RandomForestClassifier)):
            model = kind(n_estimators=4, min_samples_leaf=2, random_state=3)
            model.fit(codes, TARGETS[:, factor].double().numpy())
            expected = torch.from_numpy(model.predict(codes)).float()
            assert torch.equal(found[run, :, factor], expected)


def test_it_stays_within_what_it_learnt_from() -> None:
    values = torch.linspace(0.2, 0.7, 50)[:, None]
    own = RandomForest(1, (0,), trees=5)
    own.fit(values[None] * 4, values)
    far = own.predict(torch.tensor([[[400.0], [-400.0]]]))[0, :, 0]
    assert 0.6 < far[0] <= 0.7
    assert 0.2 <= far[1] < 0.3


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="trees is 0"):
        RandomForest(3, (0,), trees=0)
    with pytest.raises(InputError, match="leaf is 0"):
        RandomForest(3, (0,), leaf=0)
    with pytest.raises(InputError, match="call fit"):
        RandomForest(3, (0,)).predict(CODES)
