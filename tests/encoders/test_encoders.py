import pytest
import torch

from dislab.encoders import ConvEncoder64, MLPEncoder
from dislab.encoders.conv_encoder64 import Preset64
from dislab.errors import InputError


@pytest.mark.parametrize(
    ("preset", "channels", "parameters"),
    [
        ("burgess", 1, 252_052),
        ("locatello", 1, 309_204),
        ("kim", 1, 249_172),
        ("burgess", 3, 252_052 + 2 * 16 * 32),
        ("kim", 3, 115_392 + 2 * 16 * 32 + 1024 * 256 + 256 + 256 * 20 + 20),
    ],
)
def test_presets_have_their_papers_sizes(preset: Preset64, channels: int, parameters: int) -> None:
    encoder = ConvEncoder64((channels, 64, 64), 20, preset=preset)
    assert sum(parameter.numel() for parameter in encoder.parameters()) == parameters
    assert encoder(torch.rand(2, channels, 64, 64)).shape == (2, 20)


@pytest.mark.parametrize(
    ("preset", "kernels", "channels"),
    [
        ("burgess", [4, 4, 4, 4], [32, 32, 32, 32]),
        ("locatello", [4, 4, 2, 2], [32, 32, 64, 64]),
        ("kim", [4, 4, 4, 4], [32, 32, 64, 64]),
    ],
)
def test_presets_are_kept_apart(preset: Preset64, kernels: list[int], channels: list[int]) -> None:
    encoder = ConvEncoder64((1, 64, 64), 20, preset=preset)
    layers = [layer for layer in encoder.modules() if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.kernel_size[0] for layer in layers] == kernels
    assert [layer.out_channels for layer in layers] == channels
    image = torch.rand(1, 1, 64, 64)
    for size, layer in zip((32, 16, 8, 4), layers, strict=True):
        image = layer(image)
        assert image.shape[-2:] == (size, size)


def test_glorot_starts_with_bounded_weights_and_no_bias() -> None:
    encoder = ConvEncoder64((1, 64, 64), 20, preset="locatello", initialization="glorot")
    last = [layer for layer in encoder.modules() if isinstance(layer, torch.nn.Linear)][-1]
    bound = (6 / (256 + 20)) ** 0.5
    assert bound * 0.98 < last.weight.abs().max() <= bound
    assert not last.bias.any()


def test_mlp_has_the_papers_layers() -> None:
    encoder = MLPEncoder((1, 64, 64), 20)
    shapes = [tuple(p.shape) for p in encoder.parameters() if p.ndim == 2]
    assert shapes == [(1200, 4096), (1200, 1200), (20, 1200)]
    assert MLPEncoder((3, 5, 7), 4, hidden=(8,))(torch.rand(2, 3, 5, 7)).shape == (2, 4)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"64×64 images, not 32×64; MLPEncoder"):
        ConvEncoder64((1, 32, 64), 20)
    with pytest.raises(InputError, match="hidden is 0"):
        ConvEncoder64((1, 64, 64), 20, hidden=0)
    with pytest.raises(InputError, match="hidden is 0"):
        MLPEncoder((1, 8, 8), 20, hidden=(4, 0))
