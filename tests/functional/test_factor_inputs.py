import torch

from dislab.functional.factor_inputs import factor_inputs, normalized

FACTORS = torch.tensor([[0, 2, 0], [2, 0, 0], [1, 3, 0]])
LAST = torch.tensor([2.0, 4.0, 0.0], dtype=torch.float64)


def test_values_run_from_zero_to_one_and_a_single_value_is_zero() -> None:
    expected = torch.tensor([[0, 0.5, 0], [1, 0, 0], [0.5, 0.75, 0]], dtype=torch.float64)
    assert torch.equal(normalized(FACTORS, LAST), expected)


def test_a_one_hot_factor_stands_in_its_place() -> None:
    inputs = factor_inputs(FACTORS, LAST, (3, 5, 1), [0])
    expected = torch.tensor(
        [[1, 0, 0, 0.5, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0.75, 0]], dtype=torch.float64
    )
    assert torch.equal(inputs, expected)
