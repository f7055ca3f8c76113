"""Claims on what few labels give in training and selection, and on tasks of codes.

Locatello et al. (2020, arXiv 1905.01258), Locatello et al. (2019b, arXiv 1905.13662),
van Steenkiste et al. (2019, arXiv 1905.12506).
"""

import warnings
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from claims.selection import with_labels
from claims.tables import (
    DCI,
    LEVEL,
    METHODS,
    MIG,
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
    named_range,
    rho_by_chance,
    spread,
)
from dislab.metrics import DownstreamAccuracy, evaluate
from dislab.runs.codes import CODES, read_codes
from dislab.study import Study
from dislab.study.statistics import rank_correlations

LABELS: Final = (100, 1000)
AMONG: Final = "models with and without labels in training"
UNFAIRNESS: Final = "fairness.unfairness"
REASONING: Final = {
    "reasoning.codes/100": "100 matrices",
    "reasoning.codes/1000": "1,000 matrices",
    "reasoning.codes/10000": "10,000 matrices",
}
EFFICIENCY: Final = {
    "efficiency.hgbt": "efficiency of trees",
    "efficiency.logistic": "efficiency of a logistic regression",
}
"""Accuracy after 100 labels over that after 1,000."""
CHANCE: Final = 1 / 6
"""Accuracy of a random choice among six answers."""


