"""Means, verdict and narrow tables of a study."""

import re

import numpy as np
import pandas as pd
import pytest

from dislab.study.headline import (
    best_run,
    conclusion,
    headline_table,
    latex_means,
    legend,
    mixture,
    named_run,
    narrow_table,
    others_differ,
    planned_support,
    text,
    verdict,
    without_latents,
)
from dislab.study.stages.score import with_levels
from dislab.study.statistics.selection import Best
from dislab.study.summary import headline_measures

SCORES: dict[str, Best] = {"score.mig": "highest"}
AXES = ["method", "strength"]


def runs(methods: int, seeds: int, effect: float, noise: float = 0.01) -> pd.DataFrame:
    """Runs whose score rises by `effect` from method to method, and by `noise` with the seed."""
    rows = [
        {
            "method": f"m{method}",
            "strength": 10.0 * method + strength,
            "seed": seed,
            "state": "finished",
            "score.mig": effect * method + noise * seed + 0.002 * strength,
            "score.mig/chance": 0.02,
        }
        for method in range(methods)
        for strength in (1, 2)
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows, index=pd.Index([f"r{row}" for row in range(len(rows))], name="run"))


def test_main_scores_come_first_and_bounds_never() -> None:
    names = ["elbo_sample_test", "sap_r2", "dci_hgbt_completeness", "factor_vae_score", "mig"]
    measures: dict[str, Best] = {f"score.{name}": "highest" for name in names}
    assert headline_measures(measures) == [
        "score.mig",
        "score.factor_vae_score",
        "score.sap_r2",
    ]
    measures["score.dci_hgbt_disentanglement"] = "highest"
    assert headline_measures(measures)[1] == "score.dci_hgbt_disentanglement"


@pytest.mark.parametrize(
    ("methods", "seeds", "effect", "sentence"),
    [
        (
            2,
            8,
            0.3,
            r"^The difference in MIG, averaged over the values of strength that each method has, "
            r"is supported, for this score alone\. m1 \(strength 11, 12\) is 0\.300 above m0 "
            r"\(strength 1, 2\): 95 % interval .*, 8 seeds, p \(Holm\) 0\.0078, supported\.$",
        ),
        (
            3,
            8,
            0.3,
            r"^3 of 3 differences in MIG, averaged over the values of strength that each method "
            r"has, are supported, for this score alone\. The largest: m2 \(strength 21, 22\) is "
            r"0\.600 above m0 \(strength 1, 2\): uncorrected 95 % .*, supported\. The two",
        ),
        (
            2,
            3,
            0.3,
            r"^No difference in MIG, averaged over the values of strength that each method has, is "
            r"supported: 3 seeds are too few to support the difference, by p \(Holm\) below 0\.05; "
            r"6 seeds could\. m1 \(.*\) is 0\.300 above m0 \(.*\): 95 % interval 0\.30\d to "
            r"0\.30\d, 3 seeds\.$",
        ),
        (2, 6, 0.3, r"6 seeds, p \(Holm\) 0\.031, supported"),
        (
            3,
            6,
            0.3,
            r"is supported: 6 seeds are too few to support any of 3 differences, by p \(Holm\) "
            r"below 0\.05; 7 seeds could\. The largest: .* uncorrected 95 % interval .*, 6 seeds\.",
        ),
        (2, 1, 0.3, r"is supported: 1 seed is too few .* above m0 .*: one seed, no interval\.$"),
        (2, 2, 0.3, r"is supported: 2 seeds are too few .* above m0 .*: two seeds, no interval\.$"),
        (1, 8, 0.3, "Nothing to compare: no axis has two values"),
    ],
)
def test_a_verdict_claims_what_the_corrected_p_supports(
    methods: int, seeds: int, effect: float, sentence: str
) -> None:
    axes = ["method"] if methods == 1 else ["method", "strength"]
    said = verdict(runs(methods, seeds, effect), axes, SCORES)
    assert re.search(sentence, said), said
    assert said.count("too few") <= 1


