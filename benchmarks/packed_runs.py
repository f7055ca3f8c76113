"""Times steps of several runs as one stacked model against the same steps one after another.

python benchmarks/packed_runs.py [--steps 20]

The runs of a pack make two steps in one way, two in the other, and so on, so that both are timed
in the same minutes of the same process; data, draws and updates are included, Lightning's own steps
are not. Writes benchmarks/results/packed_runs.json.
"""

import argparse
import json
import logging
import os
import platform
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "packed_runs.json"
NETWORKS = {
    "units of 4, batch 4, 64×64": ("MLP", (4,), 4, None),
    "units of 4, batch 64, 32×32": ("MLP", (4,), 64, 32),
    "laptop: units of 256, batch 64, 32×32": ("MLP", (256, 256), 64, 32),
    "convolutions, batch 64, 64×64": ("conv", (), 64, None),
}


def fit(network: str, seed: int, steps: int) -> None:
    """Trains one run, without a log."""
    import lightning.pytorch as pl
    import torch

    from dislab.callbacks import InnerSteps
    from dislab.datamodules import SingleData
    from dislab.datasets import GaussianBlob
    from dislab.decoders import ConvDecoder64, MLPDecoder
    from dislab.encoders import ConvEncoder64, MLPEncoder
    from dislab.objectives import VAE
    from dislab.regularizers import KL

    kind, hidden, batch_size, resize = NETWORKS[network]
    torch.manual_seed(seed)
    encoder: Any = partial(MLPEncoder, hidden=hidden)
    decoder: Any = partial(MLPDecoder, hidden=hidden)
    if kind == "conv":
        encoder = partial(ConvEncoder64, preset="locatello")
        decoder = partial(ConvDecoder64, preset="locatello")
    data = SingleData(GaussianBlob(), batch_size=batch_size, resize=resize, steps_per_epoch=10**6)
    model = VAE(data.image_shape, data.train_size, 10, encoder, decoder, {"kl": KL})
    if kind == "conv":
        model.to(memory_format=torch.channels_last)  # as `dislab fit` does
    trainer = pl.Trainer(
        accelerator="cpu",
        max_steps=steps,
        log_every_n_steps=10**6,
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[InnerSteps()],
    )
    trainer.fit(model, data)


def measured(network: str, runs: int, steps: int) -> dict[str, float]:
    """Median CPU milliseconds of a step of all runs in both ways, and their ratio."""
    from dislab.training import packed

    packed._TRIALS = steps + 4  # so that both ways alternate to the end
    packed.time.perf_counter = time.process_time  # one thread: what other processes do is left out
    fits = [partial(fit, network, seed, 2 * steps + 1) for seed in range(runs)]
    pack = packed.Pack(fits)
    pack.work()
    found = {way: 1e3 * statistics.median(times[2:]) for way, times in pack._times.items()}
    return {**found, "ratio": found["apart"] / found["stacked"]}


def table(found: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Rows of networks, columns of numbers of runs."""
    counts = list(next(iter(found.values())))
    rows = [
        [network, *(f"{one['ratio']:.2f} ({one['stacked']:.1f} ms)" for one in its.values())]
        for network, its in found.items()
    ]
    return {"header": ["networks", *(f"{count} runs" for count in counts)], "rows": rows}


def main() -> None:
    """Measures every network with 2, 4 and 8 runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    import torch

    from dislab.cli.allocator import keep_freed_memory
    from dislab.runs import versions

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    keep_freed_memory()
    torch.set_num_threads(1)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for network, (kind, *_) in NETWORKS.items():
        steps = options.steps if kind == "MLP" else max(4, options.steps // 5)
        found[network] = {str(runs): measured(network, runs, steps) for runs in (2, 4, 8)}
        print(network, json.dumps(found[network]), flush=True)
    results = {
        "command": " ".join(["python benchmarks/packed_runs.py", *sys.argv[1:]]),
        "milliseconds": found,
        "tables": {"stacked": table(found)},
        "load": os.getloadavg(),
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count()},
        "versions": versions(),
    }
    RESULT.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
