"""Curves of the papers over the strength of a regulariser, from the finished runs of a study.

python benchmarks/study_curves.py chen studies/chen_tradeoff        ELBO–MIG and TC–MIG
python benchmarks/study_curves.py kim studies/kim_tradeoff          reconstruction–FactorVAE score
python benchmarks/study_curves.py higgins studies/higgins_surface   score over latents and weight

`chen` and `kim` also read studies/locatello_rooms. Writes benchmarks/results/curves_NAME.json and
docs/images/results/curves_*.png: means over seeds with 95 % bootstrap intervals, each run as a dot,
and comparisons of two methods with the same seeds. Runs without scores are left out and counted,
and so are methods of which runs still wait.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dislab.runs import versions
from dislab.storage import atomic
from dislab.study import Study
from dislab.study.statistics import comparisons, rank_correlations, summary

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images" / "results"
TITLES = {
    "betavae": "β-VAE",
    "betatcvae": "β-TCVAE",
    "factorvae": "FactorVAE",
    "annealedvae": "annealed VAE",
    "dipvae1": "DIP-VAE-I",
    "dipvae2": "DIP-VAE-II",
    "infowgangp": "InfoWGAN-GP",
}
COLOURS = dict(zip(TITLES, ("#00796b", "#d84315", "#283593", "#8e24aa"), strict=False))
ELBO = "score.elbo_sample_test"
ERROR = "score.reconstruction_error"
RECONSTRUCTION = "score.reconstruction_sample_test"
TOTAL = "score.sampled/gaussian_total_correlation"
MIG = "score.mig"
FACTOR = "score.factor_vae_score"
BETA = "score.beta_vae_score"
DCI = "score.dci_hgbt_disentanglement"
LABELS = {
    ELBO: "ELBO of test images (nats)",
    ERROR: "reconstruction error of test images (nats)",
    TOTAL: "total correlation of sampled codes (nats)",
    MIG: "MIG",
    FACTOR: "FactorVAE score",
    BETA: "accuracy of Higgins et al.",
    DCI: "DCI D",
}
DIGITS = {ELBO: 1, ERROR: 1, TOTAL: 3}


class Curves(NamedTuple):
    """What a paper draws: methods, which are compared with the last, and the scores of the axes."""

    methods: tuple[str, ...]
    axes: tuple[tuple[str, str], ...]


CURVES = {
    "chen": Curves(("betatcvae", "factorvae", "betavae"), ((ELBO, MIG), (TOTAL, MIG))),
    "kim": Curves(("factorvae", "betavae"), ((ERROR, FACTOR),)),
}


def read_table(study: Study) -> pd.DataFrame:
    """Runs that have been scored, of methods that do not wait for others."""
    table = study.table()
    if "method" in table:
        waiting = table.loc[table["state"] == "waiting", "method"].unique()
        table = table[~table["method"].isin(waiting)]
    return table[table["state"] == "finished"].rename(columns={RECONSTRUCTION: ERROR})


def curve_tables(table: pd.DataFrame, curves: Curves) -> dict[str, Any]:
    """Means over seeds, the two methods compared, and rank correlations over all runs."""
    scores = list(dict.fromkeys(name for pair in curves.axes for name in pair))
    means = summary(table, scores, by=["method", "strength"])
    rows = []
    for (method, strength), group in means.groupby(["method", "strength"], sort=False):
        cells = group.set_index("score")
        rows.append(
            [
                TITLES[str(method)],
                str(strength),
                *(_interval(cells.loc[name], DIGITS.get(name, 2)) for name in scores),
                str(int(cells["runs"].max())),
            ]
        )
    tables = {
        "means": {
            "header": ["method", "strength", *(LABELS[name] for name in scores), "runs"],
            "rows": rows,
        }
    }
    compared = _compared(table, curves, scores)
    if compared["rows"]:
        tables["compared"] = compared
    correlations = rank_correlations(
        table,
        [across for across, _ in curves.axes],
        [curves.axes[0][1]],
        by=["method"] if table["method"].nunique() > 1 else [],
    )
    tables["correlations"] = {
        "header": ["runs of", "", "with", "ρ", "interval", "p (Holm)", "runs"],
        "rows": [
            [
                "all methods" if row.group == "all" else TITLES[row.group.partition("=")[2]],
                LABELS[row.left],
                LABELS[row.right],
                f"{row.rho:.2f}",
                f"[{row.low:.2f}, {row.high:.2f}]",
                f"{row.p_holm:.3f}",
                str(row.runs),
            ]
            for row in correlations.itertuples()
        ],
    }
    return tables


def _compared(table: pd.DataFrame, curves: Curves, scores: Sequence[str]) -> dict[str, Any]:
    """Differences of methods from the last one; strengths are averaged for each seed."""
    *others, last = curves.methods
    seeds = pd.DataFrame(table.groupby(["method", "seed"], as_index=False)[list(scores)].mean())
    seeds["state"] = "finished"
    rows = []
    for other in set(others) & set(table["method"]):
        pair = seeds[seeds["method"].isin((other, last))]
        for row in comparisons(pair, "method", list(scores), within=[]).itertuples():
            sign = 1 if row.first == other else -1
            low, high = sorted((sign * row.low, sign * row.high))
            digits = DIGITS.get(row.score, 2)
            ends = f"[{low:+.{digits}f}, {high:+.{digits}f}]"
            rows.append(
                [
                    f"{TITLES[other]} − {TITLES[last]}",
                    LABELS[row.score],
                    f"{sign * row.difference:+.{digits}f} "
                    f"{'(one seed: no interval)' if np.isnan(low) else ends}",
                    f"{row.p:.3f}",
                    f"{row.p_holm:.3f}",
                    str(row.seeds),
                ]
            )
    return {
        "header": ["methods", "score", "difference", "p", "p (Holm)", "seeds"],
        "rows": sorted(rows),
    }


def curve_figure(table: pd.DataFrame, across: str, down: str) -> Figure:
    """A line per method through the means of its strengths, larger dots for larger strengths."""
    means = summary(table, [across, down], by=["method", "strength"]).set_index(
        ["method", "strength", "score"]
    )
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for method, runs in table.groupby("method", sort=False):
        colour = COLOURS[str(method)]
        axes.scatter(runs[across], runs[down], s=8, color=colour, alpha=0.35, linewidths=0)
        strengths = list(dict.fromkeys(runs["strength"]))
        points = [
            (means.loc[(method, value, across)], means.loc[(method, value, down)])
            for value in strengths
        ]
        x, y = ([point[side]["mean"] for point in points] for side in (0, 1))
        axes.plot(x, y, color=colour, linewidth=1.2, label=TITLES[str(method)])
        sizes = np.linspace(20, 90, len(points))
        axes.scatter(x, y, s=sizes, color=colour, edgecolors="white", zorder=3)
        for (right, up), value in zip(points, strengths, strict=True):
            axes.errorbar(
                right["mean"],
                up["mean"],
                xerr=[[right["mean"] - right["low"]], [right["high"] - right["mean"]]],
                yerr=[[up["mean"] - up["low"]], [up["high"] - up["mean"]]],
                color=colour,
                linewidth=0.8,
            )
            axes.annotate(
                str(value),
                (right["mean"], up["mean"]),
                textcoords="offset points",
                xytext=(6, 6),
                color=colour,
                fontsize=8,
            )
    chance = f"{down}/chance"
    if chance in table:
        level = float(table[chance].mean())
        axes.axhline(level, color="0.6", linestyle=":", linewidth=1)
        axes.annotate(
            "chance",
            (0.01, level),
            xycoords=("axes fraction", "data"),
            color="0.4",
            fontsize=8,
            va="bottom",
        )
    axes.set(xlabel=LABELS[across], ylabel=LABELS[down])
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def surface_figure(table: pd.DataFrame, score: str) -> Figure:
    """Means over seeds in a plane of latents and normalised weight, with their numbers."""
    means = table.pivot_table(index="latents", columns="norm", values=score, aggfunc="mean")
    means = means.sort_index(key=lambda names: names.astype(float))
    means = means[sorted(means.columns, key=float)]
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(means, cmap="Blues", aspect="auto", origin="lower")
    middle = (means.min(axis=None) + means.max(axis=None)) / 2
    for (row, column), value in np.ndenumerate(means.to_numpy()):
        colour = "white" if value > middle else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(means.shape[1]), map(str, means.columns))
    axes.set_yticks(range(means.shape[0]), map(str, means.index))
    axes.set(xlabel="normalised weight β·M/N", ylabel="latents M")
    figure.colorbar(image, label=LABELS[score])
    return figure


def surface_tables(table: pd.DataFrame) -> dict[str, Any]:
    """Means of both scores for each number of latents and weight, and the best weight of each."""
    scores = [BETA, FACTOR, DCI]
    means = summary(table, scores, by=["latents", "norm"])
    rows = []
    for (latents, norm), group in means.groupby(["latents", "norm"], sort=False):
        cells = group.set_index("score")
        rows.append([str(latents), str(norm), *(_interval(cells.loc[name], 2) for name in scores)])
    header = ["latents", "β·M/N", *(LABELS[name] for name in scores)]
    best = [
        [str(latents)]
        + [str(group[group["score"] == name].set_index("norm")["mean"].idxmax()) for name in scores]
        for latents, group in means.groupby("latents", sort=False)
    ]
    heads = ["latents", *(f"best β·M/N by {LABELS[name]}" for name in scores)]
    return {
        "means": {"header": header, "rows": rows},
        "best": {"header": heads, "rows": best},
    }


def _interval(row: pd.Series, digits: int) -> str:
    """Mean and interval; the mean alone of a single run."""
    text = f"{row['mean']:.{digits}f}"
    if np.isfinite(row["low"]):
        text += f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", choices=(*CURVES, "higgins"))
    parser.add_argument("study", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--pictures", type=Path, default=PICTURES)
    options = parser.parse_args()
    study = Study(options.study)
    planned = len(study.table())
    table = read_table(study)
    figures: dict[str, Figure] = {}
    if options.name == "higgins":
        tables = surface_tables(table)
        figures["higgins"] = surface_figure(table, BETA)
        figures["higgins_dci"] = surface_figure(table, DCI)
    else:
        curves = CURVES[options.name]
        planned = int(study.table()["method"].isin(curves.methods).sum())
        table = table[table["method"].isin(curves.methods)]
        tables = curve_tables(table, curves)
        for across, down in curves.axes:
            name = options.name if across != TOTAL else f"{options.name}_total_correlation"
            figures[name] = curve_figure(table, across, down)
    for name, figure in figures.items():
        options.pictures.mkdir(parents=True, exist_ok=True)
        figure.savefig(options.pictures / f"curves_{name}.png", dpi=130)
    result = {
        "command": f"python benchmarks/study_curves.py {options.name} studies/{study.path.name}",
        "runs": f"{len(table)} of {planned}",
        "tables": tables,
        "versions": versions(),
    }
    with atomic(options.out / f"curves_{options.name}.json") as temporary:
        text = json.dumps(result, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
