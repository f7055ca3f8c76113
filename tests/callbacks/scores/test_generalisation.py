import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor, nn

from dislab.base import CompositionBatch, DataModule, Draws, ImageBatch, Objective, Terms
from dislab.callbacks import Generalisation
from dislab.datamodules import CompositionData, SingleData
from dislab.errors import InputError
from dislab.factors import Selection
from dislab.functional.streams import Stream

MakeTrainer = Callable[..., pl.Trainer]
BRIGHT: Selection = {"brightness": 1.0}


class Light(Objective):
    """Its reconstruction is how much light an image, or a target, holds, plus the code's noise."""

    batch_types = (ImageBatch, CompositionBatch)
    code_noise: ClassVar[tuple[str, ...] | None] = ("noise",)

    def __init__(self, name: str = "reconstruction") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.name = name
        self.seen: list[Tensor] = []
        self.modes: list[bool] = []

    def draw(self, count: int, stream: Stream) -> Draws:
        return {name: stream.uniform(name, count) for name in ("noise", "order")}

    def losses(self, batch: Any, draws: Draws, step: Tensor) -> Terms:
        image = batch.target if isinstance(batch, CompositionBatch) else batch.image
        light = image.sum() / len(image)
        self.seen.append(batch.factors)
        self.modes.append(self.training)
        noise = draws["noise"].mean()
        log = {self.name: light + noise, "noise": noise, "order": draws["order"].mean()}
        log["place"] = batch.factors[:, 0].float().mean()
        return Terms(light + self.weight, log)

    def codes(self, image: Tensor) -> Tensor:
        return image.flatten(1)


class Silent(Light):
    """It does not say which draws are the noise of codes."""

    code_noise = None


class Noiseless(Light):
    """It has no noise of codes."""

    code_noise = ()

    def draw(self, count: int, stream: Stream) -> Draws:
        return {name: torch.zeros(count) for name in ("noise", "order")}


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
    scores, losses = record["scores"], record["losses"]
    means = {"mean_train": dark, "mean_test": 4.0, "mean_ratio": 4 / dark, "mean_excess": 4 - dark}
    assert {name: scores[name] for name in means} == pytest.approx(means)
    noise = {split: losses["sample"][split]["noise"] for split in ("train", "test")}
    assert all(0 < one < 1 for one in noise.values())
    train, test = dark + noise["train"], 4 + noise["test"]
    samples = {"train": train, "test": test, "ratio": test / train, "excess": test - train}
    assert {name: scores[f"sample_{name}"] for name in samples} == pytest.approx(samples)
    assert len(scores) == 8
    assert losses["mean"]["test"]["reconstruction"] == pytest.approx(4.0)
    assert losses["mean"]["train"]["noise"] == 0
    assert losses["mean"]["train"]["order"] == losses["sample"]["train"]["order"] > 0
    assert record["draw"] == {
        "examples": 10,
        "seed": 0,
        "available": {"train": 16, "test": 16},
    }
    compared = torch.cat(module.seen)[-40:]
    assert (compared[:20, 2] == 0).all()
    assert (compared[20:, 2] == 1).all()
    assert len(torch.unique(compared, dim=0)) == 20
    places = compared[:, 0].float().view(2, 20).mean(1)  # over images: the last batch is smaller
    assert losses["mean"]["train"]["place"] == pytest.approx(places[0].item())
    assert losses["mean"]["test"]["place"] == pytest.approx(places[1].item())
    assert not any(module.modes)


@pytest.mark.parametrize(
    ("kind", "found"), [(Silent, {"sample"}), (Noiseless, {"sample", "mean"}), (Light, None)]
)
def test_means_are_decoded_where_a_method_says_how(
    kind: type[Light],
    found: set[str] | None,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    capsys: pytest.CaptureFixture[str],
) -> None:
    held = SingleData(data.dataset, batch_size=8, hold_out=BRIGHT, validation=0.0)
    runner = trainer(callbacks=[Generalisation(examples=10)])
    runner.test(kind(), datamodule=held, verbose=False)
    record, printed = record_of(tmp_path), capsys.readouterr().out
    shown = found or {"sample", "mean"}
    assert set(record["losses"]) == shown
    assert {name.split("_")[0] for name in record["scores"]} == shown
    assert ("decoded posterior mean: 2.01 nats" in printed) == ("mean" in shown)
    assert "decoded posterior sample: " in printed
    if kind is Noiseless:
        assert record["losses"]["mean"] == record["losses"]["sample"]


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
        noise.append(record_of(tmp_path)["losses"]["sample"]["test"]["noise"])
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
    assert (scores["mean_train"], scores["mean_test"]) == pytest.approx((4 * 128 / 255, 4.0))


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


def test_fewer_than_no_examples_are_refused() -> None:
    with pytest.raises(InputError, match="examples is -1"):
        Generalisation(examples=-1)


def test_without_examples_nothing_is_compared(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule
) -> None:
    held = SingleData(data.dataset, batch_size=8, hold_out=BRIGHT, validation=0.0)
    runner = trainer(callbacks=[Generalisation(examples=0)])
    runner.test(Light().train(), datamodule=held, verbose=False)
    assert not (tmp_path / "run" / "scores.json").exists()
