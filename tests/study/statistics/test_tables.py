"""Summaries, comparisons, correlations, shares and selections against scipy and by hand."""

import itertools
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dislab.errors import InputError
from dislab.study.statistics import (
    comparisons,
    correlation_table,
    correlations,
    holm,
    model_selection,
    rank_correlations,
    seeds_needed,
    summary,
    summary_table,
    variance_shares,
)
from dislab.study.statistics.paired import _seeds_of_t_test, sign_test
from dislab.study.statistics.selection import Best

NAN = math.nan


def study(settings: int = 2, seeds: int = 4, **scores: list[float]) -> pd.DataFrame:
    """Runs of several settings and seeds, settings first; scores by name without `score.`."""
    pairs = list(itertools.product(range(settings), range(seeds)))
    table = pd.DataFrame(
        {
            "model.beta": [2**setting for setting, _ in pairs],
            "seed": [seed for _, seed in pairs],
            "state": "done",
            **{f"score.{name}": values for name, values in scores.items()},
        }
    )
    return table.set_index(pd.Index([f"run{number}" for number in range(len(pairs))], name="id"))


def noise(count: int, seed: int = 0) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(size=count)]


def test_a_summary_has_mean_deviation_and_counts_of_each_setting() -> None:
    found = summary(study(mig=[0.1, 0.2, 0.3, 0.4, 0.5, NAN, math.inf, 0.7]))
    first, second = found.to_dict("records")
    assert first["model.beta"] == 1
    assert first["score"] == "score.mig"
    assert first["mean"] == pytest.approx(0.25)
    assert first["sd"] == pytest.approx(math.sqrt(0.05 / 3))
    assert (first["runs"], first["seeds"], first["missing"]) == (4, 4, 0)
    assert second["mean"] == pytest.approx(0.6)
    assert (second["runs"], second["seeds"], second["missing"]) == (2, 2, 2)


def test_the_one_agreement_of_two_runs_has_no_spread() -> None:
    for seeds, missing in ((2, True), (3, False)):
        table = study(1, seeds).assign(**{"agreement.alignment": [0.6] * seeds})
        (row,) = summary(table, "agreement.alignment").to_dict("records")
        assert row["mean"] == pytest.approx(0.6)
        assert [math.isnan(row[name]) for name in ("sd", "low", "high")] == [missing] * 3
        (cell,) = summary_table(summary(table, "agreement.alignment"))["agreement.alignment"]
        assert cell == ("0.600" if missing else "0.600 ± 0.000 [0.600, 0.600]")


def test_a_table_shows_numbers_of_latents_as_counts() -> None:
    table = study(1, 3).assign(**{"agreement.informative": [6.0, 5.0, 6.0]})
    (cell,) = summary_table(summary(table, "agreement.informative"))["agreement.informative"]
    assert cell.startswith("5.7 ± 0.6 [4.2, 7.1]")


def test_the_interval_of_a_mean_is_students() -> None:
    values = [0.1, 0.25, 0.3, 0.7]
    row = summary(study(1, 4, mig=values), confidence=0.8).iloc[0]
    half = 1.6377 * np.std(values, ddof=1) / 2  # the quantile .9 of three degrees of freedom
    assert [row["low"], row["high"]] == pytest.approx([0.3375 - half, 0.3375 + half], abs=1e-4)


