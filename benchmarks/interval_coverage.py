"""How often intervals hold what they should.

python benchmarks/interval_coverage.py means   Student's interval of a mean over seeds, by number
python benchmarks/interval_coverage.py differences  jackknife over seeds of a mean difference
python benchmarks/interval_coverage.py scores  bootstrap of scores of codes: some minutes
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
import pandas as pd

from claims.tables import jackknife
from dislab.factors import FactorSpace
from dislab.metrics import IRS, evaluate_fully
from dislab.study.statistics import summary
from hardware import processor
from standard_codes import draw_factors, space_of


def difference_of_scores(size: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Differences of two scores of [0, 1], the better one near 1."""
    generator = np.random.default_rng(0)
    return generator.beta(12, 1, size=size) - generator.beta(4, 1, size=size)


TRIALS = 500
SEEDS = (3, 5, 10, 20, 50)
SCORES: dict[str, tuple[Callable[[tuple[int, int]], npt.NDArray[np.float64]], float]] = {
    "normal": (lambda size: np.random.default_rng(0).normal(size=size), 0.0),
    "skewed, of [0, 1]": (lambda size: np.random.default_rng(0).beta(0.5, 2, size=size), 0.2),
}
DIFFERENCE_TRIALS = 10_000
DIFFERENCE_SEEDS = (3, 4, 6)
DIFFERENCES = SCORES | {"of two scores near 1": (difference_of_scores, 12 / 13 - 4 / 5)}

COUNTED = ("MIG", "MIGSup", "JEMMIG", "DCIMIG", "Modularity", "SAP", "MCC")
OTHERS = ("GaussianTotalCorrelation", "WassersteinCorrelation", "MeanPairwiseMI")
SIZES = (3, 4, 6)
IMAGES = 300
DRAWS = 150
RESAMPLES = 100


def coverage(count: int, name: str) -> float:
    """Share of the trials whose interval holds the true mean."""
    draw, mean = SCORES[name]
    scores = draw((TRIALS, count))
    table = pd.DataFrame(
        {
            "trial": np.repeat(np.arange(TRIALS), count),
            "seed": np.tile(np.arange(count), TRIALS),
            "score.x": scores.ravel(),
        }
    )
    ends = summary(table)
    return float(((ends["low"] <= mean) & (mean <= ends["high"])).mean())


def bootstrapped_irs(space: FactorSpace, quantile: float) -> IRS:
    """`IRS` with the intervals that it does not have in dislab."""
    metric = IRS(space, quantile)
    metric.bootstraps = True
    return metric


def one_draw(seed: int) -> dict[str, tuple[float, float, float]]:
    """Scores of noisy codes with the ends of their intervals."""
    generator = np.random.default_rng(10_000 + seed)
    factors = draw_factors(SIZES, IMAGES, seed)
    standard = (factors - np.array(SIZES) / 2 + 0.5) / np.sqrt((np.array(SIZES) ** 2 - 1) / 12)
    codes = np.concatenate([standard, np.zeros((IMAGES, 1))], axis=1)
    codes += generator.normal(size=codes.shape) * [0.3, 0.3, 0.3, 1.0]
    scores = {name: name for name in (*COUNTED, *OTHERS)} | {
        f"IRS, quantile {quantile:g}": partial(bootstrapped_irs, quantile=quantile)
        for quantile in (0.99, 1.0)
    }
    evaluation = evaluate_fully(
        codes, factors, scores, space=space_of(SIZES), bootstrap=RESAMPLES, chance=False
    )
    return {name: (evaluation.values[name], *ends) for name, ends in evaluation.intervals.items()}


def of_scores() -> dict[str, object]:
    """Share of the draws of images whose interval holds the mean score of all draws."""
    draws = [one_draw(seed) for seed in range(DRAWS)]
    rows = []
    for name in draws[0]:
        values, low, high = np.array([draw[name] for draw in draws]).T
        inside = (low <= values.mean()) & (values.mean() <= high)
        rows.append([f"`{name}`", f"{values.mean():.3f}", f"{values.std(ddof=1):.3f}"])
        rows[-1] += [f"{(high - low).mean():.3f}", f"{inside.mean():.2f}"]
    header = ["score", "mean", "deviation over draws", "width of the interval", "coverage"]
    return {"header": header, "rows": rows}


def of_means() -> dict[str, object]:
    """Share of simulated studies whose interval holds the true mean."""
    rows = [[str(count), *(f"{coverage(count, name):.2f}" for name in SCORES)] for count in SEEDS]
    return {"header": ["seeds", *SCORES], "rows": rows}


def of_differences() -> dict[str, object]:
    """Share of simulated studies whose jackknife interval holds the true mean difference."""
    rows = []
    for count in DIFFERENCE_SEEDS:
        cells = []
        for draw, mean in DIFFERENCES.values():
            studies = pd.DataFrame(draw((count, DIFFERENCE_TRIALS))).assign(seed=range(count))
            _, low, high = jackknife(
                studies, lambda some: some.drop(columns="seed").mean().to_numpy()
            )
            cells.append(f"{((low <= mean) & (mean <= high)).mean():.2f}")
        rows.append([str(count), *cells])
    return {"header": ["seeds", *DIFFERENCES], "rows": rows}


def main() -> None:
    """Writes a table to `benchmarks/results/interval_coverage.json`; the others are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    name = parser.parse_args().part
    path = Path(__file__).parent / "results" / "interval_coverage.json"
    tables = json.loads(path.read_text())["tables"] if path.exists() else {}
    key, measured = PARTS[name]
    table = {key: measured()}
    record = {
        "command": "python benchmarks/interval_coverage.py",
        "hardware": processor(),
        "versions": {
            "python": sys.version.split()[0],
            **{
                package: version(package)
                for package in ("dislab", "numpy", "pandas", "scipy", "torch")
            },
        },
        "trials": TRIALS,
        "difference_trials": DIFFERENCE_TRIALS,
        "draws": {"count": DRAWS, "images": IMAGES, "values": SIZES, "resamples": RESAMPLES},
        "tables": tables | table,
    }
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(*next(iter(table.values()))["rows"], sep="\n")


PARTS: dict[str, tuple[str, Callable[[], dict[str, object]]]] = {
    "means": ("coverage", of_means),
    "differences": ("differences", of_differences),
    "scores": ("scores", of_scores),
}
"""The table and the function of each part."""


if __name__ == "__main__":
    main()
