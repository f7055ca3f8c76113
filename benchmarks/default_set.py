"""Times the default set of scores against the published procedures, score by score.

python benchmarks/default_set.py                    with exact boosting: some twenty minutes
python benchmarks/default_set.py --without dci_hgbt some minutes; no ratio of the whole set
"""

import argparse
import json
import os
import statistics
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from dislab.metrics import evaluate_fully
from dislab.metrics.array_scores import builders
from hardware import processor
from metrics import IMAGES, LATENTS, SIZES, SPACE, TRAIN, draw_codes, seconds
from published_scores import PUBLISHED


def spread(times: list[float]) -> dict[str, float]:
    return {
        "dislab_s": statistics.median(times),
        "dislab_least_s": min(times),
        "dislab_most_s": max(times),
    }


def table(report: dict[str, dict]) -> dict[str, object]:
    """Seconds and ratios of each score and of the set, in the order of the kinds measured."""
    kinds = [
        kind for kind, results in report.items() if isinstance(results, dict) and "set" in results
    ]
    header = ["score"]
    for kind in kinds:
        header += [f"{kind}: dislab, s", "published, s", "ratio"]
    rows = []
    for name in [*report[kinds[0]]["scores"], "all of them"]:
        row = [name if name == "all of them" else f"`{name}`"]
        for results in (report[kind] for kind in kinds):
            times = results["set"] if name == "all of them" else results["scores"][name]
            for duration in (times["dislab_s"], times["published_s"]):
                row.append(f"{duration:.0f}" if duration >= 10 else f"{duration:#.2g}")
            row.append(f"{times['ratio']:.2g}×")
        rows.append(row)
    return {"header": header, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=["perfect", "rotated", "noisy", "mixed"])
    parser.add_argument("--without", nargs="+", default=[], help="scores to leave out")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of dislab; the other has one")
    default = Path(__file__).parent / "results" / "default_set.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    factors, kinds = draw_codes()
    chosen = {
        name: build for name, build in builders(None, 0).items() if name not in arguments.without
    }
    report: dict[str, object] = {
        "command": " ".join(["python", *sys.argv]),
        "hardware": {"processor": processor(), "threads": os.environ["OMP_NUM_THREADS"]},
        "size": {"images": IMAGES, "train": TRAIN, "latents": LATENTS, "values": SIZES},
    }
    for kind in arguments.kinds:
        arrays = kinds[kind].numpy(), factors.numpy()
        run = partial(evaluate_fully, *arrays, space=SPACE, shuffle=False, chance=False)
        rows = {}
        for name, build in chosen.items():
            durations = [seconds(partial(run, {name: build}))[0]]
            published, value = seconds(partial(PUBLISHED[name], *arrays))
            durations += [
                seconds(partial(run, {name: build}))[0] for _ in range(arguments.rounds - 1)
            ]
            rows[name] = spread(durations) | {
                "published_s": published,
                "ratio": published / statistics.median(durations),
                "published": value,
            }
        totals, evaluation = [], None
        for _ in range(arguments.rounds):
            duration, evaluation = seconds(partial(run, chosen))
            totals.append(duration)
        total = sum(row["published_s"] for row in rows.values())
        results = {
            name: evaluation.values[metric["primary"]]
            for name, metric in evaluation.metrics.items()
        }
        report["versions"] = evaluation.provenance["versions"]
        report[kind] = {
            "scores": {name: row | {"dislab": results[name]} for name, row in rows.items()},
            "set": spread(totals)
            | {
                "published_s": total,
                "ratio": total / statistics.median(totals),
            },
        }
        report["tables"] = {"times": table(report)}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")
        print(json.dumps({kind: report[kind]}, indent=2), flush=True)


if __name__ == "__main__":
    main()
