"""Times a FactorVAE step on the CPU with and without dislab's process settings.

python benchmarks/cpu_step.py [--rounds 7] [--threads 2] [--busy]

Each variant runs in a fresh process; the variants alternate. `--busy` keeps one core busy with
something else meanwhile. Writes benchmarks/results/cpu_step.json.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

RESULT = Path(__file__).parent / "results" / "cpu_step.json"
VARIANTS = {
    "default": {"OMP_WAIT_POLICY": "ACTIVE"},
    "passive threads": {"OMP_WAIT_POLICY": "PASSIVE"},
    "passive threads, memory kept": {"OMP_WAIT_POLICY": "PASSIVE", "KEEP": "1"},
}


def step_milliseconds(captured: bool, threads: int) -> float:
    """Median time of a step in this process."""
    import torch

    from dislab.base import ImageBatch
    from dislab.cli.process import keep_freed_memory
    from dislab.decoders import ConvDecoder64
    from dislab.encoders import ConvEncoder64
    from dislab.functional.streams import Stream
    from dislab.objectives import VAE
    from dislab.regularizers import KL, TotalCorrelation

    if captured:
        keep_freed_memory()
    torch.set_num_threads(threads)
    encoder = partial(ConvEncoder64, preset="locatello")
    decoder = partial(ConvDecoder64, preset="locatello")
    model = VAE((1, 64, 64), 700_000, 10, encoder, decoder, {"kl": KL, "tc": TotalCorrelation})
    optimizer = model.configure_optimizers()
    image = (torch.rand(64, 1, 64, 64) > 0.9).float()
    batch = ImageBatch(image, torch.zeros(64, 5, dtype=torch.long))
    draws = model.draw(64, Stream(0))
    step = torch.tensor(0)
    times = []
    for _ in range(25):
        start = time.perf_counter()
        optimizer.zero_grad()
        model.losses(batch, draws, step).loss.backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[5:])


def main() -> None:
    """Runs the variants in turn and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        print(step_milliseconds("KEEP" in os.environ, options.threads))
        return
    busy = [sys.executable, "-c", "while True: pass"]
    load = subprocess.Popen(busy) if options.busy else None
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    command = [sys.executable, __file__, "--measure", "--threads", str(options.threads)]
    try:
        for _ in range(options.rounds):
            for name, settings in VARIANTS.items():
                environment = {**os.environ, **settings}
                done = subprocess.run(
                    command, capture_output=True, text=True, check=True, env=environment
                )
                times[name].append(float(done.stdout))
    finally:
        if load:
            load.kill()
    from dislab.runs import versions

    arguments = " ".join(sys.argv[1:])
    key = "busy" if options.busy else "quiet"
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    results[key] = {
        "command": f"python benchmarks/cpu_step.py {arguments}".strip(),
        "milliseconds_per_step": {
            name: {"median": statistics.median(seen), "lowest": min(seen), "highest": max(seen)}
            for name, seen in times.items()
        },
        "rounds": options.rounds,
        "threads": options.threads,
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count()},
        "versions": versions(),
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results[key]["milliseconds_per_step"], indent=2))


if __name__ == "__main__":
    main()
