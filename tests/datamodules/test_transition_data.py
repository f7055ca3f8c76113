from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dislab.base import Dataset, TransitionBatch
from dislab.datamodules import TransitionData
from dislab.datamodules.transition_data import steps
from dislab.datasets import DSprites
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

Batches = Callable[..., list[Any]]


def test_steps_by_hand() -> None:
    ring = Factor("ring", (0.0, 1.0, 2.0), "circular", period=3.0)
    twin = Factor("twin", (0.0, 1.0, 2.0, 3.0), "circular", period=3.0)
    line = Factor("line", (0.0, 1.0))
    for factor, up, down in [
        (ring, [1, 2, 0], [2, 0, 1]),
        (twin, [1, 2, 3, 1], [2, 0, 1, 2]),  # 3 shows the same as 0
        (line, [1, -1], [-1, 0]),
    ]:
        space = FactorSpace((factor,))
        states = np.arange(len(space))
        assert steps(space, states, 0, 1).tolist() == up
        assert steps(space, states, 0, -1).tolist() == down


def test_steps_stay_among_the_states() -> None:
    line = Factor("line", (0.0, 1.0, 2.0, 3.0))
    space = FactorSpace((line,), np.array([[3], [0], [2]]))
    assert steps(space, np.arange(3), 0, 1).tolist() == [-1, -1, 0]
    assert steps(space, np.array([0, 1]), 0, -1).tolist() == [-1, -1]


@pytest.mark.parametrize("which", ["tiny", "partial_set"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_one_factor_moves_by_its_action(
    which: str,
    split: Any,
    batches: Batches,
    shown: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> None:
    dataset: Dataset = request.getfixturevalue(which)
    data = TransitionData(
        dataset, batch_size=16, eval_batch_size=16, test=0.4, validation=0.0, steps_per_epoch=20
    )
    assert data.action_names == ("angle+", "angle-", "place+", "place-")
    seen = set()
    for batch in batches(data, split):
        assert isinstance(batch, TransitionBatch)
        assert np.array_equal(shown(batch.second), dataset.factors.index(batch.second_factors))
        assert np.isin(shown(batch.second), data.indices(split)).all()
        for action, before, after, changed in zip(
            batch.action, batch.factors, batch.second_factors, batch.changed, strict=True
        ):
            column = 1 + int(action) // 2
            way = 1 if action % 2 == 0 else -1
            assert changed.tolist() == [False, column == 1, column == 2]
            others = torch.arange(3) != column
            assert torch.equal(before[others], after[others])
            size = {1: 4 if which == "tiny" else 3, 2: 10**9}[column]  # angles 0 and 4 are twins
            assert (int(after[column]) - int(before[column]) - way) % size == 0
            seen.add(int(action))
    possible = {0, 1, 2, 3} if which == "tiny" or split == "train" else {2, 3}
    assert seen == possible


def test_categorical_factors_move_when_named(tiny: Dataset, batches: Batches) -> None:
    data = TransitionData(tiny, move=["shape"], batch_size=50)
    (batch,) = batches(data, count=1)
    assert ((batch.second_factors - batch.factors)[:, 0].abs() == 1).all()
    assert data.action_names == ("shape+", "shape-")


@pytest.mark.slow
def test_actions_are_alike_and_correlation_weighs_states(batches: Batches) -> None:
    data = TransitionData(
        DSprites(), batch_size=4000, correlation={"factors": ["posX", "posY"], "strength": 0.1}
    )
    data.setup("fit")
    drawn = data.plan("train").draw(np.random.default_rng(0), 4000, 0)
    counts = np.bincount(drawn.labels["action"], minlength=8)
    assert counts == pytest.approx(500, abs=110)  # 5 standard deviations
    positions = data.factors.positions(drawn.states[0])
    assert (positions[:, 3] - positions[:, 4]).std() < 0.16 * 31


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"move": []}, "each once, not"),
        ({"move": ["place", "place"]}, "each once"),
        ({"move": ["plac"]}, "no factor is named 'plac'"),
    ],
)
def test_refuses_wrong_settings(settings: dict[str, Any], message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        TransitionData(tiny, **settings)


def test_names_actions_that_are_impossible(tiny: Dataset) -> None:
    data = TransitionData(tiny, batch_size=4, include={"place": [0, 2]}, validation=0.0)
    with pytest.raises(InputError, match="can move by place\\+, place-; enlarge"):
        data.plan("train")


def test_a_nuisance_does_not_move(repeated: Dataset) -> None:
    assert TransitionData(repeated, batch_size=4, validation=0.0).action_names == (
        "place+",
        "place-",
    )
    with pytest.raises(InputError, match=r"not \['instance'\]; those with an order are place"):
        TransitionData(repeated, move=["instance"], batch_size=4, validation=0.0)
