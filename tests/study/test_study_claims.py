"""The script that compares claims of a paper with a finished study."""

import importlib
import itertools
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, t

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("study_claims")


def test_the_interval_of_a_mean_is_that_of_students_t(claims: ModuleType) -> None:
    values = np.array([0.1, 0.5, 0.2, 0.9])
    runs = pd.DataFrame({"seed": range(4), "score": values})
    value, low, high = claims.jackknife(runs, lambda some: np.array([some["score"].mean()]))
    reach = t.ppf(0.975, 3) * values.std(ddof=1) / 2
    assert [value[0], low[0], high[0]] == pytest.approx(
        [values.mean(), values.mean() - reach, values.mean() + reach]
    )


@pytest.mark.parametrize(
    ("supported", "verdict"),
    [([True, True], "yes"), ([True, False], "partly"), ([False], "no"), ([], "not tried")],
)
def test_a_verdict_counts_the_tests_of_a_claim(
    claims: ModuleType, supported: list[bool], verdict: str
) -> None:
    assert claims.Claim("a", "b", "c", supported).cells() == ["a", "b", "c", verdict]


@pytest.mark.parametrize("effect", [0.0, 10.0])
def test_noise_is_no_effect_of_the_method_and_a_strong_effect_is(
    claims: ModuleType, effect: float
) -> None:
    rng = np.random.default_rng(0)
    settings = itertools.product(range(3), (1, 2), range(6))
    runs = pd.DataFrame(settings, columns=["method", "strength", "seed"])
    scores = {name: effect * runs["method"] + rng.normal(size=36) for name in claims.SCORES}
    found, table = claims._shares(runs.assign(**scores))
    # the residual of noise is not the seed
    assert [claim.cells()[-1] for claim in found] == ["no", "no"]
    chance = float(table["rows"][-1][1])
    # the R² of normal noise on three methods has a beta distribution
    assert chance == pytest.approx(beta.ppf(1 - 0.05 / 6, 2 / 2, 33 / 2), abs=0.05)
    shares = [float(row[1].split()[0]) for row in table["rows"][:-1]]
    assert sum(share > chance for share in shares) == (6 if effect else 0)
