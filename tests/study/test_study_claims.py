"""The script that compares claims of a paper with a finished study."""

import importlib
import itertools
import json
import re
from io import BytesIO
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, spearmanr, t

from dislab.study.statistics import holm, rank_correlations
from dislab.study.statistics.selection import Best
from dislab.study.summary import summarize
from dislab.study.tables import table_bytes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
UNDECIDED = "undecided"


def full_verdict(row: list[str], here: str = "c") -> str:
    """The verdict of a row with the counts before its figure, which is `here`."""
    counts = row[3].removesuffix(here).removesuffix(": ")
    return f"{row[1]}: {counts}" if counts else row[1]


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package with a module for each paper, all imported by the script."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    importlib.import_module("study_claims")
    return importlib.import_module("claims")


def test_the_interval_of_a_mean_is_that_of_students_t(claims: ModuleType) -> None:
    values = np.array([0.1, 0.5, 0.2, 0.9])
    runs = pd.DataFrame({"seed": range(4), "score": values})
    value, low, high = claims.tables.jackknife(runs, lambda some: np.array([some["score"].mean()]))
    reach = t.ppf(0.975, 3) * values.std(ddof=1) / 2
    assert [value[0], low[0], high[0]] == pytest.approx(
        [values.mean(), values.mean() - reach, values.mean() + reach]
    )


def test_one_seed_has_no_interval(claims: ModuleType) -> None:
    assert (
        claims.tables.interval(0.5, np.nan, np.nan) == "0.50 (fewer than three seeds: no interval)"
    )
    assert claims.tables.interval(0.5, 0.4, 0.6) == "0.50 [0.40, 0.60]"


@pytest.mark.parametrize(
    ("supported", "verdict"),
    [
        ([True, True], "yes"),
        ([True, False], "partly: 1 of 2 tests for, 1 against, 0 undecided"),
        ([True, True, False], "mostly: 2 of 3 tests for, 1 against, 0 undecided"),
        ([True, False, False], "partly: 1 of 3 tests for, 2 against, 0 undecided"),
        ([False], "no"),
        ([], "not tried"),
    ],
)
def test_a_verdict_counts_the_tests_of_a_claim(
    claims: ModuleType, supported: list[bool], verdict: str
) -> None:
    row = claims.tables.Claim("a", "b", "c", supported).cells()
    assert [row[0], full_verdict(row), row[2]] == ["a", verdict, "b"]
    assert row[1] in {"yes", "mostly", "partly", "no", "not tried"}  # the word alone


@pytest.mark.parametrize(
    ("supported", "reach", "verdict"),
    [
        ([False, False], [0.05, -0.1], "no"),
        ([False, False], [0.36, 0.1], UNDECIDED),
        ([False, False], [0.36, -0.1], "undecided: 0 of 2 tests for, 1 against, 1 undecided"),
        ([True, False], [0.5, 0.5], "partly: 1 of 2 tests for, 0 against, 1 undecided"),
        ([True, False], [0.5, 0.05], "partly: 1 of 2 tests for, 1 against, 0 undecided"),
    ],
)
def test_only_intervals_that_leave_no_effect_refute_a_claim(
    claims: ModuleType, supported: list[bool], reach: list[float], verdict: str
) -> None:
    claim = claims.tables.Claim("a", "b", "c", supported, reach=reach, margin=0.05)
    assert full_verdict(claim.cells()) == verdict


@pytest.mark.parametrize(
    ("reach", "seen", "verdict"),
    [
        ([0.1, 0.2], [False, False], "yes"),
        ([0.1, 0.5], [False, False], "partly: 1 of 2 tests for, 0 against, 1 undecided"),
        ([0.1, 0.2, 0.5], [False] * 3, "mostly: 2 of 3 tests for, 0 against, 1 undecided"),
        ([0.4, 0.5], [False, False], "undecided: no effect seen, up to ρ ±0.50"),
        ([0.8, 0.2], [True, False], "partly: 1 of 2 tests for, 1 against, 0 undecided"),
        ([0.8, 0.2, 0], [True] + 2 * [False], "mostly: 2 of 3 tests for, 1 against, 0 undecided"),
        ([0.8, 0.4], [True, False], "no: 0 of 2 tests for, 1 against, 1 undecided"),
        ([0.8, 0.9], [True, True], "no: 0 of 2 tests for, 2 against, 0 undecided"),
    ],
)
def test_no_effect_comes_out_if_intervals_lie_within_the_margin(
    claims: ModuleType, reach: list[float], seen: list[bool], verdict: str
) -> None:
    claim = claims.tables.Claim("a", "b", "c", [])
    found = claims.tables.claim_of_no_effect(claim, reach, seen, 0.3, "ρ ±{:.2f}")
    assert full_verdict(found.cells()) == verdict
    unsized = claims.tables.claim_of_no_effect(claim, reach, seen, 0.3)
    assert full_verdict(unsized.cells()) == verdict.partition(", up to")[0]
    names = ["hues", "size", "range"][: len(seen)]
    named = claims.tables.claim_of_no_effect(claim, reach, seen, 0.3, "ρ ±{:.2f}", names)
    none = [name for name, r, s in zip(names, reach, seen, strict=True) if r <= 0.3 and not s]
    does = [name for name, s in zip(names, seen, strict=True) if s]
    expected = verdict.replace(
        "tests for", f"tests for ({', '.join(none)})" if none else "tests for"
    )
    if does:
        expected = expected.replace(" against", f" against (it does: {', '.join(does)})")
    assert full_verdict(named.cells()) == expected


def test_many_tests_for_a_claim_are_those_that_are_left(claims: ModuleType) -> None:
    names = [f"score {k}" for k in range(9)]
    good = [True] * 7 + [False] * 2
    left = " (score 7, score 8)"
    for against, ours, theirs, counts in (
        (good, "all but score 7, score 8", "", (0, 2)),
        ([True] * 9, "all others", left, (2, 0)),
    ):
        refuted = np.array(against) & ~np.array(good)
        text = claims.tables.ways(good, refuted, names)
        bad, rest = counts
        assert text == f"7 of 9 tests for ({ours}), {bad} against{theirs}, {rest} undecided"