@pytest.mark.parametrize(
    ("target", "best", "name"),
    [
        ("score.elbo_sample_test", "highest", "ELBO (test, nats)"),
        ("score.reconstruction_sample_test", "lowest", "Reconstruction (test, nats)"),
        ("transfer.ood/MLP", "lowest", "Error of MLP in ood"),
    ],
)
def test_a_conclusion_is_about_any_measure_that_is_the_target(
    target: str, best: Best, name: str
) -> None:
    table = runs(2, 8, 300.0).rename(columns={"score.mig": target})
    said = conclusion(table, AXES, {**SCORES, target: best}, target)
    averaged = "averaged over the values of strength that each method has"
    assert said.startswith(f"The difference in {name}, {averaged}, is supported, for this score")
    assert "m1 (strength 11, 12) is 300.0 above m0 (strength 1, 2): 95 % interval" in said


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (["diverged"], "All 12 runs of m2 diverged, so it is in no comparison."),
        (
            ["diverged", "failed"],
            "All 12 runs of m2 diverged or failed, so it is in no comparison.",
        ),
        (["diverged", "waiting"], ""),
        (["diverged", "finished"], ""),
    ],
)
def test_a_conclusion_names_a_method_without_any_score(states: list[str], sentence: str) -> None:
    table = runs(3, 6, 0.3)
    lost = table["method"] == "m2"
    table.loc[lost, "score.mig"] = np.nan
    table.loc[lost, "state"] = np.resize(states, lost.sum())
    said = conclusion(table, ["method", "strength"], SCORES, "score.mig")
    assert "m1 (strength 11, 12) is 0.300 above m0 (strength 1, 2): " in said
    assert said.endswith(sentence) if sentence else "in no comparison" not in said
    if states == ["diverged"]:
        two = table[~lost | (table["seed"] < 1)]
        said = conclusion(two, ["method", "strength"], SCORES, "score.mig")
        assert said.endswith(" Both runs of m2 diverged, so it is in no comparison.")


@pytest.mark.parametrize(
    ("methods", "seeds", "sentence"),
    [
        (2, 5, "5 seeds are too few to support the difference, .*; set seeds: 6"),
        (6, 6, "6 seeds are too few to support any of 15 differences, .*; set seeds: 10"),
        (6, 1, "1 seed is too few to support any of 15 differences, .*; set seeds: 10"),
        (2, 6, None),
        (6, 10, None),
        (1, 2, None),
    ],
)
def test_a_plan_counts_differences_and_seeds_as_the_verdict_does(
    methods: int, seeds: int, sentence: str | None
) -> None:
    table, axes = runs(methods, seeds, 0.3), ["method", "strength"][: 2 - (methods == 1)]
    said = planned_support(table[["method", "strength", "seed"]], axes)
    assert bool(said) == (sentence is not None)
    if sentence:
        assert re.match(re.escape(sentence).replace(re.escape(".*"), ".*"), said), said
        assert said.partition("; set")[0] in verdict(table, axes, SCORES)
    else:
        assert "too few" not in verdict(table, axes, SCORES)


def test_a_plan_counts_only_values_that_share_seeds_and_settings() -> None:
    table = runs(3, 2, 0.3)[["method", "strength", "seed"]].assign(strength=1.0)
    table.loc[table["method"] == "m2", "seed"] += 9
    assert "the difference" in planned_support(table, ["method", "strength"])
    table.loc[table["method"] == "m1", "seed"] += 5
    assert planned_support(table, ["method", "strength"]) == ""


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seeds", [2, 8])
def test_a_verdict_has_the_difference_of_the_two_best(sign: int, seeds: int) -> None:
    table = runs(3, seeds, 0.3)
    table["score.mig"] *= sign
    best: dict[str, Best] = {"score.mig": "highest" if sign > 0 else "lowest"}
    said = verdict(table, ["method", "strength"], best)
    support = "two seeds, no interval"
    if seeds > 2:
        support = (
            r"uncorrected 95 % interval 0\.[23]\d+ to .*, 8 seeds, p \(Holm\) 0\.0\d+, supported"
        )
    sentence = rf" The two best methods, m2 and m1, differ by 0\.300: {support}\."
    assert re.search(sentence, said), said
    assert "The two best" not in verdict(runs(2, seeds, 0.3), ["method", "strength"], best)


