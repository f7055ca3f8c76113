"""Claims of Dittadi et al. (2021), section 4, on predictors that they do not report."""

from functools import partial
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from claims.tables import (
    DCI,
    LEVEL,
    NO_CODES,
    ORDERS,
    RHO_MARGIN,
    Claim,
    Table,
    claims_table,
    interval,
    marked,
    rho_by_chance,
    spread,
)
from dislab.base import PredictorBuilder
from dislab.predictors import MLP, GradientBoosting, RandomForest
from dislab.runs import open_run
from dislab.runs.codes import CODES, read_codes
from dislab.study import Study
from dislab.study.statistics import rank_correlations
from dislab.transfer import transfer_scores_of_runs

SCENARIO: Final = "rooms_ood1_b"
TREES: Final = ("boosted trees", "forest")
NETWORKS: Final = ("network of 1 layer", "network of 2 layers", "network of 3 layers")
PREDICTORS: Final[dict[str, PredictorBuilder]] = {
    TREES[0]: GradientBoosting,
    TREES[1]: RandomForest,
    **{name: partial(MLP, layers=count) for count, name in enumerate(NETWORKS, 1)},
}


def predictors(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Errors under the shift OOD1-B of five predictors on the stored codes of each run."""
    folders = [study.folder.run(str(run)) for run in runs.index]
    stored = [read_codes(folder / CODES) for folder in folders]
    images = [codes.states.tolist() for codes in stored]
    if any(states != images[0] for states in images):
        raise SystemExit(f"the runs of {study.folder.path} have stored codes of different images")
    space = open_run(folders[0]).data.dataset.factors
    codes, factors = np.stack([codes.codes for codes in stored]), stored[0].factors
    transfer = transfer_scores_of_runs(codes, factors, space, [SCENARIO], PREDICTORS)
    values = pd.DataFrame([run.values for run in transfer], index=runs.index)
    return claims_on_predictors(runs.join(values))


def claims_on_predictors(runs: pd.DataFrame) -> dict[str, Table]:
    """The tables of runs with the errors of each predictor."""
    errors = {f"{SCENARIO}/{name}": name for name in PREDICTORS}
    pairs = rank_correlations(runs, list(errors), orders=ORDERS)
    pairs = pairs.assign(left=pairs["left"].map(errors), right=pairs["right"].map(errors))
    chance = f"by chance below {rho_by_chance(runs):.2f}"
    claims = [
        _alike(pairs, f"{text} alike", members, chance)
        for text, members in (
            ("Forests and boosted trees behave", TREES),
            ("Networks of one to three layers behave", NETWORKS),
        )
    ]
    with_dci = rank_correlations(runs, DCI, list(errors), orders=ORDERS).set_index("right")
    rows = []
    for column, name in errors.items():
        matrix = [_cell(pairs, name, other) for other in PREDICTORS]
        rows.append([name, spread(runs[column]), marked(with_dci.loc[column]), *matrix])
    error, rho = f"{runs[f'{SCENARIO}/chance'].mean():.2f}", f"{rho_by_chance(runs):.2f}"
    rows.append([NO_CODES, error, *[""] * (1 + len(PREDICTORS))])
    rows.append(["by chance below (shuffled scores)", "", *[rho] * (1 + len(PREDICTORS))])
    header = [
        "predictor",
        "error in OOD1-B",
        "ρ with DCI disentanglement",
        *(f"ρ with {n}" for n in PREDICTORS),
    ]
    return {"claims": claims_table(claims, "runs"), "errors": {"header": header, "rows": rows}}


def _alike(pairs: pd.DataFrame, text: str, members: tuple[str, ...], chance: str) -> Claim:
    """The claim that the errors of some predictors rank runs alike."""
    part = [_pair(pairs, *names) for names in combinations(members, 2)]
    figures = ", ".join(
        f"{row['left']} and {row['right']} {interval(row['rho'], row['low'], row['high'])}"
        for row in part
    )
    supported = [bool(row["low"] > 0 and row["p_holm"] < LEVEL) for row in part]
    here, reach = f"ρ of their errors: {figures}; {chance}", [float(row["high"]) for row in part]
    names = [f"{row['left']} and {row['right']}" for row in part]
    return Claim(
        text, "similar, section 4", here, supported, reach=reach, margin=RHO_MARGIN, names=names
    )


def _pair(pairs: pd.DataFrame, name: str, other: str) -> pd.Series:
    """The row of two predictors."""
    names = {name, other}
    return next(row for _, row in pairs.iterrows() if {row["left"], row["right"]} == names)


def _cell(pairs: pd.DataFrame, name: str, other: str) -> str:
    return "" if name == other else marked(_pair(pairs, name, other))
