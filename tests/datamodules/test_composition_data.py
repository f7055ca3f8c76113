from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dislab.base import CompositionBatch, Dataset
from dislab.datamodules import CompositionData
from dislab.datasets import DSprites
from dislab.errors import InputError
from dislab.factors import Selection

Batches = Callable[..., list[Any]]
HELD: Selection = {"shape": "dot", "place": {"min": 10}}


def allowed(data: CompositionData, split: Any, triplets: str) -> Any:
    """The states that references and transforms may be."""
    if triplets == "within_split" or split == "train":
        return data.indices(split)
    everything = data.indices("all")
    return everything if split == "test" else np.setdiff1d(everything, data.indices("test"))


@pytest.mark.every(4)
@pytest.mark.parametrize("which", ["tiny", "partial_set"])
@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("hold_out", [None, HELD])
@pytest.mark.parametrize("triplets", ["within_split", "across_splits"])
def test_targets_take_one_factor_of_the_transform(
    which: str,
    split: Any,
    hold_out: Any,
    triplets: Any,
    batches: Batches,
    shown: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> None:
    dataset: Dataset = request.getfixturevalue(which)
    space = dataset.factors
    data = CompositionData(
        dataset,
        triplets=triplets,
        batch_size=16,
        eval_batch_size=16,
        test=0.2,
        validation=0.2,
        hold_out=hold_out,
    )
    assert data.action_names == ("shape", "angle", "place")
    sources = allowed(data, split, triplets)
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
            assert rows[1][action] != rows[0][action]
            actions.add(int(action))
    assert actions
    if split == "train":
        assert actions == {0, 1, 2}
    if split != "test" and hold_out:
        assert not np.isin(space.where(HELD), sources).any()


@pytest.mark.parametrize("triplets", ["within_split", "across_splits"])
def test_no_target_is_its_reference_on_sprites(triplets: Any) -> None:
    """On dSprites 1 of 8 targets was its reference; orientations 0 and 2π are one image."""
    sprites = DSprites()
    held: Selection = {"shape": "square", "posX": {"min": 0.5}}
    data = CompositionData(
        sprites,
        triplets=triplets,
        include={"posY": {"max": 0.1}, "scale": [0.5, 1.0], "orientation": {"min": 0.0}},
        hold_out=held,
        validation=0.05,
    )
    of_held = sprites.factors.where(held)
    for split in ("train", "validation", "test"):
        drawn = data.plan(split).draw(np.random.default_rng(0), 5_000, 0)
        rows = sprites.factors.positions(sprites.canonical(drawn.states))
        assert ((rows[0] != rows[2]).sum(axis=1) == 1).all()
        column = (rows[0] != rows[2]).argmax(axis=1)
        names = [data.action_names[one] for one in drawn.labels["action"]]
        assert [sprites.factors.names[one] for one in column] == names
        assert (rows[1] == rows[2])[np.arange(5_000), column].all()
        if split != "test":
            assert not np.isin(drawn.states, of_held).any()
        elif triplets == "within_split":
            assert np.isin(drawn.states, of_held).all()
        else:
            share = np.isin(drawn.states, of_held).mean(axis=1)
            assert 0.2 < share[0] < 1.0
            assert share[2] == 1.0


def test_a_held_out_value_is_shown_by_test_transforms(tiny: Dataset, batches: Batches) -> None:
    """Extrapolation: no training image has the value that the target needs."""
    data = CompositionData(
        tiny,
        batch_size=16,
        hold_out={"place": {"min": 15}},
        transfer=["place"],
        triplets="across_splits",
    )
    known = 0
    for batch in batches(data, "test"):
        assert (batch.action == 0).all()
        known += int((batch.factors[:, 2] < 15).sum())
    assert known
    for batch in batches(data, "train", count=5):
        assert (batch.factors[:, 2] < 15).all()


def test_on_a_complete_grid_reference_action_and_transform_are_uniform(tiny: Dataset) -> None:
    """Uniform among those that differ in the factor, as the authors' code draws them."""
    data = CompositionData(tiny, include={"angle": {"max": 3}}, validation=0.0, test=0.0)
    drawn = data.plan("train").draw(np.random.default_rng(0), 100_000, 0)
    positions = tiny.factors.positions(drawn.states)
    action = drawn.labels["action"]
    code = (positions[0, :, 0] * 3 + positions[1, :, 0]) * 3 + action
    # of action 0 the two shapes differ: 6 of 9 pairs
    counts = np.bincount(code, minlength=27).reshape(3, 3, 3)
    wanted = np.full((3, 3, 3), 100_000 / 27)
    wanted[:, :, 0] = 100_000 / 18 * (1 - np.eye(3))
    assert not counts[wanted == 0].any()
    seen = wanted > 0
    # chi-squared with 23 degrees of freedom: standard deviation 6.8
    assert ((counts - wanted)[seen] ** 2 / wanted[seen]).sum() < 23 + 5 * 6.8


def test_a_factor_without_triplets_is_not_taken_over_in_tests(
    tiny: Dataset, batches: Batches
) -> None:
    """All held-out images are dots."""
    data = CompositionData(tiny, batch_size=16, hold_out={"shape": "dot"})
    assert data.action_names == ("shape", "angle", "place")
    assert {int(one) for batch in batches(data, "test") for one in batch.action} == {1, 2}


@pytest.mark.parametrize(
    ("settings", "split", "message"),
    [
        (
            {"include": {"shape": "dot", "place": [1, 2], "angle": [0, 4]}, "test": 0.0},
            "validation",
            "of the validation split no target differs from a reference in angle or place alone; "
            "set validation to a larger fraction, or to 0 to go without, or set triplets to acr",
        ),
        (
            {"hold_out": {"shape": "dot"}, "transfer": ["shape"]},
            "test",
            "among the 100 states of the test split no target differs from a reference in shape "
            "alone; widen hold_out, or set triplets to across_splits$",
        ),
        (
            {"hold_out": {"shape": ["dot", "bar"]}, "transfer": ["shape", "place"]},
            "train",
            "the train split no target differs from a reference in shape alone; set transfer to "
            r"\['place'\], or include more states",
        ),
        (
            {"hold_out": {"shape": ["dot", "bar"]}, "transfer": ["shape"]},
            "train",
            "in shape alone; set transfer to other factors, or include",
        ),
    ],
)
def test_names_what_to_change_where_no_triplet_exists(
    settings: dict[str, Any], split: Any, message: str, tiny: Dataset
) -> None:
    data = CompositionData(tiny, **{"batch_size": 1, "validation": 0.3, **settings})
    with pytest.raises(InputError, match=message):
        data.plan(split)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"transfer": []}, "each once, not"),
        ({"transfer": ["place", "place"]}, "each once"),
        ({"transfer": ["size"]}, "no factor is named 'size'"),
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
    assert (target[rows, action] != reference[rows, action]).all()
    assert (target[:, 2] != reference[:, 2]).any()
    with pytest.raises(InputError, match=r"not \['instance'\]; they are shape, place"):
        CompositionData(repeated, transfer=["instance"], batch_size=4, validation=0.0)
