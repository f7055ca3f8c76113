from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dislab.base import ClampedBatch, Dataset
from dislab.datamodules import ClampedData
from dislab.errors import InputError

Batches = Callable[..., list[Any]]
GROUPS = {"where": ["place"], "what": ["angle", "shape"]}


@pytest.mark.parametrize("which", ["tiny", "partial_set"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_all_but_the_active_group_is_held(
    which: str,
    split: Any,
    batches: Batches,
    shown: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> None:
    dataset: Dataset = request.getfixturevalue(which)
    data = ClampedData(
        dataset,
        GROUPS,
        batch_size=16,
        eval_batch_size=16,
        test=0.4,
        validation=0.0,
        steps_per_epoch=60,
    )
    assert data.group_names == ("where", "what")
    seen = []
    for batch in batches(data, split, count=2000):
        assert isinstance(batch, ClampedBatch)
        states = dataset.factors.index(batch.factors)
        assert np.array_equal(shown(batch.image), states)
        assert np.isin(states, data.indices(split)).all()
        looks = dataset.factors.positions(dataset.canonical(states))
        assert len(set(batch.active.tolist())) == 1
        held = [0, 1] if batch.active[0] == 0 else [2]
        assert (looks[:, held] == looks[0, held]).all()
        seen.append(int(batch.active[0]))
    if split == "test":
        assert seen == [0, 1] * (len(seen) // 2)  # they take turns
    assert set(seen) == {0, 1}


def test_groups_are_active_by_the_ratios(tiny: Dataset, batches: Batches) -> None:
    ratios = {"what": 10.0, "where": 1.0}
    data = ClampedData(tiny, GROUPS, ratios, batch_size=2, steps_per_epoch=2200)
    plan = data.plan("train")
    active = [
        plan.draw(np.random.default_rng(number), 2, number).labels["active"][0]
        for number in range(2200)
    ]
    # binomial: mean 2000, standard deviation 13.5
    assert np.sum(active) == pytest.approx(2000, abs=60)


def test_members_of_a_run_are_uniform(tiny: Dataset) -> None:
    data = ClampedData(tiny, {"where": ["place"]}, batch_size=2, validation=0.0, test=0.0)
    drawn = data.plan("train").draw(np.random.default_rng(0), 20_000, 0)
    places = tiny.factors.positions(drawn.states)[:, 2]
    wanted = 20_000 / 20
    counts = np.bincount(places, minlength=20)
    # twins of the angle double every place alike
    assert ((counts - wanted) ** 2 / wanted).sum() == pytest.approx(19, abs=31)


def test_correlation_weighs_a_run(tiny: Dataset) -> None:
    data = ClampedData(
        tiny,
        {"where": ["place"]},
        batch_size=2,
        correlation={"factors": ["place", "angle"], "strength": 0.05},
    )
    drawn = data.plan("train").draw(np.random.default_rng(3), 500, 0)
    positions = tiny.factors.positions(drawn.states)
    gap = positions[:, 2] / 19 - positions[:, 1] / 4
    assert np.minimum(np.abs(gap), np.abs(1 - np.abs(gap))).mean() < 0.1


@pytest.mark.parametrize(
    ("groups", "ratios", "message"),
    [
        ({}, None, "groups is empty"),
        ({"a": []}, None, "group a has no factors"),
        ({"a": ["plaec"]}, None, r"no factor is named 'plaec' \(did you mean place"),
        (
            {"a": ["place"], "b": ["angle", "place"]},
            None,
            "place is in group a and again in group b",
        ),
        (GROUPS, {}, "ratios are given for nothing, and the groups are where, what"),
        (GROUPS, {"where": 1.0}, "give one for each group"),
        (GROUPS, {"where": 1.0, "what": 1.0, "who": 1.0}, "ratios are given for where, what, who"),
        (
            GROUPS,
            {"where": -1.0, "what": 1.0},
            "ratios.where is -1.0; it must be a finite",
        ),
        (GROUPS, {"where": float("nan"), "what": 1.0}, "a mapping of names to a finite number"),
        (GROUPS, {"where": 0.0, "what": 0.0}, "all ratios are 0"),
    ],
)
def test_refuses_wrong_settings(groups: Any, ratios: Any, message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        ClampedData(tiny, groups, ratios)


def test_names_a_group_that_cannot_vary_alone(tiny: Dataset) -> None:
    data = ClampedData(tiny, {"a": ["shape"]}, batch_size=4, include={"shape": "dot"})
    with pytest.raises(InputError, match=r"no two differ in group a \(shape\) alone"):
        data.plan("train")


def test_validation_has_a_batch_of_each_group(tiny: Dataset, batches: Batches) -> None:
    data = ClampedData(tiny, GROUPS, batch_size=4, validation=0.2)
    validated = batches(data, "validation")
    assert [int(batch.active[0]) for batch in validated] == [0, 1]
    assert torch.equal(validated[0].factors, batches(data, "validation", seed=9)[0].factors)


def test_a_nuisance_is_free_and_no_group(repeated: Dataset) -> None:
    data = ClampedData(
        repeated, {"what": ["shape"], "where": ["place"]}, batch_size=32, validation=0.0, test=0.0
    )
    drawn = data.plan("train").draw(np.random.default_rng(0), 32, 0)
    varies = np.ptp(repeated.factors.positions(drawn.states), axis=0) > 0
    assert varies.tolist() == [drawn.labels["active"][0] == 0, drawn.labels["active"][0] == 1, True]
    with pytest.raises(InputError, match="instance of group more only tells images apart"):
        ClampedData(repeated, {"more": ["place", "instance"]}, batch_size=4, validation=0.0)