def test_an_interval_that_excludes_0_supports_nothing() -> None:
    """Of eight seeds three have the other sign, if barely."""
    table = runs(3, 8, 0.3, noise=0)
    shifts = np.tile([-0.01, -0.01, -0.01, 0.1, 0.1, 0.1, 0.1, 0.1], 2)
    table.loc[table["method"] == "m2", "score.mig"] = shifts + 0.31
    said = verdict(table, ["method", "strength"], SCORES)
    assert said.startswith("2 of 3 differences in MIG")
    assert re.search(r"m2 \(.*\) is 0\.\d+ above m0 \(.*\): .*, supported\.", said)
    support = r"interval 0\.0\d+ to 0\.1\d+, 8 seeds, p \(Holm\) 0\.062, not supported\."
    assert re.search(rf"differ by 0\.0\d+: uncorrected 95 % {support}", said), said


def test_a_verdict_has_the_range_over_conditions_that_all_methods_share() -> None:
    table = runs(2, 2, 0.3).assign(strength=[1.0, 1.0, 2.0, 2.0] * 2)
    table["score.mig"] += 0.1 * (table["strength"] == 2) * (table["method"] == "m1")
    said = verdict(table, ["method", "strength"], SCORES)
    assert " m1 is 0.350 above m0: two seeds, no interval." in said
    ends = " By strength the difference ranges from 0.300 (1) to 0.400 (2)."
    assert said.endswith(ends)
    table["score.mig"] *= -1
    assert verdict(table, ["method", "strength"], SCORES).endswith(ends)
    table["score.mig"] -= 1.0 * (table["strength"] == 2) * (table["method"] == "m0")
    said = verdict(table, ["method", "strength"], SCORES)
    assert said.endswith("ranges from −0.300 (1) to 0.600 (2).")


@pytest.mark.parametrize(
    ("slope", "trend"),
    [
        (0.1, r"rises with strength \(ρ 0\.9\d \[.*\], p \(Holm\) 0\.\d+\)\.$"),
        (-0.1, "falls with strength"),
        (0.0, "has no supported trend with strength"),
    ],
)
def test_a_verdict_has_the_trend_over_an_axis_of_numbers(slope: float, trend: str) -> None:
    table = runs(2, 6, 0.0, noise=0).assign(strength=[1.0, 1.0, 2.0, 2.0, 4.0, 8.0] * 4)
    table["score.mig"] = slope * table["strength"] + 0.001 * np.tile([1, -1], 12)
    table.loc[table["method"] == "m1", "score.mig"] += 0.0001
    said = verdict(table, ["method", "strength"], SCORES)
    assert re.search(f" Over 24 runs MIG {trend}", said), said


def test_a_verdict_says_which_values_are_averaged_over() -> None:
    table = runs(2, 6, 0.3)
    shared = verdict(table.assign(strength=[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2] * 2), AXES, SCORES)
    assert shared.startswith("The difference in MIG, averaged over strength, is supported")
    assert " m1 is 0.300 above m0: " in shared
    single = table[table["strength"].isin([1, 11])]
    assert verdict(single, AXES, SCORES).startswith(
        "The difference in MIG is supported, for this score alone. "
        "m1 (strength 11) is 0.300 above m0 (strength 1): "
    )


