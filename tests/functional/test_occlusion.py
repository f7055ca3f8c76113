import torch

from dislab.functional.feature_distance import feature_distance
from dislab.functional.occlusion import occlude


def test_the_rectangle_is_where_its_sides_say() -> None:
    image = torch.ones(2, 3, 4, 8)
    corners = torch.tensor([[0.5, 0.25, 0.0, 0.5], [0.0, 1.0, 0.9, 0.6]])
    hidden = occlude(image, corners) == 0
    assert torch.equal(hidden[:, 0], hidden[:, 2])
    first, second = hidden[:, 0]
    assert first.nonzero().tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    # centres of the rows lie at 1/8, 3/8, 5/8 and 7/8
    assert second.nonzero().tolist() == [[row, column] for row in (2, 3) for column in range(8)]


def test_the_distance_is_half_the_square_summed_and_averaged() -> None:
    first = torch.tensor([[1.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    second = torch.tensor([[0.0, 4.0], [0.0, 3.0]], dtype=torch.float64)
    assert feature_distance(first, second).item() == 0.5 * (5 + 9) / 2
