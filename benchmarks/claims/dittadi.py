"""Claims of Dittadi et al. (2021) on disentanglement, transfer and noise."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from claims.tables import (
    DCI,
    LEVEL,
    METHODS,
    NO_CODES,
    ORDERS,
    RHO_MARGIN,
    SCORES,
    Claim,
    Numbers,
    Table,
    claim_of_no_effect,
    claims_table,
    interval,
    jackknife,
    marked,
    named,
    rho_by_chance,
    spread,
    value_range,
)
from dislab.metrics.score_table import label as score_label
from dislab.study import Study
from dislab.study.statistics import rank_correlations

SCENARIOS: Final = {
    "rooms_ood1_a": "OOD1-A",
    "rooms_ood1_b": "OOD1-B",
    "rooms_ood1_c": "OOD1-C",
    "rooms_ood2_a": "OOD2-A",
    "rooms_ood2_b": "OOD2-B",
}
PLOTTED: Final = ("rooms_ood1_b", "rooms_ood2_b")
PREDICTORS: Final = {"GradientBoosting": "trees", "MLP": "network"}
CHANCE_MARGIN: Final = 0.1
"""The part of the error by chance that still counts as no effect on errors."""
LOSSES: Final = r"score\.(elbo|reconstruction)_sample_(validation|test)"


def dittadi(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Dittadi et al. (2021) on disentanglement, transfer and noise."""
    pairs = runs["method"].isin(["adagvae", "adamlvae"])
    runs = runs.assign(supervision=np.where(pairs, "pairs", "images"))
    claims = [_pairs_disentangle(runs), _unsupervised_metrics(runs)]
    score_claims, scores = _scores_and_transfer(runs)
    transfer_claims, correlations = _transfer(runs)
    noise_claims, noise_table = _noise(runs)
    claims += [*score_claims, *transfer_claims, *noise_claims]
    trees = _errors("GradientBoosting")
    rows = [
        [METHODS[method], noise, *(spread(part[name]) for name in [DCI, *trees])]
        for (method, noise), part in runs.groupby(["method", "noise"], sort=False)
    ]
    chance = [f"{runs[f'transfer.{name}/chance'].mean():.2f}" for name in SCENARIOS]
    errors = {
        "header": ["errors of trees", "noise", "DCI disentanglement", *SCENARIOS.values()],
        "rows": [*rows, [NO_CODES, "", "", *chance]],
    }
    tables = {
        "correlations": correlations,
        "scores": scores,
        "noise": noise_table,
        "errors": errors,
        "points": _points(runs),
    }
    return {"claims": claims_table(claims, "both"), **tables}


def _points(runs: pd.DataFrame) -> Table:
    """DCI disentanglement of each run beside its errors of trees in one shift of each kind."""
    titles = {f"transfer.{name}/GradientBoosting": SCENARIOS[name] for name in PLOTTED}
    rows = [
        [METHODS[method], *(f"{value:.4f}" for value in values)]
        for method, *values in runs[["method", DCI, *titles]].itertuples(index=False)
    ]
    return {"header": ["method", "DCI disentanglement", *titles.values()], "rows": rows}


