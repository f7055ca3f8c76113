"""How images are divided for learning and testing."""

import pytest
import torch

from dislab.codes.splits import (
    UnseenValueWarning,
    check_fraction,
    check_labels,
    spread_columns,
    standardized,
    train_count,
)
from dislab.errors import InputError


@pytest.mark.parametrize(
    ("images", "fraction", "count"),
    [(15_000, 1 / 3, 10_000), (3, 0.9, 2), (3, 0.01, 2), (10, 0.25, 8), (100, 0.999, 2)],
)
def test_counts(images: int, fraction: float, count: int) -> None:
    assert train_count(images, fraction) == count


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1.0, float("nan")])
def test_bad_fractions_are_named(fraction: float) -> None:
    with pytest.raises(InputError, match="test_fraction is"):
        check_fraction(fraction)


def test_labels() -> None:
    check_labels(torch.tensor([0, 1, 0, 1]), 2, "SAP", "size")
    with pytest.raises(InputError, match=r"factor size takes one value only in the 2 .*give SAP"):
        check_labels(torch.tensor([1, 1, 0, 1]), 2, "SAP", "size")
    with pytest.warns(UnseenValueWarning, match="factor size has values in the images"):
        check_labels(torch.tensor([1, 0, 2, 2, 1]), 2, "SAP", "size")


def test_units_come_from_the_first_images() -> None:
    codes = torch.tensor([[1.0, 0.1], [3.0, 0.1], [9.0, 5.0]], dtype=torch.float64)
    expected = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [7.0, 4.9]], dtype=torch.float64)
    torch.testing.assert_close(standardized(codes, 2), expected)


def test_columns_are_put_in_their_places() -> None:
    spread = spread_columns(torch.tensor([[1.0, 2.0]]), [2, 0], 4, -1.0)
    assert spread.tolist() == [[2.0, -1.0, 1.0, -1.0]]
    assert spread_columns(torch.tensor([3.0]), [1], 2, 0.0).tolist() == [0.0, 3.0]
