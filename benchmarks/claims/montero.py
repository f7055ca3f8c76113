"""Claims of Montero et al. (2021) on unseen combinations."""

from typing import Final

import numpy as np
import pandas as pd

from claims.tables import (
    DCI,
    LEVEL,
    MARGIN,
    METHODS,
    ORDERS,
    RHO_MARGIN,
    Claim,
    Numbers,
    Table,
    claim_of_no_effect,
    claims_table,
    interval,
    jackknife,
    rho_by_chance,
    spread,
)
from dislab.study import Study
from dislab.study.statistics import rank_correlations

RATIO: Final = "generalisation.mean_ratio"
_LEAST: Final = "dipvae2"
"""The least disentangled method, whose ratios are the largest in extrapolation."""


def montero(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Montero et al. (2021) on unseen combinations."""
    conditions = list(dict.fromkeys(runs["condition"]))
    claim, correlations = _generalisation(runs[runs["method"] != "true_factors"])
    rows = []
    for method, part in runs.groupby("method", sort=False):
        ratios = [part.loc[part["condition"] == name, RATIO] for name in conditions]
        rows.append([METHODS[str(method)], spread(part[DCI]), *map(spread, ratios)])
    tables = {
        "ratios": {
            "header": ["held out / training", "DCI disentanglement", *conditions],
            "rows": rows,
        },
        "correlations": correlations,
    }
    claims = [claim, _true_factors(runs, conditions), _extrapolation(runs, conditions)]
    return {"claims": claims_table(claims, "both"), **tables}


def _generalisation(runs: pd.DataFrame) -> tuple[Claim, Table]:
    """Rank correlations of disentanglement with the ratio of losses, within each condition."""
    correlations = rank_correlations(runs, DCI, RATIO, by=["condition"], orders=ORDERS)
    rows = _rows(correlations)
    others = runs[runs["method"] != _LEAST]
    if len(others) < len(runs):
        without = rank_correlations(others, DCI, RATIO, by=["condition"], orders=ORDERS)
        rows += [[f"{name}, without {METHODS[_LEAST]}", *cells] for name, *cells in _rows(without)]
    within = correlations["group"] != "all"
    chance = rho_by_chance(runs[runs["condition"] == runs["condition"].iloc[0]])
    names = [cells[0] for cells in rows[1 : 1 + within.sum()]]
    figures = ", ".join(f"{cells[1]} ({cells[0]})" for cells in rows[1 : 1 + within.sum()])
    claim = Claim(
        "Disentanglement does not tell which model generalises",
        "no correlation",
        f"ρ of DCI disentanglement with the ratio: {figures}; by chance below {chance:.2f}",
        [],
    )
    reach = correlations[["low", "high"]].abs().max(axis=1)[within]
    seen = (correlations["p_holm"] < LEVEL)[within]
    claim = claim_of_no_effect(claim, reach, seen, RHO_MARGIN, "ρ ±{:.2f}", names)
    header = ["runs", "ρ of DCI disentanglement and the ratio", "p (Holm)"]
    return claim, {"header": header, "rows": rows, "intervals": "runs"}


def _true_factors(runs: pd.DataFrame, conditions: list[str]) -> Claim:
    """The claim that perfectly disentangled input does not help."""

    def differences(some: pd.DataFrame) -> Numbers:
        true = some["method"] == "true_factors"
        means = some.groupby([true, "condition"])[RATIO].mean()
        return np.array((means[True] - means[False])[conditions].to_numpy(dtype=float))

    value, low, high = jackknife(runs, differences)
    cells = [interval(*ends) for ends in zip(value, low, high, strict=True)]
    figures = ", ".join(f"{cell} ({name})" for cell, name in zip(cells, conditions, strict=True))
    text = "Perfectly disentangled input does not generalise better"
    here = f"ratio less that of learnt codes {figures}; below 0 it helps"
    claim = Claim(text, "no better", here, [], by_interval=True)
    return claim_of_no_effect(claim, -low, high < 0, MARGIN, "a ratio lower by {:.2f}", conditions)


def _extrapolation(runs: pd.DataFrame, conditions: list[str]) -> Claim:
    """The claim that a new range of a factor is harder than new combinations of known values."""
    *recombinations, extrapolation = conditions

    def differences(some: pd.DataFrame) -> Numbers:
        means = some.groupby("condition")[RATIO].mean()
        return np.array([means[extrapolation] - means[name] for name in recombinations])

    value, low, high = jackknife(runs, differences)
    cells = [interval(*ends) for ends in zip(value, low, high, strict=True)]
    figures = ", ".join(
        f"{cell} ({name})" for cell, name in zip(cells, recombinations, strict=True)
    )
    text = "Extrapolation fails more than recombination"
    here = f"ratio higher by {figures}"
    supported, names = list(low > 0), recombinations
    return Claim(
        text,
        "loss about 15,800; recombined 4,300 and 3,900 nats",
        here,
        supported,
        by_interval=True,
        reach=high,
        names=names,
    )


def _rows(correlations: pd.DataFrame) -> list[list[str]]:
    return [
        [
            str(row["group"]).removeprefix("condition="),
            interval(row["rho"], row["low"], row["high"]),
            f"{row['p_holm']:.3f}",
        ]
        for row in correlations.to_dict("records")
    ]
