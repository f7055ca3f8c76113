"""The level of chance beside scores."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.base import Metric
from dislab.cli import main
from dislab.codes.bank import CodeBank
from dislab.codes.learners.tree_ensemble import Constant
from dislab.errors import InputError
from dislab.metrics import DCI, MIG, FactorVAEScore, evaluate, evaluate_fully
from dislab.metrics.array_scores import DoubtfulScoresWarning
from dislab.metrics.sheet import sheet

SIZES = (2, 5, 3)
RNG = np.random.default_rng(0)
FACTORS = np.stack([RNG.integers(size, size=1800) for size in SIZES], axis=1)
FACTORS[:600, 0] = 1  # the value 1 twice as often
PERFECT = FACTORS + 0.01 * RNG.normal(size=FACTORS.shape)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("metric", "name", "low", "high"),
    [
        ("MIG", "mig", 0.0, 0.02),
        ("Modularity", "modularity", 0.2, 0.95),
        ("SAP", "sap_r2", 0.0, 0.01),
        ("Explicitness", "explicitness", 0.45, 0.55),
        ("FactorVAEScore", "factor_vae_score", 0.25, 0.5),
        ("BetaVAEScore", "beta_vae_score", 0.25, 0.42),
        ("DCI", "dci_hgbt_disentanglement", 0.0, 0.0),
        ("DCI", "dci_hgbt_completeness", 0.0, 0.0),
    ],
)
def test_perfect_codes_are_far_above_chance(
    metric: str, name: str, low: float, high: float
) -> None:
    full = evaluate_fully(PERFECT, FACTORS, [metric])
    assert low <= full.chance[name] <= high
    assert full.values[name] > full.chance[name] + 0.1


@pytest.mark.slow
def test_chance_of_informativeness_is_the_share_of_the_most_frequent_value() -> None:
    full = evaluate_fully(PERFECT, FACTORS, ["DCI"], shuffle=False)
    expected = []
    for column in FACTORS.T:
        train, test = column[:1200], column[1200:]
        expected.append((test == np.bincount(train).argmax()).mean())
    assert full.chance["dci_hgbt_informativeness"] == pytest.approx(np.mean(expected))
    assert full.parts["dci_hgbt_informativeness_per_factor"] != expected
    assert full.parts["dci_hgbt_informativeness_per_factor_by_chance"] == pytest.approx(expected)
    without = evaluate_fully(PERFECT, FACTORS, ["DCI"], shuffle=False, chance=False)
    assert not any(name.endswith("_by_chance") for name in without.parts)


def test_codes_of_nothing_score_as_chance_does() -> None:
    noise = np.random.default_rng(1).normal(size=(1800, 3))
    full = evaluate_fully(noise, FACTORS, ["MIG", "FactorVAEScore", "SAP"])
    for name in ("mig", "factor_vae_score", "sap_r2"):
        assert full.values[name] == pytest.approx(full.chance[name], abs=0.06)


def test_scores_that_do_not_look_at_factors_have_none() -> None:
    names = ["GaussianTotalCorrelation", "WassersteinCorrelation", "MeanPairwiseMI"]
    full = evaluate_fully(PERFECT, FACTORS, names)
    assert full.chance == {}
    assert len(full.values) >= 3
    full = evaluate_fully(PERFECT, FACTORS, ["FactorVAEScore"])
    assert "num_active" in full.values
    assert "num_active" not in full.chance


def test_chance_follows_the_names_and_the_seed_and_can_be_left_out() -> None:
    chosen = {"fine": functools.partial(MIG, bins=40), "coarse": functools.partial(MIG, bins=5)}
    full = evaluate_fully(PERFECT, FACTORS, chosen, seed=1)
    assert set(full.chance) == {"fine/mig", "coarse/mig"}
    assert full.chance["fine/mig"] != full.chance["coarse/mig"]
    assert evaluate_fully(PERFECT, FACTORS, chosen, seed=1).chance == full.chance
    assert full.record()["chance"] == full.chance
    plain = evaluate_fully(PERFECT, FACTORS, chosen, seed=1, chance=False)
    assert plain.chance == {}
    assert plain.values == full.values == evaluate(PERFECT, FACTORS, chosen, seed=1)


def test_the_seed_draws_the_shuffled_codes_and_the_resamples() -> None:
    same, again, other = (
        evaluate_fully(PERFECT, FACTORS, ["MIG"], bootstrap=5, shuffle=False, seed=seed)
        for seed in (1, 1, 2)
    )
    assert (same.chance, same.intervals) == (again.chance, again.intervals)
    assert same.values == other.values
    assert same.chance != other.chance
    assert same.intervals != other.intervals


def test_a_score_that_fails_on_shuffled_codes_has_no_chance() -> None:
    class Choosy(Metric):
        def score(self, bank: CodeBank) -> dict[str, Tensor]:
            if bank.squared_correlation.max() < 0.5:
                raise InputError("these codes know nothing")
            return {"choosy": bank.std.mean()}

    full = evaluate_fully(PERFECT, FACTORS, {"c": Choosy, "m": MIG})
    assert set(full.values) == {"choosy", "mig"}
    assert set(full.chance) == {"mig"}


def test_codes_in_which_no_latent_varies_have_no_chance_of_the_factorvae_score() -> None:
    constant = np.ones_like(PERFECT)
    with pytest.warns(DoubtfulScoresWarning):
        full = evaluate_fully(constant, FACTORS, [FactorVAEScore])
    assert full.values["factor_vae_score"] == full.values["num_active"] == 0
    assert not full.chance
    assert set(evaluate_fully(PERFECT, FACTORS, [FactorVAEScore]).chance) == {
        "factor_vae_score",
        "factor_vae_score_train",
    }


def test_the_command_prints_and_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "codes.npz", tmp_path / "out.json"
    np.savez(file, codes=PERFECT, factors=FACTORS)
    assert main(["score", str(file), "--metrics", "MIG", "--json", str(out)]) == 0
    level = json.loads(out.read_text())["chance"]["mig"]
    head, row = capsys.readouterr().out.splitlines()[:2]
    assert head.split() == ["score", "value", "chance"]
    assert row.split()[2] == f"{level:.4f}"
    assert main(["score", str(file), "--metrics", "MIG", "--no_chance"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["score", "value"]


@pytest.mark.slow
def test_the_sheet_marks_it() -> None:
    full = evaluate_fully(PERFECT, FACTORS, [DCI])
    axes = sheet(full).axes[0]
    marks = [line for line in axes.get_lines() if line.get_marker() == "|"]
    levels = [level for level in full.chance.values() if 0 <= level <= 1]
    assert [float(line.get_xdata()[0]) for line in marks] == levels  # type: ignore[index,arg-type]
    assert axes.get_title(loc="left") == "scores, and chance as red bars"


def test_a_constant_prediction_is_the_most_frequent_value_or_the_mean() -> None:
    codes = torch.zeros(4, 3)
    kinds = Constant(3, torch.tensor([2, 0, 2, 1]))
    assert kinds.predict(codes).tolist() == [2, 2, 2, 2]
    assert kinds.importances().tolist() == [0, 0, 0]
    numbers = Constant(3, torch.tensor([0.5, 1.0]))
    assert numbers.predict(codes).tolist() == [0.75] * 4
