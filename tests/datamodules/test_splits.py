from typing import Any

import numpy as np
import pytest
import torch
import yaml

from dislab.base import Dataset
from dislab.base.datamodule import draw_points, draw_states
from dislab.datamodules import CompositionData, SingleData
from dislab.datasets import ArrayDataset, GaussianBlob
from dislab.errors import InputError
from dislab.plans.splits import split_states

PARTS = ("train", "validation", "test")


def split(dataset: Dataset, **changes: Any) -> dict[Any, np.ndarray]:
    settings: dict[str, Any] = {
        "include": None,
        "hold_out": None,
        "validation": 0.1,
        "test": 0.2,
        "seed": 0,
    }
    return split_states(dataset, **{**settings, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seed": 7, "validation": 0.3, "test": 0.4},
        {"include": {"shape": ["dot", "ring"]}},
        {"include": {"angle": {"min": 2}}, "hold_out": {"place": {"min": 15}}},
        {"hold_out": {"angle": 4}},
        {"hold_out": {"angle": 0, "place": [1, 2]}, "validation": 0.4},
    ],
)
def test_laws(changes: dict[str, Any], tiny: Dataset) -> None:
    parts = split(tiny, **changes)
    included = tiny.factors.where(changes.get("include") or {})
    together = np.sort(np.concatenate([parts[part] for part in PARTS]))
    assert np.array_equal(parts["all"], together)
    assert len(np.unique(together)) == len(together)
    assert np.isin(together, included).all()
    images = [set(tiny.canonical(parts[part]).tolist()) for part in PARTS]
    assert not images[0] & images[1]
    assert not images[0] & images[2]
    assert not images[1] & images[2]
    for part in PARTS:
        assert (np.diff(parts[part]) > 0).all()
    lost = np.setdiff1d(included, together)
    if "hold_out" in changes:
        held = tiny.factors.where(changes["hold_out"])
        assert np.array_equal(parts["test"], np.intersect1d(held, included))
        # only duplicates of held-out images are lost
        assert np.isin(tiny.canonical(lost), tiny.canonical(held)).all()
    else:
        assert not len(lost)


@pytest.mark.slow
def test_fractions_are_met(tiny: Dataset) -> None:
    sizes = np.array([[len(split(tiny, seed=seed)[part]) for part in PARTS] for seed in range(200)])
    # 240 images, of which 60 count twice: the mean of 200 draws has a standard error below 0.3 %
    assert sizes.mean(axis=0) / 300 == pytest.approx([0.7, 0.1, 0.2], abs=0.01)


def test_a_state_keeps_its_split_whatever_else_is_included(tiny: Dataset) -> None:
    whole, part = split(tiny), split(tiny, include={"shape": "bar", "place": {"max": 9}})
    for name in PARTS:
        assert np.isin(part[name], whole[name]).all()


def test_a_smaller_test_split_is_part_of_a_larger_one(tiny: Dataset) -> None:
    assert np.isin(split(tiny, test=0.1)["test"], split(tiny, test=0.3)["test"]).all()


def test_the_seed_decides(tiny: Dataset) -> None:
    assert np.array_equal(split(tiny, seed=3)["test"], split(tiny, seed=3)["test"])
    assert not np.array_equal(split(tiny, seed=3)["test"], split(tiny, seed=4)["test"])


def test_duplicates_of_held_out_images_are_in_no_split(tiny: Dataset) -> None:
    parts = split(tiny, hold_out={"angle": 4})
    # 3 shapes x 20 places are held out at angle 4, and look the same at angle 0
    assert len(parts["test"]) == 60
    assert len(parts["all"]) == 300 - 60
    assert not np.isin(tiny.factors.where({"angle": 0}), parts["all"]).any()


def test_fraction_zero_means_without(tiny: Dataset) -> None:
    parts = split(tiny, validation=0.0, test=0.0)
    assert [len(parts[part]) for part in PARTS] == [300, 0, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hold_out": {"shape": "dot"}, "include": {"shape": "bar"}}, "matches none of the 100"),
        ({"hold_out": {"place": {"min": 0}}}, "none of the 300 .*hold_out matches them all"),
        ({"include": {"angle": [0, 4]}, "hold_out": {"angle": 4}}, "none of the 120 included"),
        (
            {"validation": 1e-9},
            r"^300 states are too few for these settings: the validation split is empty \(1e-09 of "
            r"300\); set validation: 0\.05$",
        ),
        ({"test": 1e-9}, r"the test split is empty \(1e-09 of 300\); set test: 0\.05$"),
        ({"hold_out": {"angle": 4}, "validation": 1e-9}, r"300\); set validation: 0\.05$"),
        (
            {"validation": 1e-9, "test": 1e-9, "batch_size": 301},
            r"the validation split is empty .*, the test split is empty .*, batch_size 301 exceeds "
            r"the 300 that train; set validation: 0\.05, test: 0\.05, batch_size: 128$",
        ),
        ({"include": {"shape": "cross"}}, "no value 'cross'"),
        ({"hold_out": {"size": 1}}, "no factor is named 'size'"),
    ],
)
def test_empty_splits_are_explained(changes: dict[str, Any], message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        split(tiny, **changes)


@pytest.mark.parametrize("count", range(2, 70, 3))
def test_the_settings_of_the_message_work_at_once(count: int) -> None:
    """Sixty images are enough, and so are two."""
    pixels = np.random.default_rng(0).integers(256, size=(count, 1, 4, 4), dtype=np.uint8)
    images = ArrayDataset(pixels)
    try:
        SingleData(images)
    except InputError as error:
        settings = yaml.safe_load(f"{{{str(error).rpartition('; set ')[2]}}}")
        data = SingleData(images, **settings)
        assert data.epoch_steps > 0
        assert all(len(data.indices(part)) for part in ("validation", "test") if settings.get(part))
    else:
        pytest.fail("the usual settings are not for so few images")


@pytest.mark.parametrize(("kind", "sizes"), [(SingleData, [4, 4, 2]), (CompositionData, [4, 4, 4])])
def test_a_sample_is_drawn_from_its_split(kind: Any, sizes: list[int], tiny: Dataset) -> None:
    data = kind(tiny, hold_out={"place": {"min": 15}}, eval_batch_size=4)
    data.setup("test")
    drawn = [[batch.states for batch in data.sample_loader("test", 10, seed)] for seed in (0, 0, 1)]
    assert [one.shape[-1] for one in drawn[0]] == sizes
    first, again, other = (torch.cat(list(one), dim=-1).numpy() for one in drawn)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    shown = first if kind is SingleData else first[2]
    assert np.isin(shown, data.indices("test")).all()
    if kind is SingleData:
        assert len(np.unique(shown)) == 10
    everything = sum(one.states.shape[-1] for one in data.sample_loader("test", 10**6, 0))
    assert everything == {SingleData: 75, CompositionData: 76}[kind]


def test_points_of_a_small_split_are_followed_by_others() -> None:
    data = SingleData(GaussianBlob(), 8, validation=0.1, test=0.1)
    data.prepare_data()
    data.setup("fit")
    of_the_test = draw_states(data, "test", 2000, 3)
    assert len(of_the_test) < 500
    points = draw_points(data, "test", 700, 3)
    assert points[: len(of_the_test)].tolist() == of_the_test.tolist()
    assert len(set(points.tolist())) == len(points) == 700
    few = draw_points(data, "test", 20, 3)
    assert few.tolist() == draw_states(data, "test", 20, 3).tolist()
    enough = draw_points(data, "train", 600, 3)
    assert enough.tolist() == draw_states(data, "train", 600, 3).tolist()
