import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor, nn

from dislab.base import DataModule, Draws, Objective, SymbolBatch, Terms
from dislab.callbacks import ConceptScores
from dislab.errors import InputError
from dislab.functional.streams import Stream

MakeTrainer = Callable[..., pl.Trainer]
NAMES = ("x=left", "x=right", "y=top", "y=bottom")
FULL = torch.tensor([[1.0 - x, x, 1 - y, y] for x in (0, 1) for y in (0, 1)])


class Quarters:
    """Batches of four images, a quarter of each white, with the given descriptions."""

    def __init__(self, named: Tensor) -> None:
        self.named = named

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[SymbolBatch]:
        for _ in range(3):
            factors = torch.zeros(4, 3, dtype=torch.int64)
            yield SymbolBatch(drawn(FULL), FULL * self.named, factors)


def drawn(symbol: Tensor) -> Tensor:
    """A white quarter where the symbol says."""
    image = torch.zeros(len(symbol), 1, 8, 8)
    for one, named in zip(image, symbol.tolist(), strict=True):
        left, top = 4 * int(named[1]), 4 * int(named[3])
        one[0, top : top + 4, left : left + 4] = 1
    return image


class Drawer(Objective):
    """Draws what a concept says; what it leaves open by lot, or always alike."""

    def __init__(self, diverse: bool) -> None:
        super().__init__()
        self.diverse = diverse
        self.weight = nn.Parameter(torch.zeros(()))

    def draw(self, count: int, stream: Stream) -> Draws:
        return {"lot": stream.uniform("lot", count, 2)}

    def losses(self, batch: SymbolBatch, draws: Draws, step: Tensor) -> Terms:
        return Terms(self.weight.square(), {})

    def codes(self, image: Tensor) -> Tensor:
        return image.flatten(1)

    def sym2img(self, symbol: Tensor, draws: Draws) -> Tensor:
        side = (draws["lot"] < 0.5).float() * float(self.diverse)
        by_lot = torch.stack((1 - side[:, 0], side[:, 0], 1 - side[:, 1], side[:, 1]), 1)
        named = symbol.view(-1, 2, 2).any(2).repeat_interleave(2, 1)
        return drawn(torch.where(named, symbol, by_lot))


class Recombiner(Objective):
    """Draws what an operator makes of two concepts, but takes IGNORE for what is to be ignored.

    A stubborn one takes the first concept where two disagree.
    """

    def __init__(self, stubborn: bool = False) -> None:
        super().__init__()
        self.stubborn = stubborn
        self.inner = Drawer(diverse=True)
        self.asked: list[tuple[str, list[float], list[float]]] = []

    def draw(self, count: int, stream: Stream) -> Draws:
        return self.inner.draw(count, stream)

    def losses(self, batch: SymbolBatch, draws: Draws, step: Tensor) -> Terms:
        return self.inner.losses(batch, draws, step)

    def codes(self, image: Tensor) -> Tensor:
        return image.flatten(1)

    def recombined_images(
        self, first: Tensor, second: Tensor, operator: str, draws: Draws
    ) -> Tensor:
        self.asked.append((operator, first[0].tolist(), second[0].tolist()))
        common = first * second
        if self.stubborn:
            disagree = (first + second).view(-1, 2, 2).eq(1).all(2).repeat_interleave(2, 1)
            common = torch.where(disagree, first, common)
        result = {"and": first.maximum(second), "in_common": common, "ignore": second}
        return self.inner.sym2img(result[operator], draws)


class Wordless(Objective):
    """Knows no symbols."""

    draw, losses, codes = Drawer.draw, Drawer.losses, Drawer.codes


Drawer.batch_types = (SymbolBatch,)
Recombiner.batch_types = (SymbolBatch,)


@pytest.fixture
def described(data: DataModule, monkeypatch: pytest.MonkeyPatch) -> DataModule:
    kind = type(data)
    monkeypatch.setattr(kind, "batch_type", SymbolBatch)
    monkeypatch.setattr(kind, "symbol_names", NAMES, raising=False)
    monkeypatch.setattr(kind, "val_dataloader", lambda self: Quarters(torch.ones(4)))
    only_x = torch.tensor([1.0, 1, 0, 0])
    monkeypatch.setattr(kind, "test_dataloader", lambda self: Quarters(only_x))
    return data


def test_concepts_of_the_stage_are_scored(
    tmp_path: Path, trainer: MakeTrainer, described: DataModule
) -> None:
    records = {}
    for diverse in (True, False):
        runner = trainer(callbacks=[ConceptScores(images=400)])
        runner.test(Drawer(diverse), datamodule=described, verbose=False)
        text = (tmp_path / "run" / "scores.json").read_text()
        records[diverse] = json.loads(text)["test_concepts"]
    for record in records.values():
        assert set(record["concepts"]) == {"x=left", "x=right"}
        assert record["scores"]["accuracy"] == 1.0
        assert record["scores"]["reader_accuracy"] == 1.0
    assert records[True]["scores"]["diversity"] < 0.01
    assert records[False]["scores"]["diversity"] == pytest.approx(math.log(2))


