"""JMVAE and TELBO: joint models of images and symbols."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import SymbolBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import JMVAE, TELBO

NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
NAMES = ("x=low", "x=high", "y=low")
STEP = torch.tensor(0)
Gaussian = tuple[Tensor, Tensor]


def jmvae(**settings: Any) -> JMVAE:
    return JMVAE((1, 8, 8), NAMES, 3, *NETWORKS, hidden=(7,), **settings)


def telbo(**settings: Any) -> TELBO:
    return TELBO((1, 8, 8), NAMES, 3, *NETWORKS, hidden=(7,), **settings)


def batch() -> SymbolBatch:
    image = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    symbol = torch.tensor([[1.0, 0, 0], [0, 1, 1]], dtype=torch.float64)
    return SymbolBatch(image, symbol, torch.zeros(2, 2, dtype=torch.int64))


def joint_of(model: JMVAE | TELBO) -> Gaussian:
    features = model.joint.encoder(batch().image).relu()
    outputs = model.joint.joined(torch.cat((features, batch().symbol), 1))
    return outputs[:, :3], outputs[:, 3:]


def drawn(model: JMVAE | TELBO) -> dict[str, Tensor]:
    draws = model.draw(2, Stream(1))
    return {name: noise.double() for name, noise in draws.items()}


def pixels(model: JMVAE | TELBO, z: Tensor) -> Tensor:
    logits = model.decoder(z)
    return F.binary_cross_entropy_with_logits(logits, batch().image, reduction="sum") / 2


def attributes(model: JMVAE | TELBO, z: Tensor) -> Tensor:
    logits = model.symbol_decoder(z)
    return F.binary_cross_entropy_with_logits(logits, batch().symbol, reduction="sum") / 2


def kl(first: Gaussian, second: Gaussian | None = None) -> Tensor:
    other = second or (torch.zeros(()).double(), torch.zeros(()).double())
    normal = [torch.distributions.Normal(m, (0.5 * v).exp()) for m, v in (first, other)]
    return torch.distributions.kl_divergence(*normal).sum() / 2


def point(gaussian: Gaussian, noise: Tensor) -> Tensor:
    mean, log_var = gaussian
    return mean + (log_var / 2).exp() * noise


def test_the_joint_posterior_is_followed_by_the_single_ones() -> None:
    model = jmvae(alpha=0.3, symbol_weight=7.0).double()
    draws = drawn(model)
    joint = joint_of(model)
    z = point(joint, draws["noise"])
    image, symbol = model.encode(batch().image), model.encode_symbol(batch().symbol)
    expected = pixels(model, z) + 7 * attributes(model, z) + kl(joint)
    expected = expected + 0.3 * (kl(joint, image) + kl(joint, symbol))
    torch.testing.assert_close(
        model.losses(batch(), draws, STEP).loss, expected, rtol=1e-10, atol=0
    )


@pytest.mark.parametrize(("given", "alone"), [(None, 7.0), (3.0, 3.0)])
@pytest.mark.parametrize("experts", [True, False])
def test_the_triple_elbo_is_three_elbos(experts: bool, given: float | None, alone: float) -> None:
    model = telbo(experts=experts, symbol_weight=7.0, symbol_alone_weight=given).double()
    draws = drawn(model)
    joint, image = joint_of(model), model.encode(batch().image)
    symbol = model.encode_symbol(batch().symbol)
    z = point(joint, draws["noise"])
    expected = pixels(model, z) + 7 * attributes(model, z) + kl(joint)
    expected = expected + pixels(model, point(image, draws["image_noise"])) + kl(image)
    said = attributes(model, point(symbol, draws["symbol_noise"]))
    expected = expected + alone * said + kl(symbol)
    torch.testing.assert_close(
        model.losses(batch(), draws, STEP).loss, expected, rtol=1e-10, atol=0
    )


def gradient(model: TELBO, names: tuple[str, ...]) -> Tensor:
    """Gradient of some logged terms with respect to both decoders."""
    log = model.losses(batch(), drawn(model), STEP).log
    decoders = [*model.decoder.parameters(), *model.symbol_decoder.parameters()]
    terms = torch.stack([log[name] for name in names]).sum()
    found = torch.autograd.grad(terms, decoders, allow_unused=True, materialize_grads=True)
    return torch.cat([one.flatten() for one in found])


@pytest.mark.parametrize(
    ("stopped", "image", "symbol"),
    [(False, True, True), (True, False, False), ("image", False, True), ("symbol", True, False)],
)
def test_decoders_learn_from_the_joint_term_alone_where_asked(
    stopped: Any, image: bool, symbol: bool
) -> None:
    """The authors' code has a switch for each decoder; both are off unless given."""
    torch.manual_seed(0)
    model = telbo(joint_decoders=stopped).double()
    assert bool(gradient(model, ("image",)).any()) is image
    assert bool(gradient(model, ("symbol",)).any()) is symbol
    assert gradient(model, ("joint",)).any()
    assert telbo().joint_decoders is False


