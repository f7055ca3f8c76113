from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import DataModule, ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.games import discriminator_loss, generator_input, generator_loss, recovered
from dislab.functional.streams import Stream
from dislab.objectives import InfoGAN, InfoWGANGP

STEP = torch.tensor(0)


def make(**settings: Any) -> InfoGAN:
    torch.manual_seed(0)
    parts = partial(MLPDecoder, hidden=(16,)), partial(MLPEncoder, hidden=(16,))
    common = {"noise_dim": 3, "categorical": (4,), "continuous": 2, **settings}
    return InfoGAN((1, 8, 8), *parts, **common)


def batch(count: int = 6) -> ImageBatch:
    image = torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    return ImageBatch(image, torch.zeros(count, 2, dtype=torch.int64))


def gradients(loss: Tensor, module: torch.nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(module.parameters()), retain_graph=True))


def test_each_player_gets_the_gradient_of_its_own_loss() -> None:
    gan = make(weight_categorical=0.7, weight_continuous=0.3)
    given = batch()
    draws = gan.draw(6, Stream(2))
    loss = gan.losses(given, draws, STEP).loss
    category, continuous = draws["category"], draws["continuous"]
    z = generator_input(draws["noise"], category, continuous, (4,))
    fake = gan.generator(z).sigmoid()
    on_fake, on_real = gan.critic(fake), gan.critic(given.image)
    bounds = recovered(on_fake[:, 1:], category, continuous, (4,))
    information = 0.7 * bounds.categorical + 0.3 * bounds.continuous
    generator = generator_loss(on_fake[:, 0]) - information
    critic = discriminator_loss(on_real[:, 0], on_fake[:, 0]) - information
    torch.testing.assert_close(gradients(loss, gan.generator), gradients(generator, gan.generator))
    torch.testing.assert_close(gradients(loss, gan.critic), gradients(critic, gan.critic))


def test_the_log_holds_both_losses_and_the_information() -> None:
    gan = make()
    log = gan.losses(batch(), gan.draw(6, Stream(2)), STEP).log
    assert set(log) == {
        "generator",
        "discriminator",
        "information/categorical",
        "information/continuous",
    }
    assert log["information/categorical"] <= torch.tensor(4.0).log()


def test_codes_are_one_column_a_code_and_images_follow_them() -> None:
    gan = make()
    image = batch().image
    codes = gan.codes(image)
    outputs = gan.critic(image)
    assert torch.equal(codes[:, 0], outputs[:, 1:5].argmax(1).float())
    assert torch.equal(codes[:, 1:], outputs[:, 5:7])
    z = torch.tensor([[2.0, 0.1, -0.3]])
    expected = gan.generator(
        torch.cat([torch.zeros(1, 3), F.one_hot(torch.tensor([2]), 4), z[:, 1:]], 1)
    )
    torch.testing.assert_close(gan.decode(z), expected.sigmoid())
    torch.testing.assert_close(gan.decode(torch.tensor([[2.4, 0.1, -0.3]])), gan.decode(z))
    highest = gan.decode(torch.tensor([[3.0, 0.1, -0.3]]))
    torch.testing.assert_close(gan.decode(torch.tensor([[9.0, 0.1, -0.3]])), highest)


def test_learned_deviations_have_outputs_of_their_own() -> None:
    assert make(std="learned").critic(batch().image).shape == (6, 1 + 4 + 2 + 2)
    assert make().critic(batch().image).shape == (6, 1 + 4 + 2)


@pytest.mark.parametrize(
    ("noise", "low", "high", "deviation"), [("normal", -9, 9, 1.0), ("uniform", -1, 1, 3**-0.5)]
)
def test_noise_is_normal_or_uniform(noise: str, low: float, high: float, deviation: float) -> None:
    drawn = make(noise=noise).draw(4000, Stream(2))["noise"]
    assert drawn.shape == (4000, 3)
    assert low < drawn.min() < -0.9 < 0.9 < drawn.max() < high
    assert drawn.std().item() == pytest.approx(deviation, rel=0.05)


def test_players_have_learning_rates_of_their_own() -> None:
    gan = make(generator_lr=0.5, critic_lr=0.25, betas=(0.1, 0.2))
    optimizer = gan.configure_optimizers()
    assert isinstance(optimizer, torch.optim.Adam)
    assert [(group["lr"], group["betas"]) for group in optimizer.param_groups] == [
        (0.5, (0.1, 0.2)),
        (0.25, (0.1, 0.2)),
    ]
    members = [{id(one) for one in group["params"]} for group in optimizer.param_groups]
    assert members[0] == {id(one) for one in gan.generator.parameters()}
    assert members[1] == {id(one) for one in gan.critic.parameters()}


@pytest.mark.parametrize("method", [InfoGAN, InfoWGANGP])
def test_pictures_get_samples_and_the_bounds_of_codes(method: Any) -> None:
    parts = partial(MLPDecoder, hidden=(16,)), partial(MLPEncoder, hidden=(16,))
    gan = method((1, 8, 8), *parts, noise_dim=3, categorical=(4, 2), continuous=1)
    made = gan.generate(5, Stream(2))
    draws = gan.draw(5, Stream(2))
    ones = [F.one_hot(draws["category"][:, i], size).float() for i, size in enumerate((4, 2))]
    z = torch.cat([draws["noise"], *ones, draws["continuous"]], 1)
    torch.testing.assert_close(made, gan.generator(z).sigmoid())
    found = [one.tolist() for one in gan.code_values(3)]
    assert found == [[0, 1, 2, 3], [0, 1], [-1, 0, 1]]


def test_it_has_no_posterior() -> None:
    with pytest.raises(InputError, match="InfoGAN has no posterior"):
        make().encode(batch().image)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"categorical": (), "continuous": 0}, "no code is given"),
        ({"categorical": (1,)}, "number of values in categorical is 1"),
        ({"continuous": -1}, "continuous is -1"),
        ({"noise_dim": -2}, "noise_dim is -2"),
        ({"weight_categorical": -1.0}, "weight_categorical is -1"),
        ({"critic_lr": float("nan")}, "critic_lr is nan"),
        ({"betas": (0.5, 1.0)}, r"betas has 1\.0"),
    ],
)
def test_settings_that_make_no_game_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**settings)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_it_trains_and_goes_on_exactly(
    precision: Any, tmp_path: Path, data: DataModule, make_trainer: Any
) -> None:
    whole = make()
    make_trainer(max_steps=6, precision=precision).fit(whole, datamodule=data)
    half = make()
    first = make_trainer(max_steps=4, precision=precision)
    first.fit(half, datamodule=data)
    first.save_checkpoint(tmp_path / "half.ckpt")
    rest = make()
    make_trainer(max_steps=6, precision=precision).fit(
        rest, datamodule=data, ckpt_path=tmp_path / "half.ckpt", weights_only=True
    )
    for name, value in whole.state_dict().items():
        assert torch.equal(value, rest.state_dict()[name]), name
    assert not torch.equal(next(half.parameters()), next(rest.parameters()))
