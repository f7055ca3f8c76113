"""Pictures of docs/results that need no run, from the tables and values in benchmarks/results.

python benchmarks/study_figures.py

Writes docs/images/results/*.svg. Dots are means or rank correlations, lines their ranges,
intervals or errors, as in the tables.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dislab.plots import save

ROOT: Final = Path(__file__).parents[1]
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
MARKERS: Final = ("o", "s", "^", "D", "v", "P")
CHANCE: Final = "0.9"
NUMBER: Final = re.compile(r"-?\d+\.\d+")
DISENTANGLEMENT: Final = "dci_hgbt_disentanglement"
PREDICTORS: Final = {"GradientBoosting": "trees", "MLP": "a network", "Ridge": "ridge regression"}
KINDS: Final = {"alone": "β-VAE", "weak": "Ada-GVAE", "mixed": "mixed codes"}

Rows = list[list[str]]


def tables_of(name: str) -> dict[str, Rows]:
    """The rows of each table of a study, with the heading first."""
    tables = result_of(name)["tables"]
    return {key: [table["header"], *table["rows"]] for key, table in tables.items()}


def result_of(name: str) -> dict[str, Any]:
    """All that a file of results holds."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def column(rows: Rows, title: str) -> list[str]:
    """The cells under a heading."""
    place = rows[0].index(title)
    return [row[place] for row in rows[1:]]


def locatello() -> Figure:
    """Shares of variance of each score, and the rank correlation of each selector with it."""
    tables = tables_of("locatello_rooms")
    figure, (left, right) = _panels((1, 1.4), height=4)
    shares = tables["shares"]
    scores = column(shares, "score")
    kinds = ("method", "strength", "seed")
    parts = np.array([[_numbers(cell)[0] for cell in column(shares, kind)] for kind in kinds])
    parts /= parts.sum(0)  # the table has two decimals
    ends = np.zeros(len(scores))
    for kind, widths, colour in zip(kinds, parts, COLOURS, strict=False):
        bars = left.barh(scores, widths, left=ends, color=colour, label=kind, height=0.7)
        levels = column(shares, f"{kind} by chance below") if kind != "seed" else []
        for bar, level in zip(bars, levels, strict=False):
            if "not reached" in level:
                bar.set(hatch="////", edgecolor="white", linewidth=0)
        ends += widths
    hatched = {"hatch": "////", "facecolor": "0.6", "edgecolor": "white", "linewidth": 0}
    handles = [*left.containers, Rectangle((0, 0), 1, 1, **hatched)]
    names = [*kinds, "no more than by chance"]
    left.set(xlabel="share of variance", xlim=(0, 1), ylim=(len(scores) - 0.5, -0.5))
    left.legend(
        handles, names, loc="lower right", bbox_to_anchor=(1.05, 1), frameon=False, handlelength=1
    )
    choices = [*tables["selection"][1:], *tables["labels"][1:]]
    selectors = list(dict.fromkeys(row[1] for row in choices))
    chance = _numbers(tables["agreement"][-1][1])[0]
    right.axvspan(-chance, chance, color=CHANCE, linewidth=0)
    series = {name: [row[2] for row in choices if row[1] == name] for name in selectors}
    _dots(right, series, scores, "ρ with the score; grey: by chance", hidden=True)
    return figure


def dittadi() -> Figure:
    """Errors of trees against DCI disentanglement in two shifts, a point a model."""
    tables = tables_of("dittadi_rooms")
    points = tables["points"]
    methods = column(points, "method")
    shifts = points[0][2:]
    by_shift = {row[0]: row[2] for row in tables["correlations"][1:] if row[1] == "trees"}
    chance = dict(zip(tables["errors"][0], tables["errors"][-1], strict=True))
    figure, panels = _panels((1, 1), height=4, width=6.6)
    disentanglement = np.array(column(points, "DCI disentanglement"), dtype=float)
    for axes, shift in zip(panels, shifts, strict=True):
        errors = np.array(column(points, shift), dtype=float)
        for k, method in enumerate(dict.fromkeys(methods)):
            rows = np.array(methods) == method
            style = {"color": COLOURS[k], "marker": MARKERS[k], "label": method}
            axes.scatter(disentanglement[rows], errors[rows], s=18, alpha=0.75, lw=0, **style)
        axes.set_title(f"{shift}: ρ {by_shift[shift]}".replace("-0.", "−0."), fontsize=10)
        axes.axhline(float(chance[shift]), color="0.5", linestyle=":", label="chance")
        axes.set(xlabel="DCI disentanglement", ylim=(0, 0.25))
    panels[0].set_ylabel("mean absolute error of trees")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False
    )
    return figure


