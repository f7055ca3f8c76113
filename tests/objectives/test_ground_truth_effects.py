"""The purpose of a ground-truth decoder, in small: unseen combinations of seen factors."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.objectives import GroundTruthDecoder


@pytest.mark.slow
def test_it_draws_combinations_that_it_never_saw(toy: Any, train: Any) -> None:
    """Large discs on the left half: 61 and 63 nats for two seeds, 22 for what was seen."""
    shape, scale, column = toy.factors.T[:3]
    unseen = (shape == 1) & (scale == 2) & (column < 6)
    seen = torch.where(~unseen)[0]
    torch.manual_seed(0)
    model = GroundTruthDecoder(
        (1, 32, 32), toy.names, toy.sizes, partial(MLPDecoder, hidden=(256, 256))
    )

    def batch(index: Tensor) -> ImageBatch:
        return ImageBatch(toy.image[seen[index]], toy.factors[seen[index]])

    train(model, batch, len(seen), 1500, 2e-3)
    with torch.no_grad():
        drawn = model.render(toy.factors[unseen])
    wrong = ((drawn > 0.5) != (toy.image[unseen] > 0.5)).sum() / unseen.sum()
    area = toy.image[unseen].sum() / unseen.sum()
    assert wrong < 0.35 * area  # 24 of 133 pixels
    mean = toy.image[seen].mean(0).expand_as(drawn)
    blank = F.binary_cross_entropy(mean.clamp(1e-4, 1 - 1e-4), toy.image[unseen], reduction="sum")
    loss = F.binary_cross_entropy(drawn, toy.image[unseen], reduction="sum")
    assert loss < 0.35 * blank  # 341 nats for the mean image
