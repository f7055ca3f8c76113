"""Images a second that each data module delivers, against gathering alone.

Seconds are those of the process's processor, which others that share it do not lengthen much; of
the clock where worker processes or a GPU take part.

    python benchmarks/data_feed.py

Writes benchmarks/results/data_feed.json.

Every way of feeding has a process of its own, as in training, and its references are in that
process with it. Every round times each of them once, in turn, on one thread, after a few batches
that are not timed: many short rounds, whose median says little of what else the machine does;
shares are medians of the shares within a round, and rates of the references are of the rounds of
all processes. The data modules draw batches in blocks of some 4096 examples, so that 64 batches of
64 examples are one block, and a draw is in every round. Every way draws new states for each batch,
and holds a batch until it has the next one, as training does. The data modules deliver what a
training step under a trainer gets. The references are

* `gather bytes`: `rows = bank.take(states, axis=0)`, the rows of random states out of the table,
  which is dSprites' memory map of packed bits, or an array of RGB bytes;
* `gather float32`: the same, and what a training step needs of it, without factors or labels:
  `torch.from_numpy(np.unpackbits(rows)).float()` or `torch.from_numpy(rows).float().div_(255)`;
* `memory map float32`: the last of both from a memory map of an .npy file that holds a byte for
  each pixel and channel, of the first 100,000 states at most;
* `one by one`: PyTorch's own way, one image at a time and its default collate.

The first three gather as many images at once as an example of the data module holds, times the
batch size.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from dislab.base import DataModule, Dataset
from dislab.cli.process import keep_freed_memory
from dislab.datamodules import (
    ClampedData,
    CompositionData,
    PairedData,
    SingleData,
    SymbolData,
    TransitionData,
)
from dislab.datasets import ArrayDataset, DSprites
from hardware import processor

Feed = Callable[[int], None]
Rates = dict[str, list[float]]
RESULT = Path(__file__).parent / "results" / "data_feed.json"

GROUPS = {"place": ["posX"], "height": ["posY"], "form": ["shape", "scale", "orientation"]}
MODULES: dict[str, tuple[int, Any]] = {
    "SingleData": (1, SingleData),
    "PairedData, k 1": (2, PairedData),
    "PairedData, uniform": (2, partial(PairedData, scheme="uniform")),
    "TransitionData": (2, TransitionData),
    "ClampedData": (1, partial(ClampedData, groups=GROUPS)),
    "CompositionData": (3, CompositionData),
    "SymbolData": (1, SymbolData),
}
"""Images an example holds, and how the data module is made."""


def noise() -> ArrayDataset:
    """18,000 RGB images of a byte a channel, with factors of the names of dSprites."""
    sizes = {"shape": 3, "scale": 6, "orientation": 10, "posX": 10, "posY": 10}
    positions = np.indices(tuple(sizes.values())).reshape(len(sizes), -1).T
    images = np.random.default_rng(0).integers(
        256, size=(len(positions), 3, 64, 64), dtype=np.uint8
    )
    return ArrayDataset(images, positions, list(sizes), {"shape": "categorical"})


MAPPED = 100_000
"""States at most in the file with a byte a pixel."""
PAGE = 4096
"""Bytes at most between two that lie in pages of their own."""
WARM = 4
"""Batches before those that are timed."""
REFERENCES = ("gather bytes", "gather float32", "memory map float32", "one by one")
"""Ways of reading that are timed beside every data module."""
SHARES = REFERENCES[1:]
"""Ways of reading to whose rates others are compared."""
SETS: dict[str, Callable[[], Dataset]] = {"bits, 512 bytes": DSprites, "RGB, 12,288 bytes": noise}
"""Data sets by what a row of theirs is."""


class Data(NamedTuple):
    """Images and the file that holds them.

    Attributes:
        dataset: The images.
        mapped: The file that holds them with a byte a pixel.
    """

    dataset: Dataset
    mapped: Path


class OneByOne(TorchDataset[tuple[torch.Tensor, torch.Tensor]]):
    """Single images and factors by state number."""

    def __init__(self, data: SingleData) -> None:
        self.data = data

    def __len__(self) -> int:
        """All states."""
        return len(self.data.factors)

    def __getitem__(self, state: int) -> tuple[torch.Tensor, torch.Tensor]:
        """One image and its factors."""
        image = self.data.images(torch.tensor([state]))[0]
        return image, torch.from_numpy(self.data.factors.positions(state))


def endless(data: DataModule) -> Iterator[Any]:
    """Training batches, epoch after epoch."""
    while True:
        yield from data.train_dataloader()


def deliver(data: DataModule, device: torch.device) -> Feed:
    """Batches as a model receives them: float32 images in [0, 1], and what else they hold."""
    iterator = endless(data)

    def run(batches: int) -> None:
        for _ in range(batches):
            numbers = data.transfer_batch_to_device(next(iterator), device, 0)
            _batch = data.on_after_batch_transfer(numbers, 0)
        if device.type == "cuda":
            torch.cuda.synchronize()

    return run


def gather(data: SingleData, floats: bool, images: int = 1) -> Feed:
    """Rows of random states, as they are or as float32 images, so many an example."""
    generator = np.random.default_rng(0)
    (table,) = data.dataset.tables().values()
    bank, packed = table.numpy(), isinstance(data.dataset, DSprites)

    def run(batches: int) -> None:
        states = generator.choice(data.indices("train"), size=(batches, images * data.batch_size))
        for index in states:
            rows = bank.take(index, axis=0)
            if floats and packed:
                _batch = torch.from_numpy(np.unpackbits(rows)).float()
            elif floats:
                _batch = torch.from_numpy(rows).float().div_(255)

    return run


def save_bytes(dataset: Dataset, path: Path) -> None:
    """Writes a file with a byte a pixel and channel."""
    (table,) = dataset.tables().values()
    rows = table.numpy()[:MAPPED]
    np.save(path, np.unpackbits(rows, axis=1) * 255 if isinstance(dataset, DSprites) else rows)


def gather_mapped(data: SingleData, mapped: Any, images: int) -> Feed:
    """Rows of random states of such a map as float32 images, so many an example."""
    generator = np.random.default_rng(0)

    def run(batches: int) -> None:
        states = generator.integers(len(mapped), size=(batches, images * data.batch_size))
        for index in states:
            _batch = torch.from_numpy(mapped.take(index, axis=0)).float().div_(255)

    return run


def one_by_one(data: SingleData) -> Feed:
    """PyTorch's loader of a data set that gives one image at a time."""
    source = OneByOne(data)

    def run(batches: int) -> None:
        loader = DataLoader(source, data.batch_size, shuffle=True)
        for _ in zip(range(batches), loader, strict=False):
            pass

    return run


