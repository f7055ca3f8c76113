"""Kills runs at random and at aimed moments, lets them go on, compares them with undisturbed ones.

    python benchmarks/faults/kills.py        # at least 100 kills, about an hour on 2 cores
    python benchmarks/faults/kills.py --methods factorvae --moments random checkpoint

Of each method one run is left alone. Every other one is killed, resumed, killed again, … and at
last left to its end. Then weights, optimiser, counters, scores, `config.yaml`, every row of
`metrics.csv` and every picture must equal those of the undisturbed run to the byte, and no other
file may lie in the run folder or in TMPDIR. Runs of two processes are compared with an undisturbed
run of two.

The moments:

* `random`: a time, drawn
* `checkpoint`: before the file is opened, and before it is renamed
* `metrics`: at a row, and at a new column
* `pictures`: before a picture is opened or renamed
* `scoring`: after the codes are scored, before `scores.json` is written or renamed
* `data`: while images are rendered into the cache
* `other-disk`: a checkpoint, with TMPDIR on another file system
* `full-disk`: no kill; the disk is full and gets room again
* `two`: two processes, of which the first or the second one is killed
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import armed
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the processes of tests

from tests.processes import Started

COMMON = """
seed_everything: 5
trainer:
  max_steps: 60
  log_every_n_steps: 3
  val_check_interval: 20
  check_val_every_n_epoch: null
  accelerator: cpu
  enable_model_summary: false