def montero() -> Figure:
    """The ratio of losses of methods in conditions, and ρ of DCI disentanglement with it."""
    tables = tables_of("montero_rooms")
    figure, (left, right) = _panels((1.6, 1))
    ratios = tables["ratios"]
    conditions = ratios[0][2:]
    methods = [
        f"{name} ({d.split()[0]})"
        for name, d in zip(
            column(ratios, ratios[0][0]), column(ratios, "DCI disentanglement"), strict=True
        )
    ]
    _dots(
        left,
        {name: column(ratios, name) for name in conditions},
        methods,
        "loss, held out / training;\nin brackets: DCI disentanglement",
    )
    rows = {row[0]: row[1] for row in tables["correlations"][1:]}
    found = re.search(r"by chance below (\S+)", column(tables["claims"], "here")[0])
    chance = float(found[1]) if found else 0.0
    right.axvspan(-chance, chance, color=CHANCE, linewidth=0)
    series = {
        "all methods": [rows[name] for name in conditions],
        "without DIP-VAE-II": [rows[f"{name}, without DIP-VAE-II"] for name in conditions],
    }
    _dots(right, series, conditions, "ρ of DCI disentanglement\nwith the ratio; grey: by chance")
    return figure


def correlated() -> Figure:
    """The importance that two hues share, and MIG, of each method under each correlation."""
    tables = tables_of("correlated_rooms")
    *rows, noise = tables["shared"]
    figure, panels = _panels((1, 1))
    methods = list(dict.fromkeys(column(rows, "method")))
    kinds = list(dict.fromkeys(column(rows, "correlation")))
    for axes, title in zip(panels, (rows[0][2], "MIG"), strict=True):
        place = rows[0].index(title)
        series = {kind: [row[place] for row in rows[1:] if row[1] == kind] for kind in kinds}
        _dots(axes, series, methods, title, hidden=title == "MIG")
        axes.get_legend().set_title("correlation")
    _chance_line(panels[0], noise[2])
    _chance_line(panels[1], column(tables["runs"], "MIG")[-1])
    return figure


def labels() -> Figure:
    """DCI disentanglement by number of labels, and rank correlation of scores with tasks."""
    tables = tables_of("labels_rooms")
    figure, (left, right) = _panels((1, 1.15))
    *rows, by_chance = tables["labels"][1:]
    methods = list(dict.fromkeys(row[0] for row in rows))
    counts = list(dict.fromkeys(row[1] for row in rows))
    series = {f"{count} labels": [row[3] for row in rows if row[1] == count] for count in counts}
    _dots(left, series, methods, "DCI disentanglement")
    _chance_line(left, by_chance[3])
    correlations = tables["correlations"]
    tasks = correlations[0][1:]
    by_name = {row[0]: row[1:] for row in correlations[1:]}
    chance = _numbers(by_name["by chance below (shuffled scores)"][0])[0]
    right.axvspan(-chance, chance, color=CHANCE, linewidth=0)
    for end in (-1, 1):  # Spearman's critical value for p .05 and 16 models
        right.axvline(0.5 * end, color="0.5", linewidth=0.8, linestyle="--", zorder=0)
    chosen = {
        "DCI disentanglement": "all 48 models",
        "DCI disentanglement, 16 models with 0 labels": "16 without labels",
    }
    _dots(
        right,
        {title: by_name[name] for name, title in chosen.items()},
        [
            task.replace("efficiency of a", "efficiency,\na").replace(
                "efficiency of", "efficiency,"
            )
            for task in tasks
        ],
        "ρ with DCI disentanglement;\nchance: grey, dashed",
    )
    return figure


def darla() -> Figure:
    """Mean return of the agents on each representation in each domain, with its error."""
    returns = result_of("darla_room")["returns"]
    titles = column(tables_of("darla_room")["ratios"], "representation")
    cells: dict[str, list[str]] = {domain: [] for domain in next(iter(returns.values()))}
    for domains in returns.values():
        for domain, row in domains.items():
            ends = (row["mean"] + sign * row["error"] for sign in (0, -1, 1))
            cells[domain].append(" ".join(f"{end:.4f}" for end in ends))
    figure, (axes,) = _panels((1,), height=4)
    rewards = "a goal gives +1, an action nearer 0.1"
    _dots(axes, cells, titles, f"mean return; {rewards}; grey line: nothing gained")
    axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    return figure


def dittadi_finger() -> Figure:
    """Errors of predictors against DCI disentanglement by shift, of models and mixed codes."""
    result = result_of("dittadi_finger")
    chance, models = result["chance"], result["models"].values()
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(len(PREDICTORS), len(chance), sharex=True, sharey=True)
    for row, (predictor, title) in zip(panels, PREDICTORS.items(), strict=True):
        for axes, shift in zip(row, chance, strict=True):
            for k, (kind, label) in enumerate(KINDS.items()):
                points = [
                    (model["scores"][DISENTANGLEMENT], model["transfer"][shift][predictor]["error"])
                    for model in models
                    if model["kind"] == kind and shift in model["transfer"]
                ]
                if points:
                    style = {"color": COLOURS[k], "marker": MARKERS[k], "label": label}
                    axes.scatter(*np.transpose(points), s=18, alpha=0.75, lw=0, **style)
            axes.axhline(chance[shift]["error"], color="0.5", linestyle=":", label="chance")
            axes.set_ylim(0, 0.42)
        row[0].set_ylabel(f"error of {title}")
    for axes, shift in zip(panels[0], chance, strict=True):
        axes.set_title(shift, fontsize=10)
    figure.supxlabel("DCI disentanglement", fontsize="medium")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=4, frameon=False)
    return figure


