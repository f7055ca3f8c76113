"""Kills processes of a study at random, changes its launcher, and compares it with another study.

    python benchmarks/faults/study_kills.py --json benchmarks/results/study_kills.json
    python benchmarks/faults/study_kills.py --runs 6 --stages 2 --kills 4 --launchers processes ray

One study is left alone. Another one of the same runs is started, and whenever its workers have been
at work for some seconds (or, with --stages, have ended so many stages more) one of its processes is
killed (SIGKILL): the command, a worker, a process of a stage, or one of Ray. Whenever the command
has died it is started again; at each third of the runs it is ended by SIGINT and goes on with the
next launcher. At the end the table must equal that of the undisturbed study byte by byte, every run
must be finished, and no finished stage may have been done again.

The 200 runs took 16 minutes on two cores, both studies together.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the processes of tests

from tests.processes import Started, obey

from dislab.cli import main as dislab

BASE: Final = """
trainer:
  max_steps: 20
  log_every_n_steps: 10
  accelerator: cpu
  enable_model_summary: false
  limit_val_batches: 1
  limit_test_batches: 1
checkpoint: {every_n_train_steps: 10}
reconstructions: {count: 1}
samples: {rows: 1, columns: 1}
interpolations: {pairs: 1, steps: 2}
traversals: {images: 1, steps: 2, points: 10}
model:
  class_path: VAE
  init_args:
    latent_dim: 3
    encoder: {class_path: MLPEncoder, init_args: {hidden: [8]}}
    decoder: {class_path: MLPDecoder, init_args: {hidden: [8]}}
    regularizers: {kl: {class_path: KL}}
data:
  class_path: SingleData
  init_args: {dataset: GaussianBlob, batch_size: 8, validation: 0.05, test: 0.1}
"""
STUDY: Final = """
name: kills
base: [base.yaml]
axes:
  model.regularizers.kl.beta: [1, 4]
seeds: {seeds}
stages:
  train: {{}}
  score:
    metrics: {{mig: {{class_path: MIG}}}}
    points: 200
    sheet: false
    chance: false
    bound_points: 20
failure: {{retries: 1000, stop_after: 1000}}
"""
MARK: Final = "DISLAB_CAMPAIGN"
"""Environment variable that every process of the disturbed study inherits."""


class Campaign:
    """A study that is disturbed.

    Args:
        folder: The folder of its files.
        launchers: One after another.
        every: Seconds of work between two kills.
        stages: Stages done between two kills, which take the place of the seconds; the number of
            kills then does not depend on the speed of the machine.
        seed: Decides what is killed.
        most: How many kills there are at most.
    """

    def __init__(
        self,
        folder: Path,
        launchers: Sequence[str],
        every: float,
        stages: int | None,
        seed: int,
        most: int,
    ) -> None:
        self.most = most
        self.stages = stages
        self.folder = folder
        self.launchers = list(launchers)
        self.every = every
        self.random = random.Random(seed)
        self.mark = uuid.uuid4().hex
        self.kills: Counter[str] = Counter()
        self.last = ""
        """The last victim; without a process of its own, Ray ends, and the command with it."""
        self.changes = 0
        self.done: dict[str, tuple[int, int]] = {}
        """Inode and time of each record of a finished stage, when it was first seen."""
        self.problems: list[str] = []

    def run(self, runs: int) -> None:
        """Disturbs the study until all of it is done.

        Args:
            runs: How many it has.
        """
        process = self._start()
        share = runs / len(self.launchers)
        due = time.monotonic() + self.every
        while process.poll() != 0:
            time.sleep(0.2)
            trained = self._look()
            ends = {None, 0, -signal.SIGKILL, 130, *([1] if self.last == "ray" else [])}
            if process.poll() not in ends:
                self.problems.append(f"the command ended with {process.poll()}")
                return
            if process.poll() not in (None, 0):
                process = self._start()
            if trained >= share * (self.changes + 1) and self.changes + 1 < len(self.launchers):
                self.changes += 1
                print(f"the launcher becomes {self.launchers[self.changes]}", flush=True)
                process.send_signal(signal.SIGINT)
                process.wait()
                process = self._start()
            if not any(self.folder.glob("studies/kills/claims/*.*")):
                due = time.monotonic() + self.every  # nobody is at work as yet
            if self.kills.total() < self.most and self._is_due(due):
                self._kill(process.pid)
                due = time.monotonic() + self.every
        self._look()

    def _is_due(self, due: float) -> bool:
        """Whether the time for a kill has come, or as many stages are done."""
        if self.stages is None:
            return time.monotonic() >= due
        return len(self.done) >= self.stages * (self.kills.total() + 1)

    def _start(self) -> Started:
        launcher = self.launchers[self.changes]
        return start(self.folder, "--launcher", launcher, **{MARK: self.mark})

    def _kill(self, command: int) -> None:
        """Kills one of the study's processes."""
        commands = {command: ""}  # a fork, whose environment /proc does not show
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            with suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    commands[int(entry.name)] = words
        victim = self.random.choice(sorted(commands))
        kind = _kind(victim, commands, command)
        with suppress(OSError):
            os.kill(victim, signal.SIGKILL)
            self.kills[kind] += 1
            self.last = kind
            print(f"killed {kind}; {len(self.done)} stages are done", flush=True)

    def _look(self) -> int:
        """Notes which stages are done, and complains of one that was done again."""
        records = list(self.folder.glob("studies/kills/runs/*/stages/*/done.json"))
        for path in records:
            with suppress(OSError):
                status = path.stat()
                seen = (status.st_ino, status.st_mtime_ns)
                if self.done.setdefault(str(path), seen) != seen:
                    self.problems.append(f"{path} was done again")
                    self.done[str(path)] = seen
        return sum(path.parent.name == "train" for path in records)


