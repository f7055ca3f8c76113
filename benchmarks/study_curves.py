"""Curves of the papers over the strength of a regulariser, from the finished runs of a study.

python benchmarks/study_curves.py chen studies/chen_tradeoff        ELBO–MIG and TC–MIG
python benchmarks/study_curves.py locatello studies/locatello_rooms the same, with FactorVAE
python benchmarks/study_curves.py kim studies/locatello_rooms       reconstruction–FactorVAE score
python benchmarks/study_curves.py infowgangp studies/kim_tradeoff   scores of InfoWGAN-GP over λ
python benchmarks/study_curves.py higgins studies/higgins_surface   score over latents and weight

Writes benchmarks/results/curves_NAME.json: means over seeds with Student's 95 % intervals, and
comparisons of two methods with the same seeds; from it docs/images/results/curves_*.svg; and the
scores of each run to benchmarks/results/runs/. Without a study only the pictures are drawn. Runs
without scores are left out and counted, and so are methods of which runs still wait.
"""

import argparse
import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from dislab.plots import save
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
    BETA: "β-VAE score",
    DCI: "DCI disentanglement",
}
NUMBER = re.compile(r"-?\d+\.\d+")
OFFSETS = [
    (radius * np.cos(angle), radius * np.sin(angle))
    for radius in (12, 18, 26, 34)
    for angle in np.linspace(0, 2 * np.pi, 16, endpoint=False) + np.pi / 4
]
"""Places of a name beside its point, in points of a page, the nearest first."""
ROOM = 12
"""Least distance of a name from other names and points."""
DIGITS = {ELBO: 1, ERROR: 1, TOTAL: 3}


class Curves(NamedTuple):
    """What a paper draws: methods, which are compared with the last, and the scores of the axes."""

    methods: tuple[str, ...]
    axes: tuple[tuple[str, str], ...]


CURVES = {
    "chen": Curves(("betatcvae", "betavae"), ((ELBO, MIG), (TOTAL, MIG))),
    "locatello": Curves(("betatcvae", "factorvae", "betavae"), ((ELBO, MIG), (TOTAL, MIG))),
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
            "intervals": "means",
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
    names = [
        (
            "all methods" if row.group == "all" else TITLES[row.group.partition("=")[2]],
            LABELS[row.left],
            LABELS[row.right],
        )
        for row in correlations.itertuples()
    ]
    tables["correlations"] = _correlation_table(["runs of", "", "with"], names, correlations)
    return tables


def _correlation_table(
    heads: list[str], names: Sequence[Sequence[str]], correlations: pd.DataFrame
) -> dict[str, Any]:
    """Rows of rank correlations, each with its names first."""
    rows = [
        [
            *first,
            f"{row.rho:.2f}",
            f"[{row.low:.2f}, {row.high:.2f}]",
            f"{row.p_holm:.3f}",
            str(row.runs),
        ]
        for first, row in zip(names, correlations.itertuples(), strict=True)
    ]
    header = [*heads, "ρ", "interval", "p (Holm)", "runs"]
    return {"header": header, "rows": rows, "intervals": "runs"}


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
                    f"{'(fewer than three seeds: no interval)' if np.isnan(low) else ends}",
                    f"{row.p:.3f}",
                    f"{row.p_holm:.3f}",
                    str(row.seeds),
                ]
            )
    return {
        "header": ["methods", "score", "difference", "p", "p (Holm)", "seeds"],
        "rows": sorted(rows),
        "intervals": "means",
    }


def curve_figure(
    tables: dict[str, Any], chances: dict[str, float], across: str, down: str
) -> Figure:
    """A line per method through the means of its strengths, larger dots for larger strengths."""
    header, rows = tables["means"]["header"], tables["means"]["rows"]
    columns = [header.index(LABELS[name]) for name in (across, down)]
    colours = {TITLES[name]: colour for name, colour in COLOURS.items()}
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    strengths = []
    for method in dict.fromkeys(row[0] for row in rows):
        cells = [
            [[float(number) for number in NUMBER.findall(row[column])] for column in columns]
            for row in rows
            if row[0] == method
        ]
        x, y = np.array([[value[0] for value in cell] for cell in cells]).T
        axes.plot(x, y, color=colours[method], linewidth=1.2, label=method)
        axes.scatter(
            x, y, s=np.linspace(20, 90, len(x)), color=colours[method], edgecolors="white", zorder=3
        )
        for right, up in cells:
            axes.hlines(up[0], *right[1:], color=colours[method], linewidth=0.8)
            axes.vlines(right[0], *up[1:], color=colours[method], linewidth=0.8)
        names = [row[1] for row in rows if row[0] == method]
        strengths += [(*point, colours[method]) for point in zip(x, y, names, strict=True)]
    chance, (bottom, top) = chances[LABELS[down]], axes.get_ylim()
    is_far = bottom - chance > top - bottom  # the line would press all dots together
    if not is_far:
        axes.axhline(chance, color="0.6", linestyle=":", linewidth=1)
    axes.annotate(
        f"chance {chance:.2f}, far below" if is_far else "chance",
        (0.99, bottom if is_far else chance),
        xycoords=("axes fraction", "data"),
        color="0.4",
        fontsize=8,
        va="bottom",
        ha="right",
    )
    axes.set(xlabel=LABELS[across], ylabel=LABELS[down])
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.canvas.draw()
    _name_points(axes, strengths)
    return figure


