"""Counts the files of dislab that a reader passes to follow a call, from a trace of its functions.

    python benchmarks/reading.py

Method: `sys.setprofile` reports each call and return of a Python function in the main thread. A
file counts when one of its functions runs. A change of file is counted when a function of dislab
runs and the last one before it was in another file. Code that runs while a module is imported is
left out, and so is `__getattr__` of a package, which jsonargparse calls some 300 times to ask
whether a class has a shorter path.

* loss: one call of FactorVAE's `losses`, as a step of training makes it; the checks that a first
  batch gets before it are counted with the step.
* step: from `dislab fit` to the first optimiser step, without pictures and page.
* test, score: the MIG of a run, by `dislab test --run`, and by `dislab score` of its codes.
* metric: `update` and `compute` of the class `MIG`.

Of test and score, the way of the codes is counted too. A stop is a function of dislab that receives
an array with the shape of the codes, or an object that holds one, directly or in an attribute, once
they exist; a climb is a stop in a higher room than the stop before; names are those of the
arguments that hold the codes, `self` left out. Scores that resample codes are not in the way.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = str(ROOT / "src" / "dislab") + os.sep
SMALL: Final = """
name: reading
runs: {folder}/runs
model:
  init_args: {{encoder: {{class_path: MLPEncoder}}, decoder: {{class_path: MLPDecoder}}}}
data: {{init_args: {{dataset: GaussianBlob, batch_size: 16}}}}
trainer: {{max_steps: 2, accelerator: cpu}}
evaluate: {{metrics: {{mig: {{class_path: MIG}}}}}}
report: false
pictures: false
then_test: false
"""


class Trace:
    """Files of the functions of dislab that run, and changes between them."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self._imports = 0

    def receive(self, frame: FrameType, event: str, _: Any) -> None:
        """Takes an event of the interpreter."""
        is_import = frame.f_code.co_filename.startswith("<frozen importlib")
        if event == "call":
            self._imports += is_import
            path = frame.f_code.co_filename
            is_probe = frame.f_code.co_qualname == "__getattr__"
            is_counted = path.startswith(SOURCE) and not (self._imports or is_probe)
            if is_counted and self.files[-1:] != [path]:
                self.files.append(path)
        elif event == "return" and is_import:
            self._imports -= 1

    def start(self) -> None:
        """Receives events from now on."""
        sys.setprofile(self.receive)

    def counts(self) -> dict[str, int]:
        """Files and changes of file."""
        return {"files": len(set(self.files)), "changes": len(self.files) - 1}

    def stop(self, *_: Any) -> None:
        """Receives no more events."""
        sys.setprofile(None)


class CodesTrace(Trace):
    """The trace of a call, with the functions that receive codes of a shape."""

    def __init__(self, shape: tuple[int, int]) -> None:
        super().__init__()
        self.shape = shape
        self.stops: list[tuple[str, str]] = []
        self.names: set[str] = set()

    def receive(self, frame: FrameType, event: str, _: Any) -> None:
        """Takes an event of the interpreter."""
        super().receive(frame, event, _)
        code = frame.f_code
        if event != "call" or self._imports or not code.co_filename.startswith(SOURCE):
            return
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        names = {name for name in arguments if self._holds(frame.f_locals.get(name))}
        if names:
            self.names |= names - {"self"}
            stop = code.co_filename, code.co_qualname
            if stop not in self.stops:
                self.stops.append(stop)

    def _holds(self, value: Any) -> bool:
        parts = value if isinstance(value, tuple) else getattr(value, "__dict__", {}).values()
        return any(self._is_codes(part) for part in (value, *parts))

    def _is_codes(self, value: Any) -> bool:
        return type(value).__name__ in ("ndarray", "Tensor") and tuple(value.shape) == self.shape

    def counts(self) -> dict[str, int]:
        """The counts of a trace, and those of the way of the codes."""
        levels = [_level(path) for path, _ in self.stops]
        climbs = sum(later > earlier for earlier, later in pairwise(levels))
        way = {"stops": len(self.stops), "climbs": climbs, "names": len(self.names)}
        return super().counts() | way


