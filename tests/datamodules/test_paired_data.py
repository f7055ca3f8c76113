from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dislab.base import Dataset, PairBatch, Split
from dislab.datamodules import PairedData
from dislab.datamodules._partners import GridPartners, GroupPartners, LaplacePartners, Partners
from dislab.datamodules._state_groups import canonical_positions
from dislab.datasets import DSprites
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

Batches = Callable[..., list[Any]]

SCHEMES: list[tuple[dict[str, Any], set[int]]] = [
    ({}, {1}),
    ({"k": 2}, {2}),
    ({"k": 3}, {3}),
    ({"scheme": "shared"}, {2}),
    ({"scheme": "shared", "k": 2}, {1}),
    ({"scheme": "uniform"}, {1, 2}),
    ({"scheme": "reference", "k": 3}, {1, 3}),
    ({"change": ["place"]}, {1}),
]


@pytest.mark.every(4)
@pytest.mark.parametrize(("settings", "counts"), SCHEMES)
@pytest.mark.parametrize("which", ["tiny", "partial_set"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_pairs_differ_in_as_many_factors(
    which: str,
    settings: dict[str, Any],
    counts: set[int],
    split: Split,
    batches: Batches,
    shown: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> None:
    dataset = request.getfixturevalue(which)
    data = PairedData(
        dataset, batch_size=32, eval_batch_size=32, test=0.3, validation=0.0, **settings
    )
    seen = set()
    for batch in batches(data, split):
        assert isinstance(batch, PairBatch)
        first = dataset.factors.index(batch.factors.numpy())
        second = dataset.factors.index(batch.second_factors.numpy())
        assert np.array_equal(shown(batch.image), first)
        assert np.array_equal(shown(batch.second), second)
        assert np.isin(first, data.indices(split)).all()
        assert np.isin(second, data.indices(split)).all()
        # angles 0 and 4 look the same, and so are no change
        differs = dataset.factors.positions(dataset.canonical(first)) != dataset.factors.positions(
            dataset.canonical(second)
        )
        assert np.array_equal(batch.changed.numpy(), differs)
        assert batch.changed.dtype == torch.bool
        seen |= set(differs.sum(axis=1).tolist())
        if "change" in settings:
            assert not differs[:, :2].any()
    assert seen == counts


def test_changed_factors_and_partners_are_uniform(partial_set: Dataset) -> None:
    """Exact probabilities on a set of some combinations, by counting them all."""
    states = np.arange(len(partial_set.factors))
    look = canonical_positions(partial_set, states)
    plan = GroupPartners(look, [0, 1, 2], (1,))
    pairs = np.stack(plan.attempt(np.random.default_rng(0), 200_000))
    differs = (look[:, None] != look[None]).astype(int)
    expected = np.zeros((len(states), len(states)))
    for factor in range(3):
        alone = (differs.sum(-1) == 1) & (differs[..., factor] == 1)
        firsts = alone.any(axis=1)
        expected[firsts] += alone[firsts] / alone[firsts].sum(1, keepdims=True) / firsts.sum() / 3
    assert expected.sum() == pytest.approx(1)
    counted = np.zeros_like(expected)
    np.add.at(counted, tuple(pairs), 1)
    assert not counted[expected == 0].any()
    possible = expected > 0
    degrees = possible.sum() - 1
    wanted = 200_000 * expected[possible]
    chi = ((counted[possible] - wanted) ** 2 / wanted).sum()
    assert chi == pytest.approx(degrees, abs=5 * np.sqrt(2 * degrees))


def test_grid_and_runs_draw_pairs_alike(tiny: Dataset) -> None:
    """Two ways to the same distribution, on a grid with an eighth of it held out."""
    space = tiny.factors
    held = space.where({"place": {"min": 10}, "angle": {"max": 1}, "shape": ["dot", "bar"]})
    states = np.setdiff1d(np.arange(len(space)), held)
    everything = canonical_positions(tiny, np.arange(len(space)))
    sizes = (1, 2)
    ways: list[Partners] = [
        GridPartners(space, states, everything, [0, 1, 2], sizes),
        GroupPartners(everything[states], [0, 1, 2], sizes),
    ]
    counts = []
    for number, way in enumerate(ways):
        first, second = way.attempt(np.random.default_rng(number), 60_000)
        assert (second >= 0).all()
        changed = everything[states[first]] != everything[states[second]]
        code = changed @ [1, 2, 4]
        # the set of factors, and where a pair leads
        place = space.positions(states[second])[:, 2]
        counts.append(np.bincount(code * 20 + place, minlength=160).astype(float))
    one, two = counts
    used = one + two > 0
    chi = ((one - two)[used] ** 2 / (one + two)[used]).sum()
    degrees = used.sum() - 1
    assert chi < degrees + 5 * np.sqrt(2 * degrees)


def test_every_partner_of_a_rare_pair_is_found() -> None:
    """A diagonal and one state beside it: of 51 states two have one partner in 49 candidates."""
    values = tuple(map(float, range(50)))
    space = FactorSpace((Factor("a", values), Factor("b", values)))
    diagonal = 51 * np.arange(50)
    states = np.insert(diagonal, 1, 49)  # (0, 0), (0, 49), (1, 1), (2, 2), …
    grid = GridPartners(space, states, space.positions(np.arange(2500)), [1], (1,))
    first, second = grid.attempt(np.random.default_rng(0), 400)
    found = second >= 0
    assert np.array_equal(second[found], 1 - first[found])
    # ten first images are tried for each pair
    assert found.mean() == pytest.approx(1 - (49 / 51) ** 10, abs=0.08)


def test_correlated_pairs_follow_the_weights(tiny: Dataset, batches: Batches) -> None:
    data = PairedData(
        tiny,
        batch_size=100,
        steps_per_epoch=40,
        correlation={"factors": ["angle", "place"], "strength": 0.1},
    )
    pairs = batches(data, count=40)
    for positions in ("factors", "second_factors"):
        rows = torch.cat([getattr(batch, positions) for batch in pairs]).double()
        gap = rows[:, 1] / 4 - rows[:, 2] / 19
        # a band of standard deviation 0.1 around the diagonal; uniform states would give 0.42
        assert gap.square().mean().sqrt() < 0.16


def test_sparse_sets_of_many_states_have_pairs(batches: Batches) -> None:
    """4,000 of 24 million combinations, as scattered as the robot finger's."""
    generator = np.random.default_rng(0)
    centres = generator.integers(30, size=(800, 5))
    table = np.repeat(centres, 5, axis=0)
    table[np.arange(len(table)), generator.integers(5, size=len(table))] = generator.integers(
        30, size=len(table)
    )
    table = np.unique(table, axis=0)
    partners = GroupPartners(table, [0, 1, 2, 3, 4], (1, 2))
    first, second = partners.attempt(generator, 2000)
    found = second >= 0
    assert found.mean() > 0.5
    assert set((table[first] != table[second])[found].sum(1).tolist()) == {1, 2}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k 0 does not fit scheme changed: 3 factors may change, so k runs from 1 to 3"),
        ({"k": 4}, "k 4 does not fit"),
        ({"scheme": "shared", "k": 3}, "k runs from 1 to 2"),
        ({"scheme": "uniform", "k": 1}, "leave k 1 out"),
        ({"scheme": "laplace", "k": 1}, "leave k 1 out"),
        ({"scheme": "laplace", "rate": 0.0}, "rate is 0"),
        ({"change": ["place"], "scheme": "uniform"}, "two factors that vary"),
        ({"change": ["plaze"]}, "no factor is named 'plaze'"),
        ({"change": []}, "each once"),
        ({"change": ["place", "place"]}, "each once"),
        ({"include": {"shape": "dot"}, "change": ["shape"]}, "shape has one value"),
        ({"include": {"shape": "dot"}, "k": 3}, "k runs from 1 to 2"),
    ],
)
def test_refuses_wrong_settings(settings: dict[str, Any], message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        PairedData(tiny, batch_size=8, **settings)


@pytest.mark.parametrize("dense", [True, False])
def test_names_factors_that_never_change_alone(dense: bool, tiny: Any) -> None:
    """Two factors that are tied to each other; a third is free."""
    factors = (Factor("a", (0.0, 1.0)), Factor("b", (0.0, 1.0)), Factor("c", (0.0, 1.0, 2.0)))
    full = FactorSpace(factors)
    tied = full.positions(np.arange(12))
    tied = tied[tied[:, 0] == tied[:, 1]]
    space = full if dense else FactorSpace(factors, tied)

    class Tied(type(tiny)):  # type: ignore[misc]
        @property
        def factors(self) -> FactorSpace:
            return space

        def canonical(self, index: np.ndarray) -> np.ndarray:
            return index

    # on the grid the other combinations are left out by the split
    data = PairedData(Tied(), batch_size=4, validation=0.0, test=0.0)
    if dense:
        data._splits["train"] = full.index(tied)
    with pytest.raises(
        InputError, match="among the 6 training states no two differ in a or b alone"
    ):
        data.plan("train")
    free = PairedData(Tied(), batch_size=4, validation=0.0, test=0.0, change=["c"])
    first, second = free.plan("train").draw(np.random.default_rng(0), 50, 0).states
    assert (first // 3 == second // 3).all()


def test_a_split_without_pairs_is_explained(partial_set: Dataset, batches: Batches) -> None:
    data = PairedData(partial_set, batch_size=4, validation=0.05, change=["angle"], split_seed=1)
    assert len(data.indices("validation")) == 3
    with pytest.raises(InputError, match="of the validation split hold hardly any pairs"):
        batches(data, "validation")


def test_default_pairs_of_dsprites_in_a_fraction_of_a_second(batches: Batches) -> None:
    data = PairedData(DSprites(), batch_size=64)
    (batch,) = batches(data, count=1)
    assert (batch.changed.sum(1) == 1).all()
    # the twin orientation is no change, so the labels of a changed one never are 0 and 39
    assert not ((batch.factors - batch.second_factors).abs() == 39).any()


def test_a_nuisance_is_no_change(repeated: Dataset, batches: Batches) -> None:
    data = PairedData(repeated, batch_size=32, validation=0.0, test=0.0)
    instances = set()
    for batch in batches(data, "train"):
        assert (batch.changed.sum(1) == 1).all()
        assert not batch.changed[:, 2].any()
        differs = batch.factors != batch.second_factors
        assert torch.equal(differs[:, :2], batch.changed[:, :2])
        instances |= set(
            zip(batch.factors[:, 2].tolist(), batch.second_factors[:, 2].tolist(), strict=True)
        )
    # it goes its own way
    assert len(instances) > 6
    with pytest.raises(InputError, match=r"instance is a nuisance .* those that vary are shape, p"):
        PairedData(repeated, change=["instance"], batch_size=4, validation=0.0)
    with pytest.raises(InputError, match="2 factors may change"):
        PairedData(repeated, k=3, batch_size=4, validation=0.0)


@pytest.mark.parametrize("which", ["tiny", "partial_set"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_laplace_steps_stay_in_the_split_and_change_something(
    which: str, split: Split, batches: Batches, request: pytest.FixtureRequest
) -> None:
    dataset = request.getfixturevalue(which)
    data = PairedData(
        dataset, "laplace", batch_size=32, eval_batch_size=32, test=0.3, validation=0.0
    )
    for batch in batches(data, split):
        first = dataset.factors.index(batch.factors.numpy())
        second = dataset.factors.index(batch.second_factors.numpy())
        assert np.isin(second, data.indices(split)).all()
        look = canonical_positions(dataset, np.stack([first, second]))
        assert np.array_equal(batch.changed.numpy(), look[0] != look[1])
        assert batch.changed.any(dim=1).all()
        assert not batch.changed[:, 0].any()  # shape, which is categorical


def test_laplace_steps_have_the_published_probabilities() -> None:
    space = FactorSpace((Factor("a", (0.0, 1.0, 2.0, 3.0)), Factor("b", (0.0, 1.0, 2.0))))
    states = np.arange(12)
    positions = space.positions(states)
    partners = LaplacePartners(space, states, positions, [0, 1], 2.0)
    first, second = partners.attempt(np.random.default_rng(0), 120_000)
    counts = np.bincount(first * 12 + second, minlength=144).reshape(12, 12)
    expected = np.zeros((12, 12))
    moves = []
    for size in (4, 3):
        gap = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        density = np.exp(-2.0 * gap / np.log(size))
        alone = density * (gap > 0)
        moves.append([each / each.sum(1, keepdims=True) for each in (density, alone)])
    for before, (a, b) in enumerate(positions):
        for after, (c, d) in enumerate(positions):
            still = moves[0][0][a, a] * moves[1][0][b, b]
            if before != after:
                expected[before, after] = moves[0][0][a, c] * moves[1][0][b, d]
                expected[before, after] += still / 2 * moves[0][1][a, c] * (b == d)
                expected[before, after] += still / 2 * moves[1][1][b, d] * (a == c)
    assert np.allclose(expected.sum(1), 1)
    assert np.abs(counts / counts.sum(1, keepdims=True) - expected).max() < 0.02


def test_correlated_laplace_steps_follow_the_weights(tiny: Dataset, batches: Batches) -> None:
    correlation = {"factors": ["angle", "place"], "strength": 0.1}
    data = PairedData(tiny, "laplace", batch_size=100, steps_per_epoch=40, correlation=correlation)
    for positions in ("factors", "second_factors"):
        rows = torch.cat([getattr(batch, positions) for batch in batches(data, count=40)]).double()
        assert (rows[:, 1] / 4 - rows[:, 2] / 19).square().mean().sqrt() < 0.16