def test_an_interval_over_several_runs_of_a_seed_is_over_the_means_of_seeds() -> None:
    table = study(2, 4, mig=[0.1, 0.2, 0.3, 0.6, 0.3, 0.4, 0.5, 0.8])
    row = summary(table, by=[]).iloc[0]
    of_seeds = summary(study(1, 4, mig=[0.2, 0.3, 0.4, 0.7])).iloc[0]
    assert list(row[["mean", "low", "high"]]) == pytest.approx(of_seeds[["mean", "low", "high"]])
    assert row["sd"] == pytest.approx(table["score.mig"].std())
    assert (row["runs"], row["seeds"]) == (8, 4)
    assert summary(study(4, 2, mig=noise(8)), by=[])["low"].isna().all(), "two seeds"


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.3, NAN, NAN], (NAN, NAN)),
        ([NAN, NAN, NAN], (NAN, NAN)),
        ([0.3, 0.4, NAN], (NAN, NAN)),
        ([0.3, 0.3, 0.3], (0.3, 0.3)),
    ],
)
def test_intervals_of_few_and_equal_scores(values: list[float], ends: tuple[float, float]) -> None:
    table = summary(study(1, 3, mig=values))
    np.testing.assert_allclose(table.loc[0, ["low", "high"]].astype(float), ends)


def test_two_seeds_have_a_spread_and_no_interval() -> None:
    table = study(2, 2, mig=[0.25, 0.75, 0.5, 0.5])
    assert summary_table(summary(table))["score.mig"].tolist() == ["0.500 ± 0.354", "0.500 ± 0.000"]
    (row,) = comparisons(table, "model.beta").to_dict("records")
    assert row["difference"] == 0
    assert math.isnan(row["low"])
    assert math.isnan(row["high"])


def test_groups_are_named_columns_all_runs_or_settings_that_are_lists() -> None:
    table = study(mig=[0.0] * 4 + [1.0] * 4)
    assert summary(table, by=[]).loc[0, "mean"] == 0.5
    assert (summary(table, by=[]).loc[0, ["runs", "seeds"]] == [8, 4]).all()
    table["layers"] = pd.Series([[32, 64]] * 4 + [[64, 32]] * 4, index=table.index)
    assert summary(table, by="layers")["mean"].tolist() == [0.0, 1.0]
    table["overlay"] = [None] * 4 + ["weak"] * 4
    assert summary(table, by="overlay")["mean"].tolist() == [0.0, 1.0]
    twice = pd.concat([table, table])
    assert summary(twice, by="overlay")["runs"].tolist() == [8, 8]


def test_an_interval_does_not_depend_on_the_scores_beside_it() -> None:
    table = study(2, 4, sap=noise(8), mig=noise(8)[::-1])
    both, one = summary(table), summary(table, "score.mig")
    kept = both[both["score"] == "score.mig"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, one)


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        ([0.01, 0.02, 0.03], [0.03, 0.04, 0.04]),
        ([0.04, 0.01, 0.03, 0.005], [0.06, 0.03, 0.06, 0.02]),  # R: p.adjust(p, "holm")
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.02, NAN, 0.02], [0.04, NAN, 0.04]),
        ([], []),
    ],
)
def test_holm(p_values: list[float], corrected: list[float]) -> None:
    np.testing.assert_allclose(holm(p_values), corrected)


def test_a_comparison_is_paired_by_seed() -> None:
    first = [0.1, 0.5, 0.3, 0.9, 0.2]
    differences = np.array([0.10, 0.12, 0.08, 0.11, -0.02])
    table = study(2, 5, mig=[*first, *(first - differences)])
    (row,) = comparisons(table, "model.beta").to_dict("records")
    assert (row["first"], row["second"], row["seeds"], row["unpaired"]) == (1, 2, 5, 0)
    assert row["difference"] == pytest.approx(differences.mean())
    turned = [abs((differences * signs).mean()) for signs in itertools.product([1, -1], repeat=5)]
    assert row["p"] == pytest.approx(np.mean(np.array(turned) >= differences.mean() - 1e-12))
    assert row["least_p"] == 2 / 32
    assert row["low"] < differences.mean() < row["high"]
    assert row["seeds_needed"] == seeds_needed(float(differences.std(ddof=1)))


def test_order_of_the_runs_does_not_matter_to_a_comparison() -> None:
    table = study(2, 6, mig=noise(12))
    mixed = table.iloc[[0, *np.random.default_rng(1).permutation(np.arange(1, 12))]]
    pd.testing.assert_frame_equal(
        comparisons(table, "model.beta"), comparisons(mixed, "model.beta")
    )


