from functools import partial
from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import MultiStepLR

from dislab.base import DataModule, Encoder, ImageBatch, ImageShape, PairBatch, Regularizer
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError, TrainingError
from dislab.functional.losses import kl_per_latent, negative_log_likelihood, sample
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation
from dislab.runs import load_run

STEP = torch.tensor(5)


def trainer(folder: Path, **settings: Any) -> pl.Trainer:
    return pl.Trainer(
        default_root_dir=folder,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        devices=1,
        **settings,
    )


def batch_of(data: DataModule) -> ImageBatch:
    index = torch.arange(0, 16, 2)
    return ImageBatch(data.images(index), torch.from_numpy(data.factors.positions(index)))


def test_the_loss_is_reconstruction_plus_penalties(make_vae: Any, data: DataModule) -> None:
    vae = make_vae()
    batch = batch_of(data)
    draws = vae.draw(8, Stream(0))
    loss, log = vae.losses(batch, draws, STEP)
    mean, log_var = vae.encoder(batch.image).chunk(2, 1)
    z = mean + (0.5 * log_var).exp() * draws["noise"]
    pixels = F.binary_cross_entropy_with_logits(vae.decoder(z), batch.image, reduction="sum") / 8
    kl = kl_per_latent(mean, log_var).sum() / 8
    torch.testing.assert_close(log["reconstruction"], pixels)
    torch.testing.assert_close(log["kl/kl"], kl)
    expected = pixels + kl + 35 * log["tc/tc"] + log["tc/discriminator_loss"]
    torch.testing.assert_close(loss, expected)


def test_codes_are_means_and_decoded_images_are_pixels(make_vae: Any, data: DataModule) -> None:
    vae = make_vae()
    image = batch_of(data).image
    posterior = vae.encode(image)
    assert torch.equal(vae.codes(image), posterior.mean)
    assert torch.equal(vae(image), posterior.mean)
    pixels = vae.decode(10 * posterior.mean)
    assert pixels.shape == image.shape
    assert 0 <= pixels.min() < pixels.max() <= 1


def test_draws_are_a_function_of_the_stream(make_vae: Any) -> None:
    vae = make_vae()
    first, again = (vae.draw(6, Stream(1)) for _ in range(2))
    assert set(first) == {"noise", "tc.permutation"}
    assert all(torch.equal(first[name], again[name]) for name in first)
    other = vae.draw(6, Stream(2))
    assert not torch.equal(first["noise"], other["noise"])


def test_regularizers_of_one_class_have_random_numbers_of_their_own() -> None:
    twice = partial(TotalCorrelation, width=8, depth=1)
    vae = VAE((1, 8, 8), 16, 3, MLPEncoder, MLPDecoder, {"near": twice, "far": twice})
    draws = vae.draw(64, Stream(0))
    assert not torch.equal(draws["near.permutation"], draws["far.permutation"])


def test_one_batch_reaches_every_parameter(make_vae: Any, data: DataModule) -> None:
    vae = make_vae()
    vae.losses(batch_of(data), vae.draw(8, Stream(0)), STEP).loss.backward()
    without = [name for name, p in vae.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_the_discriminator_is_part_of_the_checkpoint(
    make_vae: Any, data: DataModule, tmp_path: Path
) -> None:
    vae = make_vae()
    run = trainer(tmp_path, max_steps=3)
    run.fit(vae, data)
    run.save_checkpoint(tmp_path / "model.ckpt")
    loaded = load_run(tmp_path / "model.ckpt")
    assert loaded.state_dict().keys() == vae.state_dict().keys()
    assert any("tc.discriminator" in name for name in vae.state_dict())
    for name, value in vae.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name]), name
    assert int(loaded.steps) == 3


@pytest.mark.slow
def test_a_loaded_model_can_be_trained_and_stored_again(
    make_vae: Any, data: DataModule, tmp_path: Path
) -> None:
    run = trainer(tmp_path, max_steps=1)
    run.fit(make_vae(), data)
    run.save_checkpoint(tmp_path / "first.ckpt")
    second = load_run(tmp_path / "first.ckpt").train()
    run = trainer(tmp_path, max_steps=1)
    run.fit(second, data)
    run.save_checkpoint(tmp_path / "second.ckpt")
    third = cast("VAE", load_run(tmp_path / "second.ckpt"))
    image = batch_of(data).image
    assert torch.equal(third.codes(image), second.codes(image))
    tc: Any = third.regularizers["tc"]
    assert tc.lr == 3e-3


def test_the_discriminator_has_settings_of_its_own(make_vae: Any) -> None:
    vae = make_vae()
    optimizer = vae.configure_optimizers()
    model, critic = optimizer.param_groups
    assert (model["lr"], model["betas"]) == (1e-4, (0.9, 0.999))
    assert (critic["lr"], critic["betas"]) == (3e-3, (0.5, 0.9))
    tc: Any = vae.regularizers["tc"]
    assert {id(p) for p in critic["params"]} == {id(p) for p in tc.parameters()}
    count = sum(len(group["params"]) for group in optimizer.param_groups)
    assert count == len(list(vae.parameters()))