def _scores_and_transfer(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of scores and losses with each other and with the errors of trees."""
    ood1 = _errors("GradientBoosting")[:3]
    inside = [f"{name}/in_distribution" for name in ood1]
    errors = {"in distribution": runs[inside].mean(axis=1), "OOD1": runs[ood1].mean(axis=1)}
    runs = runs.assign(**errors)
    scores = {name: label for name, label in SCORES.items() if name in runs}
    losses = {name: score_label(name[6:]) for name in map(str, runs) if re.fullmatch(LOSSES, name)}
    of_scores = rank_correlations(runs, list(scores), list(errors), orders=ORDERS)
    in_pairs = runs[runs["supervision"] == "pairs"]
    of_losses = rank_correlations(in_pairs, list(losses), ["OOD1"], orders=ORDERS)
    agreement = rank_correlations(runs, DCI, [n for n in scores if n != DCI], orders=ORDERS)
    agreement = agreement.set_index("right")
    chance, chance_in_pairs = rho_by_chance(runs), rho_by_chance(in_pairs)
    rows = [[label, *_cells(of_scores, name, errors)] for name, label in scores.items()]
    rows += [
        [f"{label}, pairs", "", *_cells(of_losses, name, ["OOD1"])]
        for name, label in losses.items()
    ]
    rows.append(["by chance below (all; pairs)", "", f"{chance:.2f}; {chance_in_pairs:.2f}"])
    small = of_scores[
        (of_scores["right"] == "in distribution") & of_scores["left"].isin([DCI, "score.mig"])
    ]
    helps = np.where(of_losses["left"].str.contains("elbo"), -1, 1)  # a high bound, a low loss
    claims = [
        Claim(
            "MIG agrees with DCI disentanglement, SAP does not",
            "the former useful, the latter ineffective, Fig. 3",
            f"ρ of DCI disentanglement with MIG {agreement['rho']['score.mig']:.2f}, with SAP R² "
            f"{agreement['rho']['score.sap_r2']:.2f}; by chance below {chance:.2f}",
            [
                agreement["p_holm"]["score.mig"] < LEVEL,
                agreement["high"]["score.sap_r2"] < agreement["low"]["score.mig"],
            ],
            reach=agreement["high"]["score.mig"],
            margin=RHO_MARGIN,
            against=[
                agreement["high"]["score.mig"] <= RHO_MARGIN,
                agreement["p_holm"]["score.sap_r2"] < LEVEL,
            ],
            names=["MIG", "SAP R²"],
        ),
        Claim(
            "DCI disentanglement and MIG go with small errors of trees in distribution",
            "strong correlation with accuracy, Fig. 3",
            f"ρ of {named(_titled(small, scores))}; by chance below {chance:.2f}",
            list((small["rho"] < 0) & (small["p_holm"] < LEVEL)),
            reach=-small["low"],
            margin=RHO_MARGIN,
            names=list(_titled(small, scores)),
        ),
        Claim(
            "With pairs, lower bound and reconstruction select models that transfer in OOD1",
            "feasible by both, section 5",
            f"ρ with the errors of trees: {named(_titled(of_losses, losses))}; by chance below "
            f"{chance_in_pairs:.2f}",
            list((helps * of_losses["rho"] > 0) & (of_losses["p_holm"] < LEVEL)),
            reach=_reach(of_losses, helps > 0),
            margin=RHO_MARGIN,
            names=list(_titled(of_losses, losses)),
        ),
    ]
    header = ["ρ of the errors of trees with", "in distribution", "mean of OOD1-A, B and C"]
    return claims, {"header": header, "rows": rows}


def _titled(correlations: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, float]:
    """ρ by the title of the score or loss."""
    pairs = zip(correlations["left"], correlations["rho"], strict=True)
    return {titles[name]: rho for name, rho in pairs}


def _cells(correlations: pd.DataFrame, name: str, columns: Iterable[str]) -> list[str]:
    """Marked correlations of one score with each column."""
    part = correlations[correlations["left"] == name].set_index("right")
    return [marked(part.loc[column]) for column in columns]


def _errors(predictor: str) -> list[str]:
    return [f"transfer.{scenario}/{predictor}" for scenario in SCENARIOS]


def _pairs_disentangle(runs: pd.DataFrame) -> Claim:
    """The claim that pairs disentangle and images alone do not."""

    def difference(some: pd.DataFrame) -> Numbers:
        means = some.groupby("supervision")[DCI].mean()
        return np.array([means["pairs"] - means["images"]])

    value, low, high = (float(end[0]) for end in jackknife(runs, difference))
    part = runs.loc[runs["supervision"] == "pairs", DCI]
    higher = f"DCI disentanglement higher by {interval(value, low, high)}"
    here = f"{higher}; with pairs {value_range(part)}"
    there = "29 % of models reach 0.99 with pairs"
    text = "Pairs disentangle more than images alone"
    return Claim(text, there, here, [low > 0], by_interval=True, reach=high)


def _unsupervised_metrics(runs: pd.DataFrame) -> Claim:
    """The claim that losses tell disentangled models of pairs."""
    columns = [str(name) for name in runs if re.fullmatch(LOSSES, str(name))]
    correlations = rank_correlations(
        runs[runs["supervision"] == "pairs"], DCI, columns, orders=ORDERS
    )
    rises = correlations["right"].str.contains("elbo").to_numpy(dtype=bool)
    good = np.where(rises, correlations["rho"] > 0, correlations["rho"] < 0)
    rows = correlations.to_dict("records")
    figures = "; ".join(
        f"{score_label(row['right'][6:])} {interval(row['rho'], row['low'], row['high'])}"
        for row in rows
    )
    supported = list(good & (correlations["p_holm"] < LEVEL))
    text = "With pairs, lower bound and reconstruction tell which models are disentangled"
    here, reach = f"ρ with DCI disentanglement: {figures}", _reach(correlations, rises)
    names = [score_label(row["right"][6:]) for row in rows]
    return Claim(
        text,
        "strong correlations with both, Fig. 3 and 14",
        here,
        supported,
        reach=reach,
        margin=RHO_MARGIN,
        names=names,
    )


def _reach(correlations: pd.DataFrame, rises: npt.NDArray[np.bool_]) -> Numbers:
    """How far each interval of ρ goes upwards, or downwards where the claim is that it falls."""
    return np.where(rises, correlations["high"], -correlations["low"])


def _transfer(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of disentanglement with the errors under each shift."""
    columns = [name for predictor in PREDICTORS for name in _errors(predictor)]
    correlations = rank_correlations(runs, DCI, columns, by=["supervision"], orders=ORDERS)
    rows = []
    for predictor, title in PREDICTORS.items():
        for scenario, label in SCENARIOS.items():
            part = correlations[
                correlations["right"] == f"transfer.{scenario}/{predictor}"
            ].set_index("group")
            overall = part.loc["all"]
            within = [f"{part['rho'][f'supervision={name}']:.2f}" for name in ("pairs", "images")]
            ends = interval(overall["rho"], overall["low"], overall["high"])
            rows.append([label, title, ends, f"{overall['p_holm']:.3f}", *within])
    chance = f"{rho_by_chance(runs):.2f}"
    rows.append(["by chance below (shuffled scores)", "", chance, "", "", ""])
    header = [
        "shift",
        "predictor",
        "ρ with DCI disentanglement",
        "p (Holm)",
        "within pairs",
        "within images",
    ]
    table = {"header": header, "rows": rows, "intervals": "runs"}
    overall = correlations[correlations["group"] == "all"].set_index("right")
    helps = (overall["p_holm"] < LEVEL) & (overall["rho"] < 0)

    trees, networks = (_errors(predictor) for predictor in PREDICTORS)
    first, last = slice(0, 3), [trees[4], networks[4]]

    def claim(text: str, there: str, names: list[str], supported: Iterable[bool]) -> Claim:
        rho = named({_shift(name): overall["rho"][name] for name in names})
        here, reach = f"ρ {rho}; by chance below {chance}", -overall["low"][names]
        shifts = [_shift(name) for name in names]
        tests = list(supported)
        return Claim(text, there, here, tests, reach=reach, margin=RHO_MARGIN, names=shifts)

    strong = claim(
        "OOD1: disentanglement goes with small errors of trees",
        "strong correlation, Fig. 4",
        trees[first],
        helps[trees[first]],
    )
    mild = claim(
        "OOD1: and with those of networks",
        "mild correlation, Fig. 4",
        networks[first],
        helps[networks[first]],
    )
    ends_of_last = ", ".join(
        f"{_shift(name)} {interval(*overall.loc[name, ['rho', 'low', 'high']])}" for name in last
    )
    figures = f"ρ {ends_of_last}; by chance below {chance}"
    hardly = claim_of_no_effect(
        Claim("OOD2-B: hardly at all", "minor at best", figures, []),
        -overall["low"][last],
        helps[last],
        RHO_MARGIN,
        "ρ -{:.2f}",
        [_shift(name) for name in last],
    )
    outside = overall["rho"][trees[first]] < overall["low"][trees[3]]
    ends = interval(*overall.loc[trees[3], ["rho", "low", "high"]])
    weaker = strong._replace(
        claim="OOD2-A: less so for trees than in OOD1, but so",
        there="weaker, not negligible",
        here=f"{_shift(trees[3])} {ends}; {strong.here}",
        supported=[*outside, helps[trees[3]]],
        reach=-overall["low"][trees[3:4]],
        against=[False] * len(outside) + [bool(-overall["low"][trees[3]] <= RHO_MARGIN)],
        names=[*(f"less than {name}" for name in strong.names), _shift(trees[3])],
    )
    return [strong, mild, weaker, hardly], table


def _shift(column: str) -> str:
    """The shift and the predictor of a column of errors, as words."""
    scenario, predictor = column.removeprefix("transfer.").split("/")
    return f"{SCENARIOS[scenario]} {PREDICTORS[predictor]}"


def _noise(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Errors without noise less those with it, with intervals over seeds."""
    columns = [name for predictor in PREDICTORS for name in _errors(predictor)]

    def differences(some: pd.DataFrame) -> Numbers:
        means = some.groupby("noise")[columns].mean()
        values: Numbers = (means.loc["without"] - means.loc["with"]).to_numpy(dtype=float)
        return values

    value, low, high = jackknife(runs, differences)
    cells = [interval(*ends, digits=3) for ends in zip(value, low, high, strict=True)]
    count = len(SCENARIOS)
    rows = [
        [title, *cells[k * count : (k + 1) * count]] for k, title in enumerate(PREDICTORS.values())
    ]
    second = [k for k in range(len(columns)) if k % count >= 3]
    first = [k for k in range(len(columns)) if k % count < 3]
    texts = (
        ", ".join(f"{_shift(columns[k])} {cells[k]}" for k in part) for part in (second, first)
    )
    helps, none = (f"errors fall by: {figures}" for figures in texts)
    chance = runs[[f"transfer.{name}/chance" for name in SCENARIOS]].to_numpy(dtype=float).mean()
    claims = [
        Claim(
            "Noise at the input helps in OOD2",
            "significantly",
            helps,
            list(low[second] > 0),
            by_interval=True,
            reach=high[second],
            margin=CHANCE_MARGIN * float(chance),
            names=[_shift(columns[k]) for k in second],
        ),
        claim_of_no_effect(
            Claim("And has no effect in OOD1", "none", none, [], by_interval=True),
            np.maximum(-low, high)[first],
            (low * high)[first] > 0,
            CHANCE_MARGIN * float(chance),
            "an error of {:.2f}",
            [_shift(columns[k]) for k in first],
        ),
    ]
    title = "error without noise less that with it"
    header = [title, *SCENARIOS.values()]
    return claims, {"header": header, "rows": rows, "intervals": "seeds"}
