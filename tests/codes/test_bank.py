"""Checks of codes and factors before they are scored."""

import math

import pytest
import torch
from torch import Tensor

from dislab.codes.bank import ConstantFactorWarning, checked
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

SPACE = FactorSpace(
    (Factor("shape", ("square", "heart"), "categorical"), Factor("scale", (0.5, 0.7, 1.0)))
)
CODES = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])
FACTORS = torch.tensor([[0, 2], [1, 0], [1, 1]])


def with_value(value: float, *places: tuple[int, int]) -> Tensor:
    codes = CODES.clone()
    for row, latent in places:
        codes[row, latent] = value
    return codes


def test_batches_are_joined_in_order_and_widened() -> None:
    bank = checked([CODES[:1].half(), CODES[1:]], [FACTORS[:1].int(), FACTORS[1:]], SPACE, least=3)
    assert bank.codes.dtype == torch.float64
    assert bank.factors.dtype == torch.int64
    assert torch.equal(bank.codes, CODES.double())
    assert torch.equal(bank.factors, FACTORS)
    assert bank.varied.tolist() == [True, True]


@pytest.mark.parametrize("order", [(20, 4), (4, 20)])
def test_what_was_computed_belongs_to_the_bins_of_a_continuous_factor(
    order: tuple[int, int],
) -> None:
    space = FactorSpace((Factor("x", tuple(map(float, range(400))), "continuous"),))
    positions = torch.arange(400)[:, None]
    bank = checked([positions.float() ** 2], [positions], space, least=2)
    for bins in (*order, *order):
        rebinned = bank.with_factor_bins(bins)
        entropy = rebinned.information(20).entropy
        assert entropy.item() == pytest.approx(math.log(bins))
        assert rebinned.counts(20)[0].shape == (1, 20, bins)
        assert len(rebinned.value_rows(0).size) == bins


def test_codes_with_a_gradient_are_detached() -> None:
    bank = checked([CODES.clone().requires_grad_()], [FACTORS], SPACE, least=2)
    assert not bank.codes.requires_grad


def test_a_factor_that_never_varies_is_named() -> None:
    with pytest.warns(ConstantFactorWarning, match="^scale took one value only in 3 images"):
        bank = checked([CODES], [torch.tensor([[0, 1], [1, 1], [0, 1]])], SPACE, least=2)
    assert bank.varied.tolist() == [True, False]


def test_a_nuisance_is_not_scored_and_not_warned_of() -> None:
    instance = Factor("instance", (0.0, 1.0), "categorical", nuisance=True)
    space = FactorSpace((*SPACE.factors, instance))
    factors = torch.tensor([[0, 2, 0], [1, 0, 1], [1, 1, 0]])
    assert checked([CODES], [factors], space, least=2).varied.tolist() == [True, True, False]
    constant = torch.tensor([[0, 2, 0], [0, 2, 1], [0, 2, 0]])
    with pytest.raises(InputError, match="takes more than one value"):
        checked([CODES], [constant], space, least=2)


@pytest.mark.parametrize("factor", [1e15 / 8, 1e-99, 0.0])
def test_codes_of_extreme_size_pass_unchanged(factor: float) -> None:
    codes = CODES.double() / CODES.abs().max() * factor
    assert torch.equal(checked([codes], [FACTORS], SPACE, least=2).codes, codes)


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        ([], [], "no codes; call update"),
        ([with_value(float("nan"), (0, 1))], [FACTORS], "1 of 3 codes hold NaN.*in latent 1;"),
        (
            [with_value(float("inf"), (0, 0), (2, 0), (2, 2))],
            [FACTORS],
            "2 of 3 codes hold NaN or infinity, in latents 0, 2;",
        ),
        ([torch.full((2, 12), torch.nan)], [FACTORS[:2]], "latents 0, 1, 2, 3, 4, 5, 6, 7 and 4 m"),
        (
            [CODES.double() * 1e200],
            [FACTORS],
            r"codes reach .*e\+200 at most in latents .*scale th",
        ),
        ([CODES.double() * 1e-200], [FACTORS], r"codes reach .*e-200 at most in .*: scale them up"),
        ([with_value(-1e16, (1, 2))], [FACTORS], r"codes reach 1e\+16 at most in latent 2; "),
        ([CODES[:, 0]], [FACTORS], r"shape \(images, latents\).*got \(3,\); codes\[:, None\]"),
        ([CODES[:, :0]], [FACTORS], r"got \(3, 0\)"),
        ([CODES, CODES[:, :2]], [FACTORS, FACTORS], r"got \(3, 3\), \(3, 2\)"),
        ([CODES.to(torch.complex64)], [FACTORS], "codes are complex numbers; give real ones"),
        ([CODES], [FACTORS[:2]], "3 codes, but the factors of 2 images"),
        ([CODES[:, :2].T], [FACTORS], r"one row per image: give codes\.T$"),
        ([CODES], [FACTORS.float()], "integers that number the values, not torch.float32"),
        ([CODES], [FACTORS.bool()], "not torch.bool"),
        ([CODES], [FACTORS[:, :1]], r"shape \(3, 1\) do not fit.*each of shape, scale"),
        ([CODES], [FACTORS[:, 0]], r"shape \(3,\) do not fit"),
        ([CODES], [FACTORS + 1], "value numbers of factor shape run from 0 to 1"),
        ([CODES], [FACTORS * torch.tensor([1, -1])], "of factor scale run from 0 to 2"),
        ([CODES[:1]], [FACTORS[:1]], "got 1 image and needs at least 2"),
        ([CODES[:0]], [FACTORS[:0]], "got 0 images and needs at least 2"),
        ([CODES[:2]], [FACTORS[1:2].repeat(2, 1)], "none of shape, scale takes more than one"),
    ],
)
def test_bad_input_is_named(codes: list[Tensor], factors: list[Tensor], message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked(codes, factors, SPACE, least=2)