def test_a_large_discriminator_gradient_does_not_shrink_the_models(make_vae: Any) -> None:
    vae = make_vae()
    optimizer = vae.configure_optimizers()
    model, critic = optimizer.param_groups
    for group, size in ((model, 0.01), (critic, 1e6)):
        for parameter in group["params"]:
            parameter.grad = torch.full_like(parameter, size)
    before = [parameter.grad.clone() for parameter in model["params"]]
    norm = torch.stack([gradient.norm() for gradient in before]).norm()
    vae.configure_gradient_clipping(optimizer, 2 * float(norm), "norm")
    assert all(torch.equal(p.grad, old) for p, old in zip(model["params"], before, strict=True))
    clipped = torch.stack([parameter.grad.norm() for parameter in critic["params"]]).norm()
    assert clipped.item() == pytest.approx(2 * float(norm), rel=1e-3)


def test_annealing_counts_optimiser_steps_and_noise_counts_batches(
    make_vae: Any, data: DataModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vae = make_vae()
    seen = []
    draw = VAE.draw

    def noted(self: VAE, count: int, stream: Stream) -> Any:
        seen.append((int(self.steps), stream.step))
        return draw(self, count, stream)

    monkeypatch.setattr(VAE, "draw", noted)
    trainer(tmp_path, max_steps=3, accumulate_grad_batches=2, limit_val_batches=0).fit(vae, data)
    assert [steps for steps, _ in seen] == [0, 0, 1, 1, 2, 2]
    assert len({seed for _, seed in seen}) == 6
    assert int(vae.steps) == 3


def test_equal_seeds_train_equal_weights(make_vae: Any, data: DataModule, tmp_path: Path) -> None:
    def train(seed: int) -> Tensor:
        pl.seed_everything(seed, verbose=False)
        vae = make_vae()
        trainer(tmp_path, max_steps=5).fit(vae, data)
        return torch.cat([parameter.detach().flatten() for parameter in vae.parameters()])

    assert torch.equal(train(1), train(1))
    assert not torch.equal(train(1), train(2))


def test_validation_uses_the_same_noise_every_time(
    make_vae: Any, data: DataModule, tmp_path: Path
) -> None:
    vae = make_vae()
    losses = [trainer(tmp_path).validate(vae, data, verbose=False)[0] for _ in range(2)]
    assert losses[0] == losses[1]
    assert {"validation/loss", "validation/kl/kl", "validation/tc/tc"} <= losses[0].keys()


@pytest.mark.parametrize("log_every", [1, 100])
def test_a_loss_that_is_not_finite_stops_training_and_spares_the_checkpoint(
    make_vae: Any, data: DataModule, tmp_path: Path, log_every: int
) -> None:
    vae = make_vae()

    class Spoil(pl.Callback):
        def on_train_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
            if trainer.global_step == 4:
                with torch.no_grad():
                    vae.decoder.network[-2].bias.fill_(float("nan"))

    run = trainer(tmp_path, max_steps=8, log_every_n_steps=log_every, limit_val_batches=0)
    run.callbacks.append(Spoil())  # type: ignore[attr-defined]

    def train_and_save() -> None:
        run.fit(vae, data)
        run.save_checkpoint(tmp_path / "bad.ckpt")

    message = "reconstruction became NaN or infinite at optimiser step 4"
    with pytest.raises(TrainingError, match=message):
        train_and_save()
    assert not (tmp_path / "bad.ckpt").exists()


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (8, "became NaN or infinite at optimiser step 5"),
        # the loss of the last step is computed before the update that breaks the weights
        (5, "the weights became NaN or infinite at optimiser step 5"),
    ],
)
def test_training_of_few_steps_does_not_end_with_broken_weights(
    make_vae: Any, data: DataModule, tmp_path: Path, steps: int, message: str, checkpoints: bool
) -> None:
    vae = make_vae()

    class Spoil(pl.Callback):
        def on_before_optimizer_step(self, trainer: pl.Trainer, *_: Any) -> None:
            if trainer.global_step == 4:
                gradient = vae.decoder.network[-2].bias.grad
                assert gradient is not None
                gradient.fill_(float("nan"))

    run = trainer(tmp_path, max_steps=steps, limit_val_batches=0)
    if checkpoints:
        run.callbacks.append(ModelCheckpoint(tmp_path))  # type: ignore[attr-defined]
    run.callbacks.append(Spoil())  # type: ignore[attr-defined]
    with pytest.raises(TrainingError, match=message):
        run.fit(vae, data)
    for path in tmp_path.glob("*.ckpt"):
        assert torch.load(path, weights_only=True)["global_step"] < 5


