"""Methods take images of loaders and arrays that are not dislab's."""

from functools import partial
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from dislab.base import Objective
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE, AdaGVAE, DenoisingAutoencoder
from dislab.regularizers import KL

BYTES = torch.randint(
    256, (12, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
)
IMAGES = BYTES / 255
LABELS = torch.arange(12)
PARTS: dict[str, Any] = {
    "encoder": partial(MLPEncoder, hidden=(8,)),
    "decoder": partial(MLPDecoder, hidden=(8,)),
    "regularizers": {"kl": KL},
}


def vae(cls: type[Objective] = VAE) -> Objective:
    torch.manual_seed(0)
    settings: dict[str, Any] = {"image_shape": (1, 8, 8), "train_size": 12, "latent_dim": 3}
    return cls(**settings, **PARTS)


def trainer(**settings: Any) -> pl.Trainer:
    return pl.Trainer(
        max_steps=3,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        log_every_n_steps=1,
        **settings,
    )


@pytest.mark.parametrize(
    "items",
    [
        TensorDataset(BYTES),
        TensorDataset(IMAGES, LABELS),
        TensorDataset(IMAGES, torch.randn(12, 2)),
        list(IMAGES),
        ArrayDataset(BYTES.numpy(), LABELS.numpy()).as_torch(),
    ],
)
def test_a_method_trains_on_a_loader_of_torch(items: Any) -> None:
    losses = []
    for data in (items, TensorDataset(IMAGES)):
        model = vae()
        pl.seed_everything(1, verbose=False)
        loop = trainer()
        loop.fit(model, DataLoader(data, batch_size=4), DataLoader(data, batch_size=6))
        losses.append({name: float(one) for name, one in loop.callback_metrics.items()})
    assert losses[0] == losses[1]
    assert "validation/loss" in losses[0]


def test_predictions_have_codes_and_labels() -> None:
    model, loader = vae(), DataLoader(TensorDataset(IMAGES, LABELS), batch_size=12)
    predictions: Any = trainer().predict(model, loader)
    [found] = predictions
    assert torch.equal(found["codes"], model.codes(IMAGES))
    assert found["factors"].tolist() == LABELS[:, None].tolist()


@pytest.mark.filterwarnings("ignore:You defined a `validation_step` but have no")
@pytest.mark.parametrize(
    ("model", "items", "message"),
    [
        (
            AdaGVAE,
            TensorDataset(IMAGES),
            "the data loader delivers a list, and AdaGVAE learns from",
        ),
        (
            VAE,
            TensorDataset(IMAGES * 2),
            "the data loader delivers image with pixels from 0 to 1.9",
        ),
        (VAE, TensorDataset(IMAGES[:, 0]), r"delivers image of shape \(4, 8, 8\); it has shape"),
        (VAE, [{"image": one} for one in IMAGES], "the data loader delivers a dict, and VAE learn"),
    ],
)
def test_batches_that_are_no_images_are_explained(
    model: type[Objective], items: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        trainer().fit(vae(model), DataLoader(items, batch_size=4))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8])
def test_codes_of_arrays(kind: type) -> None:
    array: np.ndarray = (BYTES if kind is np.uint8 else IMAGES).numpy().astype(kind)
    array.setflags(write=False)
    for model in (
        vae(),
        DenoisingAutoencoder((1, 8, 8), PARTS["encoder"], PARTS["decoder"]),
    ):
        codes = model.codes(array)  # type: ignore[arg-type]
        assert torch.allclose(codes, model.codes(IMAGES), atol=1e-6)
        assert not codes.requires_grad
        assert model.codes(IMAGES).requires_grad
    with pytest.raises(InputError, match=r"images have shape \(12, 1, 4, 8\); VAE was made for"):
        vae().codes(array[:, :, :4])  # type: ignore[arg-type]
    assert torch.allclose(vae().encode(array).mean, vae().codes(IMAGES))  # type: ignore[arg-type]