def prepared(
    build: Any,
    dataset: Dataset,
    batch_size: int,
    residency: str,
    device: torch.device,
    num_workers: int = 0,
) -> Any:
    """A data module as a trainer sets it up."""
    data = build(dataset, batch_size=batch_size, residency=residency, num_workers=num_workers)
    data.prepare_data()
    data.trainer = pl.Trainer(
        accelerator="cpu" if device.type == "cpu" else "gpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    data.setup("fit")
    return data


def feeds(workers: int) -> list[str]:
    """Names of all ways but the references: on a CPU, either residency gathers on the host."""
    names = list(MODULES)
    if torch.cuda.is_available():
        names += [f"{name}, {origin} to cuda" for name in MODULES for origin in ("host", "device")]
    return [*names, f"SingleData, {workers} workers"] if workers else names


def images_of(name: str) -> int:
    """How many images an example of a way holds."""
    return next(images for module, (images, _) in MODULES.items() if name.startswith(module))


def is_timed_by_clock(way: str) -> bool:
    """Whether other processors take part in a way."""
    return way.endswith(("workers", "to cuda"))


def measure(way: str, data: Data, batch_size: int, rounds: int, batches: int) -> Rates:
    """Images a second of one way and of its references, one number a round."""
    torch.set_num_threads(1)
    cpu, images = torch.device("cpu"), images_of(way)
    build = next(build for module, (_, build) in MODULES.items() if way.startswith(module))
    origin = "device" if way.endswith("device to cuda") else "host"
    device = torch.device("cuda" if way.endswith("to cuda") else "cpu")
    workers = int(way.split()[-2]) if way.endswith("workers") else 0
    dataset, single = data.dataset, prepared(SingleData, data.dataset, batch_size, "host", cpu)
    mapped = np.load(data.mapped, mmap_mode="r")
    (table,) = dataset.tables().values()
    for rows in (table.numpy(), mapped):
        rows.reshape(len(rows), -1)[:, ::PAGE].sum()  # maps every page, as an epoch does
    ways: dict[str, tuple[int, Feed]] = {
        "gather bytes": (images, gather(single, floats=False, images=images)),
        "gather float32": (images, gather(single, floats=True, images=images)),
        "memory map float32": (images, gather_mapped(single, mapped, images)),
        "one by one": (1, one_by_one(single)),
        way: (
            images,
            deliver(prepared(build, dataset, batch_size, origin, device, workers), device),
        ),
    }
    now = time.perf_counter if is_timed_by_clock(way) else time.process_time
    rates: Rates = {name: [] for name in ways}
    for round_index in range(rounds + 1):
        for name, (count, feed) in ways.items():
            # the slow way is timed on fewer batches
            times = max(1, batches // 10) if name == "one by one" else batches
            feed(WARM)  # what ran before left other things in the caches and the heap
            start = now()
            feed(times)
            if round_index:  # the first round fills the page cache, and builds what is built once
                rates[name].append(times * batch_size * count / (now() - start))
    return rates


def in_processes(set_name: str, batch_size: int, args: argparse.Namespace) -> dict[str, Any]:
    """Summaries of all ways, each measured by a process of its own, and of the references."""
    alone = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    summaries: dict[str, Any] = {}
    pooled: dict[str, Rates] = {}
    for way in feeds(args.num_workers):
        command = [sys.executable, __file__, "--measure", set_name, str(batch_size), way]
        command += ["--rounds", str(args.rounds), "--batches", str(args.batches)]
        command += ["--bytes", str(args.bytes)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **alone})
        if done.returncode:
            raise SystemExit(done.stderr)
        rates: Rates = json.loads(done.stdout.splitlines()[-1])
        summaries[way] = summary(way, rates)
        if is_timed_by_clock(way):
            continue
        images = images_of(way)
        for reference in REFERENCES:
            single = reference == "one by one" or images == 1
            name = reference if single else f"{reference}, {images} images"
            seen = pooled.setdefault(name, {key: [] for key in REFERENCES})
            for key in REFERENCES:
                seen[key] += rates[key]
    references = {
        name: summary(name.partition(",")[0], seen) for name, seen in sorted(pooled.items())
    }
    return references | summaries


def summary(way: str, rates: Rates) -> dict[str, float]:
    """Median and quartiles, and medians of the shares of the references within a round."""
    low, median, high = statistics.quantiles(rates[way], n=4)
    shares = {
        name: statistics.median(
            rate / reference for rate, reference in zip(rates[way], rates[name], strict=True)
        )
        for name in SHARES
    }
    return {"median": round(median), "lower": round(low), "upper": round(high)} | {
        name: round(value, 3) for name, value in shares.items()
    }


def table(rates: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Thousand images a second, and their shares of the references, for the pages."""
    columns = {
        f"{name.partition(',')[0]}, batches of {size}": ways
        for name, sizes in rates.items()
        for size, ways in sizes.items()
    }
    rows = []
    for way in next(iter(columns.values())):
        cells = [
            f"{ways[way]['median'] / 1000:,.0f} "
            f"({'; '.join(digits(ways[way][reference]) for reference in SHARES)})"
            for ways in columns.values()
        ]
        rows.append([way, *cells])
    return {"header": ["way", *columns], "rows": rows}


def digits(share: float) -> str:
    """Two digits, or all before the point."""
    return f"{share:.0f}" if share >= 10 else f"{share:.2g}"


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch_sizes", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--batches", type=int, default=64)
    parser.add_argument("--num_workers", type=int, default=2, help="0 leaves workers out")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--bytes", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        set_name, batch_size, way = args.measure
        keep_freed_memory()  # as `dislab fit` does
        data = Data(SETS[set_name](), args.bytes)
        print(json.dumps(measure(way, data, int(batch_size), args.rounds, args.batches)))
        return
    rates: dict[str, dict[str, dict[str, Any]]] = {}
    for name, make in SETS.items():
        with TemporaryDirectory() as folder:
            args.bytes = Path(folder) / "bytes.npy"
            save_bytes(make(), args.bytes)
            rates[name] = {str(size): in_processes(name, size, args) for size in args.batch_sizes}
    settings = ("batch_sizes", "rounds", "batches", "num_workers")
    result = {
        "settings": {name: getattr(args, name) for name in settings},
        "images_per_second": rates,
        "tables": {"feed": table(rates)},
        "versions": {name: version(name) for name in ("dislab", "torch", "lightning", "numpy")},
        "python": platform.python_version(),
        "processor": processor(),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["tables"], indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