def test_an_interval_of_a_share_ends_at_its_bounds(claims: ModuleType) -> None:
    runs = pd.DataFrame({"seed": range(4), "share": [0.0, 0.0, 0.1, 1.0]})
    for bounds, ends in (((0, 1), [0.0, 1.0]), ((-0.2, 0.5), [-0.2, 0.5])):
        _, *found = claims.tables.jackknife(
            runs, lambda some: np.array([some["share"].mean()]), bounds
        )
        assert [float(end[0]) for end in found] == ends


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "seeds", "verdict"),
    [
        (0.0, 6, UNDECIDED),  # the residual of noise is not the seed
        (10.0, 6, "no"),
        (0.6, 40, "yes, by the interval"),
    ],
)
def test_the_seed_outweighs_a_weak_method_but_neither_noise_nor_a_strong_method(
    claims: ModuleType, effect: float, seeds: int, verdict: str
) -> None:
    rng = np.random.default_rng(0)
    settings = itertools.product(range(3), (1, 2), range(seeds))
    runs = pd.DataFrame(settings, columns=["method", "strength", "seed"])
    count = len(runs)
    scores = {
        name: effect * runs["method"] + rng.normal(size=count) for name in claims.tables.SCORES
    }
    found, table = claims.locatello._shares(runs.assign(**scores))
    assert [claim.cells()[1] for claim in found] == [verdict, verdict]
    for claim in found:
        ends = [(low, high) for _, low, high in intervals(claim.here)]
        assert len(ends) == 6
        assert all(high < 0 for _, high in ends) == (effect > 1)
        assert effect != 0.6 or all(low > 0 for low, _ in ends)
    chance = [float(row[2].split()[0]) for row in table["rows"]]
    # the R² of normal noise on three methods has a beta distribution
    expected = beta.ppf(1 - 0.05 / 6, 2 / 2, (count - 3) / 2)
    assert chance == [pytest.approx(expected, abs=0.05)] * 6
    shares = [float(row[1].split()[0]) for row in table["rows"]]
    assert sum(np.array(shares) > chance) == (6 if effect else 0)
    assert sum("not reached" in row[2] for row in table["rows"]) == (0 if effect else 6)


@pytest.mark.slow
def test_a_strength_that_matters_within_methods_is_above_its_own_chance(claims: ModuleType) -> None:
    rng = np.random.default_rng(0)
    settings = itertools.product(range(3), range(3), range(6))
    runs = pd.DataFrame(settings, columns=["method", "strength", "seed"])
    names = list(claims.tables.SCORES)
    # the method leaves little, half of which the strength explains; it does not for the last score
    weights = np.array([0.6, 0.6, 0.6, 0.6, 0.6, 0.0])
    scores = 2.0 * runs[["method"]].to_numpy() + weights * runs[["strength"]].to_numpy()
    scores = scores + 0.5 * rng.normal(size=(len(runs), 6))
    runs = runs.join(pd.DataFrame(scores, columns=names))
    # six of the 53 degrees of freedom are those of the strength
    of_noise = beta.ppf(1 - 0.05 / 6, 6 / 2, (53 - 6) / 2)
    _, table = claims.locatello._shares(runs)
    for row, weight in zip(table["rows"], weights, strict=True):
        share, level = float(row[3].split()[0]), float(row[4].split()[0])
        assert share < of_noise  # so that shuffles over all runs would miss it
        assert ("not reached" in row[4]) == (share < level) == (weight == 0)


@pytest.mark.slow
def test_a_selector_that_orders_methods_alone_does_not_help(claims: ModuleType) -> None:
    rng = np.random.default_rng(0)
    runs = pd.DataFrame({"method": np.repeat(["betavae", "factorvae", "dipvae1"], 20)})
    quality = np.repeat([0.0, 3.0, 6.0], 20)
    within = rng.normal(size=60)
    for name in claims.tables.SCORES:
        runs[name] = quality + within
    elbo, reconstruction, lasso, spearman = claims.selection.SELECTORS
    runs[elbo] = within
    runs[reconstruction] = -quality - within
    runs[lasso] = quality + rng.normal(size=60)
    runs[spearman] = -within
    for name in claims.selection.LABELLED:
        runs[name] = quality + within
    found, table = claims.selection.within_methods(runs)
    mig = found.loc["score.mig"]
    assert mig.loc[[elbo, reconstruction, spearman], "rho"].tolist() == pytest.approx([1, 1, -1])
    expected = [
        spearmanr(part[lasso], part["score.mig"]).statistic
        for _, part in runs.groupby("method", sort=False)
    ]
    assert mig.loc[lasso, "rho"] == pytest.approx(np.mean(expected))
    assert mig.loc[lasso, "low"] < 0 < mig.loc[lasso, "high"]
    assert mig.loc[lasso, "p_holm"] > 0.05 > mig.loc[elbo, "p_holm"]
    *rows, by_chance = table["rows"]
    # the standard deviation of ρ of n runs is 1 / √(n − 1); of the mean of three, √3 less
    assert float(by_chance[2]) == pytest.approx(1.96 / np.sqrt(3 * 19), abs=0.02)
    row = next(row for row in rows if row[:2] == ["MIG", "UDR lasso pooled"])
    assert row[4:] == [f"{rho:.2f}" for rho in expected]
    claims_found, _ = claims.selection.without_labels(runs, found)
    by_selector = {claim.claim.partition(" s")[0]: claim for claim in claims_found}
    lasso_claim = by_selector["UDR lasso pooled"]
    assert not any(lasso_claim.supported)
    pooled, _ = claims.selection.without_labels(runs)
    assert all(pooled[2].supported)


