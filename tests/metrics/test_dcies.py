"""Explicitness and size beside disentanglement, completeness and informativeness."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.random import host_generator
from dislab.metrics import DCIES, evaluate_fully
from dislab.metrics.dcies import _Probed, explicitness

SHAPE = Factor("shape", ("square", "ellipse", "heart"), "categorical")
SPACE = FactorSpace((SHAPE, Factor("x", tuple(map(float, range(6))))))
GENERATOR = torch.Generator().manual_seed(0)
FACTORS = torch.stack([torch.randint(size, (300,), generator=GENERATOR) for size in (3, 6)], dim=1)
NOISE = torch.randn(300, 3, generator=GENERATOR, dtype=torch.float64)
CODES = torch.cat([FACTORS + 0.4 * NOISE[:, :2], NOISE[:, 2:]], dim=1)


def scored(codes: Tensor, **settings: Any) -> dict[str, Tensor]:
    metric = DCIES(SPACE, **settings)
    metric.update(codes, FACTORS)
    return metric.compute()


@pytest.mark.parametrize(
    ("losses", "capacities", "baseline", "expected"),
    [
        # areas above the lowest loss, 0.4 + 0.2, of a triangle of 1.5
        ([0.8, 0.4, 0.2], [1, 2, 4], 1.0, 0.6),
        # what rises again does not count: 0.5, 0.5, 0.1
        ([0.5, 0.7, 0.1], [1, 2, 4], 1.0, 1 - 2 * (0.4 + 0.4) / 3),
        # a guess between four values errs in 3 of 4
        ([0.75, 0.25, 0.25], [0, 1, 2], 0.75, 1 - 2 * 0.25 / 1.5),
        ([0.0, 0.0], [3, 9], 1.0, 1.0),
        ([1.0, 0.0], [3, 9], 1.0, 0.0),
        ([1.0, 1.0], [3, 9], 1.0, 1.0),  # codes that know nothing
    ],
)
def test_explicitness_by_hand(
    losses: list[float], capacities: list[int], baseline: float, expected: float
) -> None:
    found = explicitness(torch.tensor(losses).double(), torch.tensor(capacities).double(), baseline)
    assert found.item() == pytest.approx(expected)


@pytest.mark.slow
def test_forests_are_those_of_the_published_code() -> None:
    depths = (1, 2, 5)
    result = scored(CODES, capacities=depths, seed=3)
    (known, asked), (wanted, truth) = (np.split(one.numpy(), [200]) for one in (CODES, FACTORS))
    losses, importances = np.zeros((3, 2)), np.zeros((3, 3, 2))
    for row, depth in enumerate(depths):
        for column, make in enumerate((RandomForestClassifier, RandomForestRegressor)):
            model = make(max_depth=depth, n_estimators=100, random_state=3)
            model.fit(known, wanted[:, column].astype(float if column else int))
            losses[row, column] = 1 - model.score(asked, truth[:, column])
            importances[row, :, column] = model.feature_importances_
    np.testing.assert_allclose(result["dcies_rf_loss"].numpy(), losses, atol=1e-9)
    lowest = np.minimum.accumulate(losses, axis=0)
    for column, baseline in enumerate((2 / 3, 1.0)):
        area = np.trapezoid(lowest[:, column] - lowest[-1, column], depths)
        expected = 1 - 2 * area / (4 * baseline)
        own = result["dcies_rf_explicitness_per_factor"][column].item()
        assert own == pytest.approx(expected, abs=1e-9)
    best = losses.mean(1).argmin()
    assert result["dcies_rf_informativeness"].item() == pytest.approx(1 - losses[best].mean())
    np.testing.assert_allclose(result["dcies_rf_importance"].numpy(), importances[best], atol=1e-9)
    assert result["dcies_rf_size"].item() == pytest.approx(2 / 3)
    assert result["dcies_rf_disentanglement"].item() > 0.5


def test_importances_are_those_of_the_capacity_with_the_smallest_mean_loss() -> None:
    metric = DCIES(SPACE, capacities=(1, 2, 4))
    matrices = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]]).repeat(1, 2, 1).double()
    losses = torch.tensor([[0.5, 0.4], [0.3, 0.2], [0.1, 0.6]]).double()
    probed = [_Probed(losses[:, factor], matrices[:, factor], 1.0) for factor in (0, 1)]
    result = metric._results([0, 1], probed)
    assert result["dcies_rf_informativeness"].item() == pytest.approx(0.75)
    assert result["dcies_rf_importance"][:, :2].tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_fourier_features_are_solved_exactly() -> None:
    counts = (4, 16)
    result = scored(CODES, probe="rff", capacities=counts, seed=5)
    codes = ((CODES - CODES[:200].mean(0)) / CODES[:200].std(0, correction=0)).numpy()
    losses = np.zeros((2, 2))
    for row, count in enumerate(counts):
        waves = 0.08 * host_generator(5).normal(size=(count // 2, 3))
        angles = 2 * np.pi * codes @ waves.T
        features = np.hstack([np.cos(angles), np.sin(angles)])
        features = (features - features[:200].mean(0)) / features[:200].std(0)
        for column, model in enumerate((LogisticRegression(max_iter=1000), Ridge())):
            wanted = FACTORS[:, column].numpy()
            scaled = (wanted - wanted[:200].mean()) / wanted[:200].std() if column else wanted
            model.fit(features[:200], scaled[:200])
            losses[row, column] = 1 - model.score(features[200:], scaled[200:])
    np.testing.assert_allclose(result["dcies_rff_loss"].numpy(), losses, atol=1e-6)
    assert "dcies_rff_disentanglement" not in result


@pytest.mark.slow
def test_forests_find_rotated_codes_harder_to_use_and_fourier_features_do_not() -> None:
    factors = torch.stack([torch.arange(900) % 6, torch.arange(900) // 6 % 6], dim=1)
    factors = factors[torch.randperm(900, generator=torch.Generator().manual_seed(0))]
    space = FactorSpace(tuple(Factor(name, tuple(map(float, range(6)))) for name in "ab"))
    own = factors.double()
    turned = own @ torch.tensor([[0.6, -0.8], [0.8, 0.6]]).double()
    settings: dict[Any, Any] = {"rf": {"capacities": (1, 2, 4, 8, 16)}, "rff": {}}
    gaps = {}
    for probe, own_settings in settings.items():
        found = []
        for codes in (own, turned):
            metric = DCIES(space, probe=probe, **own_settings)
            metric.update(codes, factors)
            found.append(metric.compute()[f"dcies_{probe}_explicitness"].item())
        gaps[probe] = found[0] - found[1]
    assert gaps["rf"] > 0.03
    assert abs(gaps["rff"]) < 0.02


@pytest.mark.slow
def test_codes_that_know_nothing_are_explicit_and_chance_says_so() -> None:
    full = evaluate_fully(NOISE, FACTORS, partial(DCIES, capacities=(1, 2, 4)), space=SPACE)
    assert full.values["dcies_rf_explicitness"] > 0.9
    assert full.values["dcies_rf_informativeness"] < 0.3
    assert full.chance["dcies_rf_explicitness"] == pytest.approx(1.0)
    assert full.chance["dcies_rf_informativeness"] < 0.3
    assert full.chance["dcies_rf_disentanglement"] == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacities": (4,)}, "give at least two, in ascending order"),
        ({"capacities": (4, 2)}, r"capacities are \[4, 2\]"),
        ({"capacities": (0, 2)}, "capacities is 0"),
        ({"probe": "rff", "capacities": (4, 7)}, "Fourier features come in pairs"),
        ({"probe": "mlp"}, "choose one of rf, rff"),
        ({"test_fraction": 1.0}, "test_fraction is 1.0"),
    ],
)
def test_refuses_settings_that_make_no_sense(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DCIES(SPACE, **settings)
