"""Boosted trees: what they learn and what their importances say."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from torch import Tensor

from dislab.codes.learners import HistogramBoosting
from dislab.errors import InputError


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


@pytest.mark.parametrize(("depth", "kinds"), [(1, 2), (1, 5), (2, 3), (3, 2), (3, 3)])
def test_probabilities_of_labels_are_those_of_scikit_learn(depth: int, kinds: int) -> None:
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(2500, 4))
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
    with pytest.raises(InputError, match="two kinds"):
        HistogramBoosting().fit(torch.randn(4, 2), torch.ones(4).long())
    with pytest.raises(InputError, match="depth of trees is 9"):
        HistogramBoosting(depth=9)