@pytest.mark.parametrize(
    ("trends", "verdict"),
    [((0, 0), UNDECIDED), ((1, 0), UNDECIDED), ((1, 1), "no"), ((1, -1), "yes")],
)
def test_trends_differ_if_some_rise_and_others_fall_beyond_chance(
    claims: ModuleType, trends: tuple[int, int], verdict: str
) -> None:
    rng = np.random.default_rng(8)
    settings = itertools.product(("betavae", "factorvae"), range(4), range(6))
    runs = pd.DataFrame(settings, columns=["method", "penalty", "seed"])
    trend = np.where(runs["method"] == "betavae", *trends) * runs["penalty"]
    scores = {name: trend + 0.01 * rng.normal(size=len(runs)) for name in claims.tables.SCORES}
    (claim,), table = claims.locatello._strength(runs.assign(**scores))
    assert claim.cells()[1] == verdict
    assert ("in 12 pairs no test finds a trend (ρ -0." in claim.here) == (trends == (0, 0))
    assert table["rows"][-1][1:] == [f"{claims.tables.rho_by_chance(runs[:24]):.2f}"] * 6


def planted(claims: ModuleType, effect: float) -> pd.DataFrame:
    """Runs in which disentanglement lowers the errors of trees, and noise those in OOD2."""
    rng = np.random.default_rng(1)
    settings = itertools.product(("betavae", "adagvae"), ("without", "with"), (1, 2), range(4))
    runs = pd.DataFrame(settings, columns=["method", "noise", "strength", "seed"])
    good = 0.3 * (runs["method"] == "adagvae") + 0.1 * rng.random(len(runs))
    runs[claims.tables.DCI] = 0.2 + good
    runs["score.mig"] = good + 0.01 * rng.random(len(runs))
    runs["score.sap_r2"] = rng.normal(size=len(runs))
    runs["score.elbo_sample_test"] = effect * good + 0.01 * rng.normal(size=len(runs))
    for k, scenario in enumerate(claims.dittadi.SCENARIOS):
        runs[f"transfer.{scenario}/chance"] = 0.25
        noisy = 0.1 * effect * (runs["noise"] == "without") if k > 2 else 0.0
        noise = 0.001 * rng.normal(size=(2, len(runs)))
        runs[f"transfer.{scenario}/GradientBoosting"] = 0.2 - effect * 0.3 * good + noisy + noise[0]
        runs[f"transfer.{scenario}/GradientBoosting/in_distribution"] = 0.1 + noise[0]
        runs[f"transfer.{scenario}/MLP"] = 0.2 + noisy + noise[1]
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0, 1])
def test_planted_effects_on_transfer_come_out(claims: ModuleType, effect: int) -> None:
    tables = claims.dittadi.dittadi(None, planted(claims, effect))
    verdicts = {row[0]: row[1] for row in tables["claims"]["rows"]}
    figures = {row[0]: row[3] for row in tables["claims"]["rows"]}
    assert verdicts["Pairs disentangle more than images alone"] == "yes, by the interval"
    trees = verdicts["OOD1: disentanglement goes with small errors of trees"]
    assert trees == ("yes" if effect else UNDECIDED)
    assert verdicts["OOD1: and with those of networks"] == UNDECIDED
    # the effect of noise on errors in OOD2 weakens that of disentanglement
    weaker = verdicts["OOD2-A: less so for trees than in OOD1, but so"]
    assert weaker == ("yes" if effect else "no")
    helps = "yes, by the interval" if effect else "no"
    assert verdicts["Noise at the input helps in OOD2"] == helps
    none = verdicts["And has no effect in OOD1"]
    assert none == "yes, by the interval"  # the noise of the errors is a tenth of the margin
    hardly = "OOD2-B: hardly at all"  # 32 runs are few
    assert verdicts[hardly] == ("no" if effect else "undecided")
    seen = "0 of 2 tests for, 1 against (it does: OOD2-B trees), 1 undecided: "
    assert figures[hardly].startswith(seen if effect else "no effect seen, up to ρ -0.")
    assert verdicts["MIG agrees with DCI disentanglement, SAP does not"] == "yes"
    assert (
        verdicts["DCI disentanglement and MIG go with small errors of trees in distribution"]
        == UNDECIDED
    )
    selected = "With pairs, lower bound and reconstruction select models that transfer in OOD1"
    assert verdicts[selected] == ("yes" if effect else UNDECIDED)
    assert len(tables["correlations"]["rows"]) == 11
    assert {len(row) for row in tables["errors"]["rows"]} == {len(tables["errors"]["header"])}


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0, 1])
def test_a_planted_effect_on_generalisation_contradicts_the_paper(
    claims: ModuleType, effect: int
) -> None:
    rng = np.random.default_rng(2)
    settings = itertools.product(("vae", "betavae", "true_factors"), ("hues", "size"), range(99))
    runs = pd.DataFrame(settings, columns=["method", "condition", "seed"])
    runs[claims.tables.DCI] = rng.random(len(runs))
    runs.loc[runs["method"] == "true_factors", claims.tables.DCI] = np.nan
    runs[claims.montero.RATIO] = (
        2 - effect * runs[claims.tables.DCI].fillna(1.5) + 0.01 * rng.random(len(runs))
    )
    runs[claims.montero.RATIO] += 2 * effect * (runs["condition"] == "size")
    rows = claims.montero.montero(None, runs)["claims"]["rows"]
    verdicts = [row[1] for row in rows]
    by_interval = "yes, by the interval"
    assert verdicts == (["no", "no", by_interval] if effect else ["yes", by_interval, "no"])


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0, 1])
def test_planted_effects_of_correlation_come_out(claims: ModuleType, effect: int) -> None:
    rng = np.random.default_rng(3)
    methods = ("betavae", "betatcvae", "adamlvae")
    settings = itertools.product(methods, ("none", "weak", "strong"), range(6))
    runs = pd.DataFrame(settings, columns=["method", "correlation", "seed"])
    alone = (runs["correlation"] == "strong") & (runs["method"] != "adamlvae")
    better = (runs["method"] == "betatcvae") & (runs["correlation"] != "weak")
    noise = 0.01 * rng.normal(size=(2, len(runs)))
    scores = {"shared": effect * alone + noise[0], claims.tables.MIG: effect * better + noise[1]}
    runs = runs.assign(**{claims.tables.DCI: 0.5}, **scores)
    rows = claims.correlated.claims_on_correlation(runs)["claims"]["rows"]
    verdicts = ["no", "yes, by the interval", "no"]
    if effect:
        verdicts = ["yes, by the interval"] * 2 + ["mostly"]
        counts = (
            "2 of 3 tests for (no correlation, strong correlation), 1 against (weak correlation)"
        )
        assert rows[2][3].startswith(f"{counts}, 0 undecided: ")
    assert [row[1] for row in rows] == verdicts


