"""Claims on correlated factors.

Träuble et al. (2021, arXiv 2006.07886), and Chen et al. (2018, arXiv 1802.04942), section 6.
"""

import json
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import torch

from claims.tables import (
    DCI,
    MARGIN,
    METHODS,
    MIG,
    Claim,
    Numbers,
    Table,
    claim_of_no_effect,
    claims_table,
    interval,
    jackknife,
    spread,
)
from dislab.codes.learners import HistogramBoosting
from dislab.runs import SCORES as SCORES_FILE
from dislab.study import Study

TRAINED: Final = 3333
"""Images that the trees of DCI learn from, of the 5,000 of the study."""


def correlated(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims on latents that correlated factors share, and on methods beside each other."""
    shared = [_shared(study.folder.run(str(run)) / SCORES_FILE) for run in runs.index]
    return claims_on_correlation(runs.assign(shared=shared))


def claims_on_correlation(runs: pd.DataFrame) -> dict[str, Table]:
    """The tables of runs with the importance that floor and object hue share."""
    rows = []
    for (method, correlation), part in runs.groupby(["method", "correlation"], sort=False):
        scores = [spread(part[name]) for name in ("shared", MIG, DCI)]
        rows.append([METHODS[method], correlation, *scores])
    rows.append(["trees on latents of noise", "", f"{_shared_by_noise():.2f}", "", ""])
    header = [
        "method",
        "correlation",
        "shared by floor and object hue",
        "MIG",
        "DCI disentanglement",
    ]
    claims = [*_shared_latents(runs), _penalised_total_correlation(runs)]
    return {"claims": claims_table(claims, "seeds"), "shared": {"header": header, "rows": rows}}


def _shared_latents(runs: pd.DataFrame) -> list[Claim]:
    """The claims that correlated factors share latents, and that pairs repair it."""
    methods = list(dict.fromkeys(runs["method"]))

    def differences(some: pd.DataFrame) -> Numbers:
        means = some.groupby(["method", "correlation"])["shared"].mean().unstack()
        return np.array((means["strong"] - means["none"])[methods].to_numpy(dtype=float))

    value, low, high = jackknife(runs, differences)
    cells = [interval(*ends) for ends in zip(value, low, high, strict=True)]
    alone = [k for k, name in enumerate(methods) if name != "adamlvae"]
    paired = [k for k, name in enumerate(methods) if name == "adamlvae"]
    figures = [f"{METHODS[method]} {cell}" for method, cell in zip(methods, cells, strict=True)]
    return [
        Claim(
            "Without supervision, correlated factors share latents",
            "Träuble et al. (2021): latents reflect correlations (abstract)",
            f"shared importance higher by {', '.join(figures[k] for k in alone)} than without",
            list(low[alone] > 0),
            by_interval=True,
            reach=high[alone],
            names=[METHODS[methods[k]] for k in alone],
        ),
        claim_of_no_effect(
            Claim(
                "Pairs that differ in one factor repair it",
                "Träuble et al. (2021): weak supervision resolves them (abstract)",
                f"shared importance higher by {', '.join(figures[k] for k in paired)} than "
                f"without: up to {MARGIN} counts as no rise",
                [],
                by_interval=True,
            ),
            high[paired],
            low[paired] > 0,
            MARGIN,
            "a share of {:.2f}",
            [METHODS[methods[k]] for k in paired],
        ),
    ]


def _penalised_total_correlation(runs: pd.DataFrame) -> Claim:
    """The claim that β-TCVAE disentangles more than β-VAE, also under correlation."""
    correlations = list(dict.fromkeys(runs["correlation"]))

    def differences(part: pd.DataFrame) -> Numbers:
        means = part.groupby(["method", "correlation"])[MIG].mean().unstack()
        values = means.loc["betatcvae"] - means.loc["betavae"]
        return np.array(values[correlations].to_numpy(dtype=float))

    value, low, high = jackknife(runs, differences)
    cells = [interval(*ends) for ends in zip(value, low, high, strict=True)]
    figures = ", ".join(f"{cell} ({name})" for cell, name in zip(cells, correlations, strict=True))
    return Claim(
        "β-TCVAE disentangles more than β-VAE, also when factors are correlated",
        "Chen et al. (2018): more often, section 6",
        f"MIG higher by {figures}",
        list(low > 0),
        by_interval=True,
        reach=high,
        names=[f"{'no' if c == 'none' else c} correlation" for c in correlations],
    )


def _shared(scores: Path) -> float:
    """Overlap of the latents' importance for the hues of floor and object, from 0 to 1."""
    test = json.loads(scores.read_text(encoding="utf-8"))["test"]
    names = test["data"]["factors"]
    importance = np.array(test["parts"]["dci_hgbt_importance"], dtype=float)  # (latent, factor)
    return _overlap(importance[:, [names.index(name) for name in ("floor_hue", "object_hue")]])


def _shared_by_noise() -> float:
    """The same for six latents without information on two hues of six values, in three draws."""
    overlaps = []
    for seed in range(3):
        generator = np.random.default_rng(seed)
        codes = torch.from_numpy(generator.normal(size=(TRAINED, 6))).float()
        hues = torch.from_numpy(generator.integers(6, size=(TRAINED, 2)))
        trees = HistogramBoosting().fit_each(codes, hues)
        overlaps.append(_overlap(np.stack([tree.importances().numpy() for tree in trees], axis=1)))
    return float(np.mean(overlaps))


def _overlap(importance: Numbers) -> float:
    """Overlap of the importance (latent, factor) of latents for two factors."""
    shares = importance / importance.sum(0).clip(min=1e-12)
    return float(shares.min(1).sum())