def test_runs_without_a_partner_are_counted_and_left_out() -> None:
    (row,) = comparisons(study(2, 3, mig=[1, 2, 3, NAN, 1, 1]), "model.beta").to_dict("records")
    assert (row["seeds"], row["unpaired"], row["difference"]) == (2, 1, 1.5)
    none = study(2, 3, mig=[1, NAN, NAN, NAN, 1, 1])
    (row,) = comparisons(none, "model.beta").to_dict("records")
    assert (row["seeds"], row["unpaired"]) == (0, 3)
    assert math.isnan(row["p"])
    assert pd.isna(row["seeds_needed"])


def test_a_single_seed_is_compared_without_a_claim() -> None:
    (row,) = comparisons(study(2, 1, mig=[0.5, 0.25]), "model.beta").to_dict("records")
    assert (row["seeds"], row["difference"], row["p"], row["least_p"]) == (1, 0.25, 1, 1)


def test_values_that_are_true_or_false_are_compared() -> None:
    table = study(2, 3, mig=[1, 2, 3, 0, 1, NAN])
    table["model.beta"] = table["model.beta"] == 2
    (row,) = comparisons(table, "model.beta").to_dict("records")
    assert (row["first"], row["second"]) == (False, True)
    assert (row["seeds"], row["unpaired"], row["difference"]) == (2, 1, 1.0)


def test_seeds_stay_the_units_of_a_comparison_over_several_settings() -> None:
    table = pd.concat([study(2, 3, mig=noise(6, seed)) for seed in (0, 1)])
    table["method"] = ["vae"] * 6 + ["factor"] * 6
    one = comparisons(table, "method", within=[]).to_dict("records")
    assert [row["seeds"] for row in one] == [3]
    by_seed = table.groupby(["method", "seed"])["score.mig"].mean().unstack("method")
    expected = (by_seed["vae"] - by_seed["factor"]).mean()
    assert one[0]["difference"] == pytest.approx(expected)
    assert comparisons(table, "method")["model.beta"].tolist() == [1, 2]


def test_p_values_of_a_comparison_are_corrected_within_the_table() -> None:
    table = study(3, 7, mig=noise(21), dci=[1.0] * 7 + noise(14, 2))
    found = comparisons(table, "model.beta")
    assert len(found) == 6
    assert found["p_holm"].tolist() == holm(found["p"].to_numpy())
    obvious = comparisons(table, "model.beta", detect=1e6)
    assert obvious["seeds_needed"].tolist() == [seeds_needed(0.0, tests=6)] * 6 == [8] * 6


def test_drawn_sign_turns_agree_with_all_of_them() -> None:
    table = study(2, 10, mig=noise(20))
    exact, drawn = (comparisons(table, "model.beta", draws=draws)["p"][0] for draws in (9999, 999))
    assert drawn == pytest.approx(exact, abs=0.05)
    assert exact * 2**10 == pytest.approx(round(exact * 2**10))


@pytest.mark.parametrize(
    ("deviation", "difference", "seeds"),
    [
        # G*Power 3.1 and R's power.t.test(type = "paired"): effect sizes .5, .8, .2
        (0.1, 0.05, 34),
        (0.0625, 0.05, 15),
        (0.25, 0.05, 199),
        # the permutation test of five seeds cannot pass .05
        (0.03, 0.05, 6),
        (0.01, 0.05, 6),
        (0.0, 0.05, 6),
        (1e-9, 0.05, 6),
        (1e-300, 1e300, 6),
    ],
)
def test_seeds_needed(deviation: float, difference: float, seeds: int) -> None:
    assert seeds_needed(deviation, difference) == seeds


