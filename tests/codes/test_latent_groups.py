"""Vector-valued latents as one column each."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from dislab.codes.statistics import check_groups, first_components
from dislab.errors import InputError


def test_components_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)) + 3
    groups = [[0, 2, 5], [1], [3, 4]]
    found = first_components(torch.from_numpy(codes), groups).numpy()
    assert np.array_equal(found[:, 1], codes[:, 1])
    for place in (0, 2):
        own = codes[:, groups[place]]
        model = PCA(1).fit(own)
        weights = model.components_[0]
        expected = model.transform(own)[:, 0] * np.sign(weights[np.abs(weights).argmax()])
        assert found[:, place] == pytest.approx(expected)


def test_a_group_that_stands_still_stays_so() -> None:
    assert (first_components(torch.full((5, 2), 7.0).double(), [[0, 1]]) == 0).all()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "give each at least one column"),
        ([[0], []], r"groups are \[\[0\], \[\]\]; give each"),
        ([[0, 4]], "groups name column 4; codes have columns 0 to 3"),
        ([[0, 1], [1]], "groups name column 1 twice"),
    ],
)
def test_refuses_groups_that_make_no_sense(groups: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_groups(groups, 4)
