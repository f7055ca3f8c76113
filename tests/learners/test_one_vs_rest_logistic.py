"""Logistic regressions solved together, against scikit-learn's one by one."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from dislab.errors import InputError
from dislab.learners import OneVsRestLogistic
from dislab.learners import one_vs_rest_logistic as module


@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_equals_scikit_learn(strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 1000)
    codes = torch.randn(300, 4, dtype=torch.float64)
    codes[:, 3] = 1.0  # stands still
    answers = torch.stack(
        [codes[:, 0] > 0, codes[:, 0] + torch.randn(300) > 1, torch.arange(300) < 3], dim=1
    )
    logits = OneVsRestLogistic(C=strength).fit(codes, answers).logits(codes)
    for question in range(3):
        model = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-10)
        model.fit(codes[:, :3].numpy(), answers[:, question].numpy())
        expected = model.decision_function(codes[:, :3].numpy())
        np.testing.assert_allclose(logits[:, question].numpy(), expected, atol=2e-3)


def test_without_latents_that_tell_the_odds_are_those_of_the_answers() -> None:
    answers = torch.tensor([[True], [False], [False], [False]])
    logits = OneVsRestLogistic().fit(torch.zeros(4, 2), answers).logits(torch.zeros(1, 2))
    assert logits.item() == pytest.approx(np.log(1 / 3))


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        OneVsRestLogistic().logits(torch.zeros(2, 2))
    with pytest.raises(InputError, match="two kinds"):
        OneVsRestLogistic().fit(torch.randn(4, 2), torch.ones(4, 1).bool())
