"""Steps of worlds per second, with and without drawing, on one thread.

python benchmarks/control_worlds.py, where dislab-control is installed; one minute.
"""

import os
import platform
import time
from collections.abc import Callable

import gymnasium
import numpy as np
import torch

from dislab_control import WorldVectorEnv, world_of

SECONDS = 1.0
ROUNDS = 3
CASES = [
    ("GridObjects, 12×12", "GridObjects", {}),
    ("GridObjects, 64×64", "GridObjects", {"cells": 16, "scale": 4}),
    ("FingerReach", "FingerReach", {}),
    ("ShapesRoom", "ShapesRoom", {}),
    ("SeekAvoid, 1 ray a pixel", "SeekAvoid", {"samples": 1}),
    ("SeekAvoid, 2×2 rays a pixel", "SeekAvoid", {"samples": 2}),
]


def rate(step: Callable[[], object], count: int) -> float:
    """Steps of single copies per second: the best of several rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        start, done = time.perf_counter(), 0
        while (spent := time.perf_counter() - start) < SECONDS:
            step()
            done += count
        best = max(best, done / spent)
    return best


def main() -> None:
    torch.set_num_threads(1)
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"gymnasium {gymnasium.__version__}, numpy {np.__version__}"
    )
    print("| world | batch | steps/s | steps/s without drawing |\n|---|---|---|---|")
    for label, name, settings in CASES:
        world = world_of(name, settings)
        for batch in (1, 8, 64):
            env = WorldVectorEnv(world, batch)
            env.reset(seed=0)
            env.action_space.seed(0)
            actions = env.action_space.sample()
            full = rate(lambda env=env, actions=actions: env.step(actions), batch)
            draws = [np.random.default_rng(copy) for copy in range(batch)]
            states = np.concatenate([world.start(generator) for generator in draws])
            plain = rate(lambda world=world, at=(states, actions, draws): world.step(*at), batch)
            print(f"| {label} | {batch} | {full:,.0f} | {plain:,.0f} |")


if __name__ == "__main__":
    main()