BLANK_TELBO = partial(telbo, experts=False)


def indifferent(model: Any) -> Any:
    """All outputs are 0, except that the joint posterior is N(1, 1) in each of three latents."""
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        model.joint.joined[-1].bias[:3] = 1.0
    return model.double()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # 64 pixels and three attributes at log 2 nats each; KL 3 · 1²/2 of N(1, 1) from N(0, 1)
        (jmvae, 64 * math.log(2) + 50 * 3 * math.log(2) + 1.5 + 0.1 * 2 * 1.5),
        (partial(jmvae, symbol_weight=1.0, alpha=1.0), 67 * math.log(2) + 1.5 + 2 * 1.5),
        # both terms of images have the pixels, both of symbols the attributes
        (BLANK_TELBO, 2 * 64 * math.log(2) + 2 * 50 * 3 * math.log(2) + 1.5),
        (partial(BLANK_TELBO, symbol_alone_weight=1.0), (128 + 51 * 3) * math.log(2) + 1.5),
        (partial(BLANK_TELBO, symbol_weight=1.0), 2 * 67 * math.log(2) + 1.5),
    ],
)
def test_numbers_by_hand(model: Any, expected: float) -> None:
    """Descriptions weigh 50 unless given, as in the code of Vedantam et al. (2018)."""
    blank = indifferent(model())
    loss = blank.losses(batch(), drawn(blank), STEP).loss.item()
    assert loss == pytest.approx(expected, rel=1e-12)


def test_what_a_description_leaves_open_changes_nothing() -> None:
    model = telbo()
    low, both = model.encode_symbol(torch.tensor([[1.0, 0, 0], [1, 0, 1]])).log_var
    assert (both < low).all()
    nothing = model.encode_symbol(torch.zeros(1, 3))
    assert not nothing.mean.any()
    assert not nothing.log_var.any()


@pytest.mark.parametrize("make", [jmvae, telbo])
def test_both_directions(make: Any) -> None:
    model = make()
    symbol, image = batch().symbol.float(), batch().image.float()
    noise = {"noise": torch.zeros(2, 3)}
    expected = model.decoder(model.encode_symbol(symbol).mean).sigmoid()
    assert torch.equal(model.sym2img(symbol, noise), expected)
    expected = model.symbol_decoder(model.encoder(image)[:, :3]).sigmoid()
    assert torch.equal(model.img2sym(image), expected)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"alpha is -0.1"):
        jmvae(alpha=-0.1)
    for make in (jmvae, telbo):
        with pytest.raises(InputError, match=r"symbol_weight is -1"):
            make(symbol_weight=-1.0)
    with pytest.raises(InputError, match=r"symbol_alone_weight is inf"):
        telbo(symbol_alone_weight=float("inf"))
    for cls in (JMVAE, TELBO):
        with pytest.raises(InputError, match=rf"{cls.__name__} got no symbol names"):
            cls((1, 8, 8), (), 3, *NETWORKS)
        with pytest.raises(InputError, match="latent_dim is 0"):
            cls((1, 8, 8), NAMES, 0, *NETWORKS)
        with pytest.raises(InputError, match="hidden is empty"):
            cls((1, 8, 8), NAMES, 3, *NETWORKS, hidden=())


@pytest.mark.parametrize("make", [jmvae, telbo])
def test_the_bound_of_images_alone_has_a_likelihood_of_pixels(make: Any) -> None:
    """ELBO(x) is a term of TELBO, and a score of both on every split."""
    model = make().double()
    z = torch.randn(2, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    assert model.pixel_loss(z, batch().image).item() == pytest.approx(pixels(model, z).item())
    with pytest.raises(InputError, match="z"):
        model.pixel_loss(z[:, :2], batch().image)
