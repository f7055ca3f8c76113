"""Ensembles of trees: scikit-learn's own, with its settings."""

from typing import Any

import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from dislab.codes.learners import TreeEnsemble
from dislab.errors import InputError

LABELS = torch.arange(240) % 3
NOISE = torch.randn(240, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
CODES = torch.cat([LABELS[:, None] + 0.4 * NOISE[:, :1], NOISE[:, 1:]], dim=1)
KINDS = pytest.mark.parametrize("kind", ["boosting", "forest"])


@pytest.mark.parametrize(
    ("kind", "leaf", "model"),
    [
        ("boosting", 1, GradientBoostingClassifier(n_estimators=10, random_state=4)),
        (
            "forest",
            5,
            RandomForestClassifier(n_estimators=10, min_samples_leaf=5, random_state=4),
        ),
    ],
)
def test_the_trees_are_scikit_learns(kind: Any, leaf: int, model: Any) -> None:
    own = TreeEnsemble(kind, trees=10, leaf=leaf, seed=4).fit(CODES, LABELS)
    model.fit(CODES.numpy(), LABELS.numpy())
    assert own.importances().tolist() == model.feature_importances_.clip(0).tolist()
    assert own.predict(CODES).tolist() == model.predict(CODES.numpy()).tolist()


def test_rounding_leaves_no_importance_below_zero() -> None:
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(600, 7, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (600,), generator=generator)
    codes = torch.cat([labels[:, None].double(), noise], dim=1)
    own = TreeEnsemble("boosting").fit(codes, labels).importances()
    assert bool((own >= 0).all())
    assert own[0].item() == pytest.approx(1.0)


@KINDS
def test_codes_that_never_change_have_no_importance(kind: Any) -> None:
    model = TreeEnsemble(kind, trees=5).fit(torch.ones(40, 3), torch.arange(40) % 2)
    assert model.importances().tolist() == [0.0, 0.0, 0.0]


@KINDS
def test_misuse_is_named(kind: Any) -> None:
    with pytest.raises(InputError, match="call fit"):
        TreeEnsemble(kind).predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="call fit"):
        TreeEnsemble(kind).importances()
    with pytest.raises(InputError, match="at least two different"):
        TreeEnsemble(kind).fit(torch.randn(4, 2), torch.ones(4).long())
