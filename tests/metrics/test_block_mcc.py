"""Multiple correlation of blocks of factors with blocks of latents."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from tests.metrics.conftest import draw_factors, space_of
from torch import Tensor

from dislab.base import Sample
from dislab.errors import InputError
from dislab.metrics import BlockMCC, evaluate

FACTORS = draw_factors(240, (3, 4, 6))
SPACE = space_of((3, 4, 6))
NOISE = torch.randn(240, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
MIXED = torch.cat(
    [
        FACTORS[:, :1] + FACTORS[:, 1:2] + 0.3 * NOISE[:, :1],
        FACTORS[:, :1] - FACTORS[:, 1:2] + 0.3 * NOISE[:, 1:2],
        FACTORS[:, 2:].double().exp() + NOISE[:, 2:3],
        NOISE[:, 3:],
    ],
    dim=1,
)


def scored(codes: Tensor, **settings: Any) -> dict[str, Tensor]:
    metric = BlockMCC(SPACE, **settings)
    metric.update(codes, FACTORS)
    return metric.compute()


def published(codes: np.ndarray[Any, Any], columns: list[int], kernel: bool) -> Any:
    """R² of each factor, after the evaluation of von Kügelgen et al. (2021)."""
    factors = FACTORS[:, columns].numpy().astype(float)
    (learnt, tested), (wanted, asked) = (np.split(one, [160]) for one in (codes, factors))
    x, y = ((one - one.mean(0)) / one.std(0) for one in (learnt, wanted))
    grid = {"alpha": [1.0, 0.1, 0.01, 0.001], "gamma": np.logspace(-2, 2, 4)}
    model = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3) if kernel else LinearRegression()
    found = model.fit(x, y).predict((tested - learnt.mean(0)) / learnt.std(0))
    return r2_score((asked - wanted.mean(0)) / wanted.std(0), found, multioutput="raw_values")


@pytest.mark.parametrize("regression", ["linear", "kernel"])
def test_equals_the_published_regressions(regression: Any) -> None:
    blocks = [["a", "b"], ["c"]]
    result = scored(MIXED, regression=regression, factor_blocks=blocks)
    content, style = (
        published(MIXED.numpy(), own, regression == "kernel") for own in ([0, 1], [2])
    )
    found = result[f"block_r2_{regression}_per_factor"].tolist()
    assert found == pytest.approx([*content, *style], abs=1e-9)
    mean = (content.mean() + style.mean()) / 2
    assert result[f"block_r2_{regression}"].item() == pytest.approx(mean)
    roots = (np.sqrt(content).mean() + np.sqrt(style).mean()) / 2
    assert result[f"block_mcc_{regression}"].item() == pytest.approx(roots)


def test_a_line_through_one_latent_by_hand() -> None:
    codes = torch.tensor([0.0, 1, 2, 3, 0, 1, 2, 3, 0])
    factors = torch.tensor([[0], [1], [2], [3], [0], [1], [3], [3], [1]])
    metric = BlockMCC(space_of((4,)))
    metric.update(codes.double()[:, None], factors)
    result = metric.compute()
    # learnt: factor = code; tested: 2, 3, 0 against 3, 3, 1, whose sum of squares is 8/3
    assert result["block_r2_linear"].item() == pytest.approx(1 - 2 / (8 / 3))
    assert result["block_mcc_linear"].item() == pytest.approx(0.5)


def test_blocks_of_latents_are_matched() -> None:
    blocks: dict[str, Any] = {"latent_blocks": [[3], [2, 4], [0, 1]]}
    parts = scored(MIXED, **blocks, factor_blocks=[["a", "b"], ["c"]])
    assert parts["block_r2_linear_per_factor"].tolist() == pytest.approx(
        [
            *published(MIXED[:, :2].numpy(), [0, 1], False),
            *published(MIXED[:, [2, 4]].numpy(), [2], False),
        ]
    )
    # one block cannot serve two factors: b is left with noise
    alone = scored(MIXED, latent_blocks=[[0, 1], [2], [3]])["block_r2_linear_per_factor"]
    assert sorted(alone.gt(0.5).tolist()) == [False, True, True]
    fewer = scored(MIXED, latent_blocks=[[0, 1], [2]])["block_r2_linear_per_factor"]
    assert sorted(fewer.gt(0.0).tolist()) == [False, True, True]


def test_blocks_are_matched_by_the_mean_of_correlations() -> None:
    """Of two factors known to 0.6, or one known fully: the first, though the second has more R²."""
    a, b = (FACTORS[:, column].double() for column in (1, 2))
    a, b = ((column - column.mean()) / column.std() for column in (a, b))
    hazy = [0.6 * factor + 0.8 * NOISE[:, row] for row, factor in enumerate((a, b))]
    codes = torch.stack([b, *hazy], dim=1)
    blocks: dict[str, Any] = {"latent_blocks": [[0], [1, 2]], "factor_blocks": [["b", "c"], ["a"]]}
    chosen = scored(codes, **blocks)["block_r2_linear_per_factor"]
    assert chosen[1:].tolist() == pytest.approx(published(codes[:, 1:].numpy(), [1, 2], False))
    assert chosen[2] < 0.9


@pytest.mark.slow
def test_a_kernel_sees_what_a_line_does_not() -> None:
    codes = ((FACTORS.double() - FACTORS.double().mean(0)) ** 3 + FACTORS) @ torch.randn(
        3, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64
    )
    line = scored(codes)["block_mcc_linear"].item()
    assert scored(codes, regression="kernel")["block_mcc_kernel"].item() > max(0.97, line + 0.02)


@pytest.mark.slow
def test_most_limits_what_a_kernel_learns_from() -> None:
    few = scored(MIXED, regression="kernel", most=20)["block_mcc_kernel"].item()
    other = MIXED.clone()
    other[20:160] = other[20:160].flip(0)
    same = scored(other, regression="kernel", most=20)["block_mcc_kernel"].item()
    all_of_them = scored(MIXED, regression="kernel")["block_mcc_kernel"].item()
    assert few == pytest.approx(same, abs=0.05)  # standardised alike, up to rounding
    assert all_of_them > few + 0.05


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"factor_blocks": [["a", "sise"]]},
            "names 'sise'.*, which is no factor; they are a, b, c",
        ),
        ({"factor_blocks": [["a"], ["a"]]}, "at least one factor, and no factor to two"),
        ({"factor_blocks": []}, r"factor_blocks are \[\]; give each at least one factor"),
        ({"test_fraction": 0.0}, "test_fraction is 0.0"),
        ({"most": 5}, "most is 5"),
        ({"regression": "cubic"}, "choose one of linear, kernel"),
    ],
)
def test_refuses_settings_that_make_no_sense(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BlockMCC(SPACE, **settings)


def test_latents_that_there_are_not_are_refused_before_training() -> None:
    metric = BlockMCC(SPACE, latent_blocks=[[0], [7]])
    message = "latent_blocks name column 7; codes have columns 0 to 4"
    assert message in str(metric.inapplicable(Sample(images=240, latents=5, varied=3)))
    with pytest.raises(InputError, match=message):
        scored(MIXED, latent_blocks=[[0], [7]])


def test_blocks_without_a_factor_that_varies_are_refused() -> None:
    factors = FACTORS.clone()
    factors[:, 1] = 2
    metric = BlockMCC(SPACE, factor_blocks=[["b"]])
    metric.update(MIXED, factors)
    with (
        pytest.warns(UserWarning, match="b took one value only"),
        pytest.raises(InputError, match="no factor in factor_blocks varies"),
    ):
        metric.compute()


def test_plain_arrays_need_no_settings() -> None:
    found = evaluate(MIXED, FACTORS, "BlockMCC")
    assert set(found) == {"block_mcc_linear", "block_r2_linear"}
