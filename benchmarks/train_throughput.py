"""Times a training step: dislab's path against a bare PyTorch loop, and its methods.

python benchmarks/train_throughput.py [--rounds 7] [--only PART] [--disent PYTHON]

Every variant runs in a fresh process on one thread; the variants of a part alternate. Times are CPU
time of the process, which other work on the machine lengthens less than the time on the clock.
`pip install pythae` puts that toolkit's trainer beside them, and `--disent` that of disent, which
needs Python 3.12 or newer and torchvision: PYTHON is the interpreter of an environment that has it.
Writes benchmarks/results/train_throughput.json.
"""

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import lightning.pytorch as pl
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from dislab.callbacks import Progress
from dislab.cli import main as dislab
from dislab.cli.process import keep_freed_memory
from dislab.datamodules import SingleData
from dislab.datasets import DSprites
from dislab.decoders import ConvDecoder64, MLPDecoder
from dislab.encoders import ConvEncoder64, MLPEncoder
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs import versions

RESULT: Final = Path(__file__).parent / "results" / "train_throughput.json"
HAS_PYTHAE: Final = importlib.util.find_spec("pythae") is not None
CONFIGS: Final = Path(__file__).parent.parent / "configs"

TINY: Final = (
    "--model.encoder=MLPEncoder",
    "--model.encoder.hidden=[4]",
    "--model.decoder=MLPDecoder",
    "--model.decoder.hidden=[4]",
)
"""A network without work, whose steps are nothing but overhead."""
EVERY_STEP: Final = ("--inner_steps.steps=1",)
RARE_ROWS: Final = ("--trainer.log_every_n_steps=1000",)


class Variant(NamedTuple):
    """How one process trains.

    Attributes:
        kind: A loop of this file (`naive` and `bare` over a β-VAE of its own, `lone` and
            `lightning` over dislab's model and data), `pythae`, `disent`, or a file of `configs`.
        steps: Steps that are timed, and as many again before.
        tiny: Whether the network is the one without work.
        bf16: Whether networks compute in bfloat16.
        batch_size: Images in a batch.
        options: Further arguments of `dislab fit`.
    """

    kind: str
    steps: int
    tiny: bool = False
    bf16: bool = False
    batch_size: int = 64
    options: tuple[str, ...] = ()


PARTS: Final[dict[str, dict[str, Variant]]] = {
    "loop": {
        "naive PyTorch loop": Variant("naive", 30),
        "bare loop, dislab's settings": Variant("bare", 30),
        "dislab": Variant("betavae", 30),
        "bare loop, dislab's settings, bf16": Variant("bare", 30, bf16=True),
        "dislab, bf16-mixed": Variant("betavae", 30, bf16=True),
        "pythae": Variant("pythae", 30),
        "disent": Variant("disent", 30),
    },
    "settings": {
        "none": Variant(
            "betavae", 30, options=("--keep_freed_memory=false", "--channels_last=false")
        ),
        "freed memory kept": Variant("betavae", 30, options=("--channels_last=false",)),
        "freed memory kept, channels last": Variant("betavae", 30),
    },
    "overhead": {
        "bare loop over dislab's model": Variant("lone", 1000, tiny=True, batch_size=4),
        "Lightning's default, one value": Variant("lightning", 1000, tiny=True, batch_size=4),
        "dislab": Variant("betavae", 1000, tiny=True, batch_size=4),
        "bare loop over a β-VAE of its own": Variant("bare", 1000, tiny=True, batch_size=4),
        "dislab, every step Lightning's": Variant(
            "betavae", 1000, tiny=True, batch_size=4, options=EVERY_STEP
        ),
        "dislab, a row of the log every 1000 steps": Variant(
            "betavae", 1000, tiny=True, batch_size=4, options=RARE_ROWS
        ),
        "pythae": Variant("pythae", 1000, tiny=True, batch_size=4),
        "disent": Variant("disent", 1000, tiny=True, batch_size=4),
    },
    "tiny": {
        "bare loop over dislab's model": Variant("lone", 300, tiny=True),
        "dislab": Variant("betavae", 300, tiny=True),
        "dislab, every step Lightning's": Variant("betavae", 300, tiny=True, options=EVERY_STEP),
        "pythae": Variant("pythae", 300, tiny=True),
        "disent": Variant("disent", 300, tiny=True),
    },
    "methods": {
        "β-VAE": Variant("betavae", 20),
        "β-TCVAE": Variant("betatcvae", 20),
        "DIP-VAE-I": Variant("dipvae1", 20),
        "FactorVAE": Variant("factorvae", 20),
        "Ada-GVAE": Variant("adagvae", 20),
    },
}


