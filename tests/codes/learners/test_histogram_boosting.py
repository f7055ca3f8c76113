"""Boosted histogram trees, beside those of scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from dislab.codes.learners import HistogramBoosting, HistogramRegression
from dislab.codes.learners.histogram_boosting import logit_gradients
from dislab.errors import InputError


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_derivatives_are_those_of_autograd(kinds: int) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(7, kinds, generator=generator, dtype=torch.float64)
    logits.requires_grad_()
    labels = torch.randint(max(kinds, 2), (7,), generator=generator)

    if kinds == 1:
        loss = binary_cross_entropy_with_logits(logits[:, 0], labels.double(), reduction="sum")
    else:
        loss = cross_entropy(logits, labels, reduction="sum")
    (first,) = torch.autograd.grad(loss, logits, create_graph=True)
    rows = [torch.autograd.grad(one.sum(), logits, retain_graph=True)[0] for one in first.T]
    second = torch.stack([row[:, kind] for kind, row in enumerate(rows)], 1)
    own = logit_gradients(logits.detach(), labels)
    torch.testing.assert_close(own[0], first.detach())
    torch.testing.assert_close(own[1], second)


@pytest.mark.parametrize("kinds", [1, 2])
def test_what_is_left_of_a_certain_label_is_not_rounded_away(kinds: int) -> None:
    logits = torch.tensor([[30.0]]) if kinds == 1 else torch.tensor([[-30.0, 0.0]])
    first, second = logit_gradients(logits, torch.tensor([1]))
    rest = torch.tensor(-30.0).exp().item()
    assert first[0, -1].item() == pytest.approx(-rest, rel=1e-5)
    assert second[0, -1].item() == pytest.approx(rest, rel=1e-5)


def labelled_codes(images: int, noise: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Latent 1 determines the label, latent 3 hints at it, the rest are noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (images,), generator=generator)
    codes = torch.randn(images, 5, generator=generator, dtype=torch.float64)
    codes[:, 1] = labels + noise * codes[:, 1]
    codes[:, 3] = labels + 4 * noise * codes[:, 3]
    return codes, labels


def test_a_clear_label_is_learnt_from_the_one_latent_that_tells_it() -> None:
    codes, labels = labelled_codes(600, noise=0.01)
    model = HistogramBoosting(rounds=20).fit(codes[:400], labels[:400])
    assert torch.equal(model.predict(codes[400:]), labels[400:])
    assert model.importances()[1].item() > 0.99
    assert model.importances().sum().item() == pytest.approx(1.0)


def test_a_single_split_by_hand() -> None:
    codes = torch.tensor([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    model = HistogramBoosting(rounds=1, depth=1).fit(codes, torch.tensor([7, 7, 9, 9]))
    assert model.predict(codes).tolist() == [7, 7, 9, 9]
    assert model.importances().tolist() == [1.0, 0.0]


def test_codes_that_never_change_have_no_importance() -> None:
    model = HistogramBoosting(rounds=5).fit(torch.ones(40, 3), torch.arange(40) % 2)
    assert model.importances().tolist() == [0.0, 0.0, 0.0]


def test_only_labels_that_were_seen_are_predicted() -> None:
    codes = torch.randn(60, 2)
    model = HistogramBoosting(rounds=5).fit(codes, 3 + 8 * (codes[:, 0] > 0).long())
    assert set(model.predict(torch.randn(50, 2)).tolist()) == {3, 11}


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    codes, labels = labelled_codes(300, noise=0.7)
    before, results = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        model = HistogramBoosting(rounds=5).fit(codes, labels)
        results.append((model.importances(), model.predict(codes)))
    torch.set_num_threads(before)
    for importances, predicted in results[1:]:
        assert torch.equal(importances, results[0][0])
        assert torch.equal(predicted, results[0][1])


def few_codes(codes: np.ndarray) -> np.ndarray:
    """At most 241 codes a latent, which have bins of their own here and in scikit-learn."""
    return (codes.clip(-3, 3) * 40).round() / 40


@pytest.mark.parametrize(("depth", "kinds"), [(1, 2), (1, 5), (2, 3), (3, 2), (3, 3)])
def test_probabilities_of_labels_are_those_of_scikit_learn(depth: int, kinds: int) -> None:
    rng = np.random.default_rng(1)
    codes = few_codes(rng.normal(size=(2500, 4)))
    codes[:, 3] = codes[:, 3].round(1)
    signal = codes[:, 0] + 0.5 * codes[:, 3] + rng.normal(size=2500)
    labels = 5 + (signal > np.arange(kinds - 1)[:, None]).sum(0)
    reference = HistGradientBoostingClassifier(
        max_iter=8, max_depth=depth, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    ).fit(codes[:1500], labels[:1500])
    tensors = torch.from_numpy(codes), torch.from_numpy(labels)
    model = HistogramBoosting(rounds=8, depth=depth).fit(tensors[0][:1500], tensors[1][:1500])
    expected = reference.decision_function(codes).reshape(2500, -1)
    apart = np.abs(model.logits(tensors[0]).numpy() - expected)
    # a split of a few images that is as good as another one may be the other one here
    assert (apart > 1e-4).mean() < 1e-3
    assert (model.predict(tensors[0]).numpy() != reference.predict(codes)).mean() < 1e-3


def test_columns_learnt_together_are_learnt_as_if_alone() -> None:
    codes, first = labelled_codes(400, noise=0.7)
    labels = torch.stack([first, (codes[:, 0] > 0).long(), 7 * torch.arange(400) % 150], 1)
    models = HistogramBoosting(rounds=6).fit_each(codes, labels)
    for column, model in zip(labels.T, models, strict=True):
        alone = HistogramBoosting(rounds=6).fit(codes, column)
        assert torch.equal(model.predict(codes), alone.predict(codes))
        torch.testing.assert_close(model.importances(), alone.importances())


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.2, 0.5, 1.0])
def test_importances_are_close_to_those_of_exact_boosting(noise: float) -> None:
    codes, labels = labelled_codes(1000, noise)
    exact = GradientBoostingClassifier(random_state=0).fit(codes.numpy(), labels.numpy())
    own = HistogramBoosting().fit(codes, labels).importances().numpy()
    assert np.abs(own - exact.feature_importances_).max() < 0.05


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        HistogramBoosting().predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="call fit"):
        HistogramBoosting().importances()
    with pytest.raises(InputError, match="at least two different"):
        HistogramBoosting().fit(torch.randn(4, 2), torch.ones(4).long())
    with pytest.raises(InputError, match="depth of trees is 9"):
        HistogramBoosting(depth=9)


def drawn(images: int = 900) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    codes = few_codes(rng.normal(size=(images, 4)))
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
    with pytest.raises(InputError, match="at least two different"):
        HistogramRegression().fit(torch.randn(5, 2), torch.ones(5))
    with pytest.raises(InputError, match="the depth of trees is 9; it must be from 1 to 8"):
        HistogramRegression(depth=9)
