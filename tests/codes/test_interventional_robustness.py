"""Distances of codes while a factor is held."""

import numpy as np
import pytest
import torch

from dislab.codes.interventional_robustness import held_deviations


@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.99, 1.0])
def test_equals_a_loop(quantile: float) -> None:
    codes, column = torch.randn(90, 3, dtype=torch.float64), torch.randint(4, (90,))
    parts = []
    for value in np.unique(column):
        own = codes[column == value].numpy()
        distances = np.abs(own - own.mean(0))
        parts.append(np.percentile(distances, 100 * quantile, axis=0))
    expected = torch.from_numpy(np.mean(parts, axis=0))
    torch.testing.assert_close(held_deviations(codes, column, quantile), expected)


def test_by_hand() -> None:
    codes = torch.tensor([[0.0], [4.0], [10.0]], dtype=torch.float64)
    # value 3: distances 2 and 2; value 5: 0
    assert held_deviations(codes, torch.tensor([3, 3, 5]), 1.0).tolist() == [1.0]
