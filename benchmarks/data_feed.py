"""Images a second that SingleData delivers, against gathering alone; prints JSON.

    python benchmarks/data_feed.py > feed.json

Every round times each way of feeding once, in turn, on one thread.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import torch

from dislab.datamodules import SingleData
from dislab.datasets import DSprites

Feed = Callable[[int], None]


def deliver(data: SingleData) -> Feed:
    """Batches as a model receives them: float32 images in [0, 1], and factors."""

    def run(batches: int) -> None:
        iterator = iter(data.train_dataloader())
        for _ in range(batches):
            data.on_after_batch_transfer(next(iterator), 0)

    return run


def gather(data: SingleData, scaled: bool) -> Feed:
    """Images of random states, as uint8 or as float32 in [0, 1], and nothing else."""
    generator = np.random.default_rng(0)

    def run(batches: int) -> None:
        states = torch.from_numpy(
            generator.choice(data.indices("train"), size=(batches, data.batch_size))
        )
        for index in states:
            image = data.dataset.images(index)
            if scaled:
                image.float().div_(255)

    return run


def measure(batch_size: int, rounds: int, batches: int, num_workers: int) -> dict[str, object]:
    """Median and quartiles of the images a second of each way."""
    torch.set_num_threads(1)
    data = SingleData(DSprites(), batch_size)
    data.prepare_data()
    data.setup("fit")
    ways = {
        "gather uint8": gather(data, scaled=False),
        "gather float32": gather(data, scaled=True),
        "SingleData": deliver(data),
    }
    if num_workers:
        spread = SingleData(DSprites(), batch_size, num_workers=num_workers)
        spread.setup("fit")
        ways[f"SingleData, {num_workers} workers"] = deliver(spread)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way(batches)
            if number:  # the first round fills the page cache
                rates[name].append(batches * batch_size / (time.perf_counter() - start))
    return {name: summary(values) for name, values in rates.items()}


def summary(values: list[float]) -> dict[str, int]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median), "lower": round(low), "upper": round(high)}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--num-workers", type=int, default=2, help="0 leaves workers out")
    args = parser.parse_args()
    result = {
        "settings": vars(args),
        "images_per_second": measure(**vars(args)),
        "versions": {name: version(name) for name in ("dislab", "torch", "lightning", "numpy")},
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "processor": processor(),
    }
    print(json.dumps(result, indent=1))


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    except OSError:
        return ""
    return f"{len(names)} x {names[0]}" if names else ""


if __name__ == "__main__":
    main()
