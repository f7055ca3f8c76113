"""Images a second that each data module delivers, against gathering alone.

Seconds are those of this process's processor, which others that share it do not lengthen much; of
the clock where worker processes or a GPU take part.

    python benchmarks/data_feed.py

Writes benchmarks/results/data_feed.json.

Every round times each way of feeding once, in turn, on one thread: many short rounds, whose median
says little of what else the machine does; shares are medians of the shares within a round. The data
modules draw batches in blocks of some 4096 examples, so that 64 batches of 64 examples are one
block, and its draw is in every round. Every way draws new states for each batch, and holds a batch
until it has the next one, as training does. The data modules deliver what a training step under a
trainer gets. The references are

* `gather bytes`: `rows = bank.take(states, axis=0)`, the rows of random states out of the table,
  which is dSprites' memory map of packed bits, or an array of RGB bytes;
* `gather float32`: the same, and what a training step needs of it, without factors or labels:
  `torch.from_numpy(np.unpackbits(rows)).float()` or `torch.from_numpy(rows).float().div_(255)`;
* `memory map float32`: the last of both from a memory map of an .npy file that holds a byte for
  each pixel and channel, of the first 100,000 states at most;
* `one by one`: PyTorch's own way, one image at a time and its default collate.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from dislab.base import DataModule, Dataset
from dislab.cli.allocator import keep_freed_memory
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
REFERENCES = ("gather float32", "memory map float32")
"""What rates are given in shares of."""
SETS: dict[str, Callable[[], Dataset]] = {"bits, 512 bytes": DSprites, "RGB, 12,288 bytes": noise}
"""Data sets by what a row of theirs is."""


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


def bytes_of(data: SingleData, folder: Path) -> Any:
    """A memory map of a file with a byte a pixel."""
    count = min(len(data.factors), MAPPED)
    (table,) = data.dataset.tables().values()
    rows = table.numpy()[:count]
    packed = isinstance(data.dataset, DSprites)
    np.save(folder / "bytes.npy", np.unpackbits(rows, axis=1) * 255 if packed else rows)
    return np.load(folder / "bytes.npy", mmap_mode="r")


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


def measure(
    dataset: Dataset, batch_size: int, rounds: int, batches: int, num_workers: int, folder: Path
) -> dict[str, dict[str, float]]:
    """Median and quartiles of the images a second of each way, and shares of the references."""
    torch.set_num_threads(1)
    cpu = torch.device("cpu")
    single = prepared(SingleData, dataset, batch_size, "host", cpu)
    ways: dict[str, tuple[int, Feed]] = {
        "gather bytes": (1, gather(single, floats=False)),
        "one by one": (1, one_by_one(single)),
    }
    mapped = bytes_of(single, folder)
    for images in (1, 2, 3):
        ways[named("gather float32", images)] = (images, gather(single, floats=True, images=images))
        ways[named("memory map float32", images)] = (images, gather_mapped(single, mapped, images))
    # on a CPU, images are gathered from the mapped file with either residency
    places = [("host", cpu)]
    if torch.cuda.is_available():
        places += [("host", torch.device("cuda")), ("device", torch.device("cuda"))]
    for residency, device in places:
        for name, (images, build) in MODULES.items():
            label = name if device == cpu else f"{name}, {residency} to {device}"
            data = prepared(build, dataset, batch_size, residency, device)
            ways[label] = (images, deliver(data, device))
    if num_workers:
        spread = prepared(SingleData, dataset, batch_size, "host", cpu, num_workers)
        ways[f"SingleData, {num_workers} workers"] = (1, deliver(spread, cpu))
    clocks = {
        name: time.perf_counter if "workers" in name or " to cuda" in name else time.process_time
        for name in ways
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, (images, way) in ways.items():
            # the slow way is timed on fewer batches
            count = max(1, batches // 10) if name == "one by one" else batches
            start = clocks[name]()
            way(count)
            if number:  # the first round fills the page cache, and builds what is built once
                rates[name].append(count * batch_size * images / (clocks[name]() - start))
    return {
        name: summary(values)
        | {reference: share(rates, name, reference) for reference in REFERENCES}
        for name, values in rates.items()
    }


def summary(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median), "lower": round(low), "upper": round(high)}


def table(rates: dict[str, dict[str, dict[str, dict[str, float]]]]) -> dict[str, Any]:
    """Thousand images a second, and their shares of both gathers with conversion, for the pages."""
    columns = {
        f"{name.partition(',')[0]}, batches of {size}": ways
        for name, sizes in rates.items()
        for size, ways in sizes.items()
    }
    rows = []
    for way in next(iter(columns.values())):
        cells = [
            f"{ways[way]['median'] / 1000:,.0f} "
            f"({'; '.join(f'{ways[way][reference]:.2g}' for reference in REFERENCES)})"
            for ways in columns.values()
        ]
        rows.append([way, *cells])
    return {"header": ["way", *columns], "rows": rows}


def named(way: str, images: int) -> str:
    """The name of a reference that gathers so many images an example."""
    return way if images == 1 else f"{way}, {images} images"


def share(rates: dict[str, list[float]], way: str, reference: str) -> float:
    """The rate of a way in units of a reference with as many images; median of the rounds."""
    images = next((one for one in (2, 3) if way.endswith(f"{one} images")), 1)
    images = next((count for name, (count, _) in MODULES.items() if way.startswith(name)), images)
    others = rates[named(reference, images)]
    ratios = [one / other for one, other in zip(rates[way], others, strict=True)]
    return round(statistics.median(ratios), 3)


def main() -> None:
    """Measures and prints."""
    keep_freed_memory()  # as `dislab fit` does
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--batches", type=int, default=64)
    parser.add_argument("--num-workers", type=int, default=2, help="0 leaves workers out")
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    rates: dict[str, dict[str, dict[str, dict[str, float]]]] = {name: {} for name in SETS}
    for name, make in SETS.items():
        dataset = make()
        for size in args.batch_sizes:
            with TemporaryDirectory() as folder:
                rates[name][str(size)] = measure(
                    dataset, size, args.rounds, args.batches, args.num_workers, Path(folder)
                )
    result = {
        "settings": {name: value for name, value in vars(args).items() if name != "out"},
        "images_per_second": rates,
        "tables": {"feed": table(rates)},
        "versions": {name: version(name) for name in ("dislab", "torch", "lightning", "numpy")},
        "python": platform.python_version(),
        "processor": processor(),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