@pytest.mark.slow
def test_trees_on_noise_share_all_latents(claims: ModuleType) -> None:
    path = BENCHMARKS / "results" / "correlated_rooms.json"
    noise = json.loads(path.read_text())["tables"]["shared"]["rows"][-1]
    assert noise[2] == f"{claims.correlated._shared_by_noise():.2f}"
    assert float(noise[2]) > 0.9


@pytest.mark.parametrize("effect", [0, 1])
def test_predictors_that_rank_runs_alike_come_out(claims: ModuleType, effect: int) -> None:
    rng = np.random.default_rng(6)
    quality, scenario = rng.random(24), claims.predictors.SCENARIO
    runs = pd.DataFrame({"seed": range(24), claims.tables.DCI: quality})
    for name in claims.predictors.PREDICTORS:
        alike = effect or name in claims.predictors.TREES
        runs[f"{scenario}/{name}"] = 0.01 * rng.normal(size=24) - alike * quality
    tables = claims.predictors.claims_on_predictors(runs.assign(**{f"{scenario}/chance": 0.25}))
    verdicts = [row[1] for row in tables["claims"]["rows"]]
    assert verdicts == (["yes", "yes"] if effect else ["yes", UNDECIDED])
    rows = tables["errors"]["rows"]
    assert rows[0][2].endswith("\\*")  # errors of trees fall with DCI disentanglement
    assert [len(row) for row in rows] == [8] * 7
    *_, error, rho = rows  # two kinds of chance are two rows
    assert error[:3] == ["chance (no codes)", "0.25", ""]
    assert rho[:2] == ["by chance below (shuffled scores)", ""]


def test_the_overlap_of_importance_is_that_of_shares(claims: ModuleType, tmp_path: Path) -> None:
    importance = [[0.0, 1.0, 1.0], [0.0, 0.0, 3.0], [2.0, 0.0, 0.0]]  # latent, factor
    names = ["wall_hue", "floor_hue", "object_hue"]
    test = {"data": {"factors": names}, "parts": {"dci_hgbt_importance": importance}}
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"test": test}))
    assert claims.correlated._shared(path) == pytest.approx(0.25)


