"""Times the predictors on made-up codes, beside scikit-learn's own on the same codes.

python benchmarks/predictors.py                       about a quarter of an hour
python benchmarks/predictors.py --parts rounds noisy  without what takes minutes

Seven numbers are predicted from ten latents: learnt from 10,000 images, tested on 5,000 others. On
`curved` codes factors are mixed by a layer of hyperbolic tangents; on `noisy` ones they are rotated
with much noise, so that a long fit learns the noise. Parts that a call leaves out
keep their former results in the file.
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
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor

import dislab
from dislab.base import PredictorBuilder
from dislab.predictors import MLP, GradientBoosting, NearestNeighbors, RandomForest, Ridge
from hardware import processor

FACTORS, LATENTS, TRAIN, IMAGES = 7, 10, 10_000, 15_000
SCENARIOS = 5
Result = dict[str, float]


def draw_codes() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Independent factors in [0, 1], and two kinds of codes."""
    generator = np.random.default_rng(0)
    factors = generator.random((IMAGES, FACTORS))
    centred = factors - 0.5
    inner = np.tanh(2 * centred @ generator.normal(size=(FACTORS, 32)))
    curved = inner @ generator.normal(size=(32, LATENTS)) / 3
    curved += 0.05 * generator.normal(size=curved.shape)
    idle = generator.normal(size=(IMAGES, LATENTS - FACTORS))
    noisy = np.concatenate([centred + 0.3 * generator.normal(size=centred.shape), idle], axis=1)
    noisy = noisy @ np.linalg.qr(generator.normal(size=(LATENTS, LATENTS)))[0]
    kinds = {"curved": curved, "noisy": noisy}
    return torch.from_numpy(factors).float(), {
        name: torch.from_numpy(codes).float() for name, codes in kinds.items()
    }


def fitted(build: PredictorBuilder, codes: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    predictor = build(LATENTS, (0,) * FACTORS)
    predictor.fit(codes[None, :TRAIN], factors[:TRAIN])
    return predictor.predict(codes[None, TRAIN:])[0]


def peer(make: Callable[[], object], codes: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """One scikit-learn model a factor on standardised codes, which its networks need."""
    train = codes[:TRAIN]
    standard = ((codes - train.mean(0)) / train.std(0)).numpy()
    columns = []
    for column in factors.T.numpy():
        model = make().fit(standard[:TRAIN], column[:TRAIN])
        columns.append(torch.from_numpy(model.predict(standard[TRAIN:])))
    return torch.stack(columns, 1)


def mean(codes: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    return factors[:TRAIN].mean(0).expand(IMAGES - TRAIN, FACTORS)


Action = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


ROUNDS: dict[str, Action] = {
    "mean of the targets": mean,
    "Ridge": partial(fitted, Ridge),
    "NearestNeighbors": partial(fitted, NearestNeighbors),
    "GradientBoosting, histogram": partial(fitted, GradientBoosting),
    "MLP, 1 layer": partial(fitted, partial(MLP, layers=1)),
    "MLP, 2 layers": partial(fitted, MLP),
    "MLP, 3 layers": partial(fitted, partial(MLP, layers=3)),
    "scikit-learn KNeighborsRegressor × 7": partial(peer, KNeighborsRegressor),
}
"""Predictors that are timed in alternating rounds."""
NETWORK = partial(MLPRegressor, hidden_layer_sizes=(256, 256), random_state=0)
LONG: dict[str, Action] = {
    "scikit-learn MLPRegressor × 7, 2 layers": partial(peer, NETWORK),
    "RandomForest": partial(fitted, RandomForest),
}
EXACT: dict[str, Action] = {
    "GradientBoosting, exact": partial(fitted, partial(GradientBoosting, engine="exact")),
}
PARTS = ("rounds", "noisy", "scenarios", "long", "exact")


def timed(action: Action, codes: torch.Tensor, factors: torch.Tensor) -> Result:
    start = time.process_time()
    predictions = action(codes, factors)
    duration = time.process_time() - start
    return {"s": duration, "error": (predictions - factors[TRAIN:]).abs().mean().item()}


def compared(
    entered: dict[str, Action],
    codes: torch.Tensor,
    factors: torch.Tensor,
    rounds: int,
) -> dict[str, dict[str, float]]:
    """CPU seconds of fitting and predicting in alternating rounds, and mean absolute errors."""
    results: dict[str, list[Result]] = {name: [] for name in entered}
    for round_index in range(rounds):
        for name, action in entered.items():
            results[name].append(timed(action, codes, factors))
            print(round_index, name, results[name][-1], file=sys.stderr, flush=True)
    return {
        name: {
            "median_s": statistics.median(result["s"] for result in repeats),
            "least_s": min(result["s"] for result in repeats),
            "most_s": max(result["s"] for result in repeats),
            "rounds": len(repeats),
            "error": repeats[0]["error"],
        }
        for name, repeats in results.items()
    }


def scenarios(codes: torch.Tensor, factors: torch.Tensor) -> dict[str, float]:
    """Seconds for as many fits of trees and of networks as there are scenarios."""
    start, wall = time.process_time(), time.perf_counter()
    for _ in range(SCENARIOS):
        fitted(GradientBoosting, codes, factors)
        fitted(MLP, codes, factors)
    return {"cpu_s": time.process_time() - start, "wall_s": time.perf_counter() - wall}


def table(report: dict[str, dict[str, dict[str, float]]]) -> dict[str, list[object]]:
    curved, noisy = report.get("curved", {}), report.get("noisy", {})

    def seconds(summary: dict[str, float]) -> str:
        spread = (
            f" ({summary['least_s']:.2f} to {summary['most_s']:.2f})"
            if summary["rounds"] > 1
            else ""
        )
        return f"{summary['median_s']:.2f}{spread}"

    def error(summary: dict[str, float]) -> str:
        return f"{summary['error']:.4f}"

    return {
        "header": ["predictor", "CPU seconds", "error, curved codes", "error, noisy codes"],
        "rows": [
            [
                name,
                seconds(summary),
                error(summary),
                error(noisy[name]) if name in noisy else "not run",
            ]
            for name, summary in curved.items()
        ],
    }


def measured(part: str, rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """The results of a part, by kind of codes and by name."""
    factors, kinds = draw_codes()
    curved, noisy = kinds["curved"], kinds["noisy"]
    match part:
        case "rounds":
            return {"curved": compared(ROUNDS, curved, factors, rounds)}
        case "long":
            return {"curved": compared(LONG, curved, factors, 1)}
        case "exact":
            return {"curved": compared(EXACT, curved, factors, 1)}
        case "noisy":
            return {"noisy": compared(ROUNDS | LONG, noisy, factors, 1)}
    return {"scenarios": {"trees and networks": scenarios(curved, factors)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds")
    default = Path(__file__).parent / "results" / "predictors.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for part in arguments.parts:
        old = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
        report = old.get("seconds", {})
        for kind, summaries in measured(part, arguments.rounds).items():
            report[kind] = report.get(kind, {}) | summaries
        result = {
            "command": " ".join(["python", *sys.argv]),
            "versions": {
                "dislab": dislab.__version__,
                "torch": torch.__version__,
                "scikit-learn": sklearn.__version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            "hardware": {"processor": processor(), "threads": torch.get_num_threads()},
            "size": {"train": TRAIN, "test": IMAGES - TRAIN, "latents": LATENTS},
            "seconds": report,
            "tables": {"engines": table(report)},
        }
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")
        print(json.dumps({part: result["tables"]}, indent=2), flush=True)


if __name__ == "__main__":
    main()
