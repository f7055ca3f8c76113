import pytest
import torch

from dislab.decoders import ConvDecoder64, MLPDecoder
from dislab.decoders.conv_decoder64 import Preset64
from dislab.errors import InputError


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [("burgess", 249_953), ("locatello", 381_313), ("kim", 248_833)],
)
def test_presets_have_their_papers_sizes(preset: Preset64, parameters: int) -> None:
    decoder = ConvDecoder64(10, (1, 64, 64), preset=preset)
    assert sum(parameter.numel() for parameter in decoder.parameters()) == parameters
    assert decoder(torch.randn(2, 10)).shape == (2, 1, 64, 64)


def test_the_output_is_not_squashed() -> None:
    decoder = ConvDecoder64(10, (3, 64, 64))
    output = decoder(1e4 * torch.randn(4, 10))
    assert output.min() < 0
    assert output.max() > 1


def test_mlp_has_the_papers_layers() -> None:
    decoder = MLPDecoder(10, (1, 64, 64))
    shapes = [tuple(p.shape) for p in decoder.parameters() if p.ndim == 2]
    assert shapes == [(1200, 10), (1200, 1200), (1200, 1200), (4096, 1200)]
    assert MLPDecoder(4, (3, 5, 7), hidden=(8,))(torch.rand(2, 4)).shape == (2, 3, 5, 7)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"64×64 images, not 64×32; MLPDecoder"):
        ConvDecoder64(10, (1, 64, 32))
    with pytest.raises(InputError, match="hidden is -1"):
        ConvDecoder64(10, (1, 64, 64), hidden=-1)
