from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dislab.base import Dataset, SymbolBatch
from dislab.datamodules import SymbolData
from dislab.errors import InputError

Batches = Callable[..., list[Any]]

NAMES = (
    *("shape=dot", "shape=bar", "shape=ring"),
    *("angle=low", "angle=middle", "angle=high"),
    *("place=low", "place=middle", "place=high"),
)


def true_of(names: tuple[str, ...], positions: torch.Tensor) -> list[set[str]]:
    """The attributes of states, by the default parts: thirds of the value numbers."""
    parts = ("low", "middle", "high")
    return [
        {
            f"shape={('dot', 'bar', 'ring')[shape]}",
            f"angle={parts[angle * 3 // 5]}",
            f"place={parts[place * 3 // 20]}",
        }
        for shape, angle, place in positions.tolist()
    ]


def named(data: SymbolData, batch: SymbolBatch) -> list[set[str]]:
    return [{data.symbol_names[number] for number in np.flatnonzero(row)} for row in batch.symbol]


@pytest.mark.parametrize("few", [None, 3])
@pytest.mark.parametrize("specified", [None, [1, 3]])
def test_descriptions_are_true_and_of_every_length(
    few: int | None, specified: Any, tiny: Dataset, batches: Batches
) -> None:
    data = SymbolData(
        tiny, specified=specified, examples_per_concept=few, batch_size=100, steps_per_epoch=30
    )
    assert data.symbol_names == NAMES
    lengths = []
    for batch in batches(data, count=30):
        assert isinstance(batch, SymbolBatch)
        for said, true in zip(named(data, batch), true_of(NAMES, batch.factors), strict=True):
            assert said <= true
            lengths.append(len(said))
    levels = specified or [1, 2, 3]
    counts = np.bincount(lengths, minlength=4)
    assert set(np.flatnonzero(counts)) == set(levels)
    # binomial around equal shares of 3,000: standard deviation at most 27.4
    assert counts[levels] == pytest.approx(3000 / len(levels), abs=140)


@pytest.mark.parametrize("few", [None, 3])
def test_held_out_combinations(few: int | None, tiny: Dataset, batches: Batches) -> None:
    held = [["shape=dot", "place=low"], ["angle=high", "place=low", "shape=bar"]]
    data = SymbolData(
        tiny,
        held_out=held,
        examples_per_concept=few,
        batch_size=100,
        test=0.3,
        validation=0.1,
        steps_per_epoch=20,
    )
    for split in ("train", "validation"):
        for batch in batches(data, split):
            for said in named(data, batch):
                assert said
                assert not any(set(concept) <= said for concept in held)
    seen = []
    for batch in batches(data, "test"):
        for said, true in zip(named(data, batch), true_of(NAMES, batch.factors), strict=True):
            assert said <= true
            seen.append(tuple(sorted(said)))
    assert set(seen) == {tuple(sorted(concept)) for concept in held}


@pytest.mark.slow
def test_few_examples_of_each_concept(tiny: Dataset, batches: Batches) -> None:
    data = SymbolData(tiny, examples_per_concept=2, batch_size=200, steps_per_epoch=100)
    images: dict[Any, set[int]] = {}
    for seed in (1, 2):
        for batch in batches(data, count=100, seed=seed):
            states = tiny.factors.index(batch.factors)
            for said, state in zip(named(data, batch), states, strict=True):
                images.setdefault(frozenset(said), set()).add(int(state))
    # (3 + 1)³ - 1 concepts, each with two images, whatever the seed of the run
    assert len(images) == 63
    assert {len(some) for some in images.values()} == {2}


def test_attributes_by_name(tiny: Dataset, batches: Batches) -> None:
    attributes: Any = {
        "place": {"left": {"max": 5}, "right": {"min": 15}, "eight": 8},
        "shape": None,
    }
    data = SymbolData(tiny, attributes, batch_size=100, steps_per_epoch=10)
    assert data.symbol_names == (
        *("place=left", "place=right", "place=eight"),
        *("shape=dot", "shape=bar", "shape=ring"),
    )
    for batch in batches(data, count=10):
        for said, (_, _, place) in zip(named(data, batch), batch.factors.tolist(), strict=True):
            allowed = {place <= 5: "left", place >= 15: "right", place == 8: "eight"}.get(True)
            assert {one for one in said if one.startswith("place")} <= {f"place={allowed}"}
            assert said


def test_images_without_attributes_are_left_out(tiny: Dataset, batches: Batches) -> None:
    data = SymbolData(tiny, {"place": {"left": {"max": 5}}}, batch_size=50)
    (batch,) = batches(data, count=1)
    assert (batch.factors[:, 2] <= 5).all()
    assert torch.equal(batch.symbol, torch.ones(50, 1))
    with pytest.raises(InputError, match="no state of the train split has one of the attributes"):
        SymbolData(tiny, {"place": {"left": 0}}, include={"place": 1}, batch_size=2).plan("train")


@pytest.mark.parametrize(("parts", "first"), [(1, "any"), (2, "low"), (4, "1")])
def test_parts(parts: int, first: str, tiny: Dataset) -> None:
    names = SymbolData(tiny, {"place": None}, parts=parts).symbol_names
    assert len(names) == parts
    assert names[0] == f"place={first}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attributes": {}}, "attributes is empty"),
        ({"attributes": {"size": None}}, "no factor is named 'size'"),
        ({"attributes": {"shape": {"round": "ball"}}}, "no value 'ball'"),
        (
            {"attributes": {"place": {"a": {"max": 5}, "b": 5}}},
            "attributes of factor place overlap",
        ),
        ({"parts": 0}, "parts is 0; it must be a whole number of at least 1"),
        ({"specified": []}, "from 1 to 3, each once"),
        ({"specified": [0, 1]}, "from 1 to 3"),
        ({"specified": [4]}, "from 1 to 3"),
        ({"held_out": [["shape=dot"]]}, "no combination"),
        ({"held_out": [["shape=dot", "shape=bar"]]}, "no combination"),
        (
            {"held_out": [["shape=dit", "place=low"]]},
            r"no attribute is named 'shape=dit' \(did you mean",
        ),
        ({"examples_per_concept": 0}, "examples_per_concept is 0; it must be a whole number"),
        (
            {
                "examples_per_concept": 1,
                "correlation": {"factors": ["angle", "place"], "strength": 0.1},
            },
            "leave one of them out",
        ),
    ],
)
def test_refuses_wrong_settings(settings: dict[str, Any], message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        SymbolData(tiny, **settings)


def test_names_a_combination_without_test_images(tiny: Dataset) -> None:
    data = SymbolData(
        tiny, held_out=[["shape=dot", "place=low"]], hold_out={"shape": "bar"}, batch_size=4
    )
    with pytest.raises(InputError, match="shows the held-out combination shape=dot, place=low"):
        data.plan("test")


def test_a_nuisance_is_not_described(repeated: Dataset) -> None:
    names = SymbolData(repeated, batch_size=4, validation=0.0, parts=2).symbol_names
    assert names == ("shape=dot", "shape=bar", "shape=ring", "place=low", "place=high")
