from functools import partial
from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dislab.base import DataModule, ImageBatch
from dislab.callbacks import Evaluate, Reconstructions, Traversals
from dislab.decoders import MLPDecoder
from dislab.errors import InputError
from dislab.objectives import GroundTruthDecoder
from dislab.runs import load_run

NAMES, SIZES = ("x", "y"), (4, 4)
STEP = torch.tensor(0)


def make(**settings: Any) -> GroundTruthDecoder:
    return GroundTruthDecoder((1, 8, 8), NAMES, SIZES, partial(MLPDecoder, hidden=(8,)), **settings)


def batch() -> ImageBatch:
    image = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    return ImageBatch(image, torch.tensor([[0, 3], [1, 0], [2, 2]]))


def test_the_loss_is_that_of_the_decoded_normalised_factors() -> None:
    model = make().double()
    inputs = torch.tensor([[0, 3], [1, 0], [2, 2]], dtype=torch.float64) / 3
    logits = model.decoder(inputs)
    expected = F.binary_cross_entropy_with_logits(logits, batch().image, reduction="sum") / 3
    torch.testing.assert_close(model.losses(batch(), {}, STEP).loss, expected, rtol=1e-12, atol=0.0)


def test_a_one_hot_factor_reads_one_weight_a_value() -> None:
    model = make(one_hot=("y",)).double()
    network = cast("nn.Sequential", model.decoder.network)
    layer = cast("nn.Linear", network[0])
    assert layer.in_features == 5
    hidden = layer.weight[:, 0] * (2 / 3) + layer.weight[:, 1 + 3] + layer.bias
    expected = network[1:](hidden[None]).sigmoid()
    torch.testing.assert_close(model.render(torch.tensor([[2, 3]])), expected)


def test_it_has_no_codes_and_says_so() -> None:
    with pytest.raises(InputError, match="no codes: it draws images from true factors"):
        make().codes(batch().image.float())


def test_a_misspelt_factor_is_named() -> None:
    with pytest.raises(InputError, match=r"one_hot names no factor: 'z'; there are x, y"):
        make(one_hot=("z",))


def test_scores_and_pictures_cope(
    tmp_path: Path, data: DataModule, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(type(data), "test_dataloader", type(data).val_dataloader, raising=False)
    asked: Any = {"mig": lambda space: pytest.fail("scored")}
    runner = pl.Trainer(
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        max_steps=2,
        callbacks=[Evaluate(asked), Reconstructions(count=2), Traversals(images=2, steps=3)],
    )
    model = make()
    runner.fit(model, datamodule=data)
    runner.test(model, datamodule=data, verbose=False)
    pictures = {path.name for path in (tmp_path / "images").iterdir()}
    assert {"reconstructions.png", "traversals.png"} <= pictures
    record = (tmp_path / "scores.json").read_text()
    assert '"scores": {}' in record
    assert '"test/reconstruction"' in record
    runner.save_checkpoint(tmp_path / "model.ckpt")
    loaded = load_run(tmp_path / "model.ckpt")
    positions = torch.tensor([[1, 2]])
    assert torch.equal(loaded.render(positions), model.eval().render(positions))