def test_a_difference_within_noise_is_not_supported() -> None:
    table = runs(2, 8, 0.0)
    table.loc[table.method == "m1", "score.mig"] += [0.1, -0.1] * 8
    said = verdict(table, ["method", "strength"], SCORES)
    assert said.startswith(
        "No difference in MIG, averaged over the values of strength that each method has, is "
        "supported: no p (Holm)"
    )
    assert said.endswith(", not supported.")


def test_columns_that_are_no_settings_do_not_hide_pairs_from_the_verdict() -> None:
    table = runs(2, 8, 0.3)
    table["labelled.mig"], table["note"] = range(len(table)), [f"n{row}" for row in table.index]
    assert verdict(table, ["method", "strength"], SCORES) == verdict(
        runs(2, 8, 0.3), ["method", "strength"], SCORES
    )


def test_means_stand_beside_chance() -> None:
    table = headline_table(runs(2, 2, 0.3), ["method", "strength"], SCORES)
    assert list(table.index) == ["m0", "m1", "chance"]
    assert str(table.loc["m1", "MIG"]).strip() == "0.308 ± 0.006"
    assert str(table.loc["chance", "MIG"]).strip() == "0.020"
    assert table.loc["m1", "best run"] == "r7"
    axes = ["method", "strength"]
    both = headline_table(runs(2, 2, 0.3), axes, SCORES, by=axes)
    assert both.index.name == "method, strength"
    assert list(both.index) == ["m0, 1", "m0, 2", "m1, 11", "m1, 12", "chance"]
    assert str(both.loc["m1, 12", "MIG"]).strip() == "0.309 ± 0.007"


def test_means_stand_beside_those_of_untrained_models() -> None:
    found = runs(2, 2, 0.3).assign(**{"score.mig/untrained": 0.07})
    table = headline_table(found, ["method", "strength"], SCORES)
    assert list(table.index) == ["m0", "m1", "chance", "untrained"]
    assert str(table.loc["untrained", "MIG"]).strip() == "0.070"
    assert legend(table, found).endswith("untrained is the mean score of models with fresh weights")


