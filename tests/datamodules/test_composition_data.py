from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dislab.base import CompositionBatch, Dataset
from dislab.datamodules import CompositionData
from dislab.errors import InputError
from dislab.factors import Selection

Batches = Callable[..., list[Any]]
HELD: Selection = {"shape": "dot", "place": {"min": 10}}


@pytest.mark.parametrize("which", ["tiny", "partial_set"])
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("hold_out", [None, HELD])
def test_targets_take_one_factor_of_the_transform(
    which: str,
    split: Any,
    hold_out: Any,
    batches: Batches,
    shown: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> None:
    dataset: Dataset = request.getfixturevalue(which)
    space = dataset.factors
    data = CompositionData(
        dataset, batch_size=16, eval_batch_size=16, test=0.2, validation=0.1, hold_out=hold_out
    )
    assert data.action_names == ("shape", "angle", "place")
    sources = data.indices("train" if split == "train" else "all")
    actions = set()
    for batch in batches(data, split):
        assert isinstance(batch, CompositionBatch)
        reference, transform, target = (
            shown(image) for image in (batch.image, batch.transform, batch.target)
        )
        assert np.array_equal(reference, space.index(batch.factors))
        assert np.isin(reference, sources).all()
        assert np.isin(transform, sources).all()
        assert np.isin(target, data.indices(split)).all()
        look = [space.positions(dataset.canonical(one)) for one in (reference, transform, target)]
        for action, *rows in zip(batch.action.numpy(), *look, strict=True):
            expected = rows[0].copy()
            expected[action] = rows[1][action]
            assert np.array_equal(rows[2], expected)
            actions.add(int(action))
    assert actions == {0, 1, 2}
    if split == "train" and hold_out:
        assert not np.isin(space.where(HELD), sources).any()


def test_a_held_out_value_is_shown_by_test_transforms(tiny: Dataset, batches: Batches) -> None:
    """Extrapolation: no training image has the value that the target needs."""
    data = CompositionData(tiny, batch_size=16, hold_out={"place": {"min": 15}}, transfer=["place"])
    for batch in batches(data, "test"):
        assert (batch.action == 0).all()
    for batch in batches(data, "train", count=5):
        assert (batch.factors[:, 2] < 15).all()


def test_on_a_complete_grid_the_three_are_independent(tiny: Dataset) -> None:
    """Reference, transform and action are uniform, as the paper draws them."""
    data = CompositionData(tiny, include={"angle": {"max": 3}}, validation=0.0, test=0.0)
    drawn = data.plan("train").draw(np.random.default_rng(0), 100_000, 0)
    positions = tiny.factors.positions(drawn.states)
    action = drawn.labels["action"]
    code = (positions[0, :, 0] * 3 + positions[1, :, 0]) * 3 + action
    counts = np.bincount(code, minlength=27)
    wanted = 100_000 / 27
    # chi-squared with 26 degrees of freedom: standard deviation 7.2
    assert ((counts - wanted) ** 2 / wanted).sum() < 26 + 5 * 7.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"transfer": []}, "each once, not"),
        ({"transfer": ["place", "place"]}, "each once"),
        ({"transfer": ["size"]}, "no factor 'size'"),
        ({"transfer": ["shape"], "include": {"shape": "dot"}}, "they are angle, place"),
    ],
)
def test_refuses_wrong_settings(settings: dict[str, Any], message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        CompositionData(tiny, **settings)


def test_a_nuisance_is_not_taken_over(repeated: Dataset) -> None:
    data = CompositionData(repeated, batch_size=4, validation=0.0, test=0.0)
    assert data.action_names == ("shape", "place")
    drawn = data.plan("train").draw(np.random.default_rng(0), 64, 0)
    reference, transform, target = repeated.factors.positions(drawn.states)
    action = drawn.labels["action"]
    rows = np.arange(64)
    assert (target[rows, action] == transform[rows, action]).all()
    assert (target[rows, 1 - action] == reference[rows, 1 - action]).all()
    assert (target[:, 2] != reference[:, 2]).any()
    with pytest.raises(InputError, match=r"not \['instance'\]; they are shape, place"):
        CompositionData(repeated, transfer=["instance"], batch_size=4, validation=0.0)
