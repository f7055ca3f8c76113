"""Multinomial logistic regression."""

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from dislab.codes.learners import LogisticClassifier
from dislab.errors import InputError


def test_equals_scikit_learn_on_standardised_codes() -> None:
    labels = torch.randint(3, (200,)) * 4
    codes = torch.stack([50 + 10 * labels + 20 * torch.randn(200), torch.ones(200)], dim=1).double()
    own = LogisticClassifier().fit(codes, labels)
    scaled = (codes.numpy() - codes.numpy().mean(0)) / np.where(
        codes.std(0) > 0, codes.numpy().std(0), 1
    )
    model = LogisticRegression(max_iter=1000).fit(scaled, labels.numpy())
    assert (own.predict(codes).numpy() == model.predict(scaled)).all()
    torch.testing.assert_close(
        own.probabilities(codes), torch.from_numpy(model.predict_proba(scaled)), rtol=0, atol=1e-6
    )
    expected = log_loss(labels.numpy(), model.predict_proba(scaled))
    assert own.log_loss(codes, labels).item() == pytest.approx(expected, abs=1e-6)


def test_without_a_penalty_separable_labels_are_learnt_without_a_warning() -> None:
    labels = torch.arange(90) % 3
    codes = torch.randn(90, 2).double() * 0.01 + torch.eye(3, 2).double()[labels]
    model = LogisticClassifier(C=math.inf, iterations=100).fit(codes, labels)
    assert model.log_loss(codes, labels).item() < 0.01


def test_two_labels_and_certain_mistakes_have_finite_losses() -> None:
    codes = torch.tensor([[-1.0], [1.0]]).double()
    model = LogisticClassifier(C=math.inf).fit(codes, torch.tensor([3, 5]))
    far = torch.tensor([[1e4]]).double()
    assert model.log_loss(far, torch.tensor([5])).item() == pytest.approx(0.0, abs=1e-12)
    assert 1e3 < model.log_loss(far, torch.tensor([3])).item() < math.inf
    weak = LogisticClassifier().fit(codes, torch.tensor([3, 5]))
    expected = LogisticRegression().fit(codes.numpy(), [3, 5]).predict_proba(codes.numpy())
    loss = log_loss([3, 5], expected)
    assert weak.log_loss(codes, torch.tensor([3, 5])).item() == pytest.approx(loss, abs=1e-9)


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        LogisticClassifier().predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="at least two different"):
        LogisticClassifier().fit(torch.randn(4, 2), torch.ones(4).long())