def test_scores_of_a_record_stand_beside_their_levels() -> None:
    spread = {"mean": 0.07, "sd": 0.01}
    untrained = {"scores": {"mig": spread, "sap": spread}}
    record = {"scores": {"mig": 0.5}, "chance": {"mig": 0.02}, "untrained": untrained}
    assert with_levels(record) == {"mig": 0.5, "mig/chance": 0.02, "mig/untrained": 0.07}


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("seeds", "effects", "marked"),
    [
        (8, [0.0, 0.3, 0.6], ["m2"]),
        (8, [0.0, 0.6, 0.6001], ["m1", "m2"]),
        (8, [0.6, 0.6001, 0.6002], []),  # no difference is supported
        (6, [0.0, 0.3, 0.6], []),  # nor can it be, with three differences
        (2, [0.0, 0.3], []),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_means_that_are_not_told_apart_from_the_best_are_marked_with_it(
    seeds: int, effects: list[float], marked: list[str], sign: int
) -> None:
    table = runs(len(effects), seeds, 0.0, noise=0)
    noise = np.random.default_rng(0).normal(scale=0.01, size=len(table))
    effect = table["method"].map(dict(zip(["m0", "m1", "m2"], effects, strict=False)))
    table["score.mig"] = sign * (effect + noise)
    table["score.active_units"] = 10 * effect.round(1)  # a count, which no method is better in
    best: Best = "highest" if sign > 0 else "lowest"
    measures: dict[str, Best] = {"score.mig": best, "score.active_units": "highest"}
    axes = ["method", "strength"]
    means = headline_table(table, axes, measures)
    assert [row for row in means.index if str(means["MIG"][row]).endswith("*")] == marked
    assert not means.drop(columns="MIG").map(lambda cell: cell.endswith("*")).to_numpy().any()
    words = legend(means, table)
    assert words.startswith("* marks the best mean" if marked else "no mean is marked")
    needed = {6: "; 7 seeds could", 2: "; 6 seeds could"}  # three differences, and one
    chance = "; chance is the score of codes without information"
    assert marked or words.endswith(f"{needed.get(seeds, 'is below 0.05')}{chance}")
    latex = latex_means(means, table)
    assert latex.count("textbf") == len(marked)
    spread = "{\\footnotesize Mean $\\pm$ standard deviation over all runs of a row; "
    assert f"{spread}{'bold marks the best' if marked else 'no mean is marked'}" in latex
    if marked:
        assert ", supported" in verdict(table, axes, measures)


def test_rows_are_in_the_order_of_numbers_and_never_mix_methods_unsaid() -> None:
    table, axes = runs(2, 2, 0.3), ["method", "strength"]
    table["strength"] = [8, 8, 10, 10, 1, 1, 9, 9]
    means = headline_table(table, axes, SCORES, by=["strength"])
    assert list(means.index) == ["1", "8", "9", "10", "chance"]
    both = headline_table(table, axes, SCORES, by=axes)
    assert list(both.index) == ["m0, 8", "m0, 10", "m1, 1", "m1, 9", "chance"]
    assert not mixture(table, axes, ["strength"])  # no row has runs of two methods
    three = runs(3, 2, 0.3)
    three["strength"] = [8, 8, 10, 10, 1, 1, 8, 8, 1, 1, 9, 9]  # m0 and m2 have none in common
    assert mixture(three, axes, ["strength"]).startswith("each method has values of strength of")
    assert mixture(three, axes, ["strength"]).endswith("--by method strength has a row for each")
    assert not mixture(three, axes, axes)
    assert not mixture(three, axes, ["method"])
    assert not mixture(table.assign(strength=[1, 1, 2, 2] * 2), axes, ["strength"])


def test_a_row_counts_runs_that_wait_or_have_diverged_or_failed() -> None:
    table = runs(3, 2, 0.3)
    lost = table.index.isin(["r0", "r8", "r9", "r10", "r11"])
    table["score.mig"] = table["score.mig"].mask(lost)
    table["state"] = table["state"].mask(lost, "diverged")
    table.loc["r11", "state"] = "failed"
    means = headline_table(table, ["method", "strength"], SCORES)
    assert means["runs"].tolist() == ["3 of 4", "4", "0 of 4", ""]
    assert means.loc["m2", ["MIG", "best run"]].str.strip().tolist() == ["–", "–"]
    assert "to support the difference" in legend(means, table)
    waiting = table.assign(state=table["state"].replace("failed", "waiting"))
    assert headline_table(waiting, ["method"], SCORES)["runs"]["m2"] == "0 of 4"
    assert "0 of 4" in latex_means(means, table)


def test_runs_without_a_setting_have_a_row_too() -> None:
    table, axes = runs(2, 2, 0.3), ["method", "strength"]
    table.loc[table["method"] == "m0", "strength"] = None
    means = headline_table(table, axes, SCORES, by=axes)
    assert list(means.index) == ["m0, –", "m1, 11", "m1, 12", "chance"]


def test_the_best_run_of_all_is_told_in_words() -> None:
    table, axes = runs(2, 2, 0.3), ["method", "strength"]
    table.loc["r7", "strength"] = None
    best = ("r7", "method m1, seed 1, MIG 0.314 (chance 0.020)")
    assert best_run(table, axes, SCORES, "score.mig") == best
    assert best_run(table, axes, {"score.mig": "lowest"}, "score.mig") == (
        "r0",
        "method m0, strength 1, seed 0, MIG 0.002 (chance 0.020)",
    )
    same = table.assign(strength=1)  # says nothing about a run
    assert best_run(same, axes, SCORES, "score.mig") == best
    unknown = table.drop(columns="score.mig/chance")
    assert best_run(unknown, axes, SCORES, "score.mig") == ("r7", "method m1, seed 1, MIG 0.314")
    assert named_run(same, "r7", axes) == "method m1, seed 1 (r7)"
    assert best_run(table.assign(**{"score.mig": np.nan}), axes, SCORES, "score.mig") is None


def test_a_narrow_table_has_what_differs_and_marks_no_single_run() -> None:
    table, others = narrow_table(runs(2, 1, 0.3), ["method", "strength"], SCORES)
    assert others == []
    assert list(table.columns) == ["method", "strength", "seed", "MIG"]
    assert table["MIG"].tolist() == ["0.002", "0.004", "0.302", "0.304"]


def test_axes_displace_scores_of_a_narrow_table() -> None:
    names = ["mig", "factor_vae_score", "sap_r2"]
    measures: dict[str, Best] = {f"score.{name}": "highest" for name in names}
    table = runs(2, 1, 0.3).assign(**{"score.factor_vae_score": 0.5, "score.sap_r2": 0.5})
    table = table.assign(state=["finished", "waiting"] * 2)
    axis = "model.regularizers.total_correlation_of_sampled_codes.weight_of_the_second_term"
    table = table.rename(columns={"strength": axis})
    brief, others = narrow_table(table, ["method", axis], measures, ["method", axis])
    assert others == []
    assert "MIG" in brief
    assert "SAP R²" not in brief
    assert max(map(len, text(brief))) <= 100
    twin = {f"{axis}_again": table[axis]}
    again, others = narrow_table(table.assign(**twin), [axis, *twin], measures, [axis, *twin])
    assert others == [*twin]  # it follows from the other axis
    assert "MIG" in again
    alone, others = narrow_table(table, ["method", axis], measures)
    assert others == [axis]
    assert "SAP R²" in alone


def test_the_score_that_most_runs_have_comes_first() -> None:
    measures: dict[str, Best] = {
        "score.mig": "highest",
        "score.dci_hgbt_disentanglement": "highest",
    }
    table = runs(2, 1, 0.3).assign(**{"score.dci_hgbt_disentanglement": [0.1, 0.2, 0.3, 0.4]})
    brief, _ = narrow_table(table, ["method", "strength"], measures)
    assert list(brief)[-2:] == ["DCI disentanglement", "MIG"]
    table.loc["r0", "score.dci_hgbt_disentanglement"] = None
    brief, _ = narrow_table(table, ["method", "strength"], measures)
    assert list(brief)[-2:] == ["MIG", "DCI disentanglement"]


def test_a_single_run_has_its_scores_and_a_state_that_is_not_finished() -> None:
    table = runs(1, 1, 0.0).iloc[:1].assign(state="diverged")
    brief, _ = narrow_table(table, ["method", "strength"], {})
    assert brief.to_dict("list") == {"seed": ["0"], "state": ["diverged"], "MIG": ["0.002"]}
    means = headline_table(table, ["method", "strength"], SCORES)
    assert [means.index.name, *means.index] == ["setting", "all", "chance"]
    assert text(means)[0].split() == ["setting", "runs", "MIG", "best", "run"]


def test_settings_that_matter_come_first_and_the_rest_is_named() -> None:
    names = {
        "method": ["a", "b"],
        "model.encoder": ["MLPEncoder", "ConvEncoder"],
        "model.regularizers.kl": ["KL", "DecomposedKL"],
        "model.regularizers.kl.beta": [1.0, 4.0],
        "model.regularizers.tc.gamma": [None, 10.0],
        "data.eval_batch_size": [8, 9],
        "data.dataset.download": [False, True],
        "data.batch_size": [8, 64],
        "data.dataset": ["Shapes3D", "DSprites"],
        "trainer.max_steps": [50, 6000],
        "trainer.precision": ["32-true", "16-mixed"],
    }
    scores = {"seed": [0, 1], "state": "finished", "score.mig": [0.1, 0.2]}
    table = pd.DataFrame({**names, **scores}, index=pd.Index(["r0", "r1"], name="run"))
    brief, others = narrow_table(table, list(names), SCORES)
    shown = ["method", "kl.beta", "trainer.max_steps", "tc.gamma", "seed", "MIG"]
    assert list(brief) == shown
    assert others[:2] == ["data.dataset", "model.encoder"]
    hosts = {"data.eval_batch_size", "data.dataset.download", "trainer.precision"}
    assert set(others[-3:]) == hosts
    others.remove("data.dataset.download")  # a setting of data.dataset, which is named
    said = others_differ([*others, "data.dataset.download"], table)
    assert said.startswith("also differ: data.dataset (Shapes3D, DSprites), model.encoder (MLPEnc")
    assert said.count(" (") == len(others)
    many = pd.DataFrame({letter: range(5) for letter in "abcdefghij"})
    assert others_differ([*many], many) == "also differ: a, b, c, d, e, f, g, h and 2 more"
    kl = "model.regularizers.kl"
    beta = pd.DataFrame(
        {kl: [None, "KL", "KL"], f"{kl}.beta": [None, 4.0, 1e10], f"{kl}.steps": [None, 1, 2]}
    )
    values = f"also differ: {kl} (–, KL), {kl}.beta (–, 4, 1e+10)"
    assert others_differ([kl, f"{kl}.beta", f"{kl}.steps"], beta) == values
    long = table.rename(index=lambda name: name * 40)
    assert len(narrow_table(long, list(names), SCORES)[0].columns) < len(shown)
    assert list(narrow_table(long, list(names), SCORES, is_wide=True)[0]) == shown


def test_what_all_runs_of_a_method_have_alone_is_not_named() -> None:
    part = "model.regularizers.tc"
    names = {
        "method": ["β-VAE", "β-VAE", "FactorVAE", "FactorVAE"],
        **{f"data.fitting_{letter}": ["a", "b", "a", "b"] for letter in "defg"},
        part: [None, None, "TotalCorrelation", "TotalCorrelation"],
        f"{part}.gamma": [None, None, 10.0, 40.0],
        f"{part}.width": [None, None, 1000, 1000],
    }
    scores = {"seed": [0, 1, 0, 1], "state": "finished", "score.mig": [0.1, 0.2, 0.3, 0.4]}
    table = pd.DataFrame({**names, **scores}, index=pd.Index(["r0", "r1", "r2", "r3"], name="run"))
    others = narrow_table(table, list(names), SCORES)[1]
    assert {part, f"{part}.width"}.isdisjoint(others)
    assert "data.fitting_g" in others
    other = table.copy()
    other[f"{part}.width"] = [None, None, 1000, 500]
    alike = table.assign(method="β-VAE")  # some of whose runs have the part
    for each in (other, alike):
        brief, others = narrow_table(each, list(names), SCORES)
        assert "tc.width" in brief or f"{part}.width" in others


def test_axes_come_first_and_what_follows_from_them_has_no_column() -> None:
    table = runs(2, 2, 0.3)
    table["model.regularizers.kl.beta"] = 2 * table["strength"]
    settings = ["method", "model.regularizers.kl.beta", "strength"]
    axes = ["strength", "method"]
    brief, others = narrow_table(table[[*axes, *table.columns[2:]]], settings, SCORES, axes)
    assert list(brief) == ["method", "strength", "seed", "MIG"]
    assert others == ["model.regularizers.kl.beta"]


def test_latex_has_a_supported_best_mean_in_bold() -> None:
    table = runs(2, 6, 0.3, 0.002)
    lines = latex_means(headline_table(table, ["method"], SCORES), table).splitlines()
    assert lines[-1].startswith(
        r"{\footnotesize Mean $\pm$ standard deviation over all runs of a row; bold marks"
    )
    assert lines[2] == r"\toprule"
    assert r"m0 & 12 & 0.008 $\pm$ 0.004 \\" in lines
    assert r"m1 & 12 & \textbf{0.308 $\pm$ 0.004} \\" in lines
    assert lines[-6:-3] == [r"\midrule", r"chance &  & 0.020 \\", r"\bottomrule"]


def test_latex_has_a_column_for_each_axis_and_numbers_below_zero_at_the_right() -> None:
    table, by = runs(2, 9, 0.3, 0.002), ["method", "strength"]
    table["score.mig"] -= 1
    lines = latex_means(headline_table(table, by, SCORES, by=by), table, by).splitlines()
    assert lines[1:4] == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"method & strength & runs & MIG \\",
    ]
    assert any(line.startswith(r"m1 & 12 & 9 & \textbf{$-$0.6") for line in lines)
    assert r"chance &  &  & 0.020 \\" in lines