class Clock(pl.Callback):
    """Prints the time of a step once enough are done, and leaves.

    Args:
        steps: Steps that are timed, and as many again before.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.start: tuple[int, float] | None = None

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Looks at the clock."""
        done, now = trainer.global_step, time.process_time()
        if self.start is None:
            if done >= self.steps:
                self.start = done, now
        elif done >= self.start[0] + self.steps:
            # a progress bar may have replaced sys.stdout, and may be in the middle of a line
            os.write(1, f"\n{1e3 * (now - self.start[1]) / (done - self.start[0])}\n".encode())
            os._exit(0)

    def hang_up(self) -> None:
        """Lets dislab's progress bar look at it: a callback from elsewhere would see every step."""
        original = Progress.on_train_batch_end

        @wraps(original)
        def clocked(bar: Progress, trainer: pl.Trainer, *arguments: Any) -> None:
            original(bar, trainer, *arguments)
            self.on_train_batch_end(trainer)

        Progress.on_train_batch_end = clocked  # type: ignore[method-assign]


class Images(Dataset[Tensor]):
    """Images one by one."""

    def __init__(self, images: Tensor) -> None:
        self.images = images

    def __len__(self) -> int:
        """How many."""
        return len(self.images)

    def __getitem__(self, index: int) -> Tensor:
        """One image, pixels in [0, 1]."""
        return self.images[index].float() / 255


class Plain(torch.nn.Module):
    """A β-VAE as short as can be.

    Args:
        tiny: Whether its networks do no work.
    """

    def __init__(self, tiny: bool) -> None:
        super().__init__()
        shape = (1, 64, 64)
        if tiny:
            self.encoder: torch.nn.Module = MLPEncoder(shape, 20, hidden=(4,))
            self.decoder: torch.nn.Module = MLPDecoder(10, shape, hidden=(4,))
        else:
            self.encoder = ConvEncoder64(shape, 20, "locatello")
            self.decoder = ConvDecoder64(10, shape, "locatello")

    def forward(self, image: Tensor) -> Tensor:
        """Reconstruction plus four times the divergence, in nats per image."""
        mean, log_var = self.encoder(image).float().chunk(2, dim=1)
        z = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
        logits = self.decoder(z).float()
        reconstruction = F.binary_cross_entropy_with_logits(logits, image, reduction="sum")
        divergence = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum()
        return (reconstruction + 4 * divergence) / len(image)


class Logged(pl.LightningModule):
    """An objective inside a module that Lightning trains as it does by default.

    Args:
        model: The objective.
        data: Makes batches of what its loaders hand out.
    """

    def __init__(self, model: VAE, data: SingleData) -> None:
        super().__init__()
        self.model = model
        self.data = [data]  # in a list, for it is no part of the model

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """The loss, logged."""
        delivered = self.data[0].on_after_batch_transfer(batch, 0)
        draws = self.model.draw(len(delivered.image), Stream(0, batch_idx))
        loss = self.model.losses(delivered, draws, self.model.steps).loss
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """The objective's own."""
        return self.model.configure_optimizers()


def main() -> None:
    """Runs the variants in turn and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument(
        "--disent", metavar="PYTHON", help="interpreter of an environment with disent"
    )
    parser.add_argument("--measure", nargs=2)
    options = parser.parse_args()
    if options.measure:
        part, name = options.measure
        measure(PARTS[part][name], options.disent)
        return
    DSprites().prepare()  # before anything is timed
    parts = [options.only] if options.only else list(PARTS)
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for part in parts:
        times, others = measured(part, options.rounds, options.disent)
        results[part] = record(part, times, options.rounds, others)
        results["tables"] = {name: table(results[name]) for name in PARTS if name in results}
        RESULT.write_text(json.dumps(results, indent=2) + "\n")
        print(json.dumps(results[part], indent=2))


def measured(
    part: str, rounds: int, disent: str | None
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Milliseconds a step of every variant of a part, one number a round; versions of disent's."""
    settings = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    there = {"pythae": HAS_PYTHAE, "disent": disent is not None}
    times: dict[str, list[float]] = {
        name: [] for name, variant in PARTS[part].items() if there.get(variant.kind, True)
    }
    others: dict[str, str] = {}
    for _ in range(rounds):
        for name, seen in times.items():
            command = [sys.executable, __file__, "--measure", part, name]
            if PARTS[part][name].kind == "disent":
                command += ["--disent", str(disent)]
            environment = {**os.environ, **settings}
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    command, capture_output=True, text=True, cwd=folder, env=environment
                )
            if done.returncode:
                raise SystemExit(done.stderr)
            words = done.stdout.split()
            seen.append(float(words[-1]))
            if PARTS[part][name].kind == "disent":
                others = dict(
                    zip(("python", "torch", "lightning", "disent"), words[-5:], strict=False)
                )
    return times, others


def record(
    part: str, times: dict[str, list[float]], rounds: int, others: dict[str, str]
) -> dict[str, Any]:
    """The results of a part, as the file keeps them."""
    command = f"python benchmarks/train_throughput.py --rounds {rounds} --only {part}"
    return {
        "command": f"{command} --disent PYTHON" if others else command,
        "cpu_milliseconds_per_step": {
            name: {
                "median": statistics.median(seen),
                "lowest": min(seen),
                "highest": max(seen),
                "median ratio to the first": statistics.median(
                    duration / first
                    for duration, first in zip(seen, times[next(iter(times))], strict=True)
                ),
            }
            for name, seen in times.items()
        },
        "rounds": rounds,
        "threads": 1,
        "hardware": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "instructions": torch.backends.cpu.get_cpu_capability(),
            "bf16": "avx512_bf16" in Path("/proc/cpuinfo").read_text(),
        },
        "versions": versions() | ({"pythae": version("pythae")} if HAS_PYTHAE else {}),
        "versions with disent": others,
    }


