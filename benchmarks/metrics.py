"""Times the scores against plain loops and against the published learner, on made-up codes.

python benchmarks/metrics.py            with exact gradient boosting: about a quarter of an hour
python benchmarks/metrics.py --quick    without it: about two minutes

What a call leaves out, kinds of codes or exact boosting, keeps its former results in the file.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import sklearn
import torch
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import mutual_info_score

import dislab
from dislab.base import MetricBuilder
from dislab.codes.importance import importance_scores
from dislab.factors import Factor, FactorSpace
from dislab.functional.random import host_generator
from dislab.metrics import DCI, MIG, FactorVAEScore
from dislab.metrics.factor_vae_score import draw_ballot
from hardware import processor

SIZES = (3, 6, 40, 32, 32)
LATENTS, TRAIN, IMAGES = 10, 10_000, 15_000
SPACE = FactorSpace(
    tuple(
        Factor(name, tuple(map(float, range(size))))
        for name, size in zip("abcde", SIZES, strict=True)
    )
)


def draw_codes() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Factors as in dSprites, and four kinds of codes with five informative latents at most."""
    generator = np.random.default_rng(0)
    factors = np.stack([generator.integers(size, size=IMAGES) for size in SIZES], axis=1)
    standard = (factors - factors.mean(0)) / factors.std(0)
    idle = generator.normal(size=(IMAGES, LATENTS - len(SIZES)))
    perfect = np.concatenate([standard, idle], axis=1)
    rotation = np.linalg.qr(generator.normal(size=(LATENTS, LATENTS)))[0]
    mixing = np.eye(LATENTS) + 0.1 * generator.normal(size=(LATENTS, LATENTS))
    kinds = {
        "perfect": perfect,
        "rotated": perfect @ rotation,
        "noisy": perfect + 0.3 * generator.normal(size=perfect.shape),
        "mixed": perfect @ mixing + 0.1 * generator.normal(size=perfect.shape),
    }
    return torch.from_numpy(factors), {name: torch.from_numpy(x) for name, x in kinds.items()}


def mig_loop(codes: np.ndarray, factors: np.ndarray) -> float:
    binned = [np.digitize(x, np.histogram(x, 20)[1][:-1]) for x in codes.T]
    table = np.array([[mutual_info_score(v, x) for v in factors.T] for x in binned])
    entropy = np.array([mutual_info_score(v, v) for v in factors.T])
    ordered = np.sort(table, axis=0)
    return float(np.mean((ordered[-1] - ordered[-2]) / entropy))


def vote_loop(codes: np.ndarray, factors: np.ndarray) -> float:
    """The FactorVAE score with one pass of the loop a vote, on the draws that the score makes."""
    spread = codes.var(0, ddof=1)
    tables = []
    for part, votes in enumerate((10_000, 5_000)):
        ballot = draw_ballot(
            torch.from_numpy(factors),
            torch.ones(len(SIZES), dtype=torch.bool),
            votes,
            64,
            host_generator(0, part),
            SPACE.names,
        )
        table = np.zeros((codes.shape[1], len(SIZES)))
        for factor, rows in zip(ballot.factor.numpy(), ballot.rows.numpy(), strict=True):
            table[np.argmin(codes[rows].var(0, ddof=1) / spread), factor] += 1
        tables.append(table)
    train, test = tables
    return float(test[np.arange(len(test)), train.argmax(1)].sum() / test.sum())


def exact_dci(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    columns, right = [], []
    for labels in factors.T:
        model = GradientBoostingClassifier(random_state=0).fit(codes[:TRAIN], labels[:TRAIN])
        columns.append(model.feature_importances_)
        model.score(codes[:TRAIN], labels[:TRAIN])
        right.append(model.score(codes[TRAIN:], labels[TRAIN:]))
    scores = importance_scores(torch.from_numpy(np.stack(columns, axis=1)))
    return {
        "disentanglement": scores.disentanglement.item(),
        "completeness": scores.completeness.item(),
        "informativeness": float(np.mean(right)),
    }


def seconds(action: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def alternate(actions: dict[str, Callable[[], object]], rounds: int) -> dict[str, object]:
    """CPU seconds of each action in alternating rounds: median, least and most; and the results."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    results: dict[str, object] = {}
    for _ in range(rounds):
        for name, action in actions.items():
            durations, results[name] = seconds(action)
            times[name].append(durations)
    return {
        name: {
            "median_s": statistics.median(durations),
            "least_s": min(durations),
            "most_s": max(durations),
            "rounds": rounds,
            "result": results[name],
        }
        for name, durations in times.items()
    }


def score(builder: MetricBuilder, codes: torch.Tensor, factors: torch.Tensor) -> object:
    metric = builder(SPACE)
    metric.update(codes, factors)
    return {name: value.item() for name, value in metric.compute().items() if value.ndim == 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out exact gradient boosting")
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds of MIG and votes")
    parser.add_argument("--kinds", nargs="+", default=["perfect", "rotated", "noisy", "mixed"])
    default = Path(__file__).parent / "results" / "metrics.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    factors, kinds = draw_codes()
    old = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    report: dict[str, object] = old | {
        "versions": {
            "dislab": dislab.__version__,
            "torch": torch.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "hardware": {"processor": processor(), "threads": os.environ["OMP_NUM_THREADS"]},
        "size": {"images": IMAGES, "train": TRAIN, "latents": LATENTS, "values": SIZES},
    }
    for kind in arguments.kinds:
        codes = kinds[kind]
        arrays = codes.numpy(), factors.numpy()
        small = codes[:TRAIN], factors[:TRAIN]
        result: dict[str, object] = {
            "command": " ".join(["python", *sys.argv]),
            "mig": alternate(
                {
                    "dislab": partial(score, MIG, *small),
                    "loop": partial(mig_loop, *(part.numpy() for part in small)),
                },
                arguments.rounds,
            ),
            "factor_vae_score": alternate(
                {
                    "dislab": partial(score, FactorVAEScore, codes, factors),
                    "loop": partial(vote_loop, *arrays),
                },
                arguments.rounds,
            ),
            "dci_hgbt": alternate({"dislab": partial(score, DCI, codes, factors)}, 3),
        }
        if not arguments.quick:
            exact = alternate({"scikit-learn": partial(exact_dci, *arrays)}, 1)
            result["dci_gbt"] = exact
        elif "dci_gbt" in old.get(kind, {}):
            result["dci_gbt"] = old[kind]["dci_gbt"]
        report[kind] = result
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")
        print(json.dumps({kind: report[kind]}, indent=2), flush=True)


if __name__ == "__main__":
    main()
