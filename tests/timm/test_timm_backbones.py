import re
import subprocess
import sys
from functools import partial

import pytest
import torch

from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import TimmEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.testing import check_encoder

SHAPE = (1, 64, 64)


@pytest.mark.parametrize(
    ("backbone", "shape"),
    [
        ("resnet18", (1, 64, 64)),
        ("efficientnet_b0", (3, 64, 64)),
        ("vit_tiny_patch16_224", (2, 64, 64)),
        ("convnext_atto", (5, 32, 96)),
    ],
)
def test_backbones_of_every_kind_take_any_channels(
    backbone: str, shape: tuple[int, int, int]
) -> None:
    check_encoder(partial(TimmEncoder, backbone=backbone), shape)


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", refuse)
    assert TimmEncoder(SHAPE, 6)(torch.rand(2, *SHAPE)).shape == (2, 6)


def test_a_vae_trains_with_a_backbone() -> None:
    torch.manual_seed(0)
    encoder, decoder = partial(TimmEncoder, backbone="resnet18"), partial(MLPDecoder, hidden=(32,))
    vae = VAE(SHAPE, 100, 3, encoder, decoder, {"kl": KL})
    batch = ImageBatch(torch.rand(8, *SHAPE), torch.zeros(8, 2, dtype=torch.int64))
    optimizer = torch.optim.Adam(vae.parameters(), 1e-3)
    losses = []
    for step in range(12):
        draws = vae.draw(8, Stream(0, step))
        loss = vae.losses(batch, draws, torch.tensor(step)).loss
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 10


def test_names_and_sizes_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"no backbone 'resnet19'; it has .*resnet"):
        TimmEncoder(SHAPE, 6, backbone="resnet19")
    for backbone in ("xcit_nano_12_p16_224", "levit_128s"):  # when made; when it sees an image
        with pytest.raises(InputError, match=rf"{backbone} refuses 1×50×50 images"):
            TimmEncoder((1, 50, 50), 6, backbone=backbone)


def test_a_torchvision_that_does_not_fit_is_one_message() -> None:
    """In processes of their own, without the operators that conftest.py declares."""
    if subprocess.run([sys.executable, "-c", "import torchvision"], check=False).returncode == 0:
        pytest.skip("here torchvision fits")
    for command in (["-m", "dislab", "fit"], ["-c", "import dislab.encoders"]):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=False
        )
        last = done.stderr.splitlines()[-1]
        assert re.search(r"torchvision \S+ does not fit torch \S+ \(.*nms", last)
        assert ("Traceback" in done.stderr) == (command[0] == "-c")
