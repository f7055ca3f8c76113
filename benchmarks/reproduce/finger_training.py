"""Which models of the robot finger are trained, and how."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from finger_codes import Side

from dislab.runs import read_checkpoint

HERE = Path(__file__).parent
CONFIGS = HERE.parents[1] / "configs"


class Sweep(NamedTuple):
    """What is trained, and on what.

    Attributes:
        side: Height and width that the images are drawn at, in pixels.
        resize: Height and width that the networks see.
        states: Images of the training set, each second one a partner of the one before it.
        pairs: Pairs in a batch of weak supervision; a batch of single images has 64.
        steps: Optimiser steps a model.
        betas: Weights of the KL divergence.
        seeds: Seeds of every setting.
        encoded: Images of the training set that are encoded for scores.
        scored: Codes that disentanglement is measured on.
        labels: Labelled codes that predictors learn from.
        tested: Codes of each distribution that they are tested on.
        options: What else differs from the configurations.
    """

    side: Side
    resize: int
    states: int
    pairs: int
    steps: int
    betas: tuple[float, ...]
    seeds: int
    encoded: int
    scored: int
    labels: int
    tested: int
    options: tuple[str, ...] = ()


LAPTOP = Sweep(
    side=64,
    resize=32,
    states=80_000,
    pairs=32,  # as many images a step as without supervision
    steps=4000,
    betas=(0.0625, 0.25),  # 1 and 4, as 32×32 images have a sixteenth of the paper's pixels
    seeds=1,
    encoded=40_000,
    scored=9000,
    labels=5000,
    tested=3000,
    options=(
        "--model.encoder=small_networks.SmallEncoder",
        "--model.decoder=small_networks.SmallDecoder",
        "--model.regularizers.kl.warmup_steps=500",
        "--model.optimizer.init_args.lr=1e-3",
        "--model.scheduler.init_args.milestones=[3000,3500]",
        "--trainer.accelerator=cpu",
    ),
)

FULL = Sweep(
    side=128,
    resize=128,
    states=1_000_000,
    pairs=64,
    steps=400_000,
    betas=(1, 2, 4),
    seeds=2,
    encoded=100_000,
    scored=15_000,
    labels=10_000,
    tested=5000,
    options=("--trainer.accelerator=gpu", "--checkpoint.every_n_train_steps=10000"),
)


class Cell(NamedTuple):
    """One model.

    Attributes:
        weak: Whether it learns from pairs that differ in one factor.
        beta: Weight of the KL divergence.
        noise: Whether the encoder sees noise in training.
        seed: Of weights, batches and draws.
    """

    weak: bool
    beta: float
    noise: bool
    seed: int

    @property
    def name(self) -> str:
        """What its files are called."""
        kind = "weak" if self.weak else "alone"
        return f"{kind}_b{self.beta:g}_{'noise' if self.noise else 'clean'}_s{self.seed}"


def cells(sweep: Sweep) -> list[Cell]:
    """All models; both noises of one setting follow each other."""
    return [
        Cell(weak, beta, noise, seed)
        for seed in range(sweep.seeds)
        for beta in sweep.betas
        for weak in (True, False)
        for noise in (False, True)
    ]


def train(cell: Cell, sweep: Sweep, runs: Path) -> Path:
    """The folder of a model's run, which is trained as far as it is not."""
    run = runs / cell.name / "version_0"
    last = run / "checkpoints" / "last.ckpt"
    done = int(read_checkpoint(last)["global_step"]) if last.is_file() else 0
    if done >= sweep.steps:
        return run
    if not done:  # stopped before its first checkpoint
        shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable, "-m", "dislab", "fit"]
    command += [f"--resume={run}"] if done else options(cell, sweep, runs)
    paths = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = subprocess.run(
        command,
        env={"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": paths},
        check=False,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if finished.returncode:
        raise SystemExit(f"{' '.join(command)}\n{finished.stdout}\n{finished.stderr}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{cell.name}: {sweep.steps - done} steps, {seconds:.0f} s of processor time", flush=True)
    with (run / "seconds.txt").open("a", encoding="utf-8") as file:  # one line a piece of training
        file.write(f"{sweep.steps - done} {seconds:.1f}\n")
    return run


def options(cell: Cell, sweep: Sweep, runs: Path) -> list[str]:
    """The command line of a model that starts afresh."""
    config = "dittadi_weak" if cell.weak else "dittadi_unsupervised"
    return [
        f"--config={CONFIGS / config}.yaml",
        f"--runs={runs}",
        f"--name={cell.name}",
        f"--seed_everything={cell.seed}",
        f"--data.dataset.init_args.side={sweep.side}",
        f"--data.dataset.init_args.states={sweep.states}",
        "--data.dataset.init_args.partners=1",
        f"--data.resize={sweep.resize}",
        f"--data.batch_size={sweep.pairs if cell.weak else 64}",
        f"--model.input_noise={'[0.03,0.15]' if cell.noise else '[0.0,0.0]'}",
        f"--model.regularizers.kl.beta={cell.beta}",
        f"--trainer.max_steps={sweep.steps}",
        f"--trainer.val_check_interval={sweep.steps}",
        "--trainer.check_val_every_n_epoch=null",
        "--trainer.precision=bf16-mixed",
        "--evaluate.metrics={}",
        *sweep.options,
    ]
