"""Claims of Träuble et al. (2021) on latents that correlated factors share."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from claims.tables import (
    DCI,
    METHODS,
    Claim,
    Numbers,
    Table,
    claims_table,
    interval,
    jackknife,
    spread,
)
from dislab.runs import SCORES as SCORES_FILE
from dislab.study import Study


def correlated(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Träuble et al. (2021) on latents that correlated factors share."""
    shared = [_shared(study.folder.run(str(run)) / SCORES_FILE) for run in runs.index]
    return shared_latents(runs.assign(shared=shared))


def shared_latents(runs: pd.DataFrame) -> dict[str, Table]:
    methods = list(dict.fromkeys(runs["method"]))

    def differences(some: pd.DataFrame) -> Numbers:
        means = some.groupby(["method", "correlation"])["shared"].mean().unstack()
        return np.array((means["strong"] - means["none"])[methods].to_numpy(dtype=float))

    value, low, high = jackknife(runs, differences)
    cells = [interval(*ends) for ends in zip(value, low, high, strict=True)]
    alone = [k for k, name in enumerate(methods) if name != "adamlvae"]
    paired = [k for k, name in enumerate(methods) if name == "adamlvae"]
    figures = [f"{method} {cell}" for method, cell in zip(methods, cells, strict=True)]
    claims = [
        Claim(
            "Without supervision, correlated factors share latents",
            "Träuble et al. (2021)",
            f"shared importance higher by {', '.join(figures[k] for k in alone)} than without",
            list(low[alone] > 0),
        ),
        Claim(
            "Pairs that differ in one factor repair it",
            "Träuble et al. (2021)",
            f"higher by {', '.join(figures[k] for k in paired)}",
            list(low[paired] <= 0),
        ),
    ]
    rows = []
    for (method, correlation), part in runs.groupby(["method", "correlation"], sort=False):
        rows.append([METHODS[method], correlation, spread(part["shared"]), spread(part[DCI])])
    header = ["method", "correlation", "shared by floor and object hue", "DCI D"]
    return {"claims": claims_table(claims), "shared": {"header": header, "rows": rows}}


def _shared(scores: Path) -> float:
    """Overlap of the latents' importance for the hues of floor and object, from 0 to 1."""
    test = json.loads(scores.read_text(encoding="utf-8"))["test"]
    names = test["data"]["factors"]
    importance = np.array(test["parts"]["dci_hgbt_importance"], dtype=float)  # (latent, factor)
    shares = importance / importance.sum(0).clip(min=1e-12)
    columns = [names.index(name) for name in ("floor_hue", "object_hue")]
    return float(shares[:, columns].min(1).sum())
