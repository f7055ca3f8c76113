"""Every built-in objective compiles to one graph."""

import subprocess
import sys

import pytest

COMPILED = """
import tempfile
from functools import partial
import lightning.pytorch as pl
import torch
from dislab.base import ClampedBatch, CompositionBatch, ImageBatch, PairBatch, SymbolBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import *
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation
from dislab.testing import check_compiles

batch = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
for other in (CapacityKL, partial(DIP, kind="II"), DecomposedKL, TotalCorrelation):
    regularizers = {"kl": partial(KL, warmup_steps=10), "other": other}
    check_compiles(partial(VAE, (1, 8, 8), 100, 3, *parts, regularizers), batch)
for game in (InfoGAN, InfoWGANGP):
    check_compiles(partial(game, (1, 8, 8), *reversed(parts)), batch)
factors = ("x", "y"), (3, 5)
positions = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
check_compiles(partial(BottleneckGenerator, (1, 8, 8), *factors, parts[1]), positions)
check_compiles(
    partial(GroundTruthDecoder, (1, 8, 8), *factors, parts[1], one_hot=("y",)), positions
)
image, action = torch.rand(6, 1, 8, 8), torch.zeros(6, dtype=torch.int64)
triplets = CompositionBatch(image, image.flip(0), image, positions.factors, action)
for mixing in ("linear", "interpolation", "mlp"):
    names = ("x", "y")
    check_compiles(partial(CompositionVAE, (1, 8, 8), names, 3, *parts, mixing=mixing), triplets)
regularizers = {"kl": KL, "tc": TotalCorrelation}
noise = {"likelihood": "discretized", "input_noise": (0.1, 0.1)}
pair = PairBatch(batch.image, batch.image.flip(0), batch.factors, batch.factors, batch.factors > 0)
for method in (AdaGVAE, AdaMLVAE):
    for labels in ("none", "known"):
        build = partial(method, (1, 8, 8), 100, 3, *parts, regularizers, labels=labels, **noise)
        check_compiles(build, pair)
groups = ("a", "b")
clamped = ClampedBatch(batch.image, batch.factors, torch.ones(6, dtype=torch.int64))
latents = {"b": 1, "a": 2}
check_compiles(partial(DCIGN, (1, 8, 8), 100, groups, latents, *parts, regularizers), clamped)
images = ImageBatch(image, positions.factors)
check_compiles(partial(DenoisingAutoencoder, (1, 8, 8), *parts), images)
run = pl.Trainer(logger=False, enable_progress_bar=False, accelerator="cpu")
with tempfile.TemporaryDirectory() as folder:
    def save(model, name):
        run.strategy.connect(model)
        run.save_checkpoint(f"{folder}/{name}.ckpt")
        return f"{folder}/{name}.ckpt"

    vision = save(VAE((1, 8, 8), 100, 3, *parts, {"kl": KL}), "vision")
    check_compiles(partial(BetaVAEDAE, (1, 8, 8), 3, *parts, vision), images)
    names = ("x=low", "x=high", "y=low")
    symbols = SymbolBatch(image, (torch.rand(6, 3) < 0.5).float(), positions.factors)
    for joint in (JMVAE, TELBO, partial(TELBO, experts=False, joint_decoders=False)):
        check_compiles(partial(joint, (1, 8, 8), names, 3, *parts), symbols)
    check_compiles(partial(SCAN, (1, 8, 8), names, vision), symbols)
    scan = save(SCAN((1, 8, 8), names, vision), "scan")
    check_compiles(partial(Recombinator, (1, 8, 8), names, scan), symbols)
print("compiled")
"""


@pytest.mark.slow
def test_objectives_compile_to_one_graph() -> None:
    """In a process of its own, for the compiler cannot look into type-checked functions."""
    command = [sys.executable, "-W", "ignore", "-c", COMPILED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "compiled\n"
