"""Tables of a study by name: which scores, which axes are compared, and what is left out."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dislab.errors import InputError
from dislab.study.statistics import holm
from dislab.study.statistics._frames import setting_columns
from dislab.study.statistics.selection import Best
from dislab.study.summary import (
    chosen_target,
    label,
    labels,
    measures_of,
    nested,
    setting_text,
    shown_scores,
    slug,
    slugs,
    summarize,
)
from dislab.study.summary_folder import pictures

SEEDS = 5
STRENGTHS = {"betavae": (1, 8), "annealedvae": (5, 25), "factorvae": (1, 40)}
PRIMARY: dict[str, Best] = {"score.mig": "highest", "score.tc": "lowest"}


def table(**columns: Any) -> pd.DataFrame:
    """Runs of three methods, whose strengths are their own, and of two noises."""
    runs = [
        (method, strength, noise, seed)
        for method, strengths in STRENGTHS.items()
        for strength, noise, seed in itertools.product(strengths, ("no", "yes"), range(SEEDS))
    ]
    found = pd.DataFrame(runs, columns=["method", "strength", "noise", "seed"])
    found["state"] = "finished"
    rng = np.random.default_rng(0)
    found["score.mig"] = 0.01 * rng.normal(size=len(found)) + 0.3 * (found["method"] == "factorvae")
    for name, value in columns.items():
        found[name] = value
    found.index = pd.Index([f"run{number}" for number in range(len(found))], name="run")
    return found


def rising(runs: int = 60) -> list[float]:
    return [float(number) for number in range(runs)]


def test_the_scores_that_tables_are_about() -> None:
    runs = table(
        **{
            "score.mig_train": rising(),
            "score.tc": rising(),
            "score.num_active": 3.0,
            "score.sampled/mig": rising(),
            "score.mig/chance": rising(),
            "score.elbo_sample_train": rising(),
            "score.elbo_sample_validation": rising(),
            "score.elbo_mean_validation": rising(),
            "score.reconstruction_sample_validation": rising(),
            "transfer.ood/MLP": rising(),
            "transfer.ood/MLP/in_distribution": rising(),
            "transfer.ood/chance": rising(),
            "generalisation.mean_ratio": rising(),
            "generalisation.sample_ratio": rising(),
        }
    )
    others: dict[str, Best] = {
        "score.elbo_sample_validation": "highest",
        "score.reconstruction_sample_validation": "lowest",
        "transfer.ood/MLP": "lowest",
        "generalisation.mean_ratio": "lowest",
    }
    assert measures_of(runs, PRIMARY) == PRIMARY | others
    # without primary scores all of mean codes that differ between the runs
    assert measures_of(runs, {}) == measures_of(runs)
    assert measures_of(runs) == {**PRIMARY, "score.tc": "highest"} | others


FAKE_STAGE = """
from dislab.study.stages import Stage

class Trial(Stage):
    measures = {"gap": "lowest", "codes/*": "highest"}

    def arguments(self, run, settings, config):
        return []

    def scores(self, run):
        return {}
