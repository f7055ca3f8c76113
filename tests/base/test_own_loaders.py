"""Methods take images of loaders and arrays that are not dislab's."""

import math
import re
from functools import partial
from typing import Any, cast

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

from dislab.base import ImageBatch, Objective
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import VAE, AdaGVAE, DenoisingAutoencoder, GroundTruthDecoder
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


@pytest.mark.every(4)
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
            "the data loader delivers image whose pixels are torch.float32 from 0 to 2: divide",
        ),
        (
            VAE,
            TensorDataset(BYTES % 2),
            "delivers image whose pixels are .* from 0 to .*: multiply",
        ),
        (
            VAE,
            TensorDataset(BYTES.int() * 16),
            "torch.int32 from 0 to 40.*: divide them by .* 4095",
        ),
        (VAE, TensorDataset(BYTES.long()), r"torch.int64 from 0 to 2.*: .* by images\.byte\(\)"),
        (VAE, TensorDataset(IMAGES * 2 - 1), r"from -1 to .*: map .* by \(images \+ 1\) / 2"),
        (VAE, TensorDataset(IMAGES * math.nan), "hold NaN or infinity; leave out such images"),
        (VAE, TensorDataset(IMAGES[:, 0]), r"delivers image of shape \(8, 8, 8\); it has shape"),
        (VAE, [{"image": one} for one in IMAGES], "the data loader delivers a dict, and VAE learn"),
    ],
)
def test_batches_that_are_no_images_are_explained(
    model: type[Objective], items: Any, message: str
) -> None:
    def run(stage: str) -> None:
        getattr(trainer(), stage)(vae(model), DataLoader(items, batch_size=8))

    for stage in ("fit", "validate", "test", "predict"):
        if stage != "predict" or model is VAE:  # predictions take single images
            with pytest.raises(InputError, match=message):
                run(stage)


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


@pytest.mark.parametrize("images", [BYTES, BYTES > 127])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("method", ["codes", "reconstruct", "encode"])
def test_bytes_and_booleans_in_tensors_are_encoded_as_those_in_arrays(
    images: torch.Tensor, training: bool, method: str
) -> None:
    model = vae().train(training)
    found, expected = (getattr(model, method)(rows) for rows in (images, images.numpy()))
    if method == "encode":
        found, expected = found.mean, expected.mean
    assert torch.equal(found, expected)
    assert found.requires_grad


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("images", "message"),
    [
        (BYTES.long(), r"int64 from 0 to .*: .* by images.astype\('uint8'\)"),
        (BYTES.int() * 257, "int32 from 0 to .*: divide them by the largest .* 65535"),
        (BYTES % 2, "uint8 from 0 to 1: make them booleans, or multiply them by 255"),
        (BYTES.float(), "float32 from 0 to .*: divide them by .* 255"),
        (IMAGES * 2 - 1, r"float32 from -.* to .*: map \[-1, 1\] to \[0, 1\]"),
        (IMAGES * math.nan, "hold NaN or infinity; leave out such images"),
        (BYTES % 2 / 255, "float32 from 0 to 0.0039.*: multiply them by 255"),
    ],
)
@pytest.mark.filterwarnings("ignore:You defined a `validation_step` but have no")
@pytest.mark.parametrize("method", ["codes", "encode", "reconstruct"])
def test_pixels_out_of_range_are_not_encoded(
    images: torch.Tensor, message: str, method: str
) -> None:
    model = vae()
    trainer().fit(model, DataLoader(TensorDataset(IMAGES), batch_size=4))
    for encode in (getattr(each, method) for each in (vae(), vae().eval(), model.eval())):
        with pytest.raises(InputError, match=f"images (are )?{message}"):
            encode(images.numpy())
        if images.is_floating_point():
            with pytest.raises(InputError, match=rf"images (are torch\.)?{message}"):
                encode(images)


