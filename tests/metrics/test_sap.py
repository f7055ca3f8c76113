"""Separated attribute predictability."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.svm import LinearSVC

from dislab.errors import InputError
from dislab.metrics import SAP


@pytest.mark.parametrize("standardize", [False, True])
def test_svc_equals_scikit_learn(graded: Any, standardize: bool) -> None:
    metric = SAP(graded.space, predictor="svc", standardize=standardize)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    codes, factors = graded.codes.numpy(), graded.factors.numpy()
    if standardize:
        codes = (codes - codes[:300].mean(0)) / codes[:300].std(0)
    table = np.zeros((4, 3))
    for latent in range(4):
        for factor in range(3):
            machine = LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-10)
            machine.fit(codes[:300, [latent]], factors[:300, factor])
            table[latent, factor] = machine.score(codes[300:, [latent]], factors[300:, factor])
    ordered = np.sort(table, axis=0)
    gaps = ordered[-1] - ordered[-2]
    np.testing.assert_allclose(result["sap_svc_predictability"].numpy(), table, atol=1e-3)
    assert result["sap_svc_per_factor"].tolist() == pytest.approx(gaps.tolist(), abs=1e-3)
    assert result["sap_svc"].item() == pytest.approx(gaps.mean(), abs=1e-3)


def test_r2_equals_numpy(graded: Any) -> None:
    metric = SAP(graded.space)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    both = np.corrcoef(graded.codes.numpy().T, graded.factors.numpy().T)
    table = both[:4, 4:] ** 2
    ordered = np.sort(table, axis=0)
    gaps = ordered[-1] - ordered[-2]
    np.testing.assert_allclose(result["sap_r2_predictability"].numpy(), table, atol=1e-9)
    assert result["sap_r2"].item() == pytest.approx(gaps.mean(), abs=1e-9)


def test_ceilings_on_perfect_codes_of_dsprites(dsprites_like: Any) -> None:
    ceilings: dict[Any, float] = {"svc": 0.25, "r2": 1.0}
    for predictor, ceiling in ceilings.items():
        metric = SAP(dsprites_like.space, predictor=predictor)
        metric.update(dsprites_like.codes, dsprites_like.factors)
        assert metric.compute()[f"sap_{predictor}"].item() == pytest.approx(ceiling, abs=0.02)


def test_one_latent_has_a_useless_second(graded: Any) -> None:
    metric = SAP(graded.space)
    metric.update(graded.factors[:, :1].double(), graded.factors)
    assert metric.compute()["sap_r2_per_factor"][0].item() == pytest.approx(1.0)


def test_scale_matters_to_raw_machines_only(graded: Any) -> None:
    small = 0.01 * graded.codes
    values = {}
    for standardize in (False, True):
        for codes in (graded.codes, small):
            metric = SAP(graded.space, predictor="svc", standardize=standardize)
            metric.update(codes, graded.factors)
            values[standardize, codes is small] = metric.compute()["sap_svc"].item()
    assert values[True, True] == pytest.approx(values[True, False], abs=1e-9)
    assert values[False, True] != pytest.approx(values[False, False], abs=1e-3)


def test_misuse_is_named(graded: Any) -> None:
    with pytest.raises(InputError, match="test_fraction is 1"):
        SAP(graded.space, test_fraction=1.0)
    factors = torch.zeros(9, 3, dtype=torch.int64)
    factors[-1] = 1
    metric = SAP(graded.space, predictor="svc")
    metric.update(torch.randn(9, 2), factors)
    with pytest.raises(InputError, match="factor a takes one value only in the 6 images"):
        metric.compute()
