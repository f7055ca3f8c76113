from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from dislab.base import DataModule, ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import DenoisingAutoencoder
from dislab.objectives.denoising_autoencoder import occlude

NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))


def test_the_target_is_whole_and_the_input_is_not(data: DataModule) -> None:
    model = DenoisingAutoencoder((1, 8, 8), *NETWORKS, bottleneck=5).double()
    image = data.images(torch.arange(3)).double()
    corners = torch.tensor([[0.0, 1.0, 0.0, 1.0]] * 3)
    batch = ImageBatch(image, torch.zeros(3, 2, dtype=torch.int64))
    loss = model.losses(batch, {"corners": corners}, torch.tensor(0)).loss
    blank = model.decoder(model.encoder(torch.zeros_like(image)))
    expected = F.binary_cross_entropy_with_logits(blank, image, reduction="sum") / 3
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)


def test_codes_and_reconstructions_are_of_whole_images(data: DataModule) -> None:
    model = DenoisingAutoencoder((1, 8, 8), *NETWORKS, bottleneck=5)
    image = data.images(torch.arange(3))
    assert torch.equal(model.codes(image), model.encoder(image))
    assert torch.equal(model.reconstruct(image), model.decoder(model.encoder(image)).sigmoid())
    with pytest.raises(InputError, match="DenoisingAutoencoder has no posterior"):
        model.encode(image)


def test_each_image_has_a_rectangle_of_its_own() -> None:
    model = DenoisingAutoencoder((1, 8, 8), *NETWORKS)
    corners = model.draw(1000, Stream(0))["corners"]
    assert corners.shape == (1000, 4)
    assert len(torch.unique(corners, dim=0)) == 1000
    sides = (corners[:, 0] - corners[:, 1]).abs()
    assert sides.mean().item() == pytest.approx(1 / 3, abs=0.03)


def test_a_bottleneck_without_units_is_refused() -> None:
    with pytest.raises(InputError, match="bottleneck is 0"):
        DenoisingAutoencoder((1, 8, 8), *NETWORKS, bottleneck=0)


@pytest.mark.slow
def test_it_fills_in_what_is_hidden(toy: Any, train: Any) -> None:
    """Where a rectangle hides a part of the shape, the drawn image is closer to the whole one."""
    torch.manual_seed(0)
    model = DenoisingAutoencoder(
        (1, 32, 32), partial(MLPEncoder, hidden=(256,)), partial(MLPDecoder, hidden=(256,)), 20
    )
    train(model, lambda i: ImageBatch(toy.image[i], toy.factors[i]), len(toy.image), 1500, 2e-3)
    drawn = model.draw(len(toy.image), Stream(1))
    shown = occlude(toy.image, drawn["corners"])
    with torch.no_grad():
        filled = model.reconstruct(shown)
    hidden = (shown - toy.image).square().sum((1, 2, 3))
    some = (hidden > 10) & (hidden < 0.6 * toy.image.sum((1, 2, 3)))
    left = (filled - toy.image).square().sum((1, 2, 3))
    assert left[some].mean() < 0.6 * hidden[some].mean()


def test_the_rectangle_is_where_its_sides_say() -> None:
    image = torch.ones(2, 3, 4, 8)
    corners = torch.tensor([[0.5, 0.25, 0.0, 0.5], [0.0, 1.0, 0.9, 0.6]])
    hidden = occlude(image, corners) == 0
    assert torch.equal(hidden[:, 0], hidden[:, 2])
    first, second = hidden[:, 0]
    assert first.nonzero().tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    # centres of the rows lie at 1/8, 3/8, 5/8 and 7/8
    assert second.nonzero().tolist() == [[row, column] for row in (2, 3) for column in range(8)]
