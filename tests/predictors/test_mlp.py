from functools import partial

import pytest
import torch

from dislab.errors import InputError
from dislab.predictors import MLP
from dislab.predictors import mlp as module

SOURCE = torch.Generator().manual_seed(0)
FACTORS = torch.rand(600, 2, generator=SOURCE)
KINDS = ((FACTORS[:, 0] > 0.5) ^ (FACTORS[:, 1] > 0.5)).float()
TARGETS = torch.cat([FACTORS.square(), KINDS[:, None]], 1)
CODES = torch.stack([FACTORS @ torch.randn(2, 3, generator=SOURCE) for _ in range(2)])
SMALL = partial(MLP, width=32, batch_size=64, learning_rate=0.02)


@pytest.mark.slow
def test_it_learns_what_no_linear_predictor_can() -> None:
    own = SMALL(3, (0, 0, 2), steps=300)
    own.fit(CODES[:, :500], TARGETS[:500])
    found, truth = own.predict(CODES[:, 500:]), TARGETS[500:]
    assert (found[..., :2] - truth[:, :2]).abs().mean() < 0.03
    assert (found[..., 2] == truth[:, 2]).double().mean() > 0.9


def test_how_many_are_trained_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    own = SMALL(3, (0, 0, 2), steps=50)
    own.fit(CODES, TARGETS)
    apart = own.predict(CODES)
    monkeypatch.setattr(MLP, "_runs_at_once", lambda self, codes: 2)
    own.fit(CODES, TARGETS)
    assert torch.allclose(own.predict(CODES)[..., :2], apart[..., :2], atol=1e-4)
    assert (own.predict(CODES)[..., 2] == apart[..., 2]).double().mean() > 0.99


@pytest.mark.parametrize(("images", "size"), [(600, 64), (50, 64), (64, 64), (1, 64)])
def test_every_image_is_seen_before_any_is_seen_again(images: int, size: int) -> None:
    batches = SMALL(3, (0,), steps=30)._batches(images)
    assert batches.shape == (30, min(images, size))
    seen = batches.flatten()
    for start in range(0, len(seen) - images + 1, images):
        assert seen[start : start + images].sort().values.tolist() == list(range(images))
    assert torch.equal(batches, SMALL(3, (0,), steps=30)._batches(images))


def test_the_seed_draws_the_batches_too() -> None:
    """Whole orders of the images follow each other."""
    first, again, other = (
        MLP(4, (0,), steps=6, batch_size=5, seed=s)._batches(10) for s in (3, 3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    for order in first.view(3, 10):
        assert order.sort().values.tolist() == list(range(10))


def test_seeds_and_layers_matter() -> None:
    results = []
    for settings in ({}, {"seed": 1}, {"layers": 1}, {"layers": 3}):
        own = SMALL(3, (0, 0, 2), steps=5, **settings)
        own.fit(CODES, TARGETS)
        results.append(own.predict(CODES)[0, 0, 0].item())
        assert len(own._networks[0]) == 2 * (settings.get("layers", 2) + 1)
    assert len(set(results)) == 4


def test_numbers_of_any_size_and_constants_are_learnt() -> None:
    targets = torch.stack([1e4 + 1e3 * FACTORS[:, 0], torch.full((600,), 0.3)], 1)
    own = SMALL(3, (0, 0), steps=200)
    own.fit(CODES, targets)
    found = own.predict(CODES + 5)
    assert torch.equal(found[..., 1], torch.full((2, 600), 0.3))
    assert (own.predict(CODES)[..., 0] - targets[:, 0]).abs().mean() < 50


def test_classes_that_no_image_has_are_never_predicted() -> None:
    own = SMALL(3, (7,), steps=20)
    own.fit(CODES, 5 * KINDS[:, None])
    assert set(torch.unique(own.predict(100 * CODES)).tolist()) <= {0.0, 5.0}


def test_images_are_predicted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    own = SMALL(3, (0, 0, 2), steps=5)
    own.fit(CODES, TARGETS)
    whole = own.predict(CODES)
    monkeypatch.setattr("dislab.predictors.mlp.IMAGES_AT_ONCE", 250)
    assert torch.allclose(own.predict(CODES), whole, atol=1e-5)


def test_a_cpu_trains_one_run_and_an_accelerator_many_at_once() -> None:
    own = SMALL(3, (0, 0, 2))
    assert own._runs_at_once(CODES) == 1
    assert own._runs_at_once(CODES.to("meta")) == module.NETWORKS_AT_ONCE // 3


@pytest.mark.gpu
def test_a_device_learns_what_a_cpu_learns() -> None:
    own = SMALL(3, (0, 0, 2), steps=30)
    own.fit(CODES, TARGETS)
    expected = own.predict(CODES)
    own.fit(CODES.cuda(), TARGETS)
    found = own.predict(CODES)
    assert found.device.type == "cpu"
    assert own.predict(CODES.cuda()).device.type == "cuda"
    assert torch.allclose(found[..., :2], expected[..., :2], atol=1e-2)


def test_mistakes_are_named() -> None:
    for name in ("layers", "width", "steps", "batch_size"):
        with pytest.raises(InputError, match=f"{name} is 0"):
            MLP(3, (0,), **{name: 0})
    with pytest.raises(InputError, match="learning_rate is -1"):
        MLP(3, (0,), learning_rate=-1.0)
    with pytest.raises(InputError, match="call fit"):
        MLP(3, (0,)).predict(CODES)
