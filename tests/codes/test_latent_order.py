"""The factor of each latent, from few images and from many."""

import numpy as np
import pytest
import torch

from dislab.codes.information import information_gaps
from dislab.codes.latent_order import BINS, chance_noise, order_by_kl


@pytest.mark.parametrize("images", [60, 109, 300, 2000])
def test_codes_of_no_factor_name_none_however_few_images_there_are(images: int) -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        codes = torch.from_numpy(generator.normal(size=(images, 10)))
        factors = torch.from_numpy(generator.integers((3, 6, 20), size=(images, 3)))
        assert order_by_kl(codes, torch.ones(10), factors).carried == [None] * 10


@pytest.mark.parametrize("images", [109, 2000])
def test_a_latent_that_is_a_factor_names_it_from_few_images(images: int) -> None:
    generator = np.random.default_rng(0)
    factors = torch.from_numpy(generator.integers(3, size=(images, 2)))
    codes = torch.from_numpy(generator.normal(size=(images, 3)))
    codes[:, 1] = factors[:, 0] + codes[:, 1] / 20
    first, carried, last = order_by_kl(codes, torch.ones(3), factors).carried
    assert (first, last) == (None, None)
    assert carried is not None
    assert (carried.factor, carried.is_own) == (0, True)


def test_noise_is_three_deviations_of_two_estimates() -> None:
    """With a table of 20 bins and 3 values, estimates of no information are χ² of 38 degrees."""
    generator, images = np.random.default_rng(0), 1000
    codes = torch.from_numpy(generator.normal(size=(images, 400)))
    factor = torch.from_numpy(generator.integers(3, size=(images, 1)))
    found = information_gaps(codes, factor, BINS).mutual_information
    noise = chance_noise(found.mean(0, keepdim=True), images)
    assert noise.item() == pytest.approx(3 * 2**0.5 * found.std().item(), rel=0.2)