checkpoint: {every_n_train_steps: 7}
evaluate: {metrics: {mig: {class_path: MIG}}, points: 200, sheet: false, untrained: 1}
traversals: {images: 1, steps: 3, points: 50}
"""

NETS = (
    "encoder: {class_path: MLPEncoder, init_args: {hidden: [8]}}, "
    "decoder: {class_path: MLPDecoder, init_args: {hidden: [8]}}"
)
VAE = f"latent_dim: 3, {NETS}"
GAME = (
    "noise_dim: 2, categorical: [3], continuous: 2, critic_steps: 3, "
    "generator: {class_path: MLPDecoder, init_args: {hidden: [8]}}, "
    "critic: {class_path: MLPEncoder, init_args: {hidden: [8]}}"
)
TC = (
    "regularizers: {kl: {class_path: KL}, "
    "tc: {class_path: TotalCorrelation, init_args: {width: 8, depth: 1}}}"
)
METHODS = {
    "factorvae": ("VAE", f"{VAE}, {TC}", "SingleData", ""),
    "betatcvae": (
        "VAE",
        f"{VAE}, regularizers: {{kl: {{class_path: DecomposedKL}}}}",
        "SingleData",
        "",
    ),
    "annealedvae": (
        "VAE",
        f"{VAE}, regularizers: {{kl: {{class_path: CapacityKL, init_args: {{steps: 30}}}}}}",
        "SingleData",
        "",
    ),
    "adagvae": ("AdaGVAE", f"{VAE}, regularizers: {{kl: {{class_path: KL}}}}", "PairedData", ""),
    "infowgangp": ("InfoWGANGP", GAME, "SingleData", ""),
    "dcign": (
        "DCIGN",
        f"latents: {{place: 2, rest: 1}}, {NETS}, regularizers: {{kl: {{class_path: KL}}}}",
        "ClampedData",
        "groups: {place: [posX], rest: [posY]},",
    ),
}

MOMENTS: dict[str, list[tuple[str, int]]] = {
    "checkpoint": [("open */.last.ckpt.*.tmp", 8), ("os.rename */last.ckpt", 8)],
    "metrics": [("open */metrics.csv", 15), ("os.rename */metrics.csv", 2)],
    "pictures": [("open */images/.*.tmp", 9), ("os.rename */images/*.png", 9)],
    "scoring": [("open */.scores.json.*.tmp", 1), ("os.rename */scores.json", 1)],
    "data": [("open */cache/*", 2), ("os.rename */cache/*", 1)],
    "other-disk": [("open */.last.ckpt.*.tmp", 8), ("os.rename */last.ckpt", 8)],
    "two": [("os.rename */last.ckpt", 8), ("open */metrics.csv", 15)],
}
"""Aimed moments: an audit event with the paths that it is of, and how often it happens in a run."""

PLAIN = ("random", "full-disk")
BLOB = "{class_path: GaussianBlob}"
DATASETS = {"data": "{class_path: RobotFinger, init_args: {states: 300, side: 64}}"}
"""Data that are rendered into the cache, for the moments that are of that."""


@dataclass
class Tally:
    """Counts of the events in a campaign."""

    runs: int = 0
    kills: int = 0
    before_the_first_save: int = 0
    differences: list[str] = field(default_factory=list)


def config(method: str, dataset: str) -> str:
    """A small configuration of a method."""
    model, arguments, data, extra = METHODS[method]
    return (
        f"{COMMON}model: {{class_path: {model}, init_args: {{{arguments}}}}}\n"
        f"data: {{class_path: {data}, init_args: {{{extra} dataset: {dataset}, "
        "batch_size: 8, validation: 0.05, test: 0.1}}\n"
    )


class Campaign:
    """Runs of one folder.

    Args:
        folder: Where everything is written.
        seed: Decides the moments.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.whole: dict[tuple[str, int, str], dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        # imports before the first run is timed, by a command that does nothing
        Started(folder, armed.obey, "", ["--version"]).wait()

    def start(self, folder: Path, processes: int, fault: str, *args: str, **more: str) -> Started:
        """Starts the command; Lightning starts the second of two processes."""
        command = ["fit", *args, f"--trainer.devices={processes}"]
        if processes > 1:
            command.append("--trainer.strategy=ddp")
        environment = {"DISLAB_CACHE": str(folder / "cache"), **more}
        return Started(folder, armed.obey, fault, command, environment=environment)

    def undisturbed(self, method: str, processes: int, dataset: str) -> dict[str, Any]:
        """The outcome of a run without interruption."""
        key = (method, processes, dataset)
        if key not in self.whole:
            folder = self.new_folder(method, f"whole_{len(self.whole)}", dataset)
            began = time.monotonic()
            status, output = ended(self.start(folder, processes, "", "--config=run.yaml"))
            assert status == 0, output
            self.seconds[method] = time.monotonic() - began
            self.whole[key] = outcome(folder / "runs/run/version_0")
        return self.whole[key]

    def new_folder(self, method: str, name: str, dataset: str) -> Path:
        """A folder with a configuration, in which commands are started."""
        folder = self.folder / method / name
        folder.mkdir(parents=True)
        (folder / "run.yaml").write_text(config(method, dataset))
        return folder

    def disturbed(
        self, method: str, moment: str, round_index: int, tally: Tally, kills: int
    ) -> None:
        """Kills a run several times, lets it end, and compares it."""
        processes = 2 if moment == "two" else 1
        dataset = DATASETS.get(moment, BLOB)
        expected = self.undisturbed(method, processes, dataset)
        folder = self.new_folder(method, f"{moment}_{round_index}", dataset)
        elsewhere = Path(tempfile.mkdtemp(dir="/dev/shm" if moment == "other-disk" else None))
        more = {"TMPDIR": str(elsewhere)}
        tally.runs += 1
        for kill in range(kills + 1):
            run = newest(folder)
            saved = run is not None and (run / "checkpoints/last.ckpt").exists()
            if run is not None and not saved:
                tally.before_the_first_save += 1
            args = (
                [f"--resume={run.relative_to(folder)}"] if run and saved else ["--config=run.yaml"]
            )
            last = kill == kills
            fault = "" if last else self.fault(method, moment, kill)
            status, output = ended(self.start(folder, processes, fault, *args, **more))
            if status == -signal.SIGKILL or (processes > 1 and status):
                tally.kills += 1
            elif status:
                tally.differences.append(f"{method} {moment} {round_index}: {output[-600:]}")
                break
            else:  # the run has ended before the moment came
                break
        run = newest(folder)
        assert run is not None
        result = outcome(run)
        result["left in TMPDIR"] = sorted(path.name for path in elsewhere.rglob("*.ckpt"))
        shutil.rmtree(elsewhere)
        for name in differences({**expected, "left in TMPDIR": []}, result):
            tally.differences.append(f"{method} {moment} {round_index}: {name} differs")
        if not tally.differences:
            shutil.rmtree(folder)

    def full_disk(self, method: str, round_index: int, tally: Tally) -> None:
        """Fills the disk of a run, makes room, and compares."""
        expected = self.undisturbed(method, 1, BLOB)
        folder = self.new_folder(method, f"full-disk_{round_index}", BLOB)
        with small_disk(folder / "runs") as room:
            if not room:
                return
            tally.runs += 1
            filling = self.start(folder, 1, "", "--config=run.yaml")
            fill = folder / "runs/fill"
            run = folder / "runs/run/version_0"
            while filling.poll() is None and not (run / "checkpoints/last.ckpt").exists():
                time.sleep(0.02)
            with suppress(OSError), fill.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            status, output = ended(filling)
            if status == 2 and "Traceback" not in output:
                tally.kills += 1
            elif status:
                tally.differences.append(f"{method} full-disk {round_index}: {output[-600:]}")
            fill.unlink()
            status, output = ended(self.start(folder, 1, "", "--resume=runs/run/version_0"))
            if status:
                tally.differences.append(f"{method} full-disk {round_index}: {output[-600:]}")
                return
            for name in differences(expected, outcome(run)):
                tally.differences.append(f"{method} full-disk {round_index}: {name} differs")

    def fault(self, method: str, moment: str, kill: int) -> str:
        """A moment of a kind, drawn; later ones come earlier, as less of the run is left."""
        rank = self.random.choice("01") if moment == "two" else "0"
        if moment == "random" or rank == "1":  # the second process opens no file of the run
            share = self.random.uniform(0.2, 0.7) / (1 + int(rank))  # which starts later, too
            return f"time {share * self.seconds[method]} 1 {rank}"
        event, often = self.random.choice(MOMENTS[moment])
        return f"{event} {self.random.randint(1, max(1, often // (2 + kill)))} {rank}"


def ended(process: Started) -> tuple[int, str]:
    """Waits; the exit status, and what was printed."""
    output = process.communicate(timeout=600)[0]
    return process.wait(), output


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of 12 MB in the place of a folder, where this system lets us mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def newest(folder: Path) -> Path | None:
    """The run folder of the highest version."""
    runs = list(folder.glob("runs/run/version_*"))
    return max(runs, key=lambda run: int(run.name.partition("_")[2])) if runs else None


def outcome(run: Path) -> dict[str, Any]:
    """The results of a run that have to be equal after an interruption."""
    stored = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    record = json.loads((run / "scores.json").read_text())["test"]
    paths = [path for path in sorted(run.rglob("*")) if path.is_file()]
    names = [str(path.relative_to(run)) for path in paths if "tfevents" not in path.name]
    pictures = {path.name: path.read_bytes() for path in sorted((run / "images").iterdir())}
    return {
        "weights": stored["state_dict"],
        "optimiser": [optimizer["state"] for optimizer in stored["optimizer_states"]],
        "counters": (stored["global_step"], stored["epoch"]),
        "scores": {name: record[name] for name in ("scores", "losses", "untrained", "parts")},
        "rows of metrics.csv": (run / "metrics.csv").read_text(),
        "config.yaml": (run / "config.yaml").read_text(),
        "pictures": pictures,
        "files": names,
    }


def differences(value: Any, expected: Any, path: str = "") -> list[str]:
    """Places in which two outcomes differ."""
    if isinstance(value, dict) and isinstance(expected, dict):
        missing = [f"{path}/{key}" for key in value.keys() ^ expected.keys()]
        common = sorted(value.keys() & expected.keys(), key=str)
        return missing + [
            text
            for key in common
            for text in differences(value[key], expected[key], f"{path}/{key}")
        ]
    if isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        pairs = enumerate(zip(value, expected, strict=True))
        return [text for key, (a, b) in pairs for text in differences(a, b, f"{path}/{key}")]
    if isinstance(value, torch.Tensor):
        return [] if torch.equal(value, expected) else [path]
    return [] if value == expected else [path]


def main() -> None:
    """Runs the campaign and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--moments", nargs="+", choices=[*PLAIN, *MOMENTS], default=[*PLAIN, *MOMENTS]
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="disturbed runs of each method and moment"
    )
    parser.add_argument("--kills", type=int, default=3, help="kills of each disturbed run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dislab-kills-"))
    campaign = Campaign(folder, options.seed)
    tallies = {moment: Tally() for moment in options.moments}
    for method in options.methods:
        for moment, tally in tallies.items():
            for round_index in range(options.rounds):
                if moment in DATASETS and METHODS[method][2] != "SingleData":
                    continue  # pairs and groups are of the factors of the other data
                if moment == "full-disk":
                    campaign.full_disk(method, round_index, tally)
                else:
                    campaign.disturbed(method, moment, round_index, tally, options.kills)
                print(
                    f"{method} {moment}: {tally.kills} kills, {len(tally.differences)} differences",
                    flush=True,
                )
    differences_of_all = [text for tally in tallies.values() for text in tally.differences]
    print(f"\n{'moment':<12} runs  kills  before the first save  differences")
    for moment, tally in tallies.items():
        early, wrong = tally.before_the_first_save, len(tally.differences)
        print(f"{moment:<12} {tally.runs:4}  {tally.kills:5}  {early:21}  {wrong:11}")
    print("\n".join(differences_of_all) or "every run equals an undisturbed one")
    if options.json:
        from dislab.runs import versions

        record = {
            "methods": options.methods,
            "moments": {
                moment: Counter(
                    runs=tally.runs,
                    kills=tally.kills,
                    before_the_first_save=tally.before_the_first_save,
                    differences=len(tally.differences),
                )
                for moment, tally in tallies.items()
            },
            "versions": versions(),
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    if not differences_of_all:
        shutil.rmtree(folder)
    sys.exit(bool(differences_of_all))


if __name__ == "__main__":
    main()