def test_booleans_and_swapped_bytes_are_encoded() -> None:
    model = vae()
    for array in (IMAGES.numpy().astype(">f4"), IMAGES.double().numpy().astype(np.longdouble)):
        assert torch.allclose(model.codes(array), model.codes(IMAGES))  # type: ignore[arg-type]
    white = BYTES > 127
    codes = model.codes(white.numpy())  # type: ignore[arg-type]
    assert torch.equal(codes, model.codes(white.float()))


@pytest.mark.parametrize("images", [list(IMAGES.numpy()), Image.new("L", (8, 8)), None])
@pytest.mark.parametrize("method", ["codes", "encode", "reconstruct"])
def test_images_are_one_array(images: Any, method: str) -> None:
    message = (
        rf"{method} of VAE takes images as one array or tensor .*, not {type(images).__name__}"
    )
    with pytest.raises(InputError, match=message):
        getattr(vae(), method)(images)


def test_latents_are_decoded_from_arrays_too() -> None:
    model: Any = vae().eval()
    z = torch.randn(3, model.latent_dim, generator=torch.Generator().manual_seed(0))
    expected = model.decode(z).detach()
    for array in (z.numpy(), z.double().numpy(), z.numpy().astype(">f4")):
        images = model.decode(array)
        assert torch.equal(images, expected)
        assert not images.requires_grad
    for wrong in (z.tolist(), np.array(["a"]), None):
        with pytest.raises(InputError, match="decode of VAE takes latents as one array or tensor"):
            model.decode(wrong)


def test_factors_are_rendered_from_arrays_too() -> None:
    model: Any = GroundTruthDecoder((1, 8, 8), ("size",), (3,), PARTS["decoder"]).eval()
    positions = np.array([[0], [2]])
    expected = model.render(torch.from_numpy(positions)).detach()
    for array in (positions, positions.astype(np.uint8), positions.astype(">i4")):
        images = model.render(array)
        assert torch.equal(images, expected)
        assert not images.requires_grad
    for wrong in (positions.tolist(), positions / 2, None):
        message = "render of GroundTruthDecoder takes positions of factors as one array or tensor"
        with pytest.raises(InputError, match=message):
            model.render(wrong)


def test_transformations_of_torch_have_no_values_to_check() -> None:
    model = vae().eval()
    codes = torch.func.vmap(lambda image: model.codes(image[None])[0])(IMAGES)
    assert torch.allclose(codes, model.codes(IMAGES), atol=1e-6)


@pytest.mark.filterwarnings("ignore:You defined a `validation_step` but have no")
def test_loaders_of_booleans_train() -> None:
    loop = trainer()
    loop.fit(vae(), DataLoader(TensorDataset(BYTES > 127), batch_size=4))
    assert loop.global_step == 3


def _plain_loss(batch: Any, step: Any = 0, cls: type[Objective] = VAE) -> float:
    model: Any = vae(cls)
    return float(model.losses(batch, model.draw(12, Stream(0)), step).loss.detach())


@pytest.mark.parametrize("step", [0, torch.tensor(0)])
@pytest.mark.parametrize("batch", [BYTES, IMAGES, [IMAGES], (IMAGES, LABELS)])
def test_a_plain_loop_takes_batches_of_a_loader_as_a_trainer_does(batch: Any, step: Any) -> None:
    images = ImageBatch(IMAGES, torch.zeros(12, 0, dtype=torch.int64))
    assert _plain_loss(batch, step) == _plain_loss(images)