def test_only_some_claims_follow_from_the_kept_runs(
    claims: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = importlib.import_module("study_claims")
    assert not set(script.FROM_RUNS) & set(script.CLAIMS)
    monkeypatch.setattr("sys.argv", ["study_claims.py", "montero", "runs.csv"])
    with pytest.raises(SystemExit):
        script.main()
    assert "montero needs the folder of the study" in capsys.readouterr().err


def test_a_page_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("study_claims")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    command = "python benchmarks/study_claims.py montero studies/montero_rooms"
    script.write_page("montero_rooms", command, ["claims", "ratios"])
    page = folder / "montero_rooms.md"
    text = page.read_text()
    assert command in text
    assert text.count("<!-- table: results montero_rooms ") == 2
    page.unlink()
    for table in ("results montero_rooms claims", "claims montero_rooms"):
        (folder / "other.md").write_text(f"<!-- table: {table} -->\n<!-- end -->\n")
        script.write_page("montero_rooms", command, ["claims", "ratios"])
        assert not page.exists(), table


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_planted_effects_of_labels_come_out(claims: ModuleType, effect: float) -> None:
    rng = np.random.default_rng(5)
    settings = itertools.product(("betavae", "factorvae"), (0, 100, 1000), range(4))
    runs = pd.DataFrame(settings, columns=["method", "labels", "seed"])
    quality = rng.random(len(runs)) + effect * (runs["labels"] > 0)
    for name in claims.tables.SCORES:
        runs[name] = quality + 0.01 * rng.normal(size=len(runs))
        runs[f"{name}/chance"] = 0.1
    runs[claims.few_labels.UNFAIRNESS] = -effect * quality + 0.01 * rng.normal(size=len(runs))
    few, *more = claims.few_labels.REASONING
    runs[few] = effect * quality + 0.01 * rng.normal(size=len(runs))
    runs[more] = 0.01 * rng.normal(size=(len(runs), 2))
    runs[list(claims.selection.LABELLED)] = np.asarray(quality)[:, None] + rng.normal(
        scale=0.01, size=(len(runs), 2)
    )
    runs[list(claims.few_labels.EFFICIENCY)] = rng.normal(size=(len(runs), 2))
    tables = claims.few_labels.claims_on_labels(runs)
    verdict = "yes" if effect else "no"
    more = ["yes, by the interval"] * 2 if effect else ["no", "undecided"]
    fewer = "undecided" if effect else "partly"
    expected = [*more, "yes", fewer, verdict, verdict, "undecided", "no"]
    assert [row[1] for row in tables["claims"]["rows"]] == expected
    selects = tables["claims"]["rows"][2]
    assert "models with and without labels in training" in selects[0]
    assert selects[2].endswith("few labels suffice (not read here)")
    assert len(tables["labels"]["rows"]) == 7
    unfairness = [float(row[2].split()[0]) for row in tables["tasks"]["rows"][:3]]
    assert (unfairness[2] < unfairness[0] - 0.5) == bool(effect)


@pytest.mark.parametrize("effect", [0, 1])
def test_methods_of_pairs_are_compared_by_intervals(claims: ModuleType, effect: int) -> None:
    rng = np.random.default_rng(7)
    settings = itertools.product(("slowvae", "adagvae", "betavae"), range(4))
    runs = pd.DataFrame(settings, columns=["method", "seed"])
    for name in claims.slowvae.SCORES:
        runs[name] = effect * (runs["method"] != "betavae") + 0.01 * rng.normal(size=len(runs))
        runs[f"{name}/chance"] = 0.1
    tables = claims.slowvae.claims_on_steps(runs)
    above, beside = (row[1] for row in tables["claims"]["rows"])
    assert above == ("yes, by the interval" if effect else "no")
    assert beside == "no"
    assert [len(row) for row in tables["scores"]["rows"]] == [6] * 4


@pytest.mark.parametrize(("noise", "verdict"), [(0.01, "yes"), (100.0, UNDECIDED)])
def test_scores_on_few_labels_select_if_they_resemble_the_scores(
    claims: ModuleType, noise: float, verdict: str
) -> None:
    rng = np.random.default_rng(4)
    quality = rng.random(30)
    columns = [*claims.tables.SCORES, *claims.selection.LABELLED]
    runs = pd.DataFrame({name: quality + 0.01 * rng.normal(size=30) for name in columns})
    runs[list(claims.selection.LABELLED)] += noise * rng.normal(size=(30, 2))
    (claim,), table = claims.selection.with_labels(runs)
    assert claim.cells()[1] == verdict
    assert claim.names[:2] == ["β-VAE score by MIG 100 labels", "β-VAE score by SAP R² 100 labels"]
    assert len(table["rows"]) == 12


def test_a_claim_on_a_selector_names_the_scores_for_which_it_helps(
    claims: ModuleType,
) -> None:
    choice = claims.selection.Choice
    choices = [
        choice("MIG", "ELBO", 0.33, 0.48, 0.001, 0.23, 0.19),
        choice("SAP", "ELBO", -0.5, -0.3, 0.001, 0.0, 0.3),
        choice("DCI disentanglement", "ELBO", 0.2, 0.29, 0.8, 0.0, 0.3),
    ]
    claim = claims.selection.claim_without_labels(choices, 0.16)
    counts = "2 of 3 tests for (SAP, DCI disentanglement), 1 against (it does: MIG), 0 undecided"
    assert claim.here == "ρ -0.50 (SAP) to 0.33 (MIG), by chance below 0.16; helps for none"
    assert claim.cells()[1::2] == ["mostly", f"{counts}: {claim.here}"]
    assert claims.selection.claim_without_labels(choices[1:], 0.16).cells()[1] == "yes"
    assert choice("MIG", "UDR", 0.5, 0.6, 0.001, 0.004, 0.006).helps
    assert not choice("MIG", "UDR", 0.5, 0.6, 0.001, 0.001, 0.004).helps  # 0.00 in the table, both
    choices[0] = choice("MIG", "UDR", 0.33, 0.48, 0.001, 0.1, 0.19)
    claim = claims.selection.claim_without_labels(choices, 0.16)
    counts = "1 of 3 tests for (MIG), 2 against (SAP, DCI disentanglement), 0 undecided"
    assert claim.cells()[1::2] == ["partly", f"{counts}: {claim.here}"]


def test_tables_of_unseen_combinations_are_those_of_the_stored_runs(claims: ModuleType) -> None:
    findings = importlib.import_module("study_findings")
    results = BENCHMARKS.parent / "docs" / "results" / "montero_laptop"
    runs = pd.read_csv(results / "runs.csv")
    stored = json.loads((BENCHMARKS / "results" / "montero_laptop.json").read_text())["tables"]
    assert findings.beside_true_factors(runs) == stored["beside"]
    assert findings.generalisation_correlations(runs) == stored["correlations"]


@pytest.mark.slow
def test_correlations_of_transfer_are_those_of_the_stored_runs(claims: ModuleType) -> None:
    findings = importlib.import_module("study_findings")
    runs = pd.read_csv(BENCHMARKS.parent / "docs" / "results" / "dittadi_laptop" / "runs.csv")
    stored = json.loads((BENCHMARKS / "results" / "dittadi_laptop.json").read_text())["tables"]
    assert findings.transfer_correlations(runs) == stored["correlations"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["locatello_laptop", "correlated_laptop", "dittadi_laptop", "montero_laptop"]
)
def test_tables_of_archived_studies_are_those_of_the_stored_runs(
    claims: ModuleType, name: str
) -> None:
    archived = importlib.import_module("archived_summaries")
    for key, table in archived.summary_of(name).tables.items():
        today = BytesIO(table_bytes(table.table.set_index(table.table.columns[0]), "csv"))
        stored = archived.RESULTS / name / f"{key}.csv"
        pd.testing.assert_frame_equal(pd.read_csv(today), pd.read_csv(stored))


def test_the_coverage_of_jackknife_intervals_is_the_stored_one(claims: ModuleType) -> None:
    coverage = importlib.import_module("interval_coverage")
    path = BENCHMARKS / "results" / "interval_coverage.json"
    stored = json.loads(path.read_text())["tables"]["differences"]
    assert coverage.of_differences() == stored
    assert [row[1] for row in stored["rows"]] == ["0.95"] * 3  # exact for normal differences


NAMED = {
    "labels_rooms": ("correlations", "less unfair", "reason better", "need no fewer labels"),
    "dittadi_rooms": ("correlations", "OOD1: ", "OOD2-A: ", "OOD2-B: "),
}
NAMED_NUMBER = (
    r"(?P<name>[A-Z][\w -]+?) (?P<number>-?\d\.\d\d)(?=[,; ])"  # OOD1-A trees -0.44
    r"|(?P<of>-?\d\.\d\d) \((?P<score>[^)]+)\)"  # 0.97 (DCI disentanglement)
)


@pytest.mark.parametrize("name", NAMED)
def test_numbers_of_a_claim_have_names_and_are_those_of_the_table(name: str) -> None:
    tables = json.loads((BENCHMARKS / "results" / f"{name}.json").read_text())["tables"]
    table, *claims_named = NAMED[name]
    cells = " ".join(" ".join(row) for row in tables[table]["rows"])
    rows = [row for row in tables["claims"]["rows"] if any(text in row[0] for text in claims_named)]
    assert len(rows) >= 4
    for claim, _, _, here in rows:
        found = list(re.finditer(NAMED_NUMBER, here))
        assert len(found) >= 2, claim
        assert all((one["number"] or one["of"]) in cells for one in found), claim


@pytest.mark.parametrize("path", sorted((BENCHMARKS / "results").glob("*.json")), ids=str)
def test_every_row_of_a_stored_table_has_a_cell_for_each_heading(path: Path) -> None:
    tables = json.loads(path.read_text()).get("tables", {})
    for name, table in tables.items():
        assert {len(row) for row in table["rows"]} == {len(table["header"])}, name


def test_the_interval_of_the_lower_bound_and_the_errors_is_that_of_48_models() -> None:
    tables = json.loads((BENCHMARKS / "results" / "dittadi_rooms.json").read_text())["tables"]
    row = next(row for row in tables["scores"]["rows"] if row[0] == "ELBO (test), pairs")
    others = [row[2] for row in tables["scores"]["rows"] if row[0].endswith(", pairs")]
    rho = float(row[2].rstrip("\\*"))
    assert all(cell.endswith("*") and abs(float(cell.rstrip("\\*"))) <= -rho for cell in others)
    models = sum(row[0].startswith("Ada") for row in tables["points"]["rows"])
    error = np.sqrt((1 + rho**2 / 2) / (models - 3))
    ends = np.tanh(np.arctanh(rho) + 1.96 * error * np.array([-1, 1]))
    page = (BENCHMARKS.parent / "docs" / "results" / "dittadi_rooms.md").read_text()
    written = f"ρ {rho:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]".replace("-", "−")
    assert f"{models} models" in page
    assert written in page


NUMBER = r"[-−]?\d+\.\d+"
INTERVAL = rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]"


