import pytest
import torch

from dislab.functional.losses import linear_ramp


@pytest.mark.parametrize(
    ("step", "steps", "value"),
    [(0, 10, 2.0), (5, 10, 4.0), (10, 10, 6.0), (99, 10, 6.0), (0, 0, 6.0), (3, 0, 6.0)],
)
def test_linear_ramp(step: int, steps: int, value: float) -> None:
    assert linear_ramp(torch.tensor(step), 2.0, 6.0, steps).item() == pytest.approx(value)
