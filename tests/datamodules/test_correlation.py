"""Correlations of several pairs, and of one factor with others."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from dislab.base import Dataset
from dislab.datamodules import (
    ClampedData,
    CompositionData,
    PairedData,
    SingleData,
    SymbolData,
    TransitionData,
)
from dislab.errors import InputError
from dislab.plans.correlation import likelihoods

ONE = {"factors": ["place", "angle"], "strength": 0.2}
OTHER = {"factors": ["shape", "place"], "strength": 0.5}


def band(first: np.ndarray, second: np.ndarray, strength: float) -> Any:
    """The density of two factors as fractions of their ranges."""
    return np.exp(-((first - second) ** 2) / (2 * strength**2))


CASES: list[tuple[Any, Any]] = [
    (ONE, lambda s, a, p: band(p, a, 0.2)),
    ([ONE], lambda s, a, p: band(p, a, 0.2)),
    ([ONE, OTHER], lambda s, a, p: band(p, a, 0.2) * band(s, p, 0.5)),
    (
        {"factors": ["place", "angle", "shape"], "strength": 0.3},
        lambda s, a, p: band(p, a, 0.3) * band(p, s, 0.3),
    ),
    (
        [{"factors": ["shape", "angle", "place"], "strength": 0.4}, ONE],
        lambda s, a, p: band(s, a, 0.4) * band(s, p, 0.4) * band(p, a, 0.2),
    ),
]


@pytest.mark.parametrize(("correlation", "density"), CASES)
def test_draws_follow_the_product_of_the_pairs(
    correlation: Any, density: Any, tiny: Dataset
) -> None:
    """Every cell of three factors is drawn as often as the formula says."""
    data = SingleData(tiny, validation=0.0, test=0.0, correlation=correlation)
    count = 200_000
    drawn = data.plan("train").draw(np.random.default_rng(0), count, 0).states
    counts = np.bincount(drawn, minlength=300)
    positions = tiny.factors.positions(np.arange(300))
    weights = density(*(positions / [2, 4, 19]).T)
    wanted = count * weights / weights.sum()
    often = wanted > 5
    chi = ((counts - wanted)[often] ** 2 / wanted[often]).sum()
    assert chi == pytest.approx(often.sum(), abs=5 * np.sqrt(2 * often.sum()))
    assert counts[wanted < 1e-6].sum() == 0


@pytest.mark.parametrize("ratio", [4.0, 20.0])
def test_the_strength_that_makes_a_state_so_many_times_as_likely(
    ratio: float, tiny: Dataset
) -> None:
    """Chen et al. (2018): the most likely state is 4 times as likely as the least, none is lost."""
    strength = 1 / np.sqrt(2 * np.log(ratio))
    states = np.arange(len(tiny.factors))
    weights = likelihoods(
        tiny.factors, states, {"factors": ["place", "angle"], "strength": strength}
    )
    assert weights is not None
    assert weights.max() / weights.min() == pytest.approx(ratio)
    assert ratio != 4.0 or strength == pytest.approx(0.6006, abs=1e-4)


RECORDED = [197, 77, 5, 1, 247, 273, 178, 223, 169, 275, 247, 0]


def test_one_pair_draws_the_same_as_before_there_were_several(tiny: Dataset) -> None:
    for correlation in (ONE, [ONE]):
        data = SingleData(tiny, batch_size=4, correlation=correlation)  # type: ignore[arg-type]
        drawn = data.plan("train").draw(np.random.default_rng(0), 12, 0).states
        assert drawn.tolist() == RECORDED


def test_pairs_of_images_follow_several_correlations(tiny: Dataset) -> None:
    data = PairedData(tiny, correlation=[ONE, OTHER])
    drawn = data.plan("train").draw(np.random.default_rng(0), 4000, 0).states
    shape, angle, place = (tiny.factors.positions(drawn[0]) / [2, 4, 19]).T
    assert np.corrcoef(place, angle)[0, 1] > 0.6
    assert np.corrcoef(place, shape)[0, 1] > 0.3


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "kind",
    [
        SingleData,
        PairedData,
        partial(PairedData, scheme="laplace"),
        CompositionData,
        TransitionData,
        SymbolData,
        partial(ClampedData, groups={"what": ["shape"], "where": ["place"]}),
    ],
)
@pytest.mark.parametrize("split", ["validation", "test"])
def test_evaluation_images_are_those_without_correlation(
    kind: Any, split: str, tiny: Dataset
) -> None:
    """Losses of runs on correlated and on other data are comparable."""
    drawn = []
    for correlation in (None, ONE):
        data = kind(tiny, validation=0.2, test=0.2, eval_batch_size=8, correlation=correlation)
        loader = data.val_dataloader() if split == "validation" else data.test_dataloader()
        drawn.append(np.concatenate([batch.states.numpy() for batch in loader], axis=-1))
    assert drawn[0].size
    assert np.array_equal(drawn[0], drawn[1])


@pytest.mark.parametrize(
    ("correlation", "message"),
    [
        ([], "correlation is an empty list"),
        ([ONE, {"factors": ["angle", "place"], "strength": 0.1}], "angle and place are corr.* tw"),
        ([ONE, {"factors": ["place", "size"], "strength": 0.1}], "no factor is named 'size'"),
        ([ONE, {"factors": ["shape", "place"], "strength": 0.0}], "at least 1e-06, not 0.0"),
        ({"factors": ["place", "angle", "place"], "strength": 0.1}, "or one and several others"),
        (
            [ONE, "place"],
            "correlation is .* a mapping with factors, strength or null or a list, each a",
        ),
    ],
)
def test_lists_that_cannot_be(correlation: Any, message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        SingleData(tiny, correlation=correlation)


def test_bands_that_no_state_meets_are_named(tiny: Dataset) -> None:
    states = tiny.factors.where({"shape": "dot", "place": {"min": 15}})
    narrow: Any = [{"factors": ["shape", "place"], "strength": 0.01}, ONE]
    with pytest.raises(InputError, match=r"shape and place with strength 0\.01; place and"):
        likelihoods(tiny.factors, states, narrow)