def stored(name: str) -> dict[str, list[list[str]]]:
    """The rows of the tables of a study by their names."""
    content = json.loads((BENCHMARKS / "results" / f"{name}.json").read_text())
    return {table: one["rows"] for table, one in content["tables"].items()}


def intervals(text: str) -> list[tuple[float, float, float]]:
    """Each value of a text with the ends of its interval."""
    return [(float(a), float(b), float(c)) for a, b, c in re.findall(INTERVAL, text)]


SEVEN = (
    *("dittadi_rooms", "montero_rooms", "correlated_rooms", "labels_rooms"),
    *("locatello_rooms", "predictors_rooms", "slowvae_rooms"),
)
OF_NO_EFFECT = (
    *("OOD2-B", "And has no effect", "Disentanglement does not tell", "Perfectly disentangled"),
    *("Pairs that differ", "Disentangled codes need no fewer", "ELBO", "Reconstruction"),
    "That of mean codes",
)
NOT_STORED = "All scores"
"""The claim on intervals that no table has: the kept runs, not the tables, decide it."""
COUNTS = (
    r"(?:at least )?(?P<good>\d+) of (?P<tests>\d+) tests for(?: \((?P<ours>.*?)\))?, "
    r"(?P<bad>\d+) against(?: \((?P<theirs>.*?)\))?, (?:at most )?(?P<rest>\d+) undecided"
)
Outcomes = list[tuple[bool, bool]]
"""Of each test of a claim: whether it is for the claim, and whether it is against it."""


def by_the_rule(outcomes: Outcomes, of_no_effect: bool) -> str:
    """The verdict of the page's rule, without the kind of the tests."""
    good = sum(supported for supported, _ in outcomes)
    bad = sum(against and not supported for supported, against in outcomes)
    if good:
        return (
            "yes" if good == len(outcomes) else "mostly" if 2 * good > len(outcomes) else "partly"
        )
    return "no" if bad == len(outcomes) or (bad and of_no_effect) else "undecided"


def stored_outcomes(name: str, claim: str) -> Outcomes:
    """The outcomes of the tests of a claim, from the numbers in it and in the tables beside it."""
    tables = stored(name)
    here = next(row[3] for row in tables["claims"] if row[0] == claim)
    ends = [(low, high) for _, low, high in intervals(here)]
    if name == "predictors_rooms":
        return [(low > 0, high <= 0.3) for low, high in ends]
    if name == "dittadi_rooms":
        return outcomes_of_transfer(claim, here, ends)
    if claim.startswith("Perfectly"):
        return [(high >= 0 and -low <= 0.05, high < 0) for low, high in ends]
    if claim.startswith("Disentanglement does not tell"):
        effects = [float(row[2]) < 0.05 for row in tables["correlations"][1:4]]
        return [
            (not effect and max(-low, high) <= 0.3, effect)
            for (low, high), effect in zip(ends, effects, strict=True)
        ]
    if claim.startswith("Pairs that differ"):
        return [(low <= 0 and high <= 0.05, low > 0) for low, high in ends]
    if claim.startswith("The scores of the methods"):
        worst_beats_best = [intervals(row[3])[0] for row in tables["overlap"]]
        return [(low > 0, high <= 0.05) for _, low, high in worst_beats_best]
    if claim.startswith("No strength"):  # no interval of ρ of 24 models lies within ±0.3
        stars = [cell for row in tables["strength"][:-1] for cell in row[1:] if "*" in cell]
        return [(len({cell.startswith("-") for cell in stars}) == 2, False)]
    if "total correlation" in claim or claim.startswith("That of mean"):
        return outcomes_of_codes(claim)
    if claim.endswith("does not select good models"):
        return [
            (not ranked and intervals(rho)[0][2] <= 0.3, ranked)
            for _, selector, rho, p, *_ in tables["selection"]
            if selector.lower() == claim.split()[0].lower()
            for ranked in [intervals(rho)[0][0] > 0 and float(p) < 0.05]
        ]
    if claim.startswith("Disentangled codes"):
        numbers = {"labels": (5, 6), "less": (1,), "100": (2,), "1,000": (3,), "10,000": (4,)}
        columns = next(k for word, k in numbers.items() if f" {word} " in claim)
        sign = -1 if columns[0] in {1, 5, 6} else 1  # less unfair, no fewer labels
        cells = [row[k] for k in columns for row in tables["correlations"][:6]]
        signed = [(sign * float(cell.rstrip("\\*")), cell.endswith("*")) for cell in cells]
        # an interval is not stored; none of a ρ of 48 models without a star lies within ±0.3
        return [(star and rho > 0, star and rho < 0) for rho, star in signed]
    if "selects good models" in claim:
        counted = re.match(COUNTS, here)
        helped, left_out = listed(counted["ours"]) if counted else ([], [])
        choices = [
            (f"{score} by {selector}" if claim.startswith("A score") else score, rho)
            for score, selector, rho, *_ in tables[selection_of(claim, name)]
            if claim.startswith(("A score", selector))
        ]
        return [
            (title in helped if helped else title not in left_out, intervals(rho)[0][2] <= 0.3)
            for title, rho in choices
        ]
    return [(low > 0, high <= 0.05) for low, high in ends]


