"""The purpose of β-VAE_DAE, in small: images that are right in another network's features."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import ImageBatch, Objective
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE, BetaVAEDAE, DenoisingAutoencoder
from dislab.objectives.beta_vae_dae import feature_distance
from dislab.regularizers import KL

SHAPE = (1, 32, 32)
NETWORKS = partial(MLPEncoder, hidden=(128,)), partial(MLPDecoder, hidden=(128, 128))


def greys(image: Tensor) -> Tensor:
    """The images between two levels of grey each, so that no pixel is always black."""
    generator = torch.Generator().manual_seed(9)
    back, front = (torch.rand(len(image), 1, 1, 1, generator=generator) / 2 for _ in range(2))
    return back + (0.5 + front - back) * image


@pytest.mark.slow
def test_features_are_nearer_and_pixels_farther_than_with_a_pixel_loss(
    toy: Any, train: Any, save: Callable[[Objective, str], str]
) -> None:
    """1.02 for the β-VAE at 7.7 nats, 0.52 at 9.2 nats; 1.91 and 1.26 at 5.6 and 6.0 nats."""
    image = greys(toy.image)

    def batch(index: Tensor) -> ImageBatch:
        return ImageBatch(image[index], toy.factors[index])

    torch.manual_seed(0)
    dae = DenoisingAutoencoder(SHAPE, partial(MLPEncoder, hidden=(64,)), NETWORKS[1], bottleneck=50)
    train(dae, batch, len(image), 3000, 1e-3)
    torch.manual_seed(0)
    featured = BetaVAEDAE(SHAPE, 6, *NETWORKS, save(dae, "dae"), beta=0.2)
    torch.manual_seed(0)
    plain = VAE(SHAPE, len(image), 6, *NETWORKS, {"kl": KL})
    apart, pixels = [], []
    for model in (featured, plain):
        train(model, batch, len(image), 1500, 2e-3)
        with torch.no_grad():
            drawn = model.decode(model.codes(image))
            apart.append(feature_distance(dae.codes(drawn), dae.codes(image)))
            pixels.append(F.mse_loss(drawn, image))
    assert apart[0] < 0.75 * apart[1]
    assert pixels[0] > 2 * pixels[1]