def _kind(victim: int, commands: dict[int, str], command: int) -> str:
    if victim == command:
        return "command"
    if "study work" in commands[victim]:
        # a stage is a fork of its worker, and has the same command line
        with suppress(OSError, IndexError):
            parent = int(Path(f"/proc/{victim}/stat").read_text().rpartition(")")[2].split()[1])
            return "stage" if "study work" in commands.get(parent, "") else "worker"
        return "worker"
    return "ray" if "ray" in commands[victim] else "other"


def start(folder: Path, *args: str, **more: str) -> Started:
    """Starts the command, which appends its output to `command.txt`."""
    command = ["study", "run", "kills.yaml", "--workers", "2", *args]
    return Started(folder, _noted, command, environment=more)


def _noted(args: list[str]) -> int:
    out = os.open("command.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(out, descriptor)
    return obey(args)


def prepare(folder: Path, runs: int) -> None:
    """Writes the files of a study."""
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text(BASE)
    (folder / "kills.yaml").write_text(STUDY.format(seeds=runs // 2))


def table(folder: Path) -> str:
    """The table of a study, without names of versions or machines."""
    with chdir(folder), redirect_stdout(StringIO()) as out:
        if status := dislab(["study", "table", "kills.yaml", "--format", "csv"]):
            sys.exit(f"the table of {folder} ended with status {status}")
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="an even number")
    parser.add_argument("--every", type=float, default=20.0, help="seconds of work between kills")
    parser.add_argument("--stages", type=int, help="stages done between kills, in place of seconds")
    parser.add_argument("--launchers", nargs="+", default=["processes", "ray", "processes"])
    parser.add_argument("--kills", type=int, default=10_000, help="at most so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dislab-study-kills-"))
    alone, disturbed = folder / "alone", folder / "disturbed"
    prepare(alone, options.runs)
    prepare(disturbed, options.runs)
    began = time.monotonic()
    undisturbed = start(alone)
    if undisturbed.wait():
        sys.exit(f"the undisturbed study ended with status {undisturbed.returncode}: {alone}")
    quiet = time.monotonic() - began
    print(f"{options.runs} undisturbed runs took {quiet:.0f} s", flush=True)
    began = time.monotonic()
    campaign = Campaign(
        disturbed, options.launchers, options.every, options.stages, options.seed, options.kills
    )
    campaign.run(options.runs)
    noisy = time.monotonic() - began
    problems = campaign.problems
    if table(alone) != table(disturbed):
        problems.append("the tables differ")
    if (finished := table(disturbed).count(",finished,")) != options.runs:
        problems.append(f"{finished} of {options.runs} runs are finished")
    print(
        f"{options.runs} runs, {sum(campaign.kills.values())} kills {dict(campaign.kills)}, "
        f"{campaign.changes} changes of the launcher; {quiet:.0f} s undisturbed, {noisy:.0f} s "
        "disturbed"
    )
    print("\n".join(problems) or "the table equals that of the undisturbed study")
    if options.json:
        _write(options, campaign, quiet, noisy)
    if problems:
        print(f"everything is kept in {folder}")
    else:
        shutil.rmtree(folder)
    sys.exit(bool(problems))


def _write(options: argparse.Namespace, campaign: Campaign, quiet: float, noisy: float) -> None:
    from dislab.runs import versions

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from hardware import processor

    record = {
        "runs": options.runs,
        "every": options.every if options.stages is None else f"{options.stages} stages",
        "launchers": options.launchers,
        "kills": dict(campaign.kills),
        "changes_of_the_launcher": campaign.changes,
        "problems": campaign.problems,
        "seconds": {"undisturbed": round(quiet), "disturbed": round(noisy)},
        "hardware": processor(),
        "versions": versions(),
    }
    options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
