import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor, nn

from dislab.base import CompositionBatch, DataModule, Draws, ImageBatch, Objective, Terms
from dislab.callbacks import Generalisation
from dislab.datamodules import CompositionData, SingleData
from dislab.errors import InputError
from dislab.factors import Selection

MakeTrainer = Callable[..., pl.Trainer]
BRIGHT: Selection = {"brightness": 1.0}


class Light(Objective):
    """Its reconstruction is how much light an image, or a target, holds."""

    batch_types = (ImageBatch, CompositionBatch)

    def __init__(self, name: str = "reconstruction") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.name = name
        self.seen: list[Tensor] = []
        self.modes: list[bool] = []

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        return {"noise": torch.rand(count, generator=generator)}

    def losses(self, batch: Any, draws: Draws, step: Tensor) -> Terms:
        image = batch.target if isinstance(batch, CompositionBatch) else batch.image
        light = image.sum() / len(image)
        self.seen.append(batch.factors)
        self.modes.append(self.training)
        return Terms(light + self.weight, {self.name: light, "noise": draws["noise"].mean()})

    def codes(self, image: Tensor) -> Tensor:
        return image.flatten(1)


def record_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run" / "scores.json").read_text())
    return found["test_generalisation"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("eval_batch_size", [3, 100])
def test_both_splits_are_compared(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, eval_batch_size: int
) -> None:
    """A block has four pixels; the bright ones are held out."""
    module = Light()
    held = SingleData(
        data.dataset, batch_size=8, hold_out=BRIGHT, validation=0.0, eval_batch_size=eval_batch_size
    )
    runner = trainer(callbacks=[Generalisation(examples=10)])
    runner.test(module.train(), datamodule=held, verbose=False)
    record = record_of(tmp_path)
    dark = 4 * 128 / 255
    assert record["scores"] == pytest.approx(
        {"train": dark, "test": 4.0, "ratio": 4 / dark, "excess": 4 - dark}
    )
    assert record["losses"]["test"]["reconstruction"] == pytest.approx(4.0)
    assert 0 < record["losses"]["train"]["noise"] < 1
    assert record["draw"] == {
        "examples": 10,
        "seed": 0,
        "available": {"train": 16, "test": 16},
    }
    compared = torch.cat(module.seen)[-20:]
    assert (compared[:10, 2] == 0).all()
    assert (compared[10:, 2] == 1).all()
    assert len(torch.unique(compared, dim=0)) == 20
    assert not any(module.modes)


def test_the_same_examples_every_time(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule
) -> None:
    seen, noise = [], []
    for seed in (0, 0, 1):
        module = Light()
        held = SingleData(data.dataset, batch_size=8, hold_out=BRIGHT, validation=0.0)
        runner = trainer(callbacks=[Generalisation(examples=10, seed=seed)])
        runner.test(module, datamodule=held, verbose=False)
        seen.append(module.seen[-1].tolist())
        noise.append(record_of(tmp_path)["losses"]["test"]["noise"])
    assert seen[0] == seen[1] != seen[2]
    assert noise[0] == noise[1] != noise[2]


def test_held_out_targets_are_composed(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule
) -> None:
    module = Light()
    held = CompositionData(
        data.dataset, batch_size=8, hold_out=BRIGHT, validation=0.0, transfer=["x", "y"]
    )
    runner = trainer(callbacks=[Generalisation()])
    runner.test(module, datamodule=held, verbose=False)
    scores = record_of(tmp_path)["scores"]
    assert (scores["train"], scores["test"]) == pytest.approx((4 * 128 / 255, 4.0))


@pytest.mark.parametrize(
    ("name", "hold_out", "settings"),
    [
        ("reconstruction", None, {}),
        ("adversary", BRIGHT, {}),
        ("reconstruction", BRIGHT, {"fast_dev_run": True}),
    ],
)
def test_nothing_is_written_where_there_is_nothing_to_compare(
    name: str,
    hold_out: Any,
    settings: dict[str, Any],
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
) -> None:
    held = SingleData(data.dataset, batch_size=8, hold_out=hold_out, validation=0.0, test=0.3)
    runner = trainer(callbacks=[Generalisation()], **settings)
    runner.test(Light(name), datamodule=held, verbose=False)
    assert not (tmp_path / "run" / "scores.json").exists()


def test_a_data_module_that_cannot_draw_a_sample_is_mentioned_before_training(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, caplog: pytest.LogCaptureFixture
) -> None:
    data.hold_out = BRIGHT
    runner = trainer(callbacks=[Generalisation()])
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        runner.fit(Light(), datamodule=data)
        runner.test(Light(), datamodule=data, verbose=False)
    said = "Generalisation: nothing to compare, as BlockData has no sample_loader"
    assert [one.getMessage() for one in caplog.records].count(said) == 1
    assert not (tmp_path / "run" / "scores.json").exists()


def test_no_examples_are_refused() -> None:
    with pytest.raises(InputError, match="examples is 0"):
        Generalisation(examples=0)