def test_each_operator_is_scored_on_the_concepts_that_it_can_make(
    tmp_path: Path, trainer: MakeTrainer, described: DataModule
) -> None:
    module = Recombiner()
    runner = trainer(callbacks=[ConceptScores(images=400)])
    runner.test(module, datamodule=described, verbose=False)
    record = json.loads((tmp_path / "run" / "scores.json").read_text())["test_concepts"]
    # nothing can be parted where only x is named
    assert set(record["concepts"]) == {"in_common", "ignore", "disagreeing"}
    assert set(record["concepts"]["ignore"]) == {"x=left", "x=right"}
    assert record["scores"]["accuracy/in_common"] == 1.0
    assert record["scores"]["diversity/in_common"] < 0.01
    assert record["scores"]["accuracy/ignore"] == pytest.approx(0.5, abs=0.1)
    for operator, first, second in module.asked:
        assert first != second
        made = [
            a * b if operator == "in_common" else a * (1 - b)
            for a, b in zip(first, second, strict=True)
        ]
        assert made in ([1, 0, 0, 0], [0, 1, 0, 0])


@pytest.mark.parametrize("stubborn", [False, True])
def test_concepts_that_disagree_are_scored(
    stubborn: bool, tmp_path: Path, trainer: MakeTrainer, described: DataModule
) -> None:
    """Concepts leave open the factors they disagree on; one fixed value there is not diverse."""
    runner = trainer(callbacks=[ConceptScores(images=400)])
    module = Recombiner(stubborn)
    runner.test(module, datamodule=described, verbose=False)
    record = json.loads((tmp_path / "run" / "scores.json").read_text())["test_concepts"]
    assert set(record["concepts"]["disagreeing"]) == {"x=left", "x=right"}
    assert record["scores"]["accuracy/disagreeing"] == 1.0
    expected = math.log(2) if stubborn else 0.0
    assert record["scores"]["diversity/disagreeing"] == pytest.approx(expected, abs=0.01)
    disagreeing = [
        (first, second)
        for operator, first, second in module.asked
        if operator == "in_common" and first[2:] == second[:1:-1] and sum(first[2:]) == 1
    ]
    assert len(disagreeing) >= 2


def test_parts_of_a_concept_are_joined(
    tmp_path: Path, trainer: MakeTrainer, described: DataModule
) -> None:
    module = Recombiner()
    runner = trainer(callbacks=[ConceptScores(images=5, seed=1)])
    runner.validate(module, datamodule=described, verbose=False)
    record = json.loads((tmp_path / "run" / "scores.json").read_text())["validate_concepts"]
    assert set(record["concepts"]) == {"and"}
    assert record["scores"]["accuracy"] == record["scores"]["accuracy/and"] == 1.0
    assert module.asked
    assert all(sum(first) == sum(second) == 1 for _, first, second in module.asked)


def test_a_concept_that_leaves_nothing_open_has_no_diversity(
    tmp_path: Path, trainer: MakeTrainer, described: DataModule
) -> None:
    runner = trainer(callbacks=[ConceptScores(concepts=2, images=5)])
    runner.validate(Drawer(True), datamodule=described, verbose=False)
    record = json.loads((tmp_path / "run" / "scores.json").read_text())["validate_concepts"]
    assert len(record["concepts"]) == 2
    assert record["scores"]["diversity"] is None
    assert record["scores"]["accuracy"] == 1.0


def test_other_records_stay(tmp_path: Path, trainer: MakeTrainer, described: DataModule) -> None:
    path = tmp_path / "run" / "scores.json"
    path.parent.mkdir()
    path.write_text('{"test": {"scores": {"mig": 0.5}}}')
    runner = trainer(callbacks=[ConceptScores(images=5)])
    runner.test(Drawer(True), datamodule=described, verbose=False)
    assert json.loads(path.read_text())["test"] == {"scores": {"mig": 0.5}}


def test_a_method_without_symbols_is_refused(trainer: MakeTrainer, data: DataModule) -> None:
    runner = trainer(callbacks=[ConceptScores()])
    with pytest.raises(InputError, match="Wordless has no sym2img; leave the callback out"):
        runner.test(Wordless(), datamodule=data, verbose=False)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_split_without_images_is_named(
    split: str, trainer: MakeTrainer, described: DataModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = {"validation": "val", "test": "test"}[split]
    asked = trainer(callbacks=[ConceptScores(images=5)])
    loaded = getattr(described, f"{part}_dataloader")()
    # Lightning has its loader by then, and the callback asks for one of its own
    loaders = iter([loaded, []]) if split == "test" else iter([[]])
    monkeypatch.setattr(type(described), f"{part}_dataloader", lambda self: next(loaders))
    with pytest.raises(InputError, match=f"images of the {split} split, .*; raise {split} in"):
        asked.test(Drawer(True), datamodule=described, verbose=False)


@pytest.mark.parametrize("name", ["concepts", "images", "references"])
def test_numbers_that_make_no_sense_are_refused(name: str) -> None:
    settings: dict[str, Any] = {name: 0}
    with pytest.raises(InputError, match=f"{name} is 0"):
        ConceptScores(**settings)
