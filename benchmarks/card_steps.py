"""Times training steps on a card: ordinary, without Lightning in between, as CUDA graphs.

python benchmarks/card_steps.py [--rounds 5] [--steps 2000] [--only NETWORK]

The variants of a network take turns in one process, and the images lie on the device. Times are of
the clock, from one synchronisation to the next. Beside steps a second stands the share
of what the card reaches in a product of two matrices in bfloat16. With --device cpu it only shows
that everything runs; otherwise it writes benchmarks/results/card_steps.json.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from dislab.base import ImageBatch
from dislab.callbacks import InnerSteps
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.decoders import ConvDecoder64, ResidualDecoder128
from dislab.encoders import ConvEncoder64, ResidualEncoder128
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs import versions
from hardware import processor

RESULT: Final = Path(__file__).parent / "results" / "card_steps.json"
IMAGES: Final = 4096
BATCH: Final = 64


class Network(NamedTuple):
    """A VAE and its images.

    Attributes:
        shape: Channels, height and width.
        encoder: Builder of the encoder.
        decoder: Builder of the decoder.
    """

    shape: tuple[int, int, int]
    encoder: Callable[..., Any]
    decoder: Callable[..., Any]


NETWORKS: Final = {
    "conv 64×64": Network(
        (1, 64, 64),
        partial(ConvEncoder64, preset="locatello"),
        partial(ConvDecoder64, preset="locatello"),
    ),
    "residual 128×128": Network((3, 128, 128), ResidualEncoder128, ResidualDecoder128),
}
VARIANTS: Final[dict[str, Callable[[int], list[pl.Callback]]]] = {
    "ordinary": lambda every: [],
    "inner steps": lambda every: [InnerSteps(every)],
    "CUDA graphs": lambda every: [InnerSteps(every, graph=True)],
}
"""Callbacks of each way of training, by the number of steps between two of Lightning's."""
PRECISIONS: Final = "32-true", "bf16-mixed"


class Clock(pl.Callback):
    """The time of all steps after the first ones, which set up libraries and recordings.

    Args:
        first: How many are left out.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self.start = self.end = 0.0
        self.steps = 0

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / (self.end - self.start)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Starts."""
        if trainer.global_step == self._first:
            self.start = now()

    def on_train_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Stops."""
        self.end = now()
        self.steps = trainer.global_step - self._first


def now() -> float:
    """The time, once the card has done all that it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def model_of(network: Network) -> VAE:
    """A β-VAE of the network with ten latents."""
    torch.manual_seed(0)
    adam = partial(torch.optim.Adam, lr=1e-4)
    return VAE(
        network.shape, IMAGES, 10, network.encoder, network.decoder, {"kl": KL}, optimizer=adam
    )


def data_of(network: Network) -> SingleData:
    """Images of random pixels, on the device."""
    pixels = np.random.default_rng(0).integers(0, 256, (IMAGES, *network.shape), np.uint8)
    return SingleData(ArrayDataset(pixels), batch_size=BATCH, residency="device")


def rate_of(
    network: Network, precision: Any, variant: str, steps: int, device: str, folder: str
) -> float:
    """Steps a second of one run."""
    return timed(network, precision, variant, steps, device, folder).rate


def timed(
    network: Network, precision: Any, variant: str, steps: int, device: str, folder: str
) -> Clock:
    """The clock of one run."""
    first = max(steps // 4, 2)
    clock = Clock(first)
    trainer = pl.Trainer(
        accelerator=device,
        devices=1,
        precision=precision,
        max_steps=first + steps,
        log_every_n_steps=0,
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=[*VARIANTS[variant](first), clock],
    )
    torch.manual_seed(0)
    trainer.fit(model_of(network), datamodule=data_of(network))
    return clock


def operations(network: Network) -> int:
    """Floating-point operations of the forward and backward pass of one batch."""
    model = model_of(network)
    batch = ImageBatch(torch.rand(BATCH, *network.shape), torch.zeros(BATCH, 1).long())
    with FlopCounterMode(display=False) as counter:
        loss = model.losses(batch, model.draw(BATCH, Stream(0)), torch.tensor(0)).loss
        torch.autograd.backward(loss)
    return int(counter.get_total_flops())


def operations_a_second(device: str, size: int) -> float:
    """Floating-point operations a second in products of two square matrices in bfloat16."""
    left_matrix, right_matrix = (
        torch.rand(size, size, device=device, dtype=torch.bfloat16) for _ in range(2)
    )
    times = []
    for _ in range(10):
        start = now()
        left_matrix @ right_matrix
        times.append(now() - start)
    return 2.0 * size**3 / statistics.median(times)


def main() -> None:
    """Runs the variants in turn and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", choices=NETWORKS, help="one network instead of all")
    options = parser.parse_args()
    on_card = options.device == "cuda"
    limit = operations_a_second(options.device, 8192 if on_card else 256)
    table: dict[str, dict[str, Any]] = {}
    for name in [options.only] if options.only else NETWORKS:
        network = NETWORKS[name]
        work = operations(network)
        rates: dict[tuple[str, str], list[float]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.rounds):
                for precision in PRECISIONS:
                    for variant in VARIANTS:
                        rate = rate_of(
                            network, precision, variant, options.steps, options.device, folder
                        )
                        rates.setdefault((precision, variant), []).append(rate)
        for (precision, variant), seen in rates.items():
            middle = statistics.median(seen)
            table[f"{name}, {precision}, {variant}"] = {
                "steps_per_second": {"median": middle, "lowest": min(seen), "highest": max(seen)},
                "share_of_bfloat16_limit": work * middle / limit,
            }
    print(json.dumps(table, indent=2))
    if not on_card:
        return
    command = f"python benchmarks/card_steps.py --rounds {options.rounds} --steps {options.steps}"
    hardware = {"card": torch.cuda.get_device_name(), "processor": processor()}
    result = {
        "command": command,
        "table": table,
        "bfloat16_limit": limit,
        "hardware": hardware,
        "versions": versions(),
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