@pytest.mark.every(4)
@pytest.mark.parametrize("exponent", range(2, 320, 3))
def test_differences_that_are_equal_but_for_rounding_need_no_more_seeds(exponent: int) -> None:
    assert seeds_needed(10.0**-exponent) == 6


def power_of_t_test(seeds: int, units: float) -> float:
    """P(|T| > t) as an integral over the variance of the differences."""
    bound, shift = stats.t.ppf(0.975, seeds - 1), math.sqrt(seeds) / units
    shares = (np.arange(200_000) + 0.5) / 200_000
    spread = bound * np.sqrt(stats.chi2.ppf(shares, seeds - 1) / (seeds - 1))
    return float((stats.norm.cdf(shift - spread) + stats.norm.cdf(-shift - spread)).mean())


@pytest.mark.every(4)
@pytest.mark.parametrize("units", [0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.4, 0.7, 1.0, 2.0, 5.0])
def test_the_t_test_has_its_power_at_the_first_number_of_seeds(units: float) -> None:
    """In the far tail too, where the noncentral t distribution of scipy is NaN."""
    seeds = _seeds_of_t_test(units, 0.8, 0.05)
    assert power_of_t_test(seeds, units) >= 0.8
    assert seeds == 2 or power_of_t_test(seeds - 1, units) < 0.8


@pytest.mark.parametrize("tests", [1, 2, 3, 10, 45])
@pytest.mark.parametrize("level", [0.05, 0.01, 0.0625])
def test_the_permutation_test_can_pass_at_the_first_number_of_seeds(
    tests: int, level: float
) -> None:
    """Equal differences have the smallest p; those of one seed fewer do not pass."""
    seeds = seeds_needed(0.0, level=level, tests=tests)
    generator = np.random.default_rng(0)
    for count, passes in ((seeds, True), (seeds - 1, False)):
        p = sign_test(np.ones(count), 2**count, generator)
        assert (holm([p] * tests)[0] < level) is passes


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("count", [2, 5, 13, 14, 30])
def test_sign_tests_are_those_of_scipy(count: int, digits: int) -> None:
    """Of all flips up to 13 seeds, of the same drawn ones from 14 on, with ties and without."""
    differences = np.random.default_rng(count).normal(0.05, 0.3, count).round(digits)
    generator, same = np.random.default_rng(1), np.random.default_rng(1)
    expected = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=9999,
        random_state=same,
    )
    assert sign_test(differences, 9999, generator) == pytest.approx(expected.pvalue, rel=1e-12)
    assert generator.random() == same.random()


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 6])
def test_the_last_row_of_a_long_table_can_pass_with_the_seeds_needed(more: int) -> None:
    """With 14 seeds and all sign turns, and with 20 and random ones."""
    tests = 276
    seeds = seeds_needed(0.0, tests=tests) + more
    scores = [float(level) for level in range(24) for _ in range(seeds)]
    found = comparisons(study(24, seeds, mig=scores), "model.beta", within=[])
    assert len(found) == tests
    assert found["p_holm"].max() < 0.05


@pytest.mark.parametrize("seeds", [13, 14])
def test_least_p_is_that_of_equal_differences(seeds: int) -> None:
    """All turns up to 13 seeds, drawn ones from 14 on."""
    table = study(2, seeds, mig=[1.0] * seeds + [0.0] * seeds)
    (row,) = comparisons(table, "model.beta").to_dict("records")
    assert row["p"] == row["least_p"] == (2**-12 if seeds == 13 else 2 / 10_000)


