"""Use of an objective without a trainer."""

from functools import partial

import numpy as np
import pytest
import torch
from lightning.pytorch import Trainer
from lightning.pytorch.plugins import Precision
from torch import Tensor, nn

from dislab.base.inference import over_images, precision_of
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.regularizers import KL


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


@pytest.mark.parametrize("fails", [False, True])
def test_images_are_encoded_in_evaluation_mode_and_every_mode_returns(fails: bool) -> None:
    """Dropout and the like neither disturb codes nor stay off afterwards."""
    model = VAE(
        (1, 16, 16),
        100,
        latent_dim=2,
        encoder=partial(MLPEncoder, hidden=(8,)),
        decoder=partial(MLPDecoder, hidden=(8,)),
        regularizers={"kl": KL},
    )
    model.dropout = nn.Dropout()
    model.train()
    model.decoder.eval()
    before = {name: part.training for name, part in model.named_modules()}
    seen: list[bool] = []

    def function(image: Tensor) -> Tensor:
        seen.extend(part.training for part in model.modules())
        seen.append(torch.is_grad_enabled())
        if fails:
            raise ArithmeticError
        return model.codes(image)

    data = SingleData(GaussianBlob(16), resize=16)
    arguments = (data, model, np.arange(6), 4, function, Precision())
    if fails:
        with pytest.raises(ArithmeticError):
            over_images(*arguments)
    else:
        assert over_images(*arguments).shape == (6, 2)
    assert seen
    assert not any(seen)
    assert {name: part.training for name, part in model.named_modules()} == before
