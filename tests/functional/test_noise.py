import math

import pytest
import torch

from dislab.errors import InputError
from dislab.functional.noise import add_input_noise, check_input_noise, draw_input_noise
from dislab.functional.streams import Stream

CPU = torch.device("cpu")


def test_noise_has_its_deviations_and_leaves_the_image_in_the_middle() -> None:
    draws = draw_input_noise(400, (3, 32, 48), Stream(0))
    assert draws["fine"].shape == (400, 3, 32, 48)
    assert draws["coarse"].shape == (400, 1, 2, 3)
    image = torch.full((400, 3, 32, 48), 0.5)
    fine = add_input_noise(image, **draws, noise=(0.03, 0.0)) - image
    assert fine.std().item() == pytest.approx(0.03, rel=0.01)
    coarse = add_input_noise(image, **draws, noise=(0.0, 0.15)) - image
    assert (coarse == coarse[:, :1]).all()  # grey: one value for all channels
    corner = coarse[:, 0, 0, 0]  # beyond the outermost cell's middle nothing is interpolated
    assert corner.std().item() == pytest.approx(0.15, rel=0.1)
    both = add_input_noise(image, **draws, noise=(0.03, 0.15)) - image
    torch.testing.assert_close(both, fine + coarse)


def test_the_coarse_grid_is_interpolated_bilinearly() -> None:
    fine, coarse = torch.zeros(1, 1, 16, 32), torch.tensor([[[[1.0, 3.0]]]])
    noisy = add_input_noise(torch.zeros(1, 1, 16, 32), fine, coarse, (0.0, 1.0))
    # cells are centred at 7.5 and 23.5
    expected = [1 + 2 * min(max((column - 7.5) / 16, 0), 1) for column in range(32)]
    torch.testing.assert_close(noisy[0, 0, 5], torch.tensor(expected))


def test_sides_that_are_no_multiple_of_the_cell_get_a_cell_more() -> None:
    draws = draw_input_noise(2, (1, 20, 8), Stream(0))
    assert draws["coarse"].shape == (2, 1, 2, 1)
    assert add_input_noise(torch.zeros(2, 1, 20, 8), **draws, noise=(1.0, 1.0)).isfinite().all()


def test_deviations_that_cannot_be() -> None:
    for wrong in ((-0.1, 0.0), (0.0, math.inf), (0.0, math.nan)):
        with pytest.raises(InputError, match="input_noise is"):
            check_input_noise(wrong)