def dittadi_noise() -> Figure:
    """Errors of trees without and with noise by shift, and by factor in both shifts of OOD2."""
    result = result_of("dittadi_finger")
    chance = result["chance"]
    models = [model for model in result["models"].values() if model["kind"] != "mixed"]

    def cells(shift: str, factor: str = "") -> list[str]:
        """Mean, least and largest error of the models without noise, with it, and by chance."""

        def error(scored: dict[str, Any]) -> float:
            return float(scored["factors"][factor] if factor else scored["error"])

        kinds = [
            [error(m["transfer"][shift]["GradientBoosting"]) for m in models if m["noise"] is noise]
            for noise in (False, True)
        ]
        ends = [[np.mean(errors), min(errors), max(errors)] for errors in kinds]
        return [
            *(" ".join(f"{end:.4f}" for end in three) for three in ends),
            f"{error(chance[shift]):.4f}",
        ]

    kinds = ("without noise", "with noise", "chance")
    figure, panels = _panels((1, 1, 1))
    _dots(
        panels[0],
        dict(zip(kinds, zip(*map(cells, chance), strict=True), strict=True)),
        list(chance),
        "error of trees",
    )
    for axes, shift in zip(panels[1:], ("OOD2-A", "OOD2-B"), strict=True):
        factors = list(chance[shift]["factors"])
        columns = zip(*(cells(shift, factor) for factor in factors), strict=True)
        _dots(axes, dict(zip(kinds, columns, strict=True)), factors, f"{shift}: error by factor")
    for axes in panels:
        axes.get_legend().remove()
        axes.set_xlim(left=0)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _panels(widths: Sequence[float], height: float = 3.5, width: float = 8) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]


def _chance_line(axes: Axes, level: str) -> None:
    """A dotted line at the score of codes whose rows were shuffled, which the axis names."""
    axes.axvline(float(level), color="0.5", linestyle=":", zorder=0)
    axes.set_xlabel(f"{axes.get_xlabel()}; dotted: chance, {level}")


def _dots(
    axes: Axes,
    series: Mapping[str, Sequence[str]],
    names: Sequence[str],
    title: str,
    hidden: bool = False,
) -> None:
    """A dot with its range for each series and row; cells are `0.5 (0.4 to 0.6)` or alike."""
    places = np.arange(len(names))
    for k, (label, cells) in enumerate(series.items()):
        shift = 0.7 * ((k + 0.5) / len(series) - 0.5)
        for place, cell in zip(places, cells, strict=True):
            value, *ends = _numbers(cell)
            height = place + shift
            if ends:
                axes.hlines(height, *ends, color=COLOURS[k], linewidth=1.2)
            axes.plot(
                value,
                height,
                MARKERS[k],
                color=COLOURS[k],
                markersize=4.5,
                label=label if not place else None,
            )
    axes.set_yticks(places, [] if hidden else names)
    axes.set(xlabel=title, ylim=(len(names) - 0.5, -0.5))
    axes.hlines(
        places[:-1] + 0.5, 0, 1, color="0.85", linewidth=0.6, transform=axes.get_yaxis_transform()
    )
    columns = 2 if len(series) > 3 else len(series)
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=columns,
        frameon=False,
        columnspacing=1,
        handletextpad=0.2,
    )


def _numbers(cell: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(cell)]


FIGURES: Final[dict[str, tuple[str, Callable[[], Figure]]]] = {
    "locatello_rooms": ("locatello_rooms", locatello),
    "dittadi_rooms": ("dittadi_rooms", dittadi),
    "montero_rooms": ("montero_rooms", montero),
    "correlated_rooms": ("correlated_rooms", correlated),
    "labels_rooms": ("labels_rooms", labels),
    "darla_room_returns": ("darla_room", darla),
    "dittadi_transfer": ("dittadi_finger", dittadi_finger),
    "dittadi_noise": ("dittadi_finger", dittadi_noise),
}
"""By the name of the picture, the file of results and the function that draws from it."""


def origin(result: str) -> str:
    """The name of this script and a digest of the tables, which a picture keeps as metadata."""
    text = json.dumps(tables_of(result), ensure_ascii=False)
    return f"{Path(__file__).name} {sha256(text.encode()).hexdigest()[:12]}"


def main() -> None:
    for name, (result, draw) in FIGURES.items():
        path = ROOT / "docs" / "images" / "results" / f"{name}.svg"
        save(draw(), path, origin(result))


if __name__ == "__main__":
    main()