def test_as_many_seeds_as_needed_find_the_difference_four_times_of_five() -> None:
    count = seeds_needed(0.06)
    drawn = np.random.default_rng(0).normal(0.05, 0.06, size=(4000, count))
    found = stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_rank_correlations_are_those_of_scipy_with_ties_and_missing_values() -> None:
    table = study(2, 20, mig=noise(40), dci=noise(40, 1), coarse=[float(i // 7) for i in range(40)])
    table["score.dci"] += table["score.mig"]
    table.loc["run3", "score.dci"] = NAN
    found = rank_correlations(table, by="model.beta")
    assert found["group"].unique().tolist() == ["all", "model.beta=1", "model.beta=2"]
    for row in found.to_dict("records"):
        part = (
            table if row["group"] == "all" else table[table["model.beta"] == int(row["group"][-1])]
        )
        both = part[[row["left"], row["right"]]].dropna()
        expected = stats.spearmanr(both.to_numpy())
        assert row["rho"] == pytest.approx(expected.statistic)
        assert row["p"] == pytest.approx(expected.pvalue, abs=0.05)
        assert row["low"] < row["rho"] < row["high"]
        assert row["runs"] == len(both)
        assert row["note"] == ("" if len(both) == len(part) else f"1 of {len(part)} runs lack one")
    assert found["p_holm"].tolist() == holm(found["p"].to_numpy())


def test_the_interval_of_a_rank_correlation_leaves_out_equal_tails() -> None:
    a = noise(25)
    table = study(1, 25, a=a, b=(np.asarray(a) + 1.5 * np.asarray(noise(25, 1))).tolist())
    (row,) = rank_correlations(table, confidence=0.8, draws=4000).to_dict("records")
    values = table[["score.a", "score.b"]].to_numpy()
    rows = np.random.default_rng(7).integers(25, size=(4000, 25))
    ranks = stats.rankdata(values[rows], axis=1)
    centred = ranks - ranks.mean(1, keepdims=True)
    rho = centred.prod(2).sum(1) / np.sqrt((centred**2).sum(1).prod(1))
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(rho, [0.1, 0.9]), abs=0.025)


def test_the_p_value_of_few_runs_counts_all_their_orders() -> None:
    table = study(1, 5, a=[1, 2, 3, 4, 5], b=[1, 2, 3, 5, 4])
    (row,) = rank_correlations(table).to_dict("records")
    assert row["rho"] == pytest.approx(0.9)
    # of 120 orders the identity, its reverse, and 4 of each with one swap of neighbours
    assert row["p"] == pytest.approx(10 / 120)


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ([1, 1, 1, 1], [1, 2, 3, 4], "score.a is constant"),
        ([1, 1, 1, 1], [2, 2, 2, 2], "score.a is constant; score.b is constant"),
        ([1, 2, NAN, NAN], [1, 2, 3, 4], "fewer than 3 runs have both; 2 of 4 runs lack one"),
        ([NAN] * 4, [1, 2, 3, 4], "fewer than 3 runs have both; 4 of 4 runs lack one"),
        ([1, 1, 1, NAN], [1, 2, 3, 4], "score.a is constant; 1 of 4 runs lack one"),
    ],
)
def test_correlations_that_do_not_exist_say_why(a: list[float], b: list[float], note: str) -> None:
    table = study(1, 4, a=a, b=b, c=[4, 1, 3, 2])
    row = rank_correlations(table).iloc[0]
    assert (row["left"], row["right"]) == ("score.a", "score.b")
    assert row[["rho", "low", "high", "p", "p_holm"]].isna().all()
    assert row["note"] == note


@pytest.mark.parametrize("order", [(1, 3, 0, 2), (0, 3, 5, 6, 4, 2, 1), (0, 3, 5, 6, 7, 4, 2, 1)])
def test_unrelated_orders_have_a_correlation_of_zero(order: tuple[int, ...]) -> None:
    table = pd.DataFrame({"score.a": range(len(order)), "score.b": order})
    (rho,) = rank_correlations(table)["rho"]
    assert str(rho) == "0.0"  # neither 4e-17 nor -0.0


