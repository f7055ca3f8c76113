import logging
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import lightning.pytorch as pl
import matplotlib.image
import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.plugins import Precision
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

from dislab.base import DataModule, Objective
from dislab.callbacks import Reconstructions
from dislab.errors import InputError
from dislab.functional.random import host_generator
from dislab.plots.image_grid import ImageGrid

MakeTrainer = Callable[..., pl.Trainer]
SIDE = 64  # screen pixels of an image of 8 by 8 pixels
GAP = 2
MARGIN = 12


def _cells(path: Path, rows: int, columns: int) -> np.ndarray:
    """The images in the lower right corner of a picture, shape (row, column, 8, 8)."""
    drawn = np.rint(matplotlib.image.imread(path)[..., 0] * 255).astype(int)
    height, width = rows * (SIDE + GAP) - GAP, columns * (SIDE + GAP) - GAP
    grid = drawn[-MARGIN - height : -MARGIN, -MARGIN - width : -MARGIN]
    return np.array(
        [
            [
                grid[row * (SIDE + GAP) :, column * (SIDE + GAP) :][4:SIDE:8, 4:SIDE:8]
                for column in range(columns)
            ]
            for row in range(rows)
        ]
    )


def _levels(image: torch.Tensor) -> np.ndarray:
    levels: np.ndarray = np.rint(image.detach()[:, 0].numpy() * 255).astype(int)
    return levels


@pytest.mark.parametrize("stage", ["validate", "test"])
def test_the_picture_holds_images_and_their_reconstructions(
    stage: str, tmp_path: Path, trainer: MakeTrainer, data: DataModule, objective: Objective
) -> None:
    runner = trainer(callbacks=[Reconstructions(count=5, split="test", seed=3)])
    getattr(runner, stage)(objective, datamodule=data, verbose=False)
    cells = _cells(tmp_path / "run" / "images" / "reconstructions.png", 2, 5)
    states = host_generator(3).choice(data.indices("test"), 5, replace=False)
    image = data.images(torch.from_numpy(states))
    np.testing.assert_array_equal(cells[0], _levels(image))
    np.testing.assert_array_equal(cells[1], _levels(objective.decode(objective.encode(image).mean)))
    assert len({cell.tobytes() for cell in cells[0]}) == 5


def test_training_draws_each_validation_and_its_end(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, objective: Objective
) -> None:
    logger = TensorBoardLogger(tmp_path, "board")
    runner = trainer(
        callbacks=[Reconstructions(count=2)], logger=logger, max_steps=4, val_check_interval=2
    )
    runner.fit(objective, datamodule=data)
    folder = Path(logger.log_dir)
    names = sorted(path.name for path in (folder / "images").iterdir())
    assert names == [
        "reconstructions.png",
        "reconstructions_0000002.png",
        "reconstructions_0000004.png",
    ]
    files = [(folder / "images" / name).read_bytes() for name in names]
    assert files[0] == files[2] != files[1]
    events = EventAccumulator(str(folder), size_guidance={"images": 0}).Reload()
    assert [one.step for one in events.Images("images/reconstructions")] == [2, 4]
    assert objective.training


@pytest.mark.slow
def test_frequent_validations_draw_ever_less_often(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dislab.callbacks.pictures._picture._SPACING", 6)
    runner = trainer(callbacks=[Reconstructions(count=2)], max_steps=21, val_check_interval=1)
    runner.fit(objective, datamodule=data)
    names = sorted(path.stem for path in (tmp_path / "run" / "images").iterdir())
    steps = [int(name.rpartition("_")[2]) for name in names if name != "reconstructions"]
    assert steps == [1, 2, 4, 8, 14, 20]


def test_weights_are_drawn_once_until_they_change(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the last validation, the end of training and in the test that follows them."""
    drawn: list[int] = []
    grid = Reconstructions.grid

    def counted(
        self: Reconstructions, data: DataModule, module: Objective, precision: Precision
    ) -> ImageGrid:
        drawn.append(int(module.steps))
        return grid(self, data, module, precision)

    monkeypatch.setattr(Reconstructions, "grid", counted)
    runner = trainer(callbacks=[Reconstructions(count=2)], max_steps=4, val_check_interval=2)
    runner.fit(objective, datamodule=data)
    path = tmp_path / "run" / "images" / "reconstructions.png"
    kept = path.read_bytes()
    runner.test(objective, datamodule=data, verbose=False)
    assert drawn == [2, 4]
    assert path.read_bytes() == kept
    with torch.no_grad():
        for weight in objective.parameters():
            weight.mul_(2)
    runner.test(objective, datamodule=data, verbose=False)
    assert drawn == [2, 4, 4]
    assert path.read_bytes() != kept
    path.unlink()
    runner.test(objective, datamodule=data, verbose=False)
    assert path.is_file()
    # another model and other data are drawn, whatever their place in memory
    runner.test(deepcopy(objective), datamodule=data, verbose=False)
    runner.test(objective, datamodule=deepcopy(data), verbose=False)
    assert drawn == [2, 4, 4, 4, 4, 4]


def test_a_method_without_decoder_is_left_alone_with_one_line(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    without_decoder: Objective,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runner = trainer(callbacks=[Reconstructions()])
    with caplog.at_level(logging.INFO):
        runner.validate(without_decoder, datamodule=data, verbose=False)
        runner.test(without_decoder, datamodule=data, verbose=False)
    lines = [text for text in caplog.messages if text.startswith("Reconstructions")]
    lacks = "no posterior and no method reconstruct"
    assert lines == [f"Reconstructions: nothing to draw, as Autoencoder has {lacks}"]
    assert not list(tmp_path.rglob("*.png"))


def test_no_image_is_refused() -> None:
    with pytest.raises(InputError, match="count is 0"):
        Reconstructions(count=0)