@pytest.mark.parametrize(
    ("batch", "message", "cls"),
    [
        (BYTES.float(), "from 0 to 255: divide them", VAE),
        (ImageBatch(BYTES.float(), LABELS[:, None]), "from 0 to 255: divide them", VAE),
        (IMAGES.double(), "pass images.to", VAE),
        (IMAGES.permute(0, 2, 3, 1), r"channels first: .*images\.permute\(0, 3, 1, 2\)", VAE),
        (ImageBatch(IMAGES, LABELS), "integers of shape", VAE),
        (IMAGES.numpy(), "the batch is a ndarray, and VAE learns from ImageBatch", VAE),
        (IMAGES, "the batch is a Tensor, and AdaGVAE learns from PairBatch", AdaGVAE),
    ],
)
def test_a_plain_loop_checks_its_first_batch(
    batch: Any, message: str, cls: type[Objective]
) -> None:
    with pytest.raises(InputError, match=message):
        _plain_loss(batch, cls=cls)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (IMAGES.mul(255), "from 0 to 255: divide them"),
        (ImageBatch(BYTES, LABELS[:, None]), "divide bytes by 255"),
        (IMAGES.sub(0.5), r"\[0, 1\]"),
        (ImageBatch(cast("Any", IMAGES.numpy()), LABELS[:, None]), "image as ndarray; every fi"),
    ],
)
def test_a_plain_loop_checks_the_pixels_of_every_batch(batch: Any, message: str) -> None:
    model: Any = vae()
    model.losses(IMAGES, model.draw(12, Stream(0)), 0)
    with pytest.raises(InputError, match=message):
        model.losses(batch, model.draw(12, Stream(0)), 1)


def test_a_later_batch_of_a_plain_loop_waits_for_no_other_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: Any = vae()
    model.losses(IMAGES, model.draw(12, Stream(0)), 0)
    monkeypatch.setattr("dislab.base._batches.gather_rows", None)  # as if no other one came
    model.losses(IMAGES, model.draw(12, Stream(0)), 1)
    with pytest.raises(TypeError):
        _plain_loss(IMAGES)


@pytest.mark.parametrize(
    ("draws", "fault"),
    [
        ({}, "draws of VAE lack 'noise'; they have nothing; its draw"),
        (
            {"noise": torch.zeros(11, 3)},
            "draws of VAE have 11 rows of 'noise', and the batch has 12",
        ),
        ({"nois": torch.zeros(12, 3)}, "draws of VAE lack 'noise'; they have 'nois'; its draw"),
        (None, "draws of VAE are NoneType, not tensors by their names; its draw"),
    ],
)
def test_missing_draws_are_named(draws: Any, fault: str) -> None:
    with pytest.raises(InputError, match=re.escape(fault)):
        vae().losses(ImageBatch(IMAGES, LABELS[:, None]), draws, 0)  # type: ignore[arg-type]


def test_losses_of_single_images_by_vmap_are_those_of_a_loop() -> None:
    images = IMAGES[:3, None]
    factors = torch.zeros(1, 0, dtype=torch.int64)

    def loss(model: Any, image: torch.Tensor) -> Any:
        return model.losses(ImageBatch(image, factors), model.draw(1, Stream(0)), 0).loss

    mapped = torch.func.vmap(partial(loss, vae()))(images)
    torch.testing.assert_close(mapped, torch.stack([loss(vae(), image) for image in images]))


def test_a_shape_with_the_channels_last_is_refused() -> None:
    with pytest.raises(InputError, match=r"channels last: give \(3, 64, 64\)"):
        VAE((64, 64, 3), 12, 3, **PARTS)


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        (VAE, ImageBatch(IMAGES * 2, LABELS[:, None]), "^the batch has image whose pixels are"),
        (
            VAE,
            ImageBatch(IMAGES, cast("Any", None)),
            r"^the batch has factors as NoneType; .*; without factors it is torch.zeros\(len",
        ),
        (
            AdaGVAE,
            IMAGES,
            "^the batch is a Tensor, and AdaGVAE learns from PairBatch.*; give one$",
        ),
    ],
)
def test_a_batch_that_a_caller_of_losses_gives_is_no_loaders(
    model: type[Objective], batch: Any, message: str
) -> None:
    method = vae(model)
    draws = method.draw(len(IMAGES), Stream(0))
    with pytest.raises(InputError, match=message):
        method.losses(batch, draws, torch.tensor(0))


def test_draws_take_a_seed_or_a_stream_and_no_generator_of_torch() -> None:
    model = vae()
    by_seed, by_stream = (
        model.draw(4, source) for source in (cast("Any", 1), model.prior_stream(1))
    )
    assert torch.equal(by_seed["noise"], by_stream["noise"])
    with pytest.raises((InputError, TypeError), match=r"Generator"):  # or of the import hook
        model.draw(4, cast("Any", torch.Generator()))
