"""Times the transfer scores of one run from its codes: five scenarios, all predictors.

python benchmarks/transfer.py                                 boosted trees and an MLP, one by one
python benchmarks/transfer.py --predictors Ridge --threads 2

The codes are made up: ten latents that mix the seven factors of the robot finger, with noise.
Predictors that a call leaves out keep their former results in the file.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

from hardware import processor

LATENTS, BANK = 10, 100_000
SCENARIOS = tuple(f"finger_{kind}" for kind in ("ood1_a", "ood1_b", "ood1_c", "ood2_a", "ood2_b"))


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predictors", nargs="+", default=["GradientBoosting", "MLP"])
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--tested", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    default = Path(__file__).parent / "results" / "transfer.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # before torch is imported
    report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in arguments.predictors:
        report[name] = {"command": " ".join(["python", *sys.argv])} | measured(name, arguments)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")
        print(name, json.dumps(report[name], indent=2), flush=True)


def measured(name: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Seconds of one predictor in all scenarios, wall clock and processor, and its errors."""
    import torch

    from dislab.datasets import RobotFinger, RobotFingerPseudoReal
    from dislab.transfer import Domain, transfer_scores

    torch.set_num_threads(arguments.threads)
    spaces = {
        "": RobotFinger(states=BANK).factors,
        "finger_ood2_a": RobotFinger(states=10_000, hues="heldout").factors,
        "finger_ood2_b": RobotFingerPseudoReal().factors,
    }
    domains = {key: Domain(*mixed(space), space) for key, space in spaces.items()}
    bank = domains.pop("")
    wall, busy = [], []
    for _ in range(arguments.rounds):
        start, used = time.perf_counter(), time.process_time()
        result = transfer_scores(
            *bank[:3],
            SCENARIOS,
            name,
            arguments.labels,
            arguments.tested,
            others=domains,
        )
        wall.append(time.perf_counter() - start)
        busy.append(time.process_time() - used)
    return {
        "seconds": statistics.median(wall),
        "processor_seconds": statistics.median(busy),
        "rounds": arguments.rounds,
        "threads": arguments.threads,
        "labels": arguments.labels,
        "tested": arguments.tested,
        "errors": result.values,
        "notes": result.notes,
        "versions": result.provenance["versions"],
        "hardware": processor(),
    }


def mixed(space):
    """Codes and positions of all states of a space."""
    import numpy as np

    positions = space.positions(np.arange(len(space)))
    scaled = positions / (np.asarray(space.sizes) - 1)
    mixing = np.random.default_rng(0).normal(size=(len(space.sizes), LATENTS))
    noise = np.random.default_rng(1).normal(size=(len(space), LATENTS))
    return np.tanh(scaled @ mixing) + 0.05 * noise, positions


if __name__ == "__main__":
    main()