def _level(path: str) -> int:
    """The height of the room of a file in the contract of imports."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    room = Path(path).relative_to(SOURCE).parts[0].removesuffix(".py")
    layers = contracts["importlinter"]["contracts"][0]["layers"][::-1]
    return next(level for level, rooms in enumerate(layers) if room in rooms.split(" | "))


def loss(folder: Path) -> Callable[[], object]:
    """One call of FactorVAE's loss during training."""
    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.trainer.states import TrainerStatus

    from dislab.base import ImageBatch
    from dislab.decoders import MLPDecoder
    from dislab.encoders import MLPEncoder
    from dislab.functional.streams import Stream
    from dislab.objectives import VAE
    from dislab.regularizers import KL, TotalCorrelation

    model = VAE(
        (1, 8, 8),
        100,
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(16,)),
        decoder=partial(MLPDecoder, hidden=(16,)),
        regularizers={"kl": KL, "tc": TotalCorrelation},
    )
    model.trainer = pl.Trainer(accelerator="cpu", logger=False)
    model.trainer.state.status = TrainerStatus.RUNNING
    batch = ImageBatch(torch.rand(16, 1, 8, 8), torch.zeros(16, 1).long())
    return partial(model.losses, batch, model.draw(16, Stream(0)), torch.tensor(0))


def metric(folder: Path) -> Callable[[], object]:
    """The class MIG on random codes."""
    import torch

    from dislab.factors import Factor, FactorSpace
    from dislab.metrics import MIG

    space = FactorSpace([Factor("size", (0.0, 1.0, 2.0))])
    codes, factors = torch.randn(200, 3), torch.randint(3, (200, 1))

    def compute() -> None:
        score = MIG(space)
        score.update(codes, factors)
        score.compute()

    return compute


def command(*arguments: str) -> Callable[[], object]:
    """A command of dislab."""
    from dislab.cli import main

    return partial(main, list(arguments))


def step(folder: Path) -> Callable[[], object]:
    """The training of a run."""
    config = ROOT / "configs" / "factorvae.yaml"
    return command("fit", f"--config={config}", f"--config={folder / 'small.yaml'}")


def test(folder: Path) -> Callable[[], object]:
    """The scoring of the run."""
    return command("test", f"--run={folder / 'runs/reading/version_0'}")


def score(folder: Path) -> Callable[[], object]:
    """The scoring of the run's codes."""
    return command(
        "score", str(folder / "runs/reading/version_0"), "--metrics", "MIG", "--no_chance"
    )


CALLS: Final = {call.__name__: call for call in (loss, step, test, score, metric)}


def _codes_shape(path: Path) -> tuple[int, int]:
    """Images and latents of the codes in a file."""
    import numpy as np

    with np.load(path) as codes:
        images, latents = codes["codes"].shape
    return images, latents


def count(name: str, folder: Path) -> dict[str, int]:
    """Files and changes of file of a call."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    codes = {"test": "codes.npz", "score": "representations.npz"}.get(name)
    trace = Trace()
    if codes:
        trace = CodesTrace(_codes_shape(folder / "runs/reading/version_0" / codes))
    call = CALLS[name](folder)
    register_optimizer_step_post_hook(trace.stop)
    trace.start()
    call()
    trace.stop()
    return trace.counts()


def main() -> None:
    """Prints the counts of all calls; each is made in a process of its own."""
    if sys.argv[1:]:
        name, folder = sys.argv[1:]
        print("counts:", json.dumps(count(name, Path(folder))))
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.yaml").write_text(SMALL.format(folder=folder), encoding="utf-8")
        for name in CALLS:
            run = f"{folder}/runs/reading/version_0"
            before = {"test": ["encode", run], "score": ["predict", f"--run={run}"]}.get(name)
            if before:  # writes as many codes as are scored
                arguments = ["-m", "dislab", *before]
                subprocess.run([sys.executable, *arguments], check=True, env=environment)
            process = subprocess.run(
                [sys.executable, __file__, name, folder],
                check=True,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            print(name, process.stdout.rpartition("counts: ")[2].strip())


if __name__ == "__main__":
    main()