def table(part: dict[str, Any]) -> dict[str, Any]:
    """The rows of a part as the pages show them."""
    rows = []
    others = part["versions"] | part.get("versions with disent", {})
    for name, seen in part["cpu_milliseconds_per_step"].items():
        title = f"{name} {others[name]}" if name in ("pythae", "disent") else name
        spread = f"({digits(seen['lowest'])} – {digits(seen['highest'])})"
        ratio = f"{seen['median ratio to the first']:.2f}"
        rows.append([title, f"{digits(seen['median'])} {spread}", ratio])
    return {"header": ["", "ms a step", "ratio to the first row"], "rows": rows}


def digits(milliseconds: float) -> str:
    """Whole milliseconds, or hundredths of few."""
    return f"{milliseconds:.2f}" if milliseconds < 10 else f"{milliseconds:.0f}"


def measure(variant: Variant, disent: str | None) -> None:
    """Trains as a variant says and prints the milliseconds of a step."""
    if variant.kind in ("naive", "bare"):
        own_model(variant)
    elif variant.kind in ("lone", "lightning"):
        dislab_model(variant)
    elif variant.kind == "pythae":
        under_pythae(variant)
    elif variant.kind == "disent":
        under_disent(variant, disent)
    else:
        Clock(variant.steps).hang_up()
        arguments = ["fit", f"--config={CONFIGS / variant.kind}.yaml", *variant.options]
        arguments += ["--trainer.accelerator=cpu", f"--data.batch_size={variant.batch_size}"]
        if variant.tiny:
            arguments += TINY
        if variant.bf16:
            arguments.append("--trainer.precision=bf16-mixed")
        sys.exit(dislab(arguments))


def under_pythae(variant: Variant) -> None:
    """The same networks and images under pythae's model and trainer."""
    from pythae_trainer import train  # where it is installed

    plain = Plain(variant.tiny)
    train(some_images(), plain.encoder, plain.decoder, variant.batch_size, variant.steps)


def under_disent(variant: Variant, python: str | None) -> None:
    """The same networks and images under disent's framework, in an environment of its own."""
    if python is None:
        raise SystemExit("disent is timed with --disent PYTHON")
    plain = Plain(variant.tiny)
    np.save("images.npy", some_images().permute(0, 2, 3, 1).numpy())
    torch.save((plain.encoder.network, plain.decoder.network), "networks.pt")
    script = Path(__file__).with_name("disent_trainer.py")
    arguments = ["images.npy", "networks.pt", str(variant.batch_size), str(variant.steps)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, str(script), *arguments], env=environment)
    sys.exit(done.returncode)


def some_images() -> Tensor:
    """Images of dSprites, bytes."""
    dataset = DSprites()
    return dataset.images(torch.randint(len(dataset.factors), (20_000,)))


def own_model(variant: Variant) -> None:
    """The loop that somebody would write, plain or with dislab's settings."""
    tuned = variant.kind == "bare"
    torch.manual_seed(0)
    images = some_images()
    size = variant.batch_size
    batches = iter(DataLoader(Images(images), size, shuffle=True, drop_last=True))
    model = Plain(variant.tiny)
    if tuned:
        keep_freed_memory()
        model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=tuned or None)

    def step() -> None:
        if tuned:
            image = images[torch.randint(len(images), (size,))].float() / 255
        else:
            image = next(batches)
        with torch.autocast("cpu", torch.bfloat16, enabled=variant.bf16):
            loss = model(image)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    timed(step, variant.steps)


def dislab_model(variant: Variant) -> None:
    """Dislab's own model and batches without work, in a bare loop or by Lightning's default."""
    keep_freed_memory()
    encoder, decoder = partial(MLPEncoder, hidden=(4,)), partial(MLPDecoder, hidden=(4,))
    data = SingleData(DSprites(), batch_size=variant.batch_size)
    regularizers = {"kl": partial(KL, beta=4.0)}
    model = VAE(data.image_shape, data.train_size, 10, encoder, decoder, regularizers)
    if variant.kind == "lightning":
        clock = Clock(variant.steps)
        trainer = pl.Trainer(accelerator="cpu", max_steps=10**6, callbacks=[clock])
        trainer.fit(Logged(model, data), data.train_dataloader())
    optimizer: Any = model.configure_optimizers()
    batches = iter(data.train_dataloader())

    def step() -> None:
        batch = data.on_after_batch_transfer(next(batches), 0)
        draws = model.draw(len(batch.image), Stream(0))
        loss = model.losses(batch, draws, model.steps).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    timed(step, variant.steps)


def timed(step: Callable[[], None], steps: int) -> None:
    """Prints the milliseconds of a step, after as many untimed ones."""
    for _ in range(steps):
        step()
    start = time.process_time()
    for _ in range(steps):
        step()
    print(1e3 * (time.process_time() - start) / steps)


if __name__ == "__main__":
    main()
