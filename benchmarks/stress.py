"""Puts every score through the situations of `dislab.testing.situations` and draws the map.

python benchmarks/stress.py --jobs 2            scores without results, in two processes
python benchmarks/stress.py --scores mig rdc    these again; the others keep their results
python benchmarks/stress.py --plugin MyScore    prints the row of a plug-in
python benchmarks/stress.py --scores            none: tables and pictures from the kept results

Each score is kept as soon as it is done, so that a second call goes on after an interruption. A
score is measured again where the situations or the number of draws have changed. The tables of
docs/stress.md and docs/choosing.md follow by `make docs-tables`.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the table of scores in tests

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from tests.metrics import laws

from dislab import plugins
from dislab.metrics.score_table import label
from dislab.testing.constructions import ENCODERS, WORLDS
from dislab.testing.situations import MISSING, SITUATIONS, Cell, Situation, Stress, stress
from standard_codes import provenance

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "stress.json"
LEFT_OUT = frozenset({"infomec_discrete"})
"""A score of latents of few codes: of mixtures of a few values there are hundreds."""
SCORES = {key: score for key, score in laws.SCORES.items() if key not in LEFT_OUT}
VALUES = {"omes": 3}
"""Number of values of each factor, for a score that compares images with equal values."""
DRAWS = 3
COSTLY = frozenset(key for key, score in SCORES.items() if score.slow) | {
    "explicitness",
    "explicitness_multinomial",
    "infomec_bins",
    "infomec_knn",
}
"""Scores that are drawn once, as a draw of them takes several times as long as one of others."""
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
    "omes",
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
USUAL = tuple(
    name
    for name in COMMON
    if name.startswith(
        ("mig", "dmig", "sap", "dci_", "mcc_", "modularity", "factor_vae", "beta_vae")
    )
    and name not in ("mig_sup_active", "mcc_pairs_pearson")
)
"""Those of them that most papers report."""
PERFECT = Situation()
DEPENDENT = (Situation("correlated"), Situation("copied"), Situation("summed"))
DEPENDENT_MIXED = (Situation("correlated", "linear"), Situation("correlated", "overcomplete"))
COPIES = (Situation(encoder="copies"),)
MIXED = (Situation(encoder="overcomplete"),)
NOISE_OF_FEW = Situation(encoder="noise", images=50)
FEW = (Situation(images=50), (NOISE_OF_FEW,))
HALVED = (MISSING[0], (MISSING[5],))


class Rule(NamedTuple):
    """When a score keeps its meaning, or loses it, by cells of the map.

    Attributes:
        words: The rule for readers; `{limit}` is the limit.
        quantity: `loss`, how far the lower cells are below the higher one, or `share`, what part of
            the higher one they have.
        high: The higher cell.
        low: The lower ones, of which the smallest counts; of mixtures the largest.
        least: Whether the quantity is at least the limit; at most otherwise.
        limit: In units of the score, or a share.
    """

    words: str
    quantity: Literal["loss", "share"]
    high: Situation
    low: tuple[Situation, ...]
    least: bool
    limit: float

    def quantity_of(self, outcome: Stress, result: str) -> float | None:
        """The loss or the share; None where a cell is missing."""
        cells = outcome.cells[result]
        if not {self.high, *self.low} <= set(cells):
            return None
        high, low = cells[self.high].value, [cells[situation].value for situation in self.low]
        if self.quantity == "share":
            return min(low) / high if high else None
        return high - (max(low) if self.mixed else min(low))

    @property
    def mixed(self) -> bool:
        """Whether the lower cells are mixtures, all of which should be low."""
        return self.low[0].encoder in {"linear", "overcomplete"}

    def holds(self, quantity: float) -> bool:
        """Whether the quantity keeps the limit."""
        return quantity >= self.limit if self.least else quantity <= self.limit

    def __str__(self) -> str:
        """The rule in words, with its limit."""
        return self.words.format(limit=f"{self.limit:g}")


class Advice(NamedTuple):
    """Rules of the scores to use in a situation of a user, all of which must hold, and to avoid."""

    use: tuple[Rule, ...]
    avoid: Rule


def lost(words: str, low: tuple[Situation, ...], least: bool, limit: float) -> Rule:
    """A rule on what perfect codes of independent factors lose."""
    return Rule(words, "loss", PERFECT, low, least, limit)


KEEPS = "perfect codes lose at most {limit} in every world of dependent factors"
LOSES = "perfect codes lose at least {limit} in one of them"
SEES = "every mixture loses at least {limit}"
OVERLOOKS = "one mixture loses at most {limit}"
ADVICE: dict[str, Advice] = {
    "factors depend on each other": Advice(
        (lost(KEEPS, DEPENDENT, False, 0.1),), lost(LOSES, DEPENDENT, True, 0.25)
    ),
    "factors depend on each other, and mixtures should count": Advice(
        (
            lost(KEEPS, DEPENDENT, False, 0.25),
            Rule(SEES, "loss", DEPENDENT[0], DEPENDENT_MIXED, True, 0.25),
        ),
        Rule(OVERLOOKS, "loss", DEPENDENT[0], DEPENDENT_MIXED, False, 0.1),
    ),
    "some factors may be missing in the codes": Advice(
        (
            Rule(
                "half of ten factors leave at most {limit} of the score",
                "share",
                *HALVED,
                False,
                0.6,
            ),
        ),
        Rule(
            "half of ten factors leave at least {limit} of the score", "share", *HALVED, True, 0.9
        ),
    ),
    "few images (50)": Advice(
        (Rule("perfect codes are above noise by at least {limit}", "loss", *FEW, True, 0.75),),
        Rule("perfect codes are above noise by at most {limit}", "loss", *FEW, False, 0.5),
    ),
    "more latents than factors, copies are harmless": Advice(
        (lost("a copy of each latent loses at most {limit}", COPIES, False, 0.1),),
        lost("a copy of each latent loses at least {limit}", COPIES, True, 0.25),
    ),
    "more latents than factors, mixtures should count": Advice(
        (lost("a mixture loses at least {limit}", MIXED, True, 0.25),),
        lost("a mixture loses at most {limit}", MIXED, False, 0.1),
    ),
}
"""By situation of a user."""
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
MISSING_COLUMNS = {f"{latents} of 10": MISSING[10 - latents] for latents in (10, 7, 5, 3, 1)}
UNBOUNDED_COLUMNS = {encoder: Situation(encoder=encoder) for encoder in ENCODERS}
D, M, R2 = "dci_gbt_disentanglement", "mcc_pearson", "block_r2_linear"
PUBLISHED: dict[Situation, dict[str, float]] = {
    PERFECT: {D: 0.993, "infom_knn": 0.977},
    DEPENDENT[0]: {D: 0.988, "infom_knn": 0.790},
    DEPENDENT[1]: {D: 0.826, "infom_knn": 0.742},
    DEPENDENT[2]: {D: 0.980, "infom_knn": 0.911},
    Situation(encoder="linear"): {M: 0.687, D: 0.276, "infom_knn": 0.518, R2: 1.0},
    NOISE_OF_FEW: {M: 0.431, D: 0.269},
    Situation(encoder="noise", images=10_000): {M: 0.034, D: 0.008},
    **{
        situation: {
            "mcc_pairs_pearson": 1.0,
            R2: (situation.latents or 0) / 10,
            D: figure,
        }
        for situation, figure in zip(
            MISSING,
            (0.994, 0.856, 0.724, 0.594, 0.472, 0.355, 0.245, 0.146, 0.064, 0.0),
            strict=True,
        )
    },
}
"""Figures of the identifiability-guard (arXiv 2602.24278), by situation and result."""
BY_NAME = {str(situation): situation for situation in SITUATIONS}


def draws_of(key: str) -> int:
    return 1 if key in COSTLY else DRAWS


def stored() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"results": {}}


def measured(key: str) -> tuple[str, Stress, float]:
    """A score in all situations, with the seconds of a processor that it took."""
    torch.set_num_threads(1)
    start = time.process_time()
    outcome = stress(SCORES[key].build, SITUATIONS, draws_of(key), VALUES.get(key))
    return key, outcome, time.process_time() - start


def complete(record: dict[str, Any], key: str) -> bool:
    """Whether a kept score was drawn as often as it is now, in the situations of now."""
    tried = set(record["refused"]).union(*record["cells"].values())
    return record["draws"] == draws_of(key) and tried == set(BY_NAME)


def keep(key: str, outcome: Stress, seconds: float) -> None:
    """Adds a score to the file, in the order of the table of scores."""
    report = stored()
    report["results"][key] = {
        "draws": draws_of(key),
        "seconds": round(seconds, 1),
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
    report |= {"command": "python benchmarks/stress.py --jobs 2", **stamp, "results": results}
    write(report)


def write(report: dict[str, Any]) -> None:
    report |= {"seconds": total_seconds(report), "tables": tables(report)}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def total_seconds(report: dict[str, Any]) -> int:
    """Seconds of a processor that all kept scores took."""
    return round(sum(record["seconds"] for record in report["results"].values()))


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


def advised(report: dict[str, Any], rules: tuple[Rule, ...]) -> Iterator[tuple[str, float]]:
    """The common results that keep all rules, each with its quantity by the last one."""
    kept = outcomes(report)
    for result in COMMON:
        quantities = [
            rule.quantity_of(kept[result], result) if result in kept else None for rule in rules
        ]
        pairs = zip(rules, quantities, strict=True)
        if all(quantity is not None and rule.holds(quantity) for rule, quantity in pairs):
            yield result, quantities[-1]


def advice_table(report: dict[str, Any]) -> dict[str, list]:
    """For each situation of a user, common scores that keep their meaning and those that do not."""
    rows = []
    for situation, advice in ADVICE.items():
        lists = [
            ", ".join(f"`{result}` {quantity:.2f}" for result, quantity in advised(report, rules))
            for rules in (advice.use, (advice.avoid,))
        ]
        rows.append([situation, *(names or "none" for names in lists)])
    return {"header": ["your situation", "use", "avoid"], "rows": rows}


def choice_table(report: dict[str, Any]) -> dict[str, list]:
    """The usual scores of the table of advice by their names, forms of one together."""
    rows = []
    for situation, advice in ADVICE.items():
        cells = []
        for rules in (advice.use, (advice.avoid,)):
            forms: dict[str, list[str]] = {}
            for result in (name for name, _ in advised(report, rules) if name in USUAL):
                name = label(result)
                score = next(
                    (whole for whole in ("DCI", "MCC") if name.startswith(f"{whole} ")), name
                )
                forms.setdefault(score, []).append(name.removeprefix(score).strip())
            cells.append(
                ", ".join(
                    f"{score} ({', '.join(names)})" if any(names) else score
                    for score, names in forms.items()
                )
            )
        rows.append([situation, *(cell or "none" for cell in cells)])
    return {"header": ["your situation", "use", "avoid"], "rows": rows}


def rules_table() -> dict[str, list]:
    """By which rules the scores are in the table of advice, and which cells they read."""
    rows = []
    for situation, (use, avoid) in ADVICE.items():
        cells = [f"*{cell}*" for rule in use for cell in (rule.high, *rule.low)]
        wordings = [" and ".join(map(str, use)), str(avoid), "; ".join(dict.fromkeys(cells))]
        rows.append([situation, *wordings])
    return {"header": ["your situation", "use where", "avoid where", "cells"], "rows": rows}


def time_table(report: dict[str, Any]) -> dict[str, list]:
    """Seconds of a processor by score, the longest first."""
    seconds = {key: record["seconds"] for key, record in report["results"].items()}
    most = sorted(seconds, key=lambda key: -seconds[key])[:10]
    rows = [[f"`{key}`", str(draws_of(key)), f"{seconds[key]:.0f}"] for key in most]
    rest = sum(second for key, second in seconds.items() if key not in most)
    rows += [
        ["all others", str(DRAWS), f"{rest:.0f}"],
        ["**all**", "", f"{sum(seconds.values()):.0f}"],
    ]
    return {"header": ["score", "draws", "seconds"], "rows": rows}


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
        "choice": choice_table(report),
        "rules": rules_table(),
        "time": time_table(report),
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


def measure(keys: list[str], jobs: int) -> None:
    """Measures scores in so many processes, the slowest first, and keeps each at once."""
    slowest_first = sorted(keys, key=lambda key: key not in COSTLY)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(measured, key) for key in slowest_first]):
            key, outcome, seconds = done.result()
            keep(key, outcome, seconds)
            print(f"{key}: {seconds:.0f} s of a processor", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--scores", nargs="*", choices=list(SCORES), help="measure these again")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--plugin", help="print the row of this class of an installed plug-in")
    parser.add_argument(
        "--values", type=int, help="cut the factors of --plugin into so many values"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.plugin:
        build = plugins.load("metrics", arguments.plugin)
        print(stress(build, values=arguments.values))
        return
    results = stored()["results"]
    missing = [key for key in SCORES if key not in results or not complete(results[key], key)]
    measure(missing if arguments.scores is None else arguments.scores, arguments.jobs)
    report = stored()
    write(report)
    print(f"all scores: {report['seconds']} s of a processor")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for world in WORLDS:
        draw(report, world)


if __name__ == "__main__":
    main()
