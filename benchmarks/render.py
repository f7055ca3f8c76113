"""Images a second that each renderer draws; writes benchmarks/results/render.json.

    python benchmarks/render.py
    python benchmarks/render.py --device cuda --out render_cuda.json

Every round times each renderer once, in turn, on one thread, in seconds of this process's processor
(of the clock on a GPU). 3D Shapes is drawn as layers of 480 geometries, so its rate is one of
geometries; each serves a thousand images. Then banks of the robot finger are made as `dislab data
prepare` makes them, by one thread and by more in turn, in seconds of the clock.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import torch

from dislab.datasets import (
    GaussianBlob,
    ParametricChairs,
    ParametricHeads,
    RobotFinger,
    RobotFingerPseudoReal,
    Shapes3D,
)
from dislab.datasets.chairs.parametric_chairs import render
from dislab.datasets.dsprites import _render as dsprites
from dislab.datasets.robot_finger import _render as finger
from dislab.datasets.robot_finger import _states as states
from dislab.datasets.robot_finger import robot_finger
from dislab.datasets.robot_finger import robot_finger_pseudo_real as sensor
from dislab.datasets.shapes3d import _render as shapes3d
from hardware import processor

Draw = Callable[[], int]
RESULT: Final = Path(__file__).parent / "results" / "render.json"
BANK: Final = 4096
"""States of the banks that several threads make."""


def renderers(device: torch.device) -> dict[str, Draw]:
    """The timed renderers by name."""
    generator = np.random.default_rng(0)
    labels = RobotFingerPseudoReal().labels()
    blob = GaussianBlob()

    def sprites() -> int:
        return len(dsprites.packed_block((2, 5, int(generator.integers(40)))))

    def geometries() -> int:
        for index in generator.integers(480, size=10):
            shapes3d.render(int(index))
        return 10

    def chairs() -> int:
        return len(render(generator.integers(len(ParametricChairs().factors), size=124)))

    def heads() -> int:
        heads_data = ParametricHeads(
            identities=1, azimuths=3, elevations=3, seed=int(generator.integers(99))
        )
        return prepared(heads_data)

    def blobs() -> int:
        return len(blob.images(torch.from_numpy(generator.integers(len(blob.factors), size=512))))

    def photographs() -> int:
        return len(sensor.photographs(64, labels, 0, 100))

    return {
        "Gaussian blob": blobs,
        "dSprites": sprites,
        "3D Shapes, geometries": geometries,
        "chairs 64": chairs,
        "heads 64": heads,
        "finger 64": simulated(64, 256, device),
        "finger 128": simulated(128, 128, device),
        "finger pseudo-real 64": photographs,
    }


def simulated(side: int, count: int, device: torch.device) -> Draw:
    """Finger images: as many at a time as a bank's on a CPU, all at once on another device."""
    view = finger.camera(side)
    scene = finger.backdrop(finger.SIMULATED, view, device)
    space = RobotFinger(states=count).factors
    values = torch.from_numpy(states.values(space.positions(np.arange(count)))).float()
    together = robot_finger._PIXELS // side**2 if device.type == "cpu" else count

    def run() -> int:
        for first in range(0, count, together):
            finger.render(finger.SIMULATED, view, scene, values[first : first + together]).cpu()
        return count

    return run


def feed(batch_size: int) -> Draw:
    """Gathers random images of 3D Shapes from its layers."""
    dataset = Shapes3D()
    dataset.prepare()
    index = torch.from_numpy(np.random.default_rng(0).integers(480_000, size=(50, batch_size)))

    def run() -> int:
        for batch in index:
            dataset.images(batch)
        return index.numel()

    return run


def prepared(dataset: ParametricHeads | RobotFinger) -> int:
    """Makes the bank of a data set in a cache of its own."""
    count = len(dataset.factors)  # which states there are is no matter of drawing
    with TemporaryDirectory() as folder:
        os.environ["DISLAB_CACHE"] = folder
        dataset.prepare()
        del os.environ["DISLAB_CACHE"]
    return count


def by_threads(rounds: int) -> dict[str, dict[str, float]]:
    """Images a second of the clock that one and more threads draw, and what more threads gain."""
    counts = sorted({1, *(1 << n for n in range(1, 7) if 1 << n <= (os.cpu_count() or 1))})
    rates: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(rounds):
        for count, seen in rates.items():
            torch.set_num_threads(count)
            dataset = RobotFinger(states=BANK)
            _ = dataset.factors
            start = time.perf_counter()
            seen.append(prepared(dataset) / (time.perf_counter() - start))
    torch.set_num_threads(1)
    return {
        str(count): {
            **summary(seen),
            "gain": statistics.median(a / b for a, b in zip(seen, rates[1], strict=True)),
        }
        for count, seen in rates.items()
    }


def measure(rounds: int, batch_size: int, device: str) -> dict[str, dict[str, int]]:
    """Median and quartiles of the images a second of CPU time, or of wall time on a GPU."""
    torch.set_num_threads(1)
    clock = time.process_time if device == "cpu" else time.perf_counter
    ways = {**renderers(torch.device(device)), "3D Shapes, composed": feed(batch_size)}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for round_index in range(rounds + 1):
        for name, way in ways.items():
            start = clock()
            count = way()
            if round_index:  # the first round fills caches
                rates[name].append(count / (clock() - start))
    return {name: summary(values) for name, values in rates.items()}


def summary(values: list[float]) -> dict[str, int]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median), "lower": round(low), "upper": round(high)}


def tables(rates: dict[str, Any], threads: dict[str, Any]) -> dict[str, Any]:
    """Both tables of the docs."""
    rows = [[name, f"{seen['median']:,}"] for name, seen in rates.items()]
    gains = [
        [count, f"{seen['median']:,}", f"{seen['gain']:.2f}"] for count, seen in threads.items()
    ]
    return {
        "rates": {"header": ["renderer", "images in a CPU-second"], "rows": rows},
        "threads": {"header": ["threads", "images in a second", "gain"], "rows": gains},
    }


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch_size", type=int, default=256)
    parser.add_argument("--device", default="cpu", help="where the simulated finger is drawn")
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    rates = measure(args.rounds, args.batch_size, args.device)
    threads = by_threads(args.rounds)
    result = {
        "settings": {"rounds": args.rounds, "batch_size": args.batch_size, "device": args.device},
        "images_per_second": rates,
        "by_the_clock": threads,
        "tables": tables(rates, threads),
        "versions": {name: version(name) for name in ("dislab", "torch", "numpy")},
        "python": platform.python_version(),
        "processor": processor(),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