def test_correlations_as_a_matrix() -> None:
    table = study(1, 4, a=[1, 2, 3, 4], b=[4, 3, 2, 1], c=[1, 1, 1, 1])
    matrix = correlation_table(rank_correlations(table))
    assert list(matrix.index) == list(matrix.columns) == ["score.a", "score.b", "score.c"]
    np.testing.assert_allclose(matrix, [[1, -1, NAN], [-1, 1, NAN], [NAN, NAN, NAN]], atol=1e-12)
    across = correlation_table(rank_correlations(table, ["score.a"], ["score.b", "score.c"]))
    assert across.shape == (1, 2)
    with pytest.raises(InputError, match="the groups are all"):
        correlation_table(rank_correlations(table), "seed=1")


def test_variance_shares_are_the_r2_of_regressions_on_one_hot_columns() -> None:
    rng = np.random.default_rng(0)
    table = study(3, 5, mig=noise(15))
    table = pd.concat([table, table]).reset_index(drop=True)
    table["method"] = ["vae"] * 15 + ["factor"] * 15
    table["score.mig"] = 0.3 * (table["method"] == "vae") + 0.1 * table["model.beta"]
    table["score.mig"] += 0.2 * rng.normal(size=30)
    table = table.drop(index=[2, 9])  # unbalanced
    (row,) = variance_shares(table, "method").to_dict("records")

    def r2(columns: list[str]) -> float:
        from sklearn.linear_model import LinearRegression

        inputs = pd.get_dummies(table[columns].astype(str).agg("/".join, axis=1))
        return float(
            LinearRegression().fit(inputs, table["score.mig"]).score(inputs, table["score.mig"])
        )

    assert row["method"] == pytest.approx(r2(["method"]))
    assert row["setting"] == pytest.approx(r2(["method", "model.beta"]) - r2(["method"]))
    assert row["method"] + row["setting"] + row["seed"] == pytest.approx(1)
    assert row["method_by_chance"] == pytest.approx(1 / 27, abs=0.01)
    assert 2 / 27 < row["method_chance_high"] < 5 / 27  # beta with 1 and 26 degrees of freedom
    # 4 of the 26 degrees of freedom within methods
    assert row["setting_by_chance"] == pytest.approx(4 / 26 * (1 - row["method"]), abs=0.01)
    assert row["setting_by_chance"] < row["setting_chance_high"] < row["setting"]


@pytest.mark.slow
def test_shares_of_noise_are_those_by_chance() -> None:
    rows = []
    for seed in range(100):
        table = study(6, 3, mig=noise(18, seed))
        table["method"] = ["a"] * 9 + ["b"] * 9
        rows.append(variance_shares(table, "method"))
    means = pd.concat(rows).mean(numeric_only=True)
    assert means["method"] == pytest.approx(means["method_by_chance"], abs=0.02)
    assert means["setting"] == pytest.approx(means["setting_by_chance"], abs=0.03)
    table = pd.concat(rows)
    for share in ("method", "setting"):
        assert (table[share] > table[f"{share}_chance_high"]).mean() < 0.15


@pytest.mark.parametrize(
    ("table", "note"),
    [
        (study(2, 2, mig=[1, 1, 1, 1]), "the score does not vary"),
        (study(4, 1, mig=[1, 2, 3, 4]), "no setting has two seeds"),
        (study(2, 2, mig=[NAN] * 4), "the score does not vary"),
    ],
)
def test_shares_that_do_not_exist_say_why(table: pd.DataFrame, note: str) -> None:
    (row,) = variance_shares(table, "model.beta").to_dict("records")
    assert row["note"] == note
    assert math.isnan(row["seed"])


