"""Times the random numbers of a training step: streams against torch's generator.

python benchmarks/draws.py [--rounds 3]

CPU time on one thread. In every round each model has a fresh process, in which draws of both kinds
and whole steps take turns. Writes benchmarks/results/draws.json.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dislab.base import ImageBatch
from dislab.cli.process import keep_freed_memory
from dislab.decoders import ConvDecoder64, ResidualDecoder128
from dislab.encoders import ConvEncoder64, ResidualEncoder128
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation
from dislab.runs import versions

RESULT = Path(__file__).parent / "results" / "draws.json"
BATCH = 64
CONV: Any = (
    (1, 64, 64),
    partial(ConvEncoder64, preset="locatello"),
    partial(ConvDecoder64, preset="locatello"),
)
RESIDUAL: Any = ((3, 128, 128), ResidualEncoder128, ResidualDecoder128)
MODELS: dict[str, tuple[Any, dict[str, Any], tuple[float, float], int]] = {
    "β-VAE, convolutions, 64×64×1": (CONV, {"kl": KL}, (0, 0), 20),
    "FactorVAE, the same": (CONV, {"kl": KL, "tc": TotalCorrelation}, (0, 0), 20),
    "β-VAE with input noise, the same": (CONV, {"kl": KL}, (0.03, 0.15), 20),
    "β-VAE with input noise, residual, 128×128×3": (RESIDUAL, {"kl": KL}, (0.03, 0.15), 2),
}


def generated(model: VAE, seed: int) -> dict[str, Tensor]:
    """The draws of a step from torch's generator."""
    shape = model.image_shape
    source = device_generator(torch.device("cpu"), 0, seed)
    draws = {"noise": torch.randn(BATCH, 10, generator=source)}
    if "tc" in model.regularizers:
        draws["tc.permutation"] = torch.rand(BATCH, 10, generator=source).argsort(0)
    if any(model.input_noise):
        draws["fine"] = torch.randn(BATCH, *shape, generator=source)
        coarse = 1, shape[1] // 16, shape[2] // 16
        draws["coarse"] = torch.randn(BATCH, *coarse, generator=source)
    return draws


def measure(name: str) -> dict[str, float]:
    """Milliseconds of draws of both kinds and of the rest of a step, medians of this process."""
    keep_freed_memory()
    torch.set_num_threads(1)
    (shape, encoder, decoder), regularizers, noise, steps = MODELS[name]
    model = VAE(shape, 700_000, 10, encoder, decoder, regularizers, input_noise=noise)
    model.to(memory_format=torch.channels_last)
    optimizer: Any = model.configure_optimizers()
    batch = ImageBatch(torch.rand(BATCH, *shape), torch.zeros(BATCH, 5, dtype=torch.long))
    draws: dict[str, Tensor] = {}

    def step() -> None:
        optimizer.zero_grad()
        model.losses(batch, draws, model.steps).loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    parts: dict[str, Callable[[int], Any]] = {
        "stream": lambda count: draws.update(model.draw(BATCH, Stream(0, count).of("train"))),
        "generator": lambda count: generated(model, count),
        "step": lambda _: step(),
    }
    times: dict[str, list[float]] = {part: [] for part in parts}
    for count in range(steps + 1):
        for part, work in parts.items():
            repeats = 1 if part == "step" else 10
            start = time.process_time()
            for repeat in range(repeats):
                work(count * repeats + repeat)
            times[part].append(1e3 * (time.process_time() - start) / repeats)
    return {part: statistics.median(seen[1:]) for part, seen in times.items()}


def main() -> None:
    """Runs the models in turn and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", choices=MODELS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in MODELS}
    for _ in range(options.rounds):
        for name, rounds in seen.items():
            command = [sys.executable, __file__, "--measure", name]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            rounds.append(json.loads(done.stdout))
    header = [
        "",
        "step without draws, ms",
        "torch's generator, ms",
        "stream, ms",
        "more, % of a step",
    ]
    table = [[name, *row(rounds)] for name, rounds in seen.items()]
    result = {
        "command": f"python benchmarks/draws.py --rounds {options.rounds}",
        "cpu_milliseconds": seen,
        "tables": {"table": {"header": header, "rows": table}},
        "threads": 1,
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count()},
        "versions": versions(),
    }
    RESULT.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps(table, indent=2, ensure_ascii=False))


def row(rounds: list[dict[str, float]]) -> list[str]:
    """Medians with the lowest and highest of the rounds."""
    columns = [[record[part] for record in rounds] for part in ("step", "generator", "stream")]
    columns.append(
        [100 * (record["stream"] - record["generator"]) / record["step"] for record in rounds]
    )
    return [
        f"{digits(statistics.median(column))} ({digits(min(column))} – {digits(max(column))})"
        for column in columns
    ]


def digits(value: float) -> str:
    """Whole numbers from 100 on, else two digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


if __name__ == "__main__":
    main()
