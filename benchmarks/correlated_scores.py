"""FactorVAE and β-VAE score where two factors are correlated, as given and without correlation.

python benchmarks/correlated_scores.py        about a minute

Both scores are published with images that are rendered for them, where factors are independent;
dislab draws them from the images given. The page of the scores shows the table that this writes.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from dislab.metrics import BetaVAEScore, FactorVAEScore
from standard_codes import draw_factors, provenance, space_of, standard_codes

SIZES = (3, 6, 40, 32, 32)
LATENTS, IMAGES = 10, 15_000
# deviations of the difference of the last two factors, in shares of a range; none at last
BANDS = (0.1, 0.2, 0.4, float("inf"))
DRAWS = 5
KINDS = ("perfect", "rotated", "noisy", "merged", "dead")
SCORES = {"factor_vae_score": FactorVAEScore, "beta_vae_score": BetaVAEScore}


def correlated(band: float, seed: int) -> np.ndarray:
    """Factors of which the last two are kept with the density of their difference."""
    generator = np.random.default_rng(seed)
    factors = draw_factors(SIZES, 20 * IMAGES, seed)
    apart = (factors[:, -2] - factors[:, -1]) / (SIZES[-1] - 1)
    accepted = generator.random(len(factors)) < np.exp(-(apart**2) / (2 * band**2))
    return factors[accepted][:IMAGES]


def score(name: str, codes: torch.Tensor, factors: np.ndarray) -> float:
    metric = SCORES[name](space_of(SIZES))
    metric.update(codes, torch.from_numpy(factors))
    return float(metric.compute()[name])


def measure(band: float, draw: int) -> dict[str, object]:
    """Correlation of the factors, and of each kind of codes both scores, given and independent."""
    dependent, independent = correlated(band, 2 * draw), draw_factors(SIZES, IMAGES, 2 * draw + 1)
    # one encoder for both: codes are standardised together
    codes = standard_codes(np.concatenate([dependent, independent]), LATENTS, 0)
    record: dict[str, object] = {"correlation": np.corrcoef(dependent[:, -2:].T)[0, 1]}
    for kind in KINDS:
        halves = (codes[kind][:IMAGES], dependent), (codes[kind][IMAGES:], independent)
        record[kind] = {name: [score(name, *half) for half in halves] for name in SCORES}
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).parent / "results" / "correlated_scores.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results, rows = [], []
    for band in BANDS:
        measured = [measure(band, draw) for draw in range(DRAWS)]
        strength = float(np.mean([row["correlation"] for row in measured]))
        for kind in KINDS:
            means = {name: np.mean([row[kind][name] for row in measured], 0) for name in SCORES}
            scores = {name: mean.tolist() for name, mean in means.items()}
            results.append({"band": str(band), "correlation": strength, "codes": kind, **scores})
            numbers = [f"{row:.3f}" for pair in scores.values() for row in pair]
            rows.append([f"{strength:.2f}", f"`{kind}`", *numbers])
            print(*rows[-1], flush=True)
    header = ["correlation", "codes"]
    header += [f"`{name}` {of}" for name in SCORES for of in ("as given", "independent")]
    report = {
        "command": " ".join(["python", *sys.argv]),
        "size": {"images": IMAGES, "latents": LATENTS, "values": SIZES, "draws": DRAWS},
        **provenance(),
        "largest": {
            name: max(abs(row[name][0] - row[name][1]) for row in results) for name in SCORES
        },
        "results": results,
        "tables": {"scores": {"header": header, "rows": rows}},
    }
    print(report["largest"])
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
