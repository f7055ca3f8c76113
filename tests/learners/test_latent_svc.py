"""Support vector machines on single latents, against scikit-learn's solved to its optimum."""

import numpy as np
import pytest
import torch
from sklearn.svm import LinearSVC
from torch import Tensor

from dislab.errors import InputError
from dislab.learners import LatentSVC


def labelled_codes(images: int, kinds: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Latents that tell the label well, inversely, far from zero, by its rank, and not at all."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(kinds, (images,), generator=generator)
    labels[labels == kinds - 1] = 9
    codes = torch.randn(images, 5, generator=generator, dtype=torch.float64)
    codes[:, 0] = labels + 0.2 * codes[:, 0]
    codes[:, 1] = -3.0 * labels + codes[:, 1]
    codes[:, 2] = 40 + labels + codes[:, 2]
    codes[:, 3] = labels.double()
    return codes, labels


@pytest.mark.parametrize("kinds", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_equals_scikit_learn(kinds: int, scale: float) -> None:
    codes, labels = labelled_codes(400, kinds)
    codes = codes * scale
    own = LatentSVC().fit(codes[:300], labels[:300])
    predicted = own.predict(codes[300:]).numpy()
    for latent in range(5):
        column = codes[:, [latent]].numpy()
        machine = LinearSVC(
            C=0.01, class_weight="balanced", dual=False, tol=1e-10, max_iter=100_000
        ).fit(column[:300], labels[:300].numpy())
        weight, intercept = own.lines()[latent].numpy()
        np.testing.assert_allclose(weight, machine.coef_[:, 0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(intercept, machine.intercept_, rtol=1e-4, atol=1e-6)
        right = (machine.predict(column[300:]) == labels[300:].numpy()).mean()
        assert (predicted[:, latent] == labels[300:].numpy()).mean() == pytest.approx(
            right, abs=1e-3
        )


def test_a_latent_that_stands_still_predicts_one_label() -> None:
    labels = torch.tensor([0, 0, 0, 1, 2])
    own = LatentSVC().fit(torch.full((5, 1), 0.1), labels)
    assert len(set(own.predict(torch.randn(20, 1)).flatten().tolist())) >= 1
    assert bool(own.lines().isfinite().all())
    still = own.predict(torch.full((4, 1), 0.1)).flatten().tolist()
    assert len(set(still)) == 1


def test_other_losses_weigh_more_with_c() -> None:
    codes, labels = labelled_codes(300, 2)
    loose, tight = (LatentSVC(C=c).fit(codes, labels).lines()[0, 0].abs() for c in (1e-4, 1.0))
    assert tight.item() > loose.item()


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        LatentSVC().predict(torch.zeros(2, 2))
    with pytest.raises(InputError, match="call fit"):
        LatentSVC().lines()
    with pytest.raises(InputError, match="two kinds"):
        LatentSVC().fit(torch.randn(4, 2), torch.ones(4).long())
