import pytest
import torch
from torch import Tensor, nn

from dislab.decoders import (
    ConvDecoder64,
    MLPDecoder,
    ResidualDecoder128,
    SpatialBroadcastDecoder,
)
from dislab.decoders.conv_decoder64 import Preset64
from dislab.errors import InputError
from dislab.functional.networks import GatedBlock


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [("burgess", 249_953), ("locatello", 381_313), ("kim", 248_833), ("montero", 447_105)],
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
    with pytest.raises(
        InputError, match=r"64×64 images, not 64×32; set resize: 64 .*, or side: 64 .*MLPDecoder"
    ):
        ConvDecoder64(10, (1, 64, 32))
    with pytest.raises(InputError, match="hidden is -1"):
        ConvDecoder64(10, (1, 64, 64), hidden=-1)


def test_the_residual_decoder_has_the_papers_size() -> None:
    decoder = ResidualDecoder128(10, (3, 128, 128))
    assert sum(parameter.numel() for parameter in decoder.parameters()) == 8_201_869
    gates = [one for one in decoder.modules() if isinstance(one, GatedBlock)]
    convolutions = [one for one in decoder.modules() if isinstance(one, nn.Conv2d)]
    assert (len(gates), len(convolutions)) == (10, 23)
    last = convolutions[-1]
    assert (last.kernel_size, last.out_channels) == ((5, 5), 3)


def test_stages_of_the_residual_decoder() -> None:
    decoder = ResidualDecoder128(10, (3, 128, 128))
    shapes = []

    def note(_: nn.Module, given: tuple[Tensor], out: Tensor) -> None:
        assert torch.equal(given[0], out)
        shapes.append(tuple(out.shape[1:]))

    for block in decoder.modules():
        if isinstance(block, GatedBlock):
            block.register_forward_hook(note)
    assert decoder(torch.randn(2, 10)).shape == (2, 3, 128, 128)
    stages = [(256, 4), (256, 8), (128, 16), (128, 32), (64, 64)]
    assert shapes == [(width, side, side) for width, side in stages for _ in range(2)]
    with pytest.raises(InputError, match=r"128×128 images, not 64×64"):
        ResidualDecoder128(10, (1, 64, 64))


def test_the_broadcast_decoder_sees_nothing_but_latents_and_coordinates() -> None:
    decoder = SpatialBroadcastDecoder(4, (3, 6, 10), channels=(8,), kernel_size=1)
    seen = []
    decoder.network.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    z = torch.randn(2, 4)
    assert decoder(z).shape == (2, 3, 6, 10)
    assert torch.equal(seen[0][:, :4], z[:, :, None, None].expand(2, 4, 6, 10))
    torch.testing.assert_close(seen[0][1, 4, :, 3], torch.linspace(-1, 1, 6))
    torch.testing.assert_close(seen[0][1, 5, 3, :], torch.linspace(-1, 1, 10))
    assert decoder.state_dict().keys() == {f"network.{n}.{p}" for n in "02" for p in NAMES}


NAMES = ("weight", "bias")


def test_broadcast_sizes_that_cannot_be() -> None:
    with pytest.raises(InputError, match="kernel_size is 4; it must be odd"):
        SpatialBroadcastDecoder(4, (1, 8, 8), kernel_size=4)
    with pytest.raises(InputError, match="channels is 0"):
        SpatialBroadcastDecoder(4, (1, 8, 8), channels=(8, 0))
