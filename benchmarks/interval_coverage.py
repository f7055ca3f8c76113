"""How often the bootstrap interval of a mean holds the true mean, by number of seeds.

python benchmarks/interval_coverage.py
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from dislab.study.statistics import summary
from hardware import processor

TRIALS = 500
SEEDS = (3, 5, 10, 20, 50)
SCORES: dict[str, tuple[Callable[[tuple[int, int]], npt.NDArray[np.float64]], float]] = {
    "normal": (lambda size: np.random.default_rng(0).normal(size=size), 0.0),
    "skewed, of [0, 1]": (lambda size: np.random.default_rng(0).beta(0.5, 2, size=size), 0.2),
}


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
    found = summary(table)
    return float(((found["low"] <= mean) & (mean <= found["high"])).mean())


def main() -> None:
    """Writes the shares to `benchmarks/results/interval_coverage.json`."""
    rows = [[str(count), *(f"{coverage(count, name):.2f}" for name in SCORES)] for count in SEEDS]
    record = {
        "command": "python benchmarks/interval_coverage.py",
        "hardware": processor(),
        "versions": {
            "python": sys.version.split()[0],
            **{name: version(name) for name in ("dislab", "numpy", "pandas", "scipy")},
        },
        "trials": TRIALS,
        "tables": {"coverage": {"header": ["seeds", *SCORES], "rows": rows}},
    }
    path = Path(__file__).parent / "results" / "interval_coverage.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
