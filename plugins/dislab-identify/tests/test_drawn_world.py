import math
from typing import Any, get_args

import numpy as np
import pytest

from dislab.errors import InputError
from dislab.testing import check_dataset
from dislab_identify import DrawnWorld
from dislab_identify.drawn_world import Prior, independent_draws
from dislab_identify.mixings import CouplingFlow, LeakyMLP, MixingName, Spiral

GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.normal(0.0, 3.0, (500, 4))


@pytest.mark.parametrize("mixing", get_args(MixingName))
@pytest.mark.parametrize("segments", [1, 3])
def test_worlds_conform_and_their_mixings_have_exact_inverses(
    mixing: MixingName, segments: int
) -> None:
    world = DrawnWorld(4, segments, 50, mixing=mixing, layers=5)
    check_dataset(world)
    unmixed = world.mixture.unmix(world.mixture.mix(world.latents))
    assert np.abs(unmixed - world.latents).max() < 1e-9
    assert np.allclose(world.content.vectors, world.mixture.mix(world.latents), atol=1e-4)
    assert len(world.factors.essential) == 4
    values = world.factors.values(world.factors.positions(np.arange(50 * segments)))
    assert np.array_equal(values[:, :4], world.latents)


def test_mixings_by_hand() -> None:
    mlp = LeakyMLP([np.array([[0.0, 2.0], [1.0, 0.0]])], slope=0.5)
    assert mlp.mix(np.array([[4.0, -6.0]])).tolist() == [[-3.0, 8.0]]
    turned = Spiral(math.pi / 2).mix(np.array([[1.0, 0.0], [0.0, 2.0]]))
    assert np.allclose(turned, [[0.0, 1.0], [0.0, -2.0]])
    drawn = DrawnWorld(2, 1, 5, mixing="spiral", turn=math.pi / 2)
    assert np.allclose(drawn.mixture.mix(np.array([[0.0, 2.0]])), [[0.0, -2.0]])
    assert drawn.provenance()["turn"] == str(math.pi / 2)


@pytest.mark.parametrize("mixing", [Spiral(), CouplingFlow(4, 2, GENERATOR)])
def test_smooth_mixings_are_not_linear(mixing: Any) -> None:
    assert not np.allclose(mixing.mix(2 * ROWS), 2 * mixing.mix(ROWS), atol=1e-3)


def test_leaky_mixings_are_not_odd() -> None:
    mixing = DrawnWorld(4, layers=3).mixture
    assert not np.allclose(mixing.mix(-ROWS), -mixing.mix(ROWS), atol=0.1)


@pytest.mark.parametrize(
    ("prior", "shape", "kurtosis"),
    [
        ("gaussian", 2.0, 3.0),
        ("laplace", 2.0, 6.0),
        ("uniform", 2.0, 1.8),
        ("generalised_normal", 1.0, 6.0),
        ("generalised_normal", 2.0, 3.0),
        ("generalised_normal", 8.0, math.gamma(5 / 8) * math.gamma(1 / 8) / math.gamma(3 / 8) ** 2),
    ],
)
def test_priors_have_unit_variance_and_their_kurtosis(
    prior: Prior, shape: float, kurtosis: float
) -> None:
    draws = independent_draws(prior, shape, (400_000, 1), np.random.default_rng(1))
    assert abs(draws.mean()) < 0.01
    assert draws.var() == pytest.approx(1.0, abs=0.02)
    assert (draws**4).mean() == pytest.approx(kurtosis, rel=0.06)


def test_segments_change_the_spread_of_each_source() -> None:
    world = DrawnWorld(3, 10, 400)
    spread = world.latents.reshape(10, 400, 3).std(axis=1)
    assert (spread.max(0) / spread.min(0) > 2).all()
    assert (DrawnWorld(3, 1, 400).latents.std(0) < 1.2).all()


def test_seeds_differ_and_repeat() -> None:
    first, again, other = (DrawnWorld(points=9, data_seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.content.vectors, again.content.vectors)
    assert not np.array_equal(first.content.vectors, other.content.vectors)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"points": 1}, "a segment of one point has no spread"),
        ({"sources": 0}, "sources is 0"),
        ({"sources": 3, "mixing": "spiral"}, "a spiral turns pairs"),
        ({"sources": 1, "mixing": "flow"}, "a flow couples two halves"),
        ({"prior": "laplace", "shape": 3.0}, "which prior laplace does not use"),
        ({"turn": 2.0}, "which mixing mlp does not use"),
        ({"sources": 4, "mixing": "spiral", "turn": math.nan}, "turn is nan"),
        ({"prior": "cauchy"}, "prior"),
        ({"points": 2_000_000}, "more than 2,000,000"),
    ],
)
def test_bad_worlds_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DrawnWorld(**settings)


@pytest.mark.parametrize(
    ("matrix", "slope", "message"),
    [
        (np.ones((2, 2)), 0.2, "matrix 0 of the mixing is singular"),
        (np.full((2, 2), np.nan), 0.2, "singular"),
        (np.ones((2, 3)), 0.2, r"shape \(2, 3\); give square"),
        (np.eye(2), 0.0, "slope is 0"),
    ],
)
def test_mixings_without_inverse_are_refused(matrix: Any, slope: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LeakyMLP([matrix], slope)
