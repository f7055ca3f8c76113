"""Trees by hand, and trees that no image or gradient calls for."""

import copy

import numpy as np
import pytest
import torch

from dislab.codes.learners.code_bins import bin_codes
from dislab.codes.learners.tree_grower import NO_SPLIT, TreeGrower

CODES = np.array([[0.0, 1], [0, 0], [1, 1], [1, 0]])


def derivatives(first: list[list[int]]) -> torch.Tensor:
    gradient = torch.tensor(first, dtype=torch.float32).T.contiguous()
    return torch.stack([gradient, torch.ones_like(gradient)])


def test_two_trees_by_hand() -> None:
    grower = TreeGrower(bin_codes(CODES), kinds=2, depth=2, rate=0.5)
    logits = torch.full((4, 2), 10.0)
    trees = grower.grow(derivatives([[4, 4, -3, -1], [2, -2, 2, -2]]), logits)
    # the first tree asks latent 0, then latent 1 on the right; the second asks latent 1 alone
    assert trees.latent.T.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert trees.place.T.tolist() == [[0, NO_SPLIT, 0], [0, NO_SPLIT, NO_SPLIT]]
    assert trees.value.T.tolist() == [[-2, 0, 0.5, 1.5], [1, 0, -1, 0]]
    assert logits.T.tolist() == [[8, 8, 11.5, 10.5], [9, 11, 9, 11]]
    # 2·2/4·(4 + 2)², 1·1/2·(3 − 1)²; 2·2/4·(2 + 2)²
    assert trees.gain.T.tolist() == [[36, 0, 2], [16, 0, 0]]


def test_the_first_of_equal_splits_is_taken() -> None:
    codes = np.repeat(CODES[:, :1], 3, axis=1)
    grower = TreeGrower(bin_codes(codes), kinds=1, depth=1, rate=1.0)
    trees = grower.grow(derivatives([[1, 1, -1, -1]]), torch.zeros(4, 1))
    assert (trees.latent.tolist(), trees.place.tolist()) == ([[0]], [[0]])


@pytest.mark.parametrize("depth", [1, 3])
def test_children_without_curvature_are_not_split_off(depth: int) -> None:
    grower = TreeGrower(bin_codes(CODES), kinds=1, depth=depth, rate=1.0)
    given = torch.tensor([[4.0, 2, -4, -4], [1, 1, 4e-4, 5e-4]])[..., None]
    trees = grower.grow(given, torch.zeros(4, 1))
    assert trees.place[0].item() == 0
    assert trees.latent[0].item() == 1  # not latent 0, whose right child weighs 9e-4


def test_gradients_that_vanish_leave_a_stump() -> None:
    grower = TreeGrower(bin_codes(CODES), kinds=1, depth=3, rate=1.0)
    logits = torch.zeros(4, 1)
    trees = grower.grow(torch.zeros(2, 4, 1), logits)
    assert (trees.place == NO_SPLIT).all()
    assert not trees.value.any()
    assert not trees.gain.any()
    assert not logits.any()


def test_a_grower_keeps_nothing_of_its_last_trees() -> None:
    rng = np.random.default_rng(0)
    bins = bin_codes(rng.normal(size=(200, 3)))
    given = torch.from_numpy(rng.normal(size=(2, 2, 200, 4))).float()
    given[:, 1].abs_()
    once, twice = torch.zeros(200, 4), torch.zeros(200, 4)
    used, fresh = (TreeGrower(bins, 4, 3, 0.1) for _ in range(2))
    first = used.grow(given[0], torch.zeros(200, 4))
    kept = copy.deepcopy(first._asdict())
    own, other = used.grow(given[1], once), fresh.grow(given[1], twice)
    assert torch.equal(once, twice)
    for name in ("latent", "place", "value", "gain"):
        np.testing.assert_array_equal(getattr(own, name), getattr(other, name))
        np.testing.assert_array_equal(getattr(first, name), kept[name])
