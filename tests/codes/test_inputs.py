import pytest
import torch

from dislab.codes.inputs import check_codes, check_training_data, standard
from dislab.errors import InputError

CODES = torch.zeros(2, 5, 3)
TARGETS = torch.tensor([[0.0, 0.5], [1.0, 0.1], [2.0, 0.9], [0.0, 1.0], [1.0, 0.0]])


def changed(tensor: torch.Tensor, place: tuple[int, ...], value: float) -> torch.Tensor:
    other = tensor.clone()
    other[place] = value
    return other


def test_sound_ones_pass() -> None:
    check_training_data(CODES, TARGETS, 3, (3, 0))
    check_codes(CODES, 3, 2)
    huge = torch.full((1, 4, 3), 3e38)  # their sum is infinite, they are not
    check_codes(huge, 3, 1)


@pytest.mark.parametrize(
    ("codes", "targets", "classes", "message"),
    [
        (CODES[0], TARGETS, (3, 0), r"shape \(5, 3\).* 3 latents"),
        (CODES[..., :2], TARGETS, (3, 0), r"shape \(2, 5, 2\).* 3 latents"),
        (CODES[:, :0], TARGETS[:0], (3, 0), "codes of no image"),
        (CODES[:0], TARGETS, (3, 0), "codes of no run"),
        (CODES[:, :4], TARGETS, (3, 0), r"targets have shape \(5, 2\).*4 images.*\(4, 2\)"),
        (CODES, TARGETS, (3,), r"1 factors they have \(5, 1\)"),
        (CODES, TARGETS[:, :0], (), "no factor is given to predict"),
        (changed(CODES, (1, 2, 0), torch.nan), TARGETS, (3, 0), "1 of 5 codes of run 1 hold NaN"),
        (changed(CODES, (0, 2, 0), torch.inf), TARGETS, (3, 0), "1 of 5 codes of run 0 hold NaN"),
        (CODES, changed(TARGETS, (1, 1), torch.nan), (3, 0), "targets of factor 1 hold NaN"),
        (CODES, TARGETS, (2, 0), "factor 0 has 2 classes.* 0 to 1; its targets run from 0 to 2"),
        (CODES, TARGETS, (3, 4), "factor 1 has 4 classes.*no whole numbers"),
        (CODES, changed(TARGETS, (0, 0), -1), (3, 0), "factor 0 has 3 classes.*from -1 to 2"),
    ],
)
def test_broken_training_data_are_refused(
    codes: torch.Tensor, targets: torch.Tensor, classes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_training_data(codes, targets, 3, classes)


def test_what_was_not_learnt_cannot_be_predicted() -> None:
    with pytest.raises(InputError, match="call fit"):
        check_codes(CODES, 3, 0)
    with pytest.raises(InputError, match=r"codes of 2 runs.*learnt from 3"):
        check_codes(CODES, 3, 3)


def test_mean_and_spread_of_each_run_are_taken_out() -> None:
    codes = torch.tensor([[[0.0, 1.0], [2.0, 5.0]], [[10.0, -1.0], [16.0, 1.0]]])
    found = standard(codes)
    assert found.centre.tolist() == [[[1.0, 3.0]], [[13.0, 0.0]]]
    assert found.scale.tolist() == [[[1.0, 0.5]], [[1 / 3, 1.0]]]
    assert found.of(codes).tolist() == [[[-1.0, -1.0], [1.0, 1.0]]] * 2


def test_a_latent_that_only_rounds_never_varies() -> None:
    # the float64 mean of 0.1 is not 0.1, and float32 codes of equal images may differ a little
    still = torch.full((1, 7, 1), 0.1)
    shaken = 0.5 + 6e-8 * torch.arange(7.0).view(1, 7, 1)
    small = 1e-9 * torch.arange(7.0).view(1, 7, 1)
    codes = torch.cat([still, shaken, small, torch.zeros(1, 7, 1)], 2)
    found = standard(codes)
    assert (found.scale > 0).flatten().tolist() == [False, False, True, False]
    moved = found.of(codes + 1)[..., [0, 1, 3]]
    assert not moved.any()
