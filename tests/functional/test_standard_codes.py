import torch

from dislab.functional.standard_codes import standard


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
