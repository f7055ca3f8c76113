import base64
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from tests.report.cases import Own, vae
from torch import nn

from dislab.base import Decoder, Objective
from dislab.decoders import (
    ConvDecoder64,
    ConvGenerator,
    MLPDecoder,
    ResidualDecoder128,
    SpatialBroadcastDecoder,
)
from dislab.encoders import MLPEncoder
from dislab.objectives import InfoGAN
from dislab.report import network
from dislab.report.network import network_of, rounded_decoder


def infogan() -> InfoGAN:
    torch.manual_seed(0)
    generator = partial(ConvGenerator, channels=(4, 2), hidden=5)
    critic = partial(MLPEncoder, hidden=(4,))
    made = InfoGAN((1, 8, 8), generator, critic, noise_dim=2, categorical=(3,), continuous=1)
    return made.eval()


@pytest.mark.parametrize(
    ("module", "kinds"),
    [
        (
            lambda: vae(partial(MLPDecoder, hidden=(5,)), (1, 4, 4)),
            ["linear", "tanh", "linear", "shape", "sigmoid"],
        ),
        (
            lambda: vae(partial(ConvDecoder64, preset="kim"), (1, 64, 64)),
            ["linear", "relu"] * 2 + ["shape"] + ["deconv", "relu"] * 3 + ["deconv", "sigmoid"],
        ),
        (
            lambda: vae(
                partial(SpatialBroadcastDecoder, channels=(4,)), (3, 8, 6), likelihood="gaussian"
            ),
            ["broadcast", "conv", "relu", "conv", "clamp"],
        ),
        (
            infogan,
            [
                "codes",
                "linear",
                "norm",
                "relu",
                "linear",
                "shape",
                "norm",
                "relu",
                "deconv",
                "norm",
                "relu",
                "deconv",
                "sigmoid",
            ],
        ),
    ],
)
def test_a_decoder_goes_into_a_page(module: Callable[[], Objective], kinds: list[str]) -> None:
    made = module()
    found = network_of(made)
    assert not isinstance(found, str), found
    assert [layer["kind"] for layer in found.layers] == kinds
    numbers = np.frombuffer(base64.b64decode(found.weights), dtype="<f2")
    assert len(numbers) == found.parameters
    assert len(numbers) == sum(sum(layer.get("sizes", ())) for layer in found.layers)
    decoder = next(part for part in made.children() if isinstance(part, Decoder))
    rounded = torch.cat([one.detach().ravel() for one in rounded_decoder(decoder).parameters()])
    np.testing.assert_array_equal(numbers.astype(np.float32), rounded.numpy())
    assert 0 < found.rounding < 1e-2


@pytest.mark.parametrize("bias", [0.1, 0.3])
def test_pixels_that_rounding_darkens_count_like_those_it_brightens(bias: float) -> None:
    made = vae(partial(MLPDecoder, hidden=(5,)), (1, 4, 4))
    *_, last = (part for part in made.decoder.modules() if isinstance(part, nn.Linear))
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(bias)
        exact, rounded = last.bias.sigmoid(), last.bias.half().float().sigmoid()
    found = network_of(made)
    assert not isinstance(found, str)
    assert found.rounding == pytest.approx((exact - rounded).abs().max().item(), rel=1e-3)


def enlarged() -> Objective:
    made = vae(partial(MLPDecoder, hidden=(5,)), (1, 4, 4))
    with torch.no_grad():
        next(made.decoder.parameters()).fill_(1e5)  # more than half precision holds
    return made


def with_another_decoding() -> Objective:
    made = vae(partial(MLPDecoder, hidden=(5,)), (1, 4, 4))
    made.decode = lambda z: made.decoder(-z).sigmoid()  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (lambda: vae(Own, (1, 4, 4)), "the page cannot compute Own"),
        (
            lambda: vae(ResidualDecoder128, (1, 128, 128)),
            "the page cannot compute ResidualDecoder128",
        ),
        (enlarged, "half-precision weights would change its pixels by nan"),
        (with_another_decoding, "VAE does more than decode its codes"),
    ],
)
def test_images_of_other_decoders_are_decoded_beforehand(
    module: Callable[[], Objective], reason: str
) -> None:
    assert network_of(module()) == reason


def test_the_decoder_of_a_model_inside_another_is_found() -> None:
    made = vae(partial(MLPDecoder, hidden=(5,)), (1, 4, 4))
    decoder = made.decoder
    made.inside = nn.ModuleList([made.encoder, decoder])
    del made.decoder
    made.decode = lambda z: decoder(z).sigmoid()  # type: ignore[method-assign]
    assert not isinstance(network_of(made), str)


def test_a_decoder_that_is_too_large_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "MOST_PARAMETERS", 50)
    found = network_of(vae(partial(MLPDecoder, hidden=(5,)), (1, 4, 4)))
    assert found == "its 116 parameters would make the page too large"