"""


@pytest.mark.slow
def test_results_of_an_installed_stage_enter_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = table(**{"trial.gap": rising(), "trial.codes/10": rising(), "trial.detail": rising()})
    assert "trial.gap" not in measures_of(runs)
    assert "trial.gap" in setting_columns(runs)
    (tmp_path / "fake_trial.py").write_text(FAKE_STAGE)
    info = tmp_path / "fake_trial-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-trial\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[dislab.stages]\ntrial = fake_trial:Trial\n")
    monkeypatch.syspath_prepend(tmp_path)
    ends: dict[str, Best] = {"trial.gap": "lowest", "trial.codes/10": "highest"}
    assert measures_of(runs, PRIMARY) == {"score.mig": "highest"} | ends
    assert not {*ends, "trial.detail"} & {*setting_columns(runs)}
    tables = summarize(runs, "mine", ["method", "strength", "noise"], PRIMARY).tables
    correlations = tables["rank_correlations"].table
    assert {*ends} < {*correlations["left"], *correlations["right"]}
    assert "trial.detail" in set(tables["means"].table["score"])
    rows = tables["model_selection"].table.query("group == 'all' and target == 'trial.gap'")
    selection = rows[rows["selector"] == "trial.codes/10"]
    assert selection[["selected", "best", "regret"]].to_numpy().tolist() == [[59.0, 0.0, 59.0]]


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [("strength", "method", True), ("noise", "method", False), ("noise", "strength", False)],
)
def test_axes_that_mean_something_else_in_each_method(
    inner: str, outer: str, expected: bool
) -> None:
    assert nested(table(), inner, outer) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 10], [10, 40], True),  # a weight of another term, of which one number is shared
        ([1, 4], [10, 40], True),
        ([1, 10], [1, 10], False),
        ([1, 10], [10], False),  # runs of a strength are left out
    ],
)
def test_strengths_of_methods_that_share_a_number_mean_something_else(
    first: list[int], second: list[int], expected: bool
) -> None:
    rows = [("a", value) for value in first] + [("b", value) for value in second]
    runs = pd.DataFrame(rows, columns=["method", "strength"])
    assert nested(runs, "strength", "method") is expected


@pytest.mark.slow
def test_means_have_the_chance_of_scores_where_it_was_measured() -> None:
    levels = [0.01 * number for number in range(60)]
    untrained = {"score.mig/untrained": [0.5] * 60}
    runs = table(**{"score.mig/chance": levels, "score.tc": rising(), **untrained})
    found = summarize(runs, "mine", ("method", "strength", "noise"))
    means = found.tables["means"]
    assert set(means.table["score"]) == {"score.mig", "score.tc"}
    mig = means.table[means.table["score"] == "score.mig"]
    expected = np.reshape(levels, (-1, SEEDS)).mean(1)  # a setting has its seeds in a row
    assert mig["chance"].tolist() == pytest.approx(expected.tolist())
    assert means.table.loc[means.table["score"] == "score.tc", "chance"].isna().all()
    assert set(mig["untrained"]) == {0.5}
    assert means.excerpts[0].iloc[-1]["method"] == "untrained"
    last = means.excerpts[0].iloc[-2].to_dict()
    assert (last["method"], last["MIG"], last["Tc"]) == ("chance", f"{np.mean(levels):.3f}", "–")
    assert "score.mig/chance" in found.runs
    assert not any("chance" in measure for measure in found.measures)
    without = summarize(runs.drop(columns=["score.mig/chance", *untrained]), "mine", ("method",))
    assert "chance" not in without.tables["means"].table


@pytest.mark.slow
def test_a_method_without_a_score_has_no_empty_row() -> None:
    ratio = "generalisation.mean_ratio"
    runs = table(**{name: rising() for name in ("score.a", "score.b", "score.c", ratio)})
    scores = [name for name in runs if str(name).startswith("score.")]
    runs.loc[runs["method"] == "factorvae", scores] = np.nan
    tables = summarize(runs, "mine", ("method", "strength", "noise"), target="score.mig").tables
    first, second = tables["means"].excerpts
    assert "factorvae" not in set(first["method"])
    assert "factorvae" in set(second["method"])
    (compared,) = tables["comparisons_method"].excerpts
    assert list(compared["difference of MIG"]) == ["betavae − annealedvae"]


@pytest.mark.slow
def test_every_table_of_a_study() -> None:
    udr = {"agreement.udr_lasso_pooled": rising(), "agreement.informative": 3.0}
    udr["elsewhere.gap"] = rising()  # of a plugin's stage
    runs = table(**{"score.tc": rising(), **udr})
    found = summarize(runs, "mine", ("method", "strength", "noise"), PRIMARY)
    assert found.target == "score.mig"
    assert found.absent == {}
    assert list(found.tables) == [
        "means",
        "comparisons_method",
        "comparisons_strength",
        "comparisons_noise",
        "rank_correlations",
        "variance_shares",
        "model_selection",
    ]
    assert "elsewhere.gap" in found.runs
    means = found.tables["means"].table
    assert len(means) == 3 * 2 * 2 * 4
    assert set(means["runs"]) == {SEEDS}

    methods = found.tables["comparisons_method"].table
    assert "strength" not in methods
    best = methods[(methods["score"] == "score.mig") & (methods["second"] == "factorvae")]
    assert best["difference"].tolist() == pytest.approx([-0.3, -0.3], abs=0.02)
    assert set(methods["seeds"]) == {SEEDS}
    strengths = found.tables["comparisons_strength"].table
    pairs = strengths[["method", "first", "second"]].drop_duplicates()
    assert pairs.to_numpy().tolist() == [[name, *own] for name, own in STRENGTHS.items()]
    noises = found.tables["comparisons_noise"].table
    assert noises[["first", "second"]].drop_duplicates().to_numpy().tolist() == [["no", "yes"]]

    shares = found.tables["variance_shares"].table.set_index("score")
    assert float(shares["method"]["score.mig"]) > 0.95
    selection = found.tables["model_selection"].table
    chosen = selection[(selection["target"] == "score.tc") & (selection["group"] == "all")]
    by_name = chosen.set_index("selector")[["rho", "regret"]].T.to_dict()
    # a low total correlation is good, and the run with the highest UDR has the highest one
    assert by_name["agreement.udr_lasso_pooled"]["rho"] == pytest.approx(-1)
    assert by_name["agreement.udr_lasso_pooled"]["regret"] == 59
    assert by_name["random"]["regret"] == pytest.approx(29.5)
    assert "agreement.informative" not in by_name


@pytest.mark.slow
def test_a_single_axis_has_no_share_of_other_axes() -> None:
    for axes in (("method",), ("method", "strength")):
        shares = summarize(table(), "mine", axes, PRIMARY).tables["variance_shares"]
        assert ("strength" in shares.note) == bool(axes[1:])
        heads = [head for axis in axes for head in (axis, f"{axis} by chance below")]
        assert [head for head in shares.excerpts[0] if head != "runs"] == ["score", *heads, "seed"]
        assert not any("-0.000" in str(cell) for cell in shares.excerpts[0].to_numpy().ravel())


@pytest.mark.slow
def test_a_share_that_is_its_level_but_for_rounding_does_not_reach_it() -> None:
    score = "score.reconstruction_sample_test"
    nats = [981.7822822265625, 978.08722265625, 998.9883505859375, 999.6931274414062]
    nats += [990.9308193359375, 993.0241181640625, 993.2966987304687, 1018.1716831054688]
    runs = pd.DataFrame(
        {
            "method": ["a"] * 4 + ["b"] * 4,
            "strength": [1, 1, 4, 4, 10, 10, 40, 40],
            "seed": [0, 1] * 4,
            "state": "finished",
            score: nats,
        }
    )
    measures: dict[str, Best] = {}
    shares = summarize(runs, "mine", ("method", "strength"), measures).tables["variance_shares"]
    (row,) = shares.table.to_dict("records")
    assert row["setting"] > row["setting_chance_high"]  # in the last digit
    (level,) = shares.excerpts[0]["strength by chance below"]
    assert level == "0.537 (not reached)"


@pytest.mark.slow
def test_scores_on_few_labels_select_runs_and_change_nothing_else() -> None:
    alone = summarize(table(**{"score.tc": rising()}), "mine", ("method",), PRIMARY)
    few = table(**{"score.tc": rising(), "labelled.mig_100_labels": rising()})
    found = summarize(few.assign(**{"labelled.constant": 1.0}), "mine", ("method",), PRIMARY)
    chosen = found.tables["model_selection"].table.query("target == 'score.tc' and group == 'all'")
    row = chosen[chosen["selector"] == "labelled.mig_100_labels"].iloc[0]
    assert (row["rho"], row["regret"]) == (pytest.approx(-1), 59)
    excerpt = found.tables["model_selection"].excerpts[0].set_index("selector")
    assert excerpt["p (Holm)"]["MIG 100 labels"] < 0.05
    assert np.isnan(excerpt["p (Holm)"]["random"])
    for name in ("means", "rank_correlations", "variance_shares"):
        pd.testing.assert_frame_equal(found.tables[name].table, alone.tables[name].table)


@pytest.mark.slow
def test_every_selector_of_a_target_has_as_many_permutations() -> None:
    """The smallest p is that of their number, of scores on few labels as of any other score."""
    scores = {f"score.s{number}": rising() for number in range(8)}
    runs = table(**scores, **{"labelled.mig_100_labels": rising()})
    found = summarize(runs, "mine", ("method",)).tables["model_selection"]
    rows = found.table.query("target == 'score.s0' and group == 'all'").set_index("selector")
    assert rows["p"]["labelled.mig_100_labels"] == rows["p"]["score.s1"] == 1 / 3601
    assert "p is by 3,600 permutations" in found.details


@pytest.mark.slow
def test_comparisons_of_the_target_are_corrected_for_themselves() -> None:
    runs = table(**{"score.tc": rising()})
    more = runs.assign(seed=runs["seed"] + SEEDS).rename(index="again{}".format)
    runs = pd.concat([runs, more])
    ranges = dict.fromkeys(PRIMARY, (0.0, 1.0))
    axes = ("method", "strength", "noise")
    found = summarize(runs, "mine", axes, PRIMARY, "score.mig", ranges=ranges)
    named = found.tables["comparisons_method"]
    (excerpt,) = named.excerpts
    own = named.table[named.table["score"] == "score.mig"]
    assert excerpt["p (Holm)"].tolist() == holm(own["p"].to_numpy())
    assert (excerpt["p (Holm)"] < own["p_holm"]).any()
    assert (excerpt["seeds to detect 0.05"] < own["seeds_needed"]).any()
    over = "averaged over noise and the values of strength that each method has, with"
    assert over in named.note
    assert "for the rows of MIG; in the complete table for those of 2 scores" in named.details
    assert "so that its p (Holm) and numbers of seeds can be larger" in named.details
    alone = summarize(runs[runs["seed"] < 2], "mine", ("method", "noise"), PRIMARY, "score.mig")
    two = alone.tables["comparisons_method"]
    assert two.table["seeds_needed"].isna().all()
    assert "seeds to detect 0.05" not in two.excerpts[0]
    assert "interval" not in two.note.replace("without intervals, which take three seeds", "")


@pytest.mark.slow
def test_many_rows_leave_a_small_p_visible() -> None:
    rng = np.random.default_rng(1)
    more = {f"score.s{number}": rng.normal(size=60) for number in range(6)}
    runs = table(**more, **{"score.tc": rising(), "score.same": rising()})
    runs = runs[runs["seed"] < 2]
    found = summarize(runs, "mine", ("method",)).tables["rank_correlations"].table
    same = found[(found["left"] == "score.tc") & (found["right"] == "score.same")]
    assert (same[same["group"] == "all"]["p_holm"] < 0.05).all()


def test_a_table_that_cannot_be_made_is_named_with_its_reason() -> None:
    runs = table()[lambda one: (one["method"] == "betavae") & (one["strength"] == 1)]
    found = summarize(runs[runs["noise"] == "no"], "mine", ("method", "strength", "noise"))
    assert list(found.tables) == ["means"]
    assert "two different scores" in found.absent["rank_correlations"]
    assert "no axis has two values" in found.absent["variance_shares"]


@pytest.mark.slow
def test_a_target_in_nats_has_tables_of_its_own() -> None:
    bound = "score.elbo_sample_test"
    runs = table(**{"score.tc": rising(), bound: rising()})
    found = summarize(runs, "mine", ("method", "strength", "noise"), PRIMARY, bound)
    first, _ = found.tables["model_selection"].excerpts
    assert first["selector"].tolist() == ["MIG", "Tc", "random"]
    comparisons = found.tables["comparisons_noise"]
    assert set(comparisons.table["score"]) == {bound, *PRIMARY}
    assert len(comparisons.excerpts[0]) == 1
    assert "difference of ELBO (test, nats)" in comparisons.excerpts[0]
    others = summarize(runs, "mine", ("method", "strength", "noise"), PRIMARY)
    assert set(others.tables["model_selection"].table["target"]) == set(PRIMARY)


def test_a_bound_is_compared_where_it_is_the_target() -> None:
    bounds = {"score.elbo_sample_test": rising(), "score.reconstruction_sample_test": rising()}
    runs = table(**bounds).drop(columns="score.mig")
    found = summarize(runs, "mine", ("method", "strength", "noise"))
    assert set(found.tables["comparisons_noise"].table["score"]) == {"score.elbo_sample_test"}


def test_only_scores_between_0_and_1_have_a_number_of_seeds_to_detect_a_difference() -> None:
    bound, error = "score.elbo_sample_test", "transfer.ood/MLP"
    runs = table(**{"score.tc": rising(), bound: rising(), error: rising()})
    ranges = {"score.mig": (0.0, 1.0), "score.tc": (0.0, None)}
    of_other_scales = " Scores whose range is not 0 to 1 have no such number."
    for target, is_scaled in {bound: False, error: False, "score.mig": True}.items():
        found = summarize(runs, "mine", ("method", "noise"), PRIMARY, target, ranges=ranges)
        named = found.tables["comparisons_noise"]
        assert set(named.table["score"]) == {"score.mig", "score.tc", error, target}
        needed = named.table.set_index("score")["seeds_needed"]
        assert needed.dropna().index.tolist() == ["score.mig"]
        assert ("seeds to detect 0.05" in named.excerpts[0]) == is_scaled
        assert ("p (Holm) and numbers of seeds can be" in named.details) == is_scaled
        assert named.details.endswith(of_other_scales)
    alone = summarize(runs, "mine", ("noise",), {"score.mig": "highest"}, bound)
    assert "detect" not in alone.tables["comparisons_noise"].details


@pytest.mark.slow
def test_shares_end_where_their_range_ends_and_one_form_of_udr_is_tested() -> None:
    found = summarize(
        table(
            **{
                "score.mig": rising(),
                "score.dci_hgbt_completeness": np.linspace(0, 1, 60) ** 9,
                "score.explained_variance_test": 1 - np.linspace(0, 1, 60) ** 9,
                "agreement.udr_lasso_pooled": rising(),
                "agreement.udr_lasso_averaged": rising(),
            }
        ),
        "mine",
        ["method", "strength", "noise"],
    )
    means = found.tables["means"].table
    ends = means.groupby("score")[["low", "high"]].agg(["min", "max"])
    assert ends.loc["score.dci_hgbt_completeness", ("low", "min")] == 0
    assert ends.loc["score.explained_variance_test", ("high", "max")] == 1
    pairs, choices = (found.tables[name].table for name in ("rank_correlations", "model_selection"))
    tested = {*pairs["left"], *pairs["right"], *choices["selector"]}
    assert "agreement.udr_lasso_pooled" in tested
    assert "agreement.udr_lasso_averaged" not in tested
    assert "agreement.udr_lasso_averaged" in set(means["score"])


@pytest.mark.slow
def test_udr_of_too_few_seeds_is_explained_and_takes_no_column() -> None:
    empty, full = "agreement.udr_lasso_pooled", "agreement.alignment"
    informative = [2.0 if seed < 3 else np.nan for seed in table()["seed"]]
    columns = {empty: np.nan, full: rising(), "agreement.informative": informative}
    found = summarize(table(**columns), "mine", ("method", "strength", "noise"))
    reason = "it needs 5 seeds of a setting with codes; the most here is 3"
    assert found.absent == {"UDR": reason}
    assert empty not in found.runs
    assert full in found.runs
    shown = [str(name) for one in found.tables["means"].excerpts for name in one]
    assert "Alignment" in shown
    assert not any("UDR" in name for name in shown)
    assert "scatter_udr_lasso_pooled" not in {one.name for one in pictures(found)}


def test_elbo_is_the_bound_that_tables_show_and_hints_begin_with_their_scores() -> None:
    names = [
        "dci_hgbt_a",
        "dci_hgbt_b",
        *(f"elbo_sample_{end}" for end in ("train", "validation", "test")),
    ]
    runs = table(**{f"score.{name}": rising() for name in [*names, "elbo_mean_test"]})
    measures = measures_of(runs, {"score.dci_hgbt_b": "highest"})
    for word in ("elbo", "elbo_sample"):
        assert list(shown_scores([word], "mine", runs, measures)) == ["score.elbo_sample_test"]
        assert chosen_target(word, "mine", measures) == "score.elbo_sample_test"
    without = runs.drop(columns="score.elbo_sample_test")
    shown = shown_scores(["elbo"], "mine", without, measures_of(without))
    assert shown == {"score.elbo_sample_validation": "highest"}
    with pytest.raises(InputError, match="did you mean dci_hgbt_b or dci_hgbt_a"):
        shown_scores(["dci"], "mine", runs, measures)


def test_a_metric_with_one_score_can_be_named_by_its_key() -> None:
    runs = table(**{"score.sap_r2": rising(), "score.sampled/sap_r2": rising()})
    measures = measures_of(runs, {"score.sap_r2": "highest"})
    assert chosen_target("sap", "mine", measures) == "score.sap_r2"
    assert list(shown_scores(["sap"], "mine", runs, measures)) == ["score.sap_r2"]
    several = {**measures, "score.sap_svc": measures["score.sap_r2"]}
    with pytest.raises(InputError, match="did you mean sap_"):
        chosen_target("sap", "mine", several)


@pytest.mark.parametrize(
    ("runs", "target", "message"),
    [
        (table()[:0], None, "no finished run has a score that varies"),
        (table(**{"score.mig": 0.1}), None, "no finished run has a score that varies"),
        (table(), "score.mgi", r"no measure of mine \(did you mean score.mig\?\)"),
    ],
)
def test_mistakes(runs: pd.DataFrame, target: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        summarize(runs, "mine", ("method",), target=target)


def test_names_for_files_and_people() -> None:
    assert slug("model.regularizers.kl.beta") == "model_regularizers_kl_beta"
    assert slug("transfer.a/../b\n<") == "transfer_a_b"
    assert label("score.mig") == "MIG"
    assert label("agreement.alignment") == "Alignment"
    assert label("transfer.a_b/MLP") == "Error of MLP in a b"
    assert labels(["score.a_b", "score.a/b", "score.mig"]) == {
        "score.a_b": "score.a_b",
        "score.a/b": "score.a/b",
        "score.mig": "MIG",
    }


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (1.0, "1"),
        (20000000.0, "20000000"),
        (1e10, "1e+10"),
        (1234567891.0, "1234567891"),
        (0.5, "0.5"),
        (1e-5, "1e-05"),
        (6000, "6000"),
        (10**10, "1e+10"),
        (float("nan"), "–"),
        (1e20, "1e+20"),
    ],
)
def test_large_and_small_values_of_settings_have_an_exponent(setting: float, text: str) -> None:
    assert setting_text(setting) == text


@pytest.mark.slow
def test_axes_and_scores_with_equal_file_names_keep_all_tables_and_pictures() -> None:
    runs = table(**{"score.m.ig": rising(), "transfer.a.b/M": rising(), "transfer.a_b/M": rising()})
    runs = runs.rename(columns={"strength": "n.x", "noise": "n_x"})
    runs["score.m_ig"] = runs["score.m.ig"] ** 2
    axes = ("method", "n.x", "n_x")
    summary = summarize(runs, "mine", axes)
    names = {name for name in summary.tables if name.startswith("comparisons_")}
    assert names == {f"comparisons_{text}" for text in slugs(axes).values()}
    assert len(names) == len(axes)
    files = [picture.name for picture in pictures(summary)]
    assert len(files) == len(set(files))
    assert sum(name.startswith("violins_m_ig_") for name in files) == 2
    assert sum(name.startswith("scatter_transfer_a_b_M_") for name in files) == 2
    assert slugs(["A.b", "a_b"])["A.b"].lower() != slugs(["A.b", "a_b"])["a_b"]


@pytest.mark.slow
def test_settings_side_by_side_are_drawn_where_violins_do_not_show_them() -> None:
    axes, runs = ["method", "strength", "noise"], table()
    many = pd.concat([runs.assign(size=number) for number in range(4)], ignore_index=True)
    crossed = many.assign(method=many.index % 3, strength=many["seed"])
    for one, names, is_drawn in (
        (runs, axes, False),  # violins have a row for each of 12 settings
        (runs[runs["seed"] == 0], axes, True),  # as in a search
        (many, [*axes, "size"], False),  # 48 settings, whose strengths mean different terms
        (crossed, ["size", "method", "strength"], True),
    ):
        found = summarize(one, "mine", names, PRIMARY)
        assert ("settings" in [picture.name for picture in pictures(found, 1)]) == is_drawn


@pytest.mark.slow
def test_trials_of_a_search_are_not_compared_in_pairs() -> None:
    axes = ["method", "strength", "noise"]
    trials = summarize(table(), "mine", axes, PRIMARY, trials=True)
    assert trials.absent["comparisons"] == "trials of a search are not replicates"
    compared = summarize(table(), "mine", axes, PRIMARY).tables
    assert {name for name in compared if name not in trials.tables} == {
        name for name in compared if name.startswith("comparisons_")
    }
    assert "comparisons_method" in compared