def test_arguments_that_cannot_be() -> None:
    parts = (MLPEncoder, MLPDecoder)
    with pytest.raises(InputError, match="needs a regulariser"):
        VAE((1, 8, 8), 16, 3, *parts, {})
    with pytest.raises(InputError, match="latent_dim is 0"):
        VAE((1, 8, 8), 16, 0, *parts, {"kl": KL})

    def anonymous(latents: int, size: int) -> Regularizer:
        return KL(latents, size)

    with pytest.raises(InputError, match=r"regularizers|kl.*cannot be stored in a checkpoint"):
        VAE((1, 8, 8), 16, 3, *parts, {"kl": anonymous})


class Given(VAE):  # type: ignore[misc]  # own methods reach the same code
    """Takes a network as an object."""

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__((1, 8, 8), 16, 3, MLPEncoder, MLPDecoder, {"kl": KL})
        self.save_hyperparameters()
        self.net = net


def test_a_network_given_as_an_object_is_refused_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    with pytest.raises(InputError, match=r"^net: .* cannot be stored in a checkpoint"):
        Given(torch.nn.Linear(2, 3))
    assert [str(warning.message) for warning in recwarn] == []


def test_other_batches_are_refused_before_training(
    tmp_path: Path, make_vae: Any, data: DataModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(data), "batch_type", PairBatch)
    message = "ImageBatch, and SquareData delivers PairBatch; .* SingleData"
    with pytest.raises(InputError, match=message):
        trainer(tmp_path, max_steps=1).fit(make_vae(), datamodule=data)


def noisy_vae(**settings: Any) -> VAE:
    parts = (partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,)))
    return VAE((1, 8, 8), 16, 3, *parts, {"kl": KL}, **settings)


def test_input_noise_reaches_the_encoder_alone_and_in_training_alone(data: DataModule) -> None:
    vae, batch = noisy_vae(input_noise=(0.1, 0.2)), batch_of(data)
    draws = vae.draw(8, Stream(0))
    seen = []
    vae.encoder.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    log = vae.losses(batch, draws, STEP).log
    coarse = F.interpolate(draws["coarse"], (8, 8), mode="bilinear")
    torch.testing.assert_close(seen[0], batch.image + 0.1 * draws["fine"] + 0.2 * coarse)
    vae.checks_pixels = False  # of the noisy images, which only a loss encodes unasked
    z = sample(*vae.encode(seen[0]), draws["noise"])
    pixels = F.binary_cross_entropy_with_logits(vae.decoder(z), batch.image, reduction="sum") / 8
    torch.testing.assert_close(log["reconstruction"], pixels)
    clean = noisy_vae().draw(8, Stream(0))
    assert clean.keys() == {"noise"}
    assert torch.equal(clean["noise"], draws["noise"])
    assert vae.eval().draw(8, Stream(0)).keys() == {"noise"}


def test_the_discretized_likelihood_learns_its_scale(data: DataModule) -> None:
    vae, batch = noisy_vae(likelihood="discretized"), batch_of(data)
    draws = vae.draw(8, Stream(0))
    loss, log = vae.losses(batch, draws, STEP)
    z = sample(*vae.encode(batch.image), draws["noise"])
    scale = vae.pixels.log_scale
    assert scale is not None
    expected = negative_log_likelihood(vae.decoder(z), batch.image, "discretized", scale)
    torch.testing.assert_close(log["reconstruction"], expected)
    loss.backward()  # type: ignore[no-untyped-call]
    assert scale.grad is not None
    assert scale.grad != 0
    assert "pixels.log_scale" not in noisy_vae().state_dict()


def test_a_schedule_halves_the_learning_rate_at_given_optimiser_steps(
    data: DataModule, tmp_path: Path
) -> None:
    vae = noisy_vae(scheduler=partial(MultiStepLR, milestones=[2, 4], gamma=0.5))
    rates = []

    class Note(pl.Callback):
        def on_before_optimizer_step(
            self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
        ) -> None:
            rates.append(optimizer.param_groups[0]["lr"])

    settings = {"accumulate_grad_batches": 2, "limit_val_batches": 0, "gradient_clip_val": 1.0}
    trainer(tmp_path, max_steps=6, callbacks=[Note()], **settings).fit(vae, data)
    assert rates == [1e-4, 1e-4, 5e-5, 5e-5, 2.5e-5, 2.5e-5]


class UnbegunEncoder(Encoder):
    """Forgets its base class, and has no layers whose assignment would say so."""

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        self.outputs = outputs

    def forward(self, image: Tensor) -> Tensor:
        return image.flatten(1)[:, : self.outputs]


class UnbegunPenalty(Regularizer):
    def __init__(self, latent_dim: int, train_size: int) -> None:
        self.weight = 1.0

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    "parts", [{"encoder": UnbegunEncoder}, {"regularizers": {"kl": UnbegunPenalty}}]
)
def test_a_part_that_forgets_its_base_class_is_named(parts: dict[str, Any]) -> None:
    settings = {"encoder": MLPEncoder, "decoder": MLPDecoder, "regularizers": {"kl": KL}} | parts
    with pytest.raises(InputError, match=r"^Unbegun\w+.__init__ does not call super\(\).__init__"):
        VAE(image_shape=(1, 8, 8), train_size=12, latent_dim=3, **settings)  # type: ignore[arg-type]
