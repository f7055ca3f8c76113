import re
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from dislab.base import ImageBatch
from dislab.decoders import ResidualDecoder128
from dislab.encoders import ConvCritic, ConvEncoder64, MLPEncoder, ResidualEncoder128, TimmEncoder
from dislab.encoders.conv_encoder64 import Preset64
from dislab.errors import InputError
from dislab.functional.networks import GatedBlock
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL


@pytest.mark.parametrize(
    ("preset", "channels", "parameters"),
    [
        ("burgess", 1, 252_052),
        ("locatello", 1, 309_204),
        ("kim", 1, 249_172),
        ("montero", 1, 448_724),
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
        ("montero", [4, 4, 4, 4], [32, 32, 64, 64]),
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


def test_kaiming_starts_every_layer_with_weights_for_rectifiers() -> None:
    encoder = ConvEncoder64((1, 64, 64), 20, preset="montero", initialization="kaiming")
    layers = [one for one in encoder.modules() if isinstance(one, nn.Conv2d | nn.Linear)]
    assert len(layers) == 4 + 3
    for layer in layers:
        inputs = layer.weight[0].numel()
        bound = (6 / inputs) ** 0.5
        assert bound * 0.98 < layer.weight.abs().max() <= bound
        assert layer.bias is not None
        assert 0 < layer.bias.abs().max() <= inputs**-0.5  # PyTorch's own


def test_the_critic_of_mnist_reads_codes_through_a_layer_of_their_own() -> None:
    """Chen et al. (2016), appendix C.1: FC 1024, then one output, or FC 128 and the codes."""
    critic = ConvCritic((1, 28, 28), 13, recognition_hidden=128)
    shapes = [tuple(one.weight.shape) for one in critic.modules() if isinstance(one, nn.Linear)]
    assert shapes == [(1024, 128 * 7 * 7), (1, 1024), (128, 1024), (12, 128)]
    image = torch.rand(3, 1, 28, 28)
    outputs = critic(image)
    assert outputs.shape == (3, 13)
    outputs[:, 0].sum().backward()
    idle = {
        name for name, one in critic.named_parameters() if one.grad is None or not one.grad.any()
    }
    assert idle == {name for name, _ in critic.named_parameters() if name.startswith("recognition")}


def test_the_critic_without_such_a_layer_keeps_its_parameters() -> None:
    names = [name for name, _ in ConvCritic((1, 8, 8), 5, (4,), 8, False).named_parameters()]
    assert {name.split(".")[0] for name in names} == {"network"}


def test_mlp_has_the_papers_layers() -> None:
    encoder = MLPEncoder((1, 64, 64), 20)
    shapes = [tuple(p.shape) for p in encoder.parameters() if p.ndim == 2]
    assert shapes == [(1200, 4096), (1200, 1200), (20, 1200)]
    assert MLPEncoder((3, 5, 7), 4, hidden=(8,))(torch.rand(2, 3, 5, 7)).shape == (2, 4)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(
        InputError, match=r"64×64 images, not 32×64; set resize: 64 .*, or side: 64 .*MLPEncoder"
    ):
        ConvEncoder64((1, 32, 64), 20)
    with pytest.raises(InputError, match="hidden is 0"):
        ConvEncoder64((1, 64, 64), 20, hidden=0)
    with pytest.raises(InputError, match="hidden is 0"):
        MLPEncoder((1, 8, 8), 20, hidden=(4, 0))
    with pytest.raises(InputError, match="recognition_hidden is 0"):
        ConvCritic((1, 8, 8), 5, recognition_hidden=0)
    with pytest.raises(InputError, match="recognition_hidden needs a second output"):
        ConvCritic((1, 8, 8), 1, recognition_hidden=4)


def test_the_residual_encoder_has_the_papers_size() -> None:
    encoder = ResidualEncoder128((3, 128, 128), 20)
    assert sum(parameter.numel() for parameter in encoder.parameters()) == 8_204_190
    gates = [one for one in encoder.modules() if isinstance(one, GatedBlock)]
    convolutions = [one for one in encoder.modules() if isinstance(one, nn.Conv2d)]
    assert (len(gates), len(convolutions)) == (10, 23)


def test_stages_of_the_residual_encoder_and_blocks_that_begin_as_identity() -> None:
    encoder = ResidualEncoder128((3, 128, 128), 20)
    shapes = []

    def note(_: nn.Module, given: tuple[Tensor], out: Tensor) -> None:
        assert torch.equal(given[0], out)
        shapes.append(tuple(out.shape[1:]))

    for block in encoder.modules():
        if isinstance(block, GatedBlock):
            block.register_forward_hook(note)
    encoder(torch.rand(2, 3, 128, 128))
    stages = [(64, 64), (128, 32), (128, 16), (256, 8), (256, 4)]
    assert shapes == [(width, side, side) for width, side in stages for _ in range(2)]


def test_a_1x1_convolution_and_a_pool_change_places() -> None:
    features = torch.rand(2, 4, 8, 8, dtype=torch.float64)
    pool, mix = nn.AvgPool2d(2), nn.Conv2d(4, 6, 1).double()
    torch.testing.assert_close(mix(pool(features)), pool(mix(features)))


def test_the_residual_encoders_heads_begin_as_published() -> None:
    encoder = ResidualEncoder128((1, 128, 128), 20)
    assert isinstance(encoder.trunk[-1], nn.LayerNorm)
    bound = 512**-0.5
    mean, log_var = encoder.head.weight.chunk(2)
    assert 0.9 * bound < mean.abs().max() <= bound
    assert 0.09 * bound < log_var.abs().max() <= 0.1 * bound
    assert encoder.head.bias[:10].abs().max() > 0
    assert (encoder.head.bias[10:] == -1).all()
    log_var = encoder(torch.rand(4, 1, 128, 128))[:, 10:]
    assert (log_var + 1).abs().max() < 0.5


@pytest.mark.slow
def test_a_residual_vae_of_two_128x128_images_takes_a_step() -> None:
    parts = ResidualEncoder128, ResidualDecoder128
    vae = VAE((3, 128, 128), 100, 10, *parts, {"kl": KL})
    batch = ImageBatch(torch.rand(2, 3, 128, 128), torch.zeros(2, 1, dtype=torch.int64))
    draws = vae.draw(2, Stream(0))
    loss = vae.losses(batch, draws, torch.tensor(0)).loss
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.isfinite()
    gates = [block.gate for block in vae.modules() if isinstance(block, GatedBlock)]
    assert len(gates) == 20
    assert all(gate.grad is not None and gate.grad != 0 for gate in gates)


def test_residual_sizes_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"128×128 images, not 64×64"):
        ResidualEncoder128((1, 64, 64), 20)
    with pytest.raises(InputError, match=r"an even number, not 7"):
        ResidualEncoder128((1, 128, 128), 7)


def without(monkeypatch: pytest.MonkeyPatch, folder: Path, error: Exception) -> None:
    """Lets the import of timm fail with the error, in a module of that name."""
    folder.mkdir()
    (folder / "timm.py").write_text(f"raise {error!r}\n")
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    monkeypatch.syspath_prepend(folder)


def test_timm_that_is_absent_or_does_not_fit_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(monkeypatch, tmp_path / "absent", ModuleNotFoundError("No module named 'timm'"))
    with pytest.raises(InputError, match=r"No module named 'timm'.*pip install 'dislab\[timm\]'"):
        TimmEncoder((1, 64, 64), 6)
    without(
        monkeypatch, tmp_path / "unfit", RuntimeError("operator torchvision::nms does not exist")
    )
    message = (
        rf"torchvision .* does not fit torch {re.escape(torch.__version__.split('+')[0])}.*nms"
    )
    with pytest.raises(InputError, match=message):
        TimmEncoder((1, 64, 64), 6)
