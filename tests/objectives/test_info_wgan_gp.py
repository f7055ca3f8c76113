from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor

from dislab.base import DataModule, EncoderBuilder, ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import ConvCritic, MLPEncoder
from dislab.errors import InputError
from dislab.functional.games import generator_input, gradient_penalty, recovered
from dislab.functional.streams import Stream
from dislab.objectives import InfoWGANGP

STEP = torch.tensor(0)


MLP = partial(MLPEncoder, hidden=(16,))
SMOOTH = partial(ConvCritic, channels=(4,), hidden=16)
"""Normalised: its gradient for images depends on them, unlike that of linear layers and ReLUs."""


def make(critic: EncoderBuilder = MLP, **settings: Any) -> InfoWGANGP:
    torch.manual_seed(0)
    return InfoWGANGP((1, 8, 8), partial(MLPDecoder, hidden=(16,)), critic, **settings)


def batch(count: int = 6) -> ImageBatch:
    image = torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    return ImageBatch(image, torch.zeros(count, 2, dtype=torch.int64))


def gradients(loss: Tensor, module: torch.nn.Module) -> list[Tensor]:
    given = torch.autograd.grad(
        loss, list(module.parameters()), retain_graph=True, materialize_grads=True
    )
    return list(given)


@pytest.mark.parametrize("network", [MLP, SMOOTH])
def test_each_player_gets_the_gradient_of_its_own_loss(network: EncoderBuilder) -> None:
    gan = make(network, weight=0.4, penalty=7.0)
    image = batch().image
    draws = gan.draw(6, Stream(2))
    loss, log = gan.losses(batch(), draws, STEP)
    category, continuous = draws["category"], draws["continuous"]
    fake = gan.generator(generator_input(draws["noise"], category, continuous, (3,))).sigmoid()
    on_fake, on_real = gan.critic(fake), gan.critic(image)
    bounds = recovered(on_fake[:, 1:], category, continuous, (3,))
    information = 0.4 * (bounds.categorical + bounds.continuous)
    generator = -on_fake[:, 0].mean() - information
    penalty = gradient_penalty(lambda x: gan.critic(x)[:, 0], image, fake.detach(), draws["mix"])
    critic = on_fake[:, 0].mean() - on_real[:, 0].mean() + 7 * penalty - information
    torch.testing.assert_close(gradients(loss, gan.generator), gradients(generator, gan.generator))
    torch.testing.assert_close(gradients(loss, gan.critic), gradients(critic, gan.critic))
    torch.testing.assert_close(log["critic"], critic)
    torch.testing.assert_close(log["generator"], generator)
    torch.testing.assert_close(log["gradient_penalty"], penalty)


class Watch(pl.Callback):
    """Notes after which steps the generator and the critic had moved."""

    def __init__(self) -> None:
        self.moved: dict[str, list[bool]] = {"generator": [], "critic": []}
        self.last: dict[str, Tensor] = {}

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        for name in self.moved:
            self.last[name] = next(pl_module.get_submodule(name).parameters()).detach().clone()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        for name, moved in self.moved.items():
            now = next(pl_module.get_submodule(name).parameters())
            moved.append(not torch.equal(now, self.last[name]))


def test_the_generator_learns_in_every_third_step(data: DataModule, make_trainer: Any) -> None:
    gan, watch = make(critic_steps=3), Watch()
    trainer = make_trainer(max_steps=7, callbacks=[watch])
    trainer.fit(gan, datamodule=data)
    assert watch.moved["critic"] == [True] * 7
    assert watch.moved["generator"] == [False, False, True, False, False, True, False]
    optimizer = trainer.optimizers[0]
    (steps,) = {int(optimizer.state[one]["step"]) for one in gan.generator.parameters()}
    assert steps == 2  # Adam's moments know nothing of the steps between


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_it_trains_and_goes_on_exactly(
    precision: Any, tmp_path: Path, data: DataModule, make_trainer: Any
) -> None:
    whole = make(critic_steps=3, lr=1e-2)
    make_trainer(max_steps=10, precision=precision).fit(whole, datamodule=data)
    first = make_trainer(max_steps=4, precision=precision)
    half = make(critic_steps=3, lr=1e-2)
    first.fit(half, datamodule=data)
    first.save_checkpoint(tmp_path / "half.ckpt")
    rest = make(critic_steps=3, lr=1e-2)
    make_trainer(max_steps=10, precision=precision).fit(
        rest, datamodule=data, ckpt_path=tmp_path / "half.ckpt", weights_only=True
    )
    for name, value in whole.state_dict().items():
        assert torch.equal(value, rest.state_dict()[name]), name
    assert not torch.equal(next(half.parameters()), next(rest.parameters()))


def test_codes_are_one_column_a_code() -> None:
    gan = make()
    image = batch().image
    assert torch.equal(gan.codes(image)[:, 1:], gan.critic(image)[:, 4:])
    assert gan.decode(gan.codes(image)).shape == image.shape


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critic_steps": 0}, "critic_steps is 0"),
        ({"penalty": -1.0}, "penalty is -1"),
        ({"weight": -0.1}, "weight is -0.1"),
        ({"betas": (-0.1, 0.9)}, r"betas has -0\.1"),
        ({"categorical": (), "continuous": 0}, "no code is given"),
    ],
)
def test_settings_that_make_no_game_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**settings)