def _name_points(axes: Axes, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Writes a name beside each point: the nearest place with room, with a line if it is far."""
    shown = axes.transData.transform([point[:2] for point in points]) * 72 / axes.figure.dpi
    names: list[npt.NDArray[np.float64]] = []
    for number, (x, y, name, colour) in enumerate(points):
        taken = np.array([*np.delete(shown, number, axis=0), *names])
        places = shown[number] + OFFSETS
        room = np.linalg.norm(taken - places[:, None], axis=2).min(1)
        place = int(np.argmax(np.minimum(room, ROOM)))
        names.append(places[place])
        is_far = np.hypot(*OFFSETS[place]) > 20
        label = axes.annotate(
            name,
            (x, y),
            xytext=OFFSETS[place],
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6} if is_far else None,
            textcoords="offset points",
            color=colour,
            fontsize=9,
            ha="center",
            va="center",
            zorder=4,
        )
        label.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def surface_figure(tables: dict[str, Any], chances: dict[str, float]) -> Figure:
    """Mean DCI disentanglement in a plane of latents and normalised weight, with its numbers."""
    header, rows = tables["means"]["header"], tables["means"]["rows"][:-1]
    latents = sorted({row[0] for row in rows}, key=float)
    weights = sorted({row[1] for row in rows}, key=float)
    means = np.full((len(latents), len(weights)), np.nan)
    for row in rows:
        mean = float(row[header.index(LABELS[DCI])].split()[0])
        means[latents.index(row[0]), weights.index(row[1])] = mean
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(means, cmap="Blues", aspect="auto", origin="lower")
    middle = (np.nanmin(means) + np.nanmax(means)) / 2
    for (row, column), value in np.ndenumerate(means):
        colour = "white" if value > middle else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(weights)), weights)
    axes.set_yticks(range(len(latents)), latents)
    axes.set(xlabel="normalised weight β·M/N", ylabel="latents M")
    figure.colorbar(image, label=f"{LABELS[DCI]}; chance: {chances[LABELS[DCI]]:.2f}")
    return figure


def surface_tables(table: pd.DataFrame) -> dict[str, Any]:
    """Means of scores by number of latents and weight, the best weights, and correlations."""
    scores = [BETA, FACTOR, DCI]
    tables = weight_tables(table, {"latents": "latents", "norm": "β·M/N"}, scores)
    means = summary(table, scores, by=["latents", "norm"])
    best = [
        [str(latents)]
        + [str(group[group["score"] == name].set_index("norm")["mean"].idxmax()) for name in scores]
        for latents, group in means.groupby("latents", sort=False)
    ]
    heads = ["latents", *(f"best β·M/N by {LABELS[name]}" for name in scores)]
    return tables | {"best": {"header": heads, "rows": best}}


def weight_tables(
    table: pd.DataFrame, settings: dict[str, str], scores: list[str]
) -> dict[str, Any]:
    """Means of scores by settings with their titles, and their correlations with the last one."""
    *groups, weight = settings
    means = summary(table, scores, by=list(settings))
    rows = []
    for values, group in means.groupby(list(settings), sort=False):
        cells = group.set_index("score")
        rows.append([*map(str, values), *(_interval(cells.loc[name], 2) for name in scores)])
    levels = [f"{table[f'{name}/chance'].mean():.2f}" for name in scores]
    rows.append(["chance", *[""] * len(groups), *levels])
    weighted = table.assign(weight=table[weight].astype(float))
    correlations = rank_correlations(weighted, ["weight"], scores, by=groups)
    names = [
        (*[row.group.rpartition("=")[2]] * len(groups), LABELS[row.right])
        for row in correlations.itertuples()
    ]
    heads = [*(settings[name] for name in groups), f"{settings[weight]} with"]
    return {
        "means": {
            "header": [*settings.values(), *(LABELS[name] for name in scores)],
            "rows": rows,
            "intervals": "means",
        },
        "correlations": _correlation_table(heads, names, correlations),
    }


def weight_figure(
    tables: dict[str, Any], chances: dict[str, float], beside: Sequence[Sequence[str]]
) -> Figure:
    """The FactorVAE score of InfoWGAN-GP over λ, with the best settings of other methods.

    Args:
        tables: Result of `weight_tables`.
        chances: Chance by the label of a score.
        beside: Rows of the means of other methods: method, strength, error, score.
    """
    column = tables["means"]["header"].index(LABELS[FACTOR])
    rows = tables["means"]["rows"][:-1]
    x = [float(row[0]) for row in rows]
    y, low, high = np.array([[float(end) for end in NUMBER.findall(row[column])] for row in rows]).T
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.errorbar(x, y, [y - low, high - y], fmt="o-", color="#00796b", linewidth=1.2)
    best = {}
    for method, strength, _, score, _ in beside:
        mean = float(score.split()[0])
        if mean > best.get(method, (0.0, ""))[0]:
            best[method] = mean, strength
    symbols = {"β-VAE": "β", "FactorVAE": "γ"}
    levels = [
        (mean, f"{method}, {symbols[method]} {strength}")
        for method, (mean, strength) in best.items()
    ]
    for level, name in [*levels, (chances[LABELS[FACTOR]], "chance")]:
        axes.axhline(level, color="0.6", linestyle=":", linewidth=1)
        axes.annotate(
            name,
            (0.99, level),
            xycoords=("axes fraction", "data"),
            color="0.4",
            fontsize=8,
            va="bottom",
            ha="right",
        )
    axes.set(xlabel="λ of InfoWGAN-GP", ylabel=LABELS[FACTOR], ylim=(0, 1.05))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


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
    parser.add_argument("name", choices=(*CURVES, "higgins", "infowgangp"))
    parser.add_argument("study", type=Path, nargs="?", help="without: only the pictures are drawn")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--pictures", type=Path, default=PICTURES)
    options = parser.parse_args()
    path = options.out / f"curves_{options.name}.json"
    if options.study is not None:
        from kept_runs import keep_runs  # which lies beside this file

        study = Study(options.study)
        write_tables(options.name, study, path)
        keep_runs(study, options.out / "runs")
    result = json.loads(path.read_text(encoding="utf-8"))
    tables = result["tables"]
    if options.name == "higgins":
        figures = {"higgins": surface_figure(tables, result["chance"])}
    elif options.name == "infowgangp":
        beside = json.loads((options.out / "curves_kim.json").read_text(encoding="utf-8"))
        rows = beside["tables"]["means"]["rows"]
        figures = {"infowgangp": weight_figure(tables, result["chance"], rows)}
    else:
        figures = {
            options.name if across != TOTAL else f"{options.name}_total_correlation": curve_figure(
                tables, result["chance"], across, down
            )
            for across, down in CURVES[options.name].axes
        }
    for name, figure in figures.items():
        save(figure, options.pictures / f"curves_{name}.svg", origin(result))
    print(f"wrote {path} and {len(figures)} pictures; next: make docs-tables")


def origin(result: dict[str, Any]) -> str:
    """The name of this script and a digest of the tables, which a picture keeps as metadata."""
    text = json.dumps(result["tables"], ensure_ascii=False)
    return f"{Path(__file__).name} {sha256(text.encode()).hexdigest()[:12]}"


def write_tables(name: str, study: Study, path: Path) -> None:
    """Writes the tables of the scored runs of a study."""
    table, planned = read_table(study), len(study.table())
    if name == "higgins":
        tables = surface_tables(table)
    elif name == "infowgangp":
        tables = weight_tables(table, {"strength": "λ"}, [FACTOR, MIG, DCI])
    else:
        curves = CURVES[name]
        planned = int(study.table()["method"].isin(curves.methods).sum())
        table = table[table["method"].isin(curves.methods)]
        tables = curve_tables(table, curves)
    result = {
        "command": f"python benchmarks/study_curves.py {name} studies/{study.path.name}",
        "runs": f"{len(table)} of {planned}",
        "chance": {
            title: round(float(table[f"{score}/chance"].mean()), 2)
            for score, title in LABELS.items()
            if f"{score}/chance" in table
        },
        "tables": tables,
        "versions": versions(),
    }
    with atomic(path) as temporary:
        text = json.dumps(result, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
