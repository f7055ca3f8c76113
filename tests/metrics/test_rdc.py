"""Randomised dependence coefficient."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from scipy import linalg, stats

from dislab.errors import InputError
from dislab.functional.random import host_generator
from dislab.metrics import RDC, evaluate


def published(left: Any, right: Any, weights: tuple[Any, Any], scale: float) -> float:
    """The published R code: sine features of ranks and a constant, `cancor` by QR at rank 1e-7."""
    bases = []
    for column, drawn in zip((left, right), weights, strict=True):
        ranks = np.stack([stats.rankdata(column) / len(column), np.ones(len(column))], axis=1)
        features = np.sin(scale / 2 * ranks @ drawn)
        basis, triangle, _ = linalg.qr(features - features.mean(0), mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(triangle))
        bases.append(basis[:, diagonal > 1e-7 * np.linalg.norm(features, axis=0).max()])
    return float(np.linalg.svd(bases[0].T @ bases[1])[1][0])


@pytest.mark.parametrize(("waves", "scale"), [(20, 1 / 6), (2, 20.0)])
def test_equals_the_published_procedure(waves: int, scale: float, graded: Any) -> None:
    """Few and short waves tell those of the latents from those of the factors."""
    metric = RDC(graded.space, waves, scale, seed=3)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    weights = [host_generator(3, stream).normal(size=(2, waves)) for stream in (0, 1)]
    table = [
        [
            published(latent, factor, (weights[0], weights[1]), scale)
            for factor in graded.factors.T.numpy()
        ]
        for latent in graded.codes.T.numpy()
    ]
    np.testing.assert_allclose(result["rdc_dependence"].numpy(), table, atol=0.01)
    best = max(
        np.mean([table[latent][factor] for factor, latent in enumerate(order)])
        for order in permutations(range(4), 3)
    )
    assert result["rdc"].item() == pytest.approx(best, abs=0.01)


def dependence(codes: Any, values: Any) -> float:
    kinds: Any = {f"factor_{column}": "continuous" for column in range(values.shape[1])}
    return evaluate(codes, values, [RDC], kinds=kinds)["rdc"]


def test_sees_smooth_relations_that_are_not_monotone() -> None:
    values = np.random.default_rng(0).normal(size=(2000, 2))
    related = {
        "monotone": np.exp(3 * values),
        "square": values**2,
    }
    for name, codes in related.items():
        assert dependence(codes, values) > 0.95, name
    noise = np.random.default_rng(1).normal(size=(2000, 2))
    assert dependence(noise, values) < 0.1


def test_noise_of_few_images_looks_dependent() -> None:
    generator = np.random.default_rng(2)
    few, many = (
        dependence(generator.normal(size=(images, 3)), generator.normal(size=(images, 3)))
        for images in (50, 5000)
    )
    assert few > 0.3 > 0.1 > many


def test_factors_without_a_latent_count_zero(graded: Any) -> None:
    metric = RDC(graded.space)
    metric.update(graded.factors[:, :1].double(), graded.factors)
    result = metric.compute()
    assert result["rdc"].item() == pytest.approx(1 / 3)
    assert torch.equal(result["rdc_per_factor"][1:], torch.zeros(2).double())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"waves": 0}, "waves is 0"),
        ({"scale": 0.0}, "scale is 0.0; it must be a number above 0"),
        ({"scale": float("inf")}, "scale is inf; it must be a finite number"),
        ({"scale": float("nan")}, "scale is nan; it must be a finite number"),
    ],
)
def test_settings_out_of_range_are_refused(settings: Any, message: str, graded: Any) -> None:
    with pytest.raises(InputError, match=message):
        RDC(graded.space, **settings)