def test_selection_by_hand() -> None:
    table = study(
        2,
        3,
        mig=[0.1, 0.5, 0.3, 0.9, 0.2, 0.4],
        elbo=[1, 6, 3, 5, 2, 4],
        error=[6, 2, 4, 1, 5, 3],
        tied=[1, 0, 0, 0, 0, 1],
    )
    selectors: Any = {"score.elbo": "highest", "score.error": "lowest", "score.tied": "highest"}
    found = model_selection(table, "score.mig", selectors, by="model.beta")
    everything = found[found["group"] == "all"].set_index("selector")
    assert everything["selected"].to_dict() == pytest.approx(
        {"score.elbo": 0.5, "score.error": 0.9, "score.tied": 0.25, "random": 0.4}
    )
    assert (everything["best"] == 0.9).all()
    np.testing.assert_allclose(everything["regret"], 0.9 - everything["selected"])
    ranks = stats.spearmanr(table["score.elbo"], table["score.mig"]).statistic
    assert everything.loc["score.elbo", "rho"] == pytest.approx(ranks)
    assert everything.loc["score.error", "rho"] == pytest.approx(1.0)
    assert everything.loc["random", "rho"] == 0
    assert everything.loc["score.error", "p"] == pytest.approx(2 / math.factorial(6))
    assert everything["p"].isna().to_dict()["random"]
    np.testing.assert_array_equal(found["p_holm"], holm(found["p"].to_numpy()))
    first = found[found["group"] == "model.beta=1"].set_index("selector")
    assert first.loc["score.elbo", "regret"] == 0
    assert first.loc["random", "selected"] == pytest.approx(0.3)


def test_equal_orders_have_no_interval() -> None:
    row = rank_correlations(study(1, 4, error=[4, 3, 2, 1], dci=[1, 2, 3, 4])).iloc[0]
    assert row["rho"] == -1
    assert math.isnan(row["low"])
    assert math.isnan(row["high"])
    assert row["note"] == "no interval: all resamples give the same ρ"


def test_an_interval_holds_its_correlation_or_is_left_out() -> None:
    runs = pd.DataFrame({"seed": range(8), "score.count": [6.0] * 7 + [5.0]})
    runs["score.mig"] = np.linspace(0.1, 0.9, 8)
    runs["state"] = "finished"
    row = rank_correlations(runs, ["score.count"], ["score.mig"], by=[]).iloc[0]
    assert row["rho"] == pytest.approx(-0.577, abs=1e-3)
    assert np.isnan([row["low"], row["high"]]).all()
    assert row["note"] == "no interval: too many scores are equal to resample them"


def test_a_target_whose_lowest_value_is_best_turns_rank_and_regret() -> None:
    table = study(1, 4, error=[4, 3, 2, 1], dci=[1, 2, 4, 3])
    row = model_selection(table, "score.error", {"score.dci": "highest"}, "lowest").iloc[0]
    assert (row["selected"], row["best"], row["regret"]) == (2, 1, 1)
    assert row["rho"] == pytest.approx(0.8)


def test_selection_takes_correlations_that_are_known() -> None:
    table = study(2, 6, mig=noise(12), error=noise(12, 1), dci=[NAN, *noise(11, 2)])
    selectors: dict[str, Best] = {"score.error": "lowest", "score.dci": "highest"}
    known = rank_correlations(table, by="model.beta")
    targets: dict[str, Best] = {"score.mig": "highest", "score.error": "lowest"}
    for target, end in targets.items():
        others = {name: one for name, one in selectors.items() if name != target}
        own = model_selection(table, target, others, end, by="model.beta")
        given = model_selection(table, target, others, end, by="model.beta", correlations=known)
        drawn = ["low", "high", "p", "p_holm"]  # of other resamples and permutations
        pd.testing.assert_frame_equal(own.drop(columns=drawn), given.drop(columns=drawn))
        scores = given[given["selector"] != "random"]
        assert (scores["low"] <= scores["rho"]).all()
        assert (scores["rho"] <= scores["high"]).all()


def test_all_selectors_select_from_the_same_runs() -> None:
    table = study(1, 4, mig=[1, 2, 3, 4], a=[1, 2, 3, NAN], b=[1, 2, 3, 4], udr=[NAN] * 4)
    selectors: Any = {"score.a": "highest", "score.b": "highest", "score.udr": "highest"}
    _, second, udr, _ = model_selection(table, "score.mig", selectors).to_dict("records")
    assert (second["selected"], second["best"], second["runs"]) == (3, 3, 3)
    assert second["note"] == "1 of 4 runs lack a score"
    assert udr["note"] == "no run has a value"
    assert math.isnan(udr["regret"])


