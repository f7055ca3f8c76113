import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from dislab.codes.learners import latent_machines, logits_of_answers


@pytest.mark.parametrize("kinds", [2, 4])
@pytest.mark.parametrize("scale", [0.05, 20.0])
def test_machines_see_one_latent_each_and_reach_their_optimum(kinds: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(kinds, (400,), generator=generator)
    labels[labels == kinds - 1] = 9
    codes = torch.randn(400, 3, generator=generator, dtype=torch.float64)
    codes[:, 0] += 3 * labels
    codes[:, 2] = 40 - labels
    codes = codes * scale
    predicted = latent_machines(codes[:300], labels[:300], codes[300:])
    for latent in range(3):
        column = codes[:, [latent]].numpy()
        exact = LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-12, max_iter=10**6)
        exact.fit(column[:300], labels[:300].numpy())
        assert predicted[:, latent].tolist() == exact.predict(column[300:]).tolist()


def test_a_latent_that_stands_still_predicts_one_label() -> None:
    labels = torch.tensor([0, 0, 0, 1, 2])
    predicted = latent_machines(torch.full((5, 1), 0.1), labels, torch.full((4, 1), 0.1))
    assert len(set(predicted.flatten().tolist())) == 1


def test_each_question_has_a_regression_of_its_own() -> None:
    codes = torch.randn(300, 4, dtype=torch.float64)
    codes[:, 3] = 1.0  # stands still
    answers = torch.stack(
        [codes[:, 0] > 0, codes[:, 0] + torch.randn(300) > 1, torch.arange(300) < 3], dim=1
    )
    logits = logits_of_answers(codes, answers, codes[:50])
    for question in range(3):
        exact = LogisticRegression(solver="newton-cholesky", tol=1e-12)
        exact.fit(codes[:, :3].numpy(), answers[:, question].numpy())
        expected = exact.decision_function(codes[:50, :3].numpy())
        np.testing.assert_allclose(logits[:, question].numpy(), expected, atol=0.02)


def test_without_latents_that_tell_the_odds_are_those_of_the_answers() -> None:
    answers = torch.tensor([[True], [False], [False], [False]])
    logits = logits_of_answers(torch.zeros(4, 2), answers, torch.zeros(1, 2))
    assert logits.item() == pytest.approx(np.log(1 / 3), abs=1e-5)
