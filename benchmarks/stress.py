"""Puts every score through the situations of `dislab.testing.situations` and draws the map.

python benchmarks/stress.py                     scores without results: all take some minutes
python benchmarks/stress.py --scores mig rdc    these again; the others keep their results
python benchmarks/stress.py --plugin MyScore    prints the row of a plug-in
python benchmarks/stress.py --scores            none: tables and pictures from the kept results

Each score is kept as soon as it is done, so that a second call goes on after an interruption. The
tables of docs/stress.md and docs/choosing.md follow by `make docs-tables`.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the table of scores in tests

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from tests.metrics import laws

from dislab import plugins
from dislab.testing.constructions import ENCODERS, WORLDS
from dislab.testing.situations import MISSING, SHORT, SITUATIONS, Cell, Situation, Stress, stress
from standard_codes import provenance

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "stress.json"
LEFT_OUT = frozenset({"infomec_discrete", "omes"})
"""Scores that need latents of few codes, or images that differ in one factor alone; the map has
neither, as its factors are normal numbers."""
SCORES = {key: score for key, score in laws.SCORES.items() if key not in LEFT_OUT}
DRAWS = 3
COSTLY = frozenset(key for key, score in SCORES.items() if score.slow) | {
    "explicitness",
    "explicitness_multinomial",
    "infomec_bins",
    "infomec_knn",
}
"""Scores that are drawn once, and but for `dci_hgbt` in the situations of findings only."""
PICTURES = ROOT / "docs" / "images" / "stress"
COMMON = (
    "mig",
    "dmig",
    "sap_r2",
    "dci_hgbt_disentanglement",
    "dci_hgbt_completeness",
    "dci_hgbt_informativeness",
    "dcimig",
    "mig_sup_active",
    "jemmig",
    "mcc_pearson",
    "mcc_spearman",
    "mcc_pairs_pearson",
    "rdc",
    "modularity_active",
    "infom_knn",
    "infoc_knn",
    "infoe",
    "factor_vae_score",
    "beta_vae_score",
    "irs",
    "explicitness_multinomial_normalized",
    "block_r2_linear",
)
"""The results that the table of advice chooses from."""
PERFECT = Situation()
DEPENDENT = [Situation("correlated"), Situation("copied"), Situation("summed")]
DEPENDENT_MIXED = [Situation("correlated", encoder) for encoder in ("linear", "overcomplete")]
COPIES = Situation(encoder="copies")
MIXED = Situation(encoder="overcomplete")
FEW_PERFECT, FEW_NOISE = Situation(images=50), Situation(encoder="noise", images=50)
ALL_KEPT, HALF_KEPT = MISSING[0], MISSING[2]

Rule = Callable[[Callable[[Situation], float]], bool]
ADVICE: dict[str, tuple[Rule, Rule]] = {
    "factors depend on each other": (
        lambda of: of(PERFECT) - min(map(of, DEPENDENT)) <= 0.1,
        lambda of: of(PERFECT) - min(map(of, DEPENDENT)) > 0.25,
    ),
    "factors depend on each other, and mixtures should count": (
        lambda of: (
            of(PERFECT) - min(map(of, DEPENDENT)) <= 0.25
            and of(DEPENDENT[0]) - max(map(of, DEPENDENT_MIXED)) > 0.25
        ),
        lambda of: of(DEPENDENT[0]) - max(map(of, DEPENDENT_MIXED)) <= 0.1,
    ),
    "some factors may be missing in the codes": (
        lambda of: of(HALF_KEPT) <= 0.6 * of(ALL_KEPT),
        lambda of: of(HALF_KEPT) >= 0.9 * of(ALL_KEPT),
    ),
    "few images (50)": (
        lambda of: of(FEW_PERFECT) - of(FEW_NOISE) >= 0.75,
        lambda of: of(FEW_PERFECT) - of(FEW_NOISE) < 0.5,
    ),
    "more latents than factors, copies are harmless": (
        lambda of: of(PERFECT) - of(COPIES) <= 0.1,
        lambda of: of(PERFECT) - of(COPIES) > 0.25,
    ),
    "more latents than factors, mixtures should count": (
        lambda of: of(PERFECT) - of(MIXED) > 0.25,
        lambda of: of(PERFECT) - of(MIXED) <= 0.1,
    ),
}
"""By situation, when a score keeps its meaning and when it loses it."""
WORLD_COLUMNS = {
    "independent": PERFECT,
    "correlation 0.5": Situation("correlated", correlation=0.5),
    "0.8": DEPENDENT[0],
    "0.95": Situation("correlated", correlation=0.95),
    "copied": DEPENDENT[1],
    "summed": DEPENDENT[2],
}
IMAGE_COLUMNS = {
    f"{encoder}, {images:,}": Situation(encoder=encoder, images=images)
    for encoder in ("scaled", "noise")
    for images in (50, 200, 1000, 10_000)
}
MISSING_COLUMNS = {f"{situation.latents} of 10": situation for situation in MISSING}
UNBOUNDED_COLUMNS = {encoder: Situation(encoder=encoder) for encoder in ENCODERS}
D, M, R2 = "dci_gbt_disentanglement", "mcc_pearson", "block_r2_linear"
PUBLISHED: dict[Situation, dict[str, float]] = {
    PERFECT: {D: 0.993, "infom_knn": 0.977},
    DEPENDENT[0]: {D: 0.988, "infom_knn": 0.790},
    DEPENDENT[1]: {D: 0.826, "infom_knn": 0.742},
    DEPENDENT[2]: {D: 0.980, "infom_knn": 0.911},
    Situation(encoder="linear"): {M: 0.687, D: 0.276, "infom_knn": 0.518, R2: 1.0},
    FEW_NOISE: {M: 0.431, D: 0.269},
    Situation(encoder="noise", images=10_000): {M: 0.034, "dci_hgbt_disentanglement": 0.008},
    **{
        situation: {
            "mcc_pairs_pearson": 1.0,
            R2: (situation.latents or 0) / 10,
            "dci_hgbt_disentanglement": figure,
        }
        for situation, figure in zip(MISSING, (0.994, 0.594, 0.355, 0.146, 0.0), strict=True)
    },
}
"""Figures of the identifiability-guard (arXiv 2602.24278), by situation and result."""
BY_NAME = {str(situation): situation for situation in SITUATIONS}


def draws_of(key: str) -> int:
    return 1 if key in COSTLY else DRAWS


def situations_of(key: str) -> tuple[Situation, ...]:
    return SHORT if key in COSTLY - {"dci_hgbt"} else SITUATIONS


def stored() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"results": {}}


def keep(key: str, outcome: Stress) -> None:
    """Adds a score to the file, in the order of the table of scores."""
    report = stored()
    report["results"][key] = {
        "draws": draws_of(key),
        "bounded": outcome.bounded,
        "refused": {str(situation): reason for situation, reason in outcome.refused.items()},
        "cells": {
            result: {
                str(situation): [None if value is None else round(value, 4) for value in cell]
                for situation, cell in outcome.cells[result].items()
            }
            for result in SCORES[key].breaks
        },
    }
    stamp = provenance()
    stamp["versions"] |= {"scipy": version("scipy")}
    results = {name: report["results"][name] for name in SCORES if name in report["results"]}
    report |= {"command": "python benchmarks/stress.py", **stamp, "results": results}
    write(report)


def write(report: dict[str, Any]) -> None:
    report |= {"tables": tables(report)}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def outcomes(report: dict[str, Any]) -> dict[str, Stress]:
    """Each kept result with its score, as `stress` returned it."""
    kept = {key: outcome_of(record) for key, record in report["results"].items()}
    return {result: outcome for outcome in kept.values() for result in outcome.cells}


def outcome_of(record: dict[str, Any]) -> Stress:
    """A kept score, as `stress` returned it."""
    cells = {
        result: {BY_NAME[name]: Cell(*cell) for name, cell in row.items()}
        for result, row in record["cells"].items()
    }
    refused = {BY_NAME[name]: reason for name, reason in record["refused"].items()}
    return Stress(cells, refused, record["bounded"])


def value(outcome: Stress, result: str, situation: Situation) -> float | None:
    cell = outcome.cells[result].get(situation)
    return None if cell is None else cell.value


def digits(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"


def columns_table(
    report: dict[str, Any], columns: dict[str, Situation], bounded: bool = True
) -> dict[str, list]:
    """A row for each result, a column for each situation; results without any are left out."""
    rows = []
    for result, outcome in outcomes(report).items():
        numbers = [value(outcome, result, situation) for situation in columns.values()]
        if outcome.bounded is bounded and any(number is not None for number in numbers):
            rows.append([f"`{result}`", *map(digits, numbers)])
    return {"header": ["result", *columns], "rows": rows}


def findings_table(report: dict[str, Any]) -> dict[str, list]:
    """What misleads each result, a sentence for each clause."""
    rows = []
    for result, outcome in outcomes(report).items():
        clauses = outcome.findings(result)
        sentences = " ".join(f"{clause[0].upper()}{clause[1:]}." for clause in clauses)
        if in_map(outcome, result):
            rows.append([f"`{result}`", sentences or "Nothing of these."])
    return {"header": ["result", "what misleads it"], "rows": rows}


def published_table(report: dict[str, Any]) -> dict[str, list]:
    """The published figures beside the values of the map."""
    kept = outcomes(report)
    rows = []
    for situation, figures in PUBLISHED.items():
        for result, figure in figures.items():
            here = value(kept[result], result, situation) if result in kept else None
            apart = "" if here is None else f"{here - figure:+.2f}"
            rows.append([str(situation), f"`{result}`", f"{figure:.3f}", digits(here), apart])
    return {"header": ["situation", "result", "published", "here", "difference"], "rows": rows}


def advice_table(report: dict[str, Any]) -> dict[str, list]:
    """For each situation of a user, common scores that keep their meaning and those that do not."""
    kept = outcomes(report)
    rows = []
    for situation, (use, avoid) in ADVICE.items():
        lists: list[list[str]] = [[], []]
        for result in COMMON:
            if result not in kept:
                continue
            numbers = partial(value, kept[result], result)
            for names, rule in zip(lists, (use, avoid), strict=True):
                with suppress(TypeError):  # a refused situation has no number
                    if rule(numbers):
                        names.append(f"`{result}`")
        rows.append([situation, *(", ".join(names) or "none" for names in lists)])
    return {"header": ["your situation", "use", "avoid"], "rows": rows}


def tables(report: dict[str, Any]) -> dict[str, dict[str, list]]:
    """The tables of docs/stress.md and docs/choosing.md."""
    return {
        "findings": findings_table(report),
        "worlds": columns_table(report, WORLD_COLUMNS),
        "images": columns_table(report, IMAGE_COLUMNS),
        "missing": columns_table(report, MISSING_COLUMNS),
        "unbounded": columns_table(report, UNBOUNDED_COLUMNS, bounded=False),
        "published": published_table(report),
        "advice": advice_table(report),
    }


def draw(report: dict[str, Any], world: str) -> None:
    """The heat map of a world: results with all encoders, and the chance level of perfect codes."""
    columns = [Situation(world, encoder) for encoder in ENCODERS]
    kept = {
        result: outcome
        for result, outcome in outcomes(report).items()
        if in_map(outcome, result) and set(columns) <= set(outcome.cells[result])
    }
    grid = np.full((len(kept), len(columns) + 1), np.nan)
    for row, (result, outcome) in enumerate(kept.items()):
        for column, situation in enumerate(columns):
            number = value(outcome, result, situation)
            grid[row, column] = np.nan if number is None else number
        cell = outcome.cells[result].get(columns[0])
        grid[row, -1] = np.nan if cell is None or cell.chance is None else cell.chance
    figure = Figure(figsize=(9, 0.22 * len(kept) + 1.2), layout="constrained")
    axes = figure.subplots()
    colours = colormaps["viridis"].with_extremes(bad="lightgrey")
    picture = axes.imshow(grid, vmin=0, vmax=1, cmap=colours, aspect="auto")
    for row, column in zip(*np.nonzero(~np.isnan(grid)), strict=True):
        shade = "black" if grid[row, column] > 0.6 else "white"
        text = f"{grid[row, column]:.2f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=shade)
    axes.set_yticks(range(len(kept)), list(kept), fontsize=7)
    axes.set_xticks(range(len(columns) + 1), [*ENCODERS, "chance"], fontsize=8, rotation=30)
    axes.xaxis.tick_top()
    axes.axvline(len(columns) - 0.5, color="white", linewidth=3)
    figure.colorbar(picture, ax=axes, fraction=0.02, pad=0.01)
    figure.savefig(PICTURES / f"{world}.png", dpi=100)


def in_map(outcome: Stress, result: str) -> bool:
    """Whether a result has a row in the heat maps: bounded by 0 and 1, as values and in fact."""
    cells = outcome.cells[result]
    return outcome.bounded and all(cell.value <= 1 + 1e-9 for cell in cells.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", nargs="*", choices=list(SCORES))
    parser.add_argument("--plugin")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.plugin:
        print(stress(plugins.load("metrics", arguments.plugin)))
        return
    missing = [key for key in SCORES if key not in stored()["results"]]
    for key in missing if arguments.scores is None else arguments.scores:
        start = time.monotonic()
        keep(key, stress(SCORES[key].build, situations_of(key), draws_of(key)))
        print(f"{key}: {time.monotonic() - start:.0f} s", flush=True)
    report = stored()
    write(report)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for world in WORLDS:
        draw(report, world)


if __name__ == "__main__":
    main()
