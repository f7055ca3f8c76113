import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from dislab.datasets import ParametricChairs
from dislab.datasets.chairs.parametric_chairs import FACTORS, render
from dislab.errors import InputError
from dislab.testing import check_dataset


def image(**chosen: int) -> torch.Tensor:
    """The image of a state; factors that are not named have their first value."""
    position = [chosen.get(name, 0) for name in FACTORS.names]
    index = int(FACTORS.index([position])[0])
    return torch.from_numpy(render(np.array([index]))).view(3, 64, 64).int()


def painted(shown: torch.Tensor) -> torch.Tensor:
    return (shown < 255).any(0)


def test_factors() -> None:
    assert FACTORS.sizes == (3, 3, 3, 2, 2, 4, 31, 2)
    assert len(FACTORS) == 26_784
    assert FACTORS["azimuth"].numbers[1] == pytest.approx(360 / 31)
    assert FACTORS["azimuth"].period == 360


@pytest.mark.slow
def test_every_chair_lies_within_its_image() -> None:
    grid = itertools.product((0, 2), (0, 2), (0, 2), (0,), (1,), (0,), range(0, 31, 2), range(2))
    shown = (torch.from_numpy(render(FACTORS.index(list(grid)))) < 255).view(-1, 3, 64, 64).any(1)
    assert not shown[:, [0, -1]].any()
    assert not shown[:, :, [0, -1]].any()
    covered = shown.sum((1, 2))
    assert covered.min() > 150
    assert covered.max() < 2000


@pytest.mark.slow
def test_each_factor_does_what_its_name_says() -> None:
    plain = painted(image())
    rows = plain.any(1).nonzero()[:, 0]
    columns = plain.any(0).nonzero()[:, 0]
    wide = painted(image(seat_width=2)).any(0).nonzero()[:, 0]
    # from the front the extent across grows as the seat does
    ratio = (wide[-1] - wide[0] + 1) / (columns[-1] - columns[0] + 1)
    assert float(ratio) == pytest.approx(0.56 / 0.36, rel=0.1)
    tall = painted(image(back_height=2)).any(1).nonzero()[:, 0]
    assert tall[0] < rows[0] - 5
    assert tall[-1] == rows[-1]
    high = painted(image(seat_height=2)).any(1).nonzero()[:, 0]
    assert high[0] < rows[0] - 3
    assert painted(image(leg_width=1)).sum() > plain.sum() + 20
    assert painted(image(arms=1)).sum() > plain.sum()
    colour = image(color=2)[:, painted(image(color=2))].float().mean(1)
    assert colour[0] > 2 * colour[1]
    assert torch.equal(painted(image(color=2)), plain)


@pytest.mark.slow
def test_a_chair_is_its_mirror_image_from_the_other_side() -> None:
    # the lamp stands to the left, so outlines alone are mirrored
    for azimuth in (1, 5, 12):
        one, other = painted(image(azimuth=azimuth)), painted(image(azimuth=31 - azimuth))
        assert (one != other.flip(1)).float().mean() < 0.002
        assert not torch.equal(one, other)


def test_elevation_is_an_angle_of_view() -> None:
    seat = [image(seat_width=2, back_height=0, elevation=k) for k in range(2)]
    assert painted(seat[1]).sum() > painted(seat[0]).sum()


def test_an_image_does_not_depend_on_those_drawn_with_it() -> None:
    block = render(np.arange(620, 682))
    assert np.array_equal(block[17:19], render(np.array([637, 638])))


def test_settings_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    dataset = ParametricChairs()
    assert dataset.image_shape == (3, 64, 64)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(InputError, match="does not exist; prepare the data set first"):
        dataset.tables()


@pytest.mark.slow
def test_the_whole_set() -> None:
    dataset = ParametricChairs()
    check_dataset(dataset)
    index = torch.tensor([0, 13_000, 26_783])
    expected = render(index.numpy())
    assert np.array_equal(dataset.images(index).flatten(1).numpy(), expected)
    assert len(pickle.dumps(dataset)) < 1000
    rows = dataset.tables()["pixels"].numpy()
    assert len(np.unique(rows.view("V12288"))) == len(FACTORS)
