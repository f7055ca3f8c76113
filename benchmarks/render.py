"""Images a second that each renderer draws; prints JSON.

    python benchmarks/render.py > render.json

Every round times each renderer once, in turn, on one thread. 3D Shapes is drawn as layers of 480
geometries, so its rate is one of geometries; each serves a thousand images.
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

from dislab.datasets import ParametricChairs, RobotFinger, RobotFingerPseudoReal, Shapes3D
from dislab.datasets import _dsprites_render as dsprites
from dislab.datasets import _finger_render as finger
from dislab.datasets import _finger_sensor as sensor
from dislab.datasets import _finger_states as states
from dislab.datasets import _shapes3d_render as shapes3d
from dislab.datasets.parametric_chairs import draw

Draw = Callable[[], int]


def renderers(device: torch.device) -> dict[str, Draw]:
    """What is timed, by name."""
    generator = np.random.default_rng(0)
    labels = RobotFingerPseudoReal().labels()

    def sprites() -> int:
        return len(dsprites.render_block((2, 5, int(generator.integers(40)))))

    def geometries() -> int:
        for number in generator.integers(480, size=10):
            shapes3d.render(int(number))
        return 10

    def chairs() -> int:
        return len(draw(generator.integers(len(ParametricChairs().factors), size=124)))

    def photographs() -> int:
        return len(sensor.photographs(64, labels, 0, 100))

    return {
        "dSprites": sprites,
        "3D Shapes, geometries": geometries,
        "chairs 64": chairs,
        "finger 64": simulated(64, 256, device),
        "finger 128": simulated(128, 128, device),
        "finger pseudo-real 64": photographs,
    }


def simulated(side: int, count: int, device: torch.device) -> Draw:
    """Finger images: sixteen at a time on a CPU, all at once on another device."""
    view = finger.camera(side)
    scene = finger.backdrop(finger.SIMULATED, view, device)
    space = RobotFinger(states=count).factors
    values = torch.from_numpy(states.values(space.positions(np.arange(count)))).float()
    together = 16 if device.type == "cpu" else count

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


def measure(rounds: int, batch_size: int, device: str) -> dict[str, dict[str, int]]:
    """Median and quartiles of the images a second of CPU time, or of wall time on a GPU."""
    torch.set_num_threads(1)
    clock = time.process_time if device == "cpu" else time.perf_counter
    ways = {**renderers(torch.device(device)), "3D Shapes, composed": feed(batch_size)}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = clock()
            count = way()
            if number:  # the first round fills caches
                rates[name].append(count / (clock() - start))
    return {name: summary(values) for name, values in rates.items()}


def summary(values: list[float]) -> dict[str, int]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median), "lower": round(low), "upper": round(high)}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--device", default="cpu", help="where the simulated finger is drawn")
    args = parser.parse_args()
    result = {
        "settings": vars(args),
        "images_per_second": measure(**vars(args)),
        "versions": {name: version(name) for name in ("dislab", "torch", "numpy")},
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
