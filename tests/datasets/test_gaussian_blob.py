import math

import pytest
import torch

from dislab.datasets import GaussianBlob
from dislab.errors import InputError


def test_brightness_by_hand() -> None:
    dataset = GaussianBlob(places=3, sigma=5.0)
    # posX 0.5 is 32 pixels from the left, posY 0 is 8 pixels from the top
    assert dataset.factors.values(dataset.factors.positions([3])).tolist() == [[0.5, 0]]
    image = dataset.images(torch.tensor([3]))[0, 0]
    for row, column in ((8, 32), (7, 31), (12, 29), (0, 40), (40, 32)):
        squared = (column + 0.5 - 32) ** 2 + (row + 0.5 - 8) ** 2
        assert int(image[row, column]) == round(255 * math.exp(-squared / 50))


@pytest.mark.parametrize("sigma", [2.0, 4.0])
def test_moments_are_place_and_width(sigma: float) -> None:
    dataset = GaussianBlob(places=13, sigma=sigma)
    index = torch.arange(len(dataset.factors))
    weights = dataset.images(index)[:, 0].double()
    values = torch.from_numpy(dataset.factors.values(dataset.factors.positions(index.numpy())))
    middles = torch.arange(64) + 0.5
    total = weights.sum((1, 2))
    x = (weights * middles).sum((1, 2)) / total
    y = (weights * middles[:, None]).sum((1, 2)) / total
    whole = (values > 0.2).all(1) & (values < 0.8).all(1)  # where no side of the blob is cut off
    torch.testing.assert_close(x[whole], 8 + 48 * values[whole, 0], atol=1e-6, rtol=0)
    torch.testing.assert_close(y[whole], 8 + 48 * values[whole, 1], atol=1e-6, rtol=0)
    spread = (weights * (middles - x[:, None, None]) ** 2).sum((1, 2)) / total
    assert spread[whole].sqrt().tolist() == pytest.approx([sigma] * int(whole.sum()), rel=0.02)


def test_no_two_places_look_alike() -> None:
    dataset = GaussianBlob()
    images = dataset.images(torch.arange(1024)).flatten(1)
    assert len(torch.unique(images, dim=0)) == 1024


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"places": 1}, "places is 1"),
        ({"places": 20_000}, "places is 20000"),
        ({"sigma": 0.0}, "sigma is 0.0"),
        ({"sigma": math.inf}, "sigma is inf"),
    ],
)
def test_refuses_what_cannot_be_seen(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GaussianBlob(**settings)  # type: ignore[arg-type]