def test_columns_without_room_follow_below() -> None:
    table = pd.DataFrame(
        {f"a score of a long name {number}": ["0.5", "0.25"] for number in range(9)},
        index=pd.Index(["first", f"{'a/long/path/' * 9}end"], name="run"),
    )
    lines = text(table)
    assert max(map(len, lines)) <= 100
    assert sum(line.startswith("first") for line in lines) == lines.count("") + 1 > 1
    assert all(f"name {number}" in "\n".join(lines) for number in range(9))
    assert any(line.startswith("…") and "/end  0.25" in line for line in lines)


def test_runs_without_a_latent_in_use_are_told() -> None:
    table = runs(2, 2, 0.3).assign(**{"score.factor_vae_score": 0.6, "score.num_active": 3.0})
    measures = SCORES | {"score.factor_vae_score": "highest"}
    names = list(measures)
    assert without_latents(table, names) == ""
    first = table.index[0]
    table.loc[first, ["score.factor_vae_score", "score.num_active"]] = 0.0
    still = (
        "In 1 run (r0) no latent varies enough, so that the FactorVAE score is 0 there, without a "
        "chance level."
    )
    assert without_latents(table, names) == still
    assert without_latents(table, list(SCORES)) == ""
    table["score.active_units"] = [0.0, 0.0, 3.0, 3.0] * 2
    assert without_latents(table, list(SCORES)) == (
        "In 4 runs no latent is active: the KL of each is at most 0.01 nats."
    )
    assert without_latents(table, names).endswith(f"nats. {still}")