TABLE = study(2, 3, mig=noise(6), dci=noise(6, 1))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda: summary(TABLE, "score.mgi"),
            r"no column 'score.mgi' \(did you mean score.mig\?\)",
        ),
        (lambda: summary(TABLE, by="beta"), "by: the table has no column 'beta'"),
        (lambda: summary(TABLE, "state"), "column 'state' does not hold numbers alone"),
        (lambda: summary(TABLE.iloc[:0]), "the table has no runs"),
        (lambda: summary(TABLE[["seed"]]), "no column of numbers that starts with score."),
        (
            lambda: summary(TABLE, confidence=95.0),
            "confidence is 95.0; it must lie between 0 and 1",
        ),
        (lambda: comparisons(TABLE[:3], "model.beta"), "every run has model.beta = 1"),
        (lambda: comparisons(TABLE.drop(columns="seed"), "model.beta"), "no column 'seed'"),
        (
            lambda: comparisons(TABLE.assign(size=TABLE["model.beta"]), "model.beta"),
            "within: no two runs differ in model.beta and agree in size; name fewer columns",
        ),
        (lambda: comparisons(TABLE, "model.beta", detect=0.0), "detect is 0.0"),
        (lambda: rank_correlations(TABLE, "score.mig"), "needs two different scores"),
        (lambda: rank_correlations(TABLE, draws=5), "draws is 5"),
        (lambda: variance_shares(TABLE, "method"), "method: the table has no column 'method'"),
        (lambda: model_selection(TABLE, "score.mig", {}), "name at least one column"),
        (lambda: seeds_needed(NAN), "deviation is nan"),
    ],
)
def test_mistakes_are_explained(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        function()


def test_orders_of_the_permutation_test_have_a_number_of_their_own() -> None:
    first, second, *rest = noise(20)
    table = study(2, 10, a=noise(20), b=[second, first, *rest])
    few = rank_correlations(table, draws=99).iloc[0]
    many = rank_correlations(table, draws=99, orders=999).iloc[0]
    assert few["p"] == pytest.approx(1 / 100)
    assert many["p"] == pytest.approx(1 / 1000)
    assert few[["low", "high"]].tolist() == many[["low", "high"]].tolist()
    with pytest.raises(InputError, match="orders is 3"):
        rank_correlations(table, orders=3)


def test_orders_are_drawn_in_parts_that_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    table = study(2, 50, a=noise(100), b=noise(100, seed=1))
    whole = rank_correlations(table, draws=99, orders=9_000)
    monkeypatch.setattr(correlations, "NUMBERS_AT_ONCE", 2**12)
    tracemalloc.start()
    parts = rank_correlations(table, draws=99, orders=9_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    pd.testing.assert_frame_equal(parts, whole)
    assert most < 2e6  # all orders of a group of 100 runs together have 7.2 MB


@pytest.mark.parametrize(
    ("ends", "cut"),
    [((0.0, 1.0), True), ((None, 1.0), True), ((0.0, None), False), ((None, None), False)],
)
def test_intervals_of_means_are_cut_where_the_range_of_a_score_ends(
    ends: tuple[float | None, float | None], cut: bool
) -> None:
    table = pd.DataFrame({"seed": range(4), "score.mig": [1.0, 1.0, 1.0, 0.9]})
    whole = summary(table).iloc[0]
    row = summary(table, ranges={"score.mig": ends, "score.other": (0.0, 0.5)}).iloc[0]
    assert whole["high"] > 1
    assert row["high"] == (1 if cut else whole["high"])
    assert row["low"] == whole["low"]
    assert np.isnan(summary(table[:2], ranges={"score.mig": ends})["high"][0])
