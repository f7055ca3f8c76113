"""Use of an objective without a trainer."""

import pytest
import torch
from lightning.pytorch import Trainer

from dislab.base.inference import precision_of


@pytest.mark.parametrize(
    "setting", [None, 32, "32", "32-true", 64, "64", "64-true", 16, "16-mixed", "bf16"]
)
@pytest.mark.filterwarnings("ignore:You passed .*AMP with fp16", "ignore:.precision=")
def test_the_precision_is_that_of_a_trainer(setting: str | int | None) -> None:
    trainer = Trainer(accelerator="cpu", devices=1, precision=setting, logger=False)  # type: ignore[arg-type]
    expected = trainer.precision_plugin
    found = precision_of(setting, torch.device("cpu"))
    assert type(found) is type(expected)
    assert found.precision == expected.precision