def test_the_legend_names_the_tests_of_a_mark_and_scores_that_improve_downwards() -> None:
    target = "score.reconstruction_sample_test"
    table = runs(2, 9, 300.0, 0.1).rename(columns={"score.mig": target})
    measures: dict[str, Best] = {target: "lowest"}
    for by, p in (
        (["method"], "its p (uncorrected, of each score alone), paired by seed"),
        (
            ["method", "strength"],
            "its p (Holm, over the 6 differences in each score alone), paired",
        ),
    ):
        means = headline_table(table, by, measures, target, by)
        said = legend(means, table, measures=measures)
        assert p in said
        assert said.endswith("; lower is better: Reconstruction (test, nats)")
        assert "lower is better: Reconstruction" in latex_means(means, table, by, measures)
    assert "lower" not in legend(means, table, measures={target: "highest"})


def test_a_verdict_without_a_difference_names_no_winner_and_says_if_all_is_chance() -> None:
    table = runs(2, 2, 0.0001, 0.002)
    said = conclusion(table, ["method", "strength"], SCORES, "score.mig")
    assert (
        "m1 (strength 11, 12) and m0 (strength 1, 2) differ by less than 0.001: two seeds" in said
    )
    assert said.endswith("No mean of any setting is 0.02 above chance.")
    table = runs(2, 2, 0.05, 0.002)
    assert "chance" not in conclusion(table, ["method", "strength"], SCORES, "score.mig")
    table.loc[table["method"] == "m1", "strength"] = None  # the method above chance lacks the axis
    assert "chance" not in conclusion(table, ["method", "strength"], SCORES, "score.mig")