def few_labels(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims on labels in training and in selection, fairness and abstract reasoning."""
    efficiency = {str(run): _efficiency(study.folder.run(str(run)) / CODES) for run in runs.index}
    runs = runs.join(pd.DataFrame.from_dict(efficiency, "index"))
    return claims_on_labels(runs.join(study.few_labels(100)))


def claims_on_labels(runs: pd.DataFrame) -> dict[str, Table]:
    """The tables of runs with their scores on few labels and the efficiency of predictors."""
    runs = runs.astype({"labels": int})
    selection_claims, selection = with_labels(runs, AMONG)
    claims = [_more_labels(runs, labels) for labels in LABELS]
    task_claims, correlations = _tasks(runs)
    claims += [*selection_claims, *task_claims]
    return {
        "claims": claims_table(claims, "seeds"),
        "labels": _by_labels(runs),
        "selection": selection,
        "correlations": correlations,
        "tasks": _task_table(runs),
    }


def _more_labels(runs: pd.DataFrame, labels: int) -> Claim:
    """The claim that labels in training raise MIG and DCI disentanglement, by intervals."""

    def difference(part: pd.DataFrame) -> Numbers:
        means = part.groupby("labels")[[MIG, DCI]].mean()
        values: Numbers = (means.loc[labels] - means.loc[0]).to_numpy(dtype=float)
        return values

    value, low, high = jackknife(runs, difference)
    cells = [interval(*ends) for ends in zip(value, low, high, strict=True)]
    return Claim(
        f"Labels of {labels:,} images in training disentangle more than none",
        "Locatello et al. (2020): few labels suffice (not read here)",
        f"MIG higher by {cells[0]}, DCI disentanglement by {cells[1]}",
        list(low > 0),
        by_interval=True,
        reach=high,
        names=["MIG", "DCI disentanglement"],
    )


def _tasks(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of the scores with unfairness and with accuracies of reasoning."""
    tasks = {UNFAIRNESS: "unfairness", **REASONING, **EFFICIENCY}
    correlations = rank_correlations(runs, list(SCORES), list(tasks), orders=ORDERS)
    chance = rho_by_chance(runs)
    rows = []
    for name, title in SCORES.items():
        part = correlations[correlations["left"] == name].set_index("right")
        rows.append([title, *(marked(part.loc[task]) for task in tasks)])
    rows.append(["by chance below (shuffled scores)", *[f"{chance:.2f}"] * len(tasks)])
    for labels, part in runs.groupby("labels"):
        within = rank_correlations(part, DCI, list(tasks), orders=ORDERS).set_index("right")
        title = f"DCI disentanglement, {len(part)} models with {labels:,} labels"
        rows.append([title, *(marked(within.loc[task]) for task in tasks)])
    clear = correlations["p_holm"] < LEVEL
    texts = {
        UNFAIRNESS: (
            "Disentangled codes are less unfair",
            "Locatello et al. (2019b): goes with fairness (not read here)",
        ),
        **{
            task: (
                f"Disentangled codes reason better after {count}",
                "van Steenkiste et al. (2019): fewer samples (by Montero et al.)",
            )
            for task, count in REASONING.items()
        },
    }
    claims = [_predictors(correlations, chance)]
    for task, (text, there) in texts.items():
        part = correlations[correlations["right"] == task]
        falls = task == UNFAIRNESS
        right_sign = part["rho"] < 0 if falls else part["rho"] > 0
        supported = list(right_sign & clear[part.index])
        reach = -part["low"] if falls else part["high"]
        here = f"ρ {_by_score(part)}; by chance below {chance:.2f}"
        names = [SCORES[name] for name in part["left"]]
        claims.append(
            Claim(text, there, here, supported, reach=reach, margin=RHO_MARGIN, names=names)
        )
    return claims, {"header": ["ρ with", *tasks.values()], "rows": rows}


def _by_score(rows: pd.DataFrame) -> str:
    """The least and the largest ρ, with the names of their scores."""
    return named_range(zip(rows["left"].map(SCORES), rows["rho"], strict=True))


def _predictors(correlations: pd.DataFrame, chance: float) -> Claim:
    """The claim that predictors of factors from disentangled codes need as many labels."""
    part = correlations[correlations["right"].isin(EFFICIENCY)]
    here = "; ".join(
        f"{title} {_by_score(part[part['right'] == name])}" for name, title in EFFICIENCY.items()
    )
    claim = Claim(
        "Disentangled codes need no fewer labels for downstream tasks",
        "Locatello et al. (2019): no fewer (not read here)",
        f"ρ with the {here}; by chance below {chance:.2f}; above 0 it needs fewer",
        [],
    )
    seen = (part["rho"] > 0) & (part["p_holm"] < LEVEL)
    names = [f"{SCORES[row.left]} with {EFFICIENCY[row.right]}" for row in part.itertuples()]
    return claim_of_no_effect(claim, part["high"], seen, RHO_MARGIN, "ρ {:.2f}", names)


def _efficiency(path: Path) -> dict[str, float]:
    """Accuracy of factors predicted after 100 labels over that after 1,000."""
    stored = read_codes(path)
    scores = {
        classifier: partial(
            DownstreamAccuracy,
            classifier=classifier,
            labels=LABELS,
            tested=len(stored.codes) - max(LABELS),
        )
        for classifier in ("logistic", "hgbt")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the factor with one value
        accuracy = evaluate(stored.codes, stored.factors, scores)
    few, many = LABELS
    return {
        f"efficiency.{kind}": accuracy[f"downstream_{kind}_{few}"]
        / accuracy[f"downstream_{kind}_{many}"]
        for kind in scores
    }


def _by_labels(runs: pd.DataFrame) -> Table:
    """Mean and range of MIG and DCI disentanglement for each method and number of labels."""
    rows = [
        [METHODS[method], f"{labels:,}", spread(part[MIG]), spread(part[DCI])]
        for (method, labels), part in runs.groupby(["method", "labels"], sort=False)
    ]
    chance = [f"{runs[f'{name}/chance'].mean():.2f}" for name in (MIG, DCI)]
    header = ["method", "labels", "MIG", "DCI disentanglement"]
    return {"header": header, "rows": [*rows, ["chance", "", *chance]]}


def _task_table(runs: pd.DataFrame) -> Table:
    """Unfairness and accuracies of reasoning in thirds of the runs by DCI disentanglement."""
    thirds = pd.qcut(runs[DCI].rank(method="first"), 3, labels=["lowest", "middle", "highest"])
    tasks = {UNFAIRNESS: "unfairness", **REASONING, **EFFICIENCY}
    rows = [
        [f"{third} third", *(spread(part[name], digits=3) for name in (DCI, *tasks))]
        for third, part in runs.groupby(thirds, observed=True)
    ]
    accuracy = [f"{CHANCE:.2f}"] * len(REASONING)
    header = ["runs by DCI disentanglement", "DCI disentanglement", *tasks.values()]
    chance = ["chance (a guess)", "", "–", *accuracy, *["–"] * len(EFFICIENCY)]
    return {"header": header, "rows": [*rows, chance]}
