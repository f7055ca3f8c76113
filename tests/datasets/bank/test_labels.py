import numpy as np

from dislab.datasets.bank.labels import with_instances
from dislab.factors import Factor

DIGIT = Factor("digit", (0.0, 1.0, 2.0), "categorical")
SIZE = Factor("size", (1.0, 2.0))


def test_images_with_equal_labels_are_counted_in_their_order() -> None:
    labels = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 1], [1, 0]])
    space = with_instances((DIGIT, SIZE), labels)
    assert space.names == ("digit", "size", "instance")
    assert space.positions(np.arange(6)).tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [1, 0, 1],
        [1, 1, 0],
        [0, 1, 1],
        [1, 0, 2],
    ]
    assert space.sizes == (3, 2, 3)
    assert [factor.nuisance for factor in space.factors] == [False, False, True]
    assert space["instance"].kind == "categorical"


def test_states_are_found_again_among_many() -> None:
    labels = np.random.default_rng(0).integers(2, size=(5000, 2))
    space = with_instances((DIGIT, SIZE), labels)
    assert np.array_equal(space.index(space.positions(np.arange(5000))), np.arange(5000))
    same = space.where({"digit": 1, "size": 2})
    assert np.array_equal(same, np.flatnonzero((labels == [1, 1]).all(axis=1)))
    assert np.array_equal(space.positions(same)[:, 2], np.arange(len(same)))


def test_labels_that_identify_images_have_one_instance() -> None:
    space = with_instances((DIGIT,), np.array([[2], [0], [1]]))
    assert space.sizes == (3, 1)