def listed(text: str | None) -> tuple[list[str], list[str]]:
    """The tests that brackets name, and those that they leave out."""
    names = (text or "").rpartition(": ")[2]
    left_out = names.removeprefix("all but ")
    parts = left_out.split(", ") if left_out else []
    return ([], parts) if left_out != names else (parts, [])


def selection_of(claim: str, name: str) -> str:
    """The table of the choices that a claim on a selector is about."""
    return "labels" if claim.startswith("A score") and name == "locatello_rooms" else "selection"


def outcomes_of_transfer(claim: str, here: str, ends: list[tuple[float, float]]) -> Outcomes:
    """The outcomes of the tests of a claim of Dittadi et al. (2021)."""
    tables = stored("dittadi_rooms")
    rows = {(row[0], row[1]): row for row in tables["correlations"][:-1]}
    chance = [float(cell) for cell in tables["errors"][-1][3:]]
    margin = 0.1 * sum(chance) / len(chance)
    if claim.startswith("OOD1"):
        predictor = "network" if "network" in claim else "trees"
        parts = [
            row for (shift, kind), row in rows.items() if (shift[:4], kind) == ("OOD1", predictor)
        ]
        found = [(*intervals(row[2])[0], float(row[3]) < 0.05) for row in parts]
        return [(rho < 0 and clear, -low <= 0.3) for rho, low, _, clear in found]
    if claim.startswith("OOD2-A"):
        (low, _), *_ = ends
        inner = [
            intervals(rows[shift, "trees"][2])[0][0] for shift in ("OOD1-A", "OOD1-B", "OOD1-C")
        ]
        own = (float(rows["OOD2-A", "trees"][3]) < 0.05, -low <= 0.3)
        return [*((rho < low, False) for rho in inner), own]
    if claim.startswith("OOD2-B"):
        effects = [float(rows["OOD2-B", kind][3]) < 0.05 for kind in ("trees", "network")]
        tests = zip(ends, effects, strict=True)
        return [(not effect and -low <= 0.3, effect) for (low, _), effect in tests]
    if claim.startswith("MIG agrees"):
        mig, sap, level = map(float, re.findall(NUMBER, here))
        return [(mig > level, False), (False, sap > level)]
    if claim.startswith("Noise"):
        return [(low > 0, high <= margin) for low, high in ends]
    if claim.startswith("And has no effect"):
        return [
            (low * high <= 0 and max(-low, high) <= margin, low * high > 0) for low, high in ends
        ]
    if "which models are disentangled" in claim:
        signs = [1 if "ELBO" in part else -1 for part in here.split(";")]
        signed = [(sign * end[0], sign * end[1]) for sign, end in zip(signs, ends, strict=True)]
        return [(min(end) > 0, max(end) <= 0.3) for end in signed]
    if "in distribution" in claim or claim.startswith("With pairs"):
        pairs = [row for row in tables["scores"] if row[0].endswith("pairs") and row[2]]
        cells = [row[1] for row in tables["scores"] if row[0] in {"MIG", "DCI disentanglement"}]
        if claim.startswith("With pairs"):
            cells = [row[2] if "ELBO" in row[0] else f"-{row[2]}" for row in pairs]
        return [(cell.endswith("*") and cell.startswith("-"), False) for cell in cells]
    return [(low > 0, high <= 0.05) for low, high in ends]


def outcomes_of_codes(claim: str) -> Outcomes:
    """The outcomes of the tests on the total correlation of codes, from the kept runs."""
    runs = pd.read_csv(BENCHMARKS / "results" / "runs" / "locatello_rooms.csv", index_col=0)
    names = [f"score.{kind}gaussian_total_correlation" for kind in ("sampled/", "")]
    sign = np.where(runs["method"] == "annealedvae", -1, 1)  # its capacity weakens the penalty
    runs["penalty"] = sign * runs["strength"]
    parts = [
        rank_correlations(part, "penalty", names, orders=20_000)
        for _, part in runs.groupby("method", sort=False)
    ]
    found = pd.concat(parts, ignore_index=True)
    falls = (np.array(holm(found["p"].to_numpy())) < 0.05) & (found["rho"] < 0)
    small = -found["low"] <= 0.3
    if claim.startswith("That of mean"):
        rows = zip(found["right"], falls, small, strict=True)
        return [(not fall and less, fall) for name, fall, less in rows if name == names[1]]
    rows = zip(found["right"], falls, small, strict=True)
    return [(fall, less) for name, fall, less in rows if name == names[0]]


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("name", "claim"), [(name, row[0]) for name in SEVEN for row in stored(name)["claims"]]
)
def test_a_stored_verdict_is_that_of_the_rule(name: str, claim: str) -> None:
    _, verdict, _, here = next(row for row in stored(name)["claims"] if row[0] == claim)
    counted = re.match(COUNTS, here)
    assert bool(counted) == (verdict in {"mostly", "partly"} or "tests for" in here)
    if claim.startswith(NOT_STORED):
        assert counted
        good, tests, bad, undecided = (int(counted[k]) for k in ("good", "tests", "bad", "rest"))
        outcomes = [(True, False)] * good + [(False, True)] * bad + [(False, False)] * undecided
        assert len(outcomes) == tests
    else:
        outcomes = stored_outcomes(name, claim)
    expected = by_the_rule(outcomes, claim.startswith(OF_NO_EFFECT))
    assert verdict.removesuffix(", by the interval") == expected
    if counted:
        good = sum(supported for supported, _ in outcomes)
        bad = sum(against and not supported for supported, against in outcomes)
        numbers = [good, len(outcomes), bad, len(outcomes) - good - bad]
        assert [int(counted[name]) for name in ("good", "tests", "bad", "rest")] == numbers
        against, _ = listed(counted["theirs"])
        ours, left_out = listed(counted["ours"])
        assert len(set(against)) == bad
        assert ours == ["all others"] or len(set(ours)) + bool(left_out) * good == good
        assert ours != ["all others"] or bad == len(outcomes) - good
        assert not left_out or len(set(left_out)) == len(outcomes) - good


