"""Claims on SlowVAE beside methods of pairs and of single images.

Klindt et al. (2021, arXiv 2007.10930).
"""

from typing import Final

import numpy as np
import pandas as pd

from claims.tables import (
    DCI,
    METHODS,
    MIG,
    Claim,
    Numbers,
    Table,
    claims_table,
    interval,
    jackknife,
    spread,
)
from dislab.study import Study
from dislab.study.summary import label

SCORES: Final = {
    name: label(name) for name in (MIG, DCI, "score.factor_vae_score", "score.mcc_spearman")
}
TITLES: Final = {
    "slowvae": "SlowVAE, Laplace steps",
    "adagvae": "Ada-GVAE, Laplace steps",
    "adamlvae": "Ada-ML-VAE, one factor differs",
    "betavae": f"{METHODS['betavae']}, single images",
}
CLAIMS: Final = {
    "betavae": "Sparse steps disentangle more than single images",
    "adagvae": "On Laplace steps SlowVAE disentangles more than Ada-GVAE",
}


def slowvae(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """The claims that SlowVAE disentangles more than others on the same data, and all scores."""
    return claims_on_steps(runs)


def claims_on_steps(runs: pd.DataFrame) -> dict[str, Table]:
    """The tables of runs by method."""
    methods = [method for method in TITLES if method in set(runs["method"])]
    rows = []
    for method in methods:
        part = runs[runs["method"] == method]
        rows.append([TITLES[method], str(len(part)), *(spread(part[name]) for name in SCORES)])
    chance = [f"{runs[f'{name}/chance'].mean():.2f}" for name in SCORES]
    header = ["method and its pairs", "runs", *SCORES.values()]
    claims = [_more_than(runs, method) for method in CLAIMS if method in methods]
    return {
        "claims": claims_table(claims, "seeds"),
        "scores": {"header": header, "rows": [*rows, ["chance", "", *chance]]},
    }


def _more_than(runs: pd.DataFrame, other: str) -> Claim:
    """The claim that the scores of SlowVAE are higher, by intervals over seeds."""
    both = runs[runs["method"].isin(["slowvae", other])]
    seeds = both.groupby("seed")["method"].nunique() == 2
    both = both[both["seed"].map(seeds)]

    def differences(part: pd.DataFrame) -> Numbers:
        means = part.groupby("method")[list(SCORES)].mean()
        return np.array((means.loc["slowvae"] - means.loc[other]).to_numpy(dtype=float))

    value, low, high = jackknife(both, differences)
    cells = zip(SCORES.values(), value, low, high, strict=True)
    figures = ", ".join(f"{name} {interval(*ends)}" for name, *ends in cells)
    there = "often surpasses the state of the art (abstract)"
    here = f"scores higher by: {figures}"
    supported, names = list(low > 0), list(SCORES.values())
    return Claim(CLAIMS[other], there, here, supported, by_interval=True, reach=high, names=names)