@pytest.mark.slow
def test_all_stored_tables_of_locatello_are_those_of_the_stored_runs(
    claims: ModuleType,
) -> None:
    runs = pd.read_csv(BENCHMARKS / "results" / "runs" / "locatello_rooms.csv", index_col=0)
    of_study = stored("locatello_rooms")
    tables = claims.locatello.locatello(runs)
    assert len(tables) == 11
    for name, table in tables.items():
        assert table["rows"] == of_study[name], name


def test_the_claim_on_capacity_names_every_pair_with_a_beta(claims: ModuleType) -> None:
    runs = pd.read_csv(BENCHMARKS / "results" / "runs" / "locatello_rooms.csv", index_col=0)
    rows = claims.locatello._capacity(runs)["rows"]
    assert rows == stored("locatello_rooms")["capacity"]
    titles = {title: [row for row in rows if row[0] == title] for title, *_ in rows}
    scores, errors = (
        {(row[1], k): intervals(cell)[0] for row in part for k, cell in enumerate(row[2:])}
        for part in titles.values()
    )
    good = [pair for pair in scores if scores[pair][1] > 0 and errors[pair][2] < 0]
    bad = [pair for pair in scores if scores[pair][2] <= 0.05 or errors[pair][1] > 0]
    undecided = set(scores) - set(good) - set(bad)
    assert (len(scores), len(good), len(bad)) == (16, 0, 11)
    assert undecided == {("13", 1), ("13", 2), ("13", 3), ("17", 1), ("17", 2)}
    page = (BENCHMARKS.parent / "docs" / "results" / "locatello.md").read_text()
    text = "11 are against it, as one of the two is worse or DCI disentanglement higher by 0.05"
    assert text in " ".join(page.split())
    trade = {(row[0][0], row[1]): row for row in stored("locatello_rooms")["trade"]}
    line = next(
        line
        for line in (BENCHMARKS.parent / "docs/results/what_comes_out.md").read_text().split("\n")
        if line.startswith("| A growing capacity")
    )
    for name, rho in (("DCI disentanglement", "0.82"), ("reconstruction error", "0.96")):
        assert trade["β", name][2].startswith(rho)
        assert trade["β", name][3] == "below 0.001"
        assert rho in line
    assert trade["c", "reconstruction error"][2].startswith("-")
    assert float(trade["c", "DCI disentanglement"][3]) > 0.05


@pytest.mark.slow
def test_what_locatello_has_in_bold_is_supported_in_the_tables_of_the_study_too(
    claims: ModuleType,
) -> None:
    scores = list(claims.tables.SCORES)
    runs = pd.read_csv(BENCHMARKS / "results" / "runs" / "locatello_rooms.csv", index_col="run")
    best: dict[str, Best] = dict.fromkeys(scores, "highest")
    best["score.gaussian_total_correlation"] = "lowest"
    found = summarize(runs, "locatello_rooms", ["method", "strength"], best).tables
    choices, pairs = (found[name].table for name in ("model_selection", "rank_correlations"))
    tests = {choices.groupby("target")["p"].count().max(), len(pairs)}
    selected = choices[choices["group"] == "all"].set_index(["target", "selector"])["p_holm"]
    correlated = pairs[pairs["group"] == "all"].set_index(["left", "right"])["p_holm"]
    bound, loss = (
        ("score.factor_vae_score", f"score.{name}_sample_test")
        for name in ("elbo", "reconstruction")
    )
    bold = [selected[score, name] for score in scores for name in claims.selection.LABELLED]
    assert max(*bold, selected[bound], correlated[bound]) < 0.05
    larger = [f"{part[loss]:.3f}".removeprefix("0") for part in (selected, correlated)]
    page = (BENCHMARKS.parent / "docs" / "results" / "locatello.md").read_text()
    assert "p .033 here, {} and {} there".format(*larger) in " ".join(page.split())
    assert tests == {91, 546}
    assert "91 selections by each score and 546 correlations" in " ".join(page.split())


def test_what_transfer_of_24_models_has_in_bold_is_supported_in_every_table() -> None:
    results = BENCHMARKS.parent / "docs" / "results"
    dci, shifts = "score.dci_hgbt_disentanglement", ("ood1_a", "ood1_b", "ood1_c", "ood2_a")
    errors = [f"transfer.finger_{shift}/GradientBoosting" for shift in shifts]
    pairs, choices = (
        pd.read_csv(results / "dittadi_laptop" / f"{name}.csv").query("group == 'all'")
        for name in ("rank_correlations", "model_selection")
    )
    found = [
        pairs[pairs["left"] == dci].set_index("right")["p_holm"][errors],
        choices[choices["selector"] == dci].set_index("target")["p_holm"][errors],
        choices[choices["target"] == dci].set_index("selector")["p_holm"][errors],
    ]
    supported = (np.array(found) < 0.05).all(axis=0)
    assert supported.tolist() == [True, True, False, True]
    page = " ".join((results / "dittadi_laptop.md").read_text().split())
    assert "in three of five shifts" in page.partition("** ")[0]
    assert "The fourth shift, OOD1-C, is not counted: ρ is −0.68" in page
