"""Small studies: with made-up processes in milliseconds, and real ones in seconds."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.processes import Started, obey

from dislab.study.resolving import Resolved, make_schedule
from dislab.study.results import Done, StudyFolder
from dislab.study.schedule import Schedule
from dislab.study.study_file import read_study_file
from dislab.study.worker import Outcome, Report, Task

TINY = """
trainer: {max_steps: 20, log_every_n_steps: 10, accelerator: cpu, enable_model_summary: false}
checkpoint: {every_n_train_steps: 5}
pictures: false
traversals: {images: 1, steps: 3, points: 50}
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
"""A model that is trained in a second."""

SCORE = "{metrics: {mig: {class_path: MIG}}, points: 200, sheet: false, bound_points: 50}"


def made_up(args: Sequence[str]) -> Resolved:
    """A parser's result for options that are settings of training or of a section."""
    training: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {"evaluate": {}, "transfer": {}, "generalisation": {}}
    for arg in args:
        name, _, value = arg.removeprefix("--").partition("=")
        section, _, setting = name.partition(".")
        sections.get(section, training)[setting or section] = value
    config = {"data": {"init_args": {}}, **training, **sections}
    return Resolved(config, training, sections)


def planned(folder: Path, text: str, name: str = "mine") -> Schedule:
    """The plan of a study file, read without dislab's parser."""
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return make_schedule(read_study_file(path), lambda: made_up, {"dislab": "1"})


def scored(
    folder: StudyFolder, plan: Schedule, scores: Mapping[str, Sequence[float | None]]
) -> None:
    """Writes the plan, and records of runs with a score; a run without any is left waiting.

    Args:
        folder: The folder of the study.
        plan: Its plan.
        scores: Primary scores by name, in the order of the runs.
    """
    plan.write(folder.path)
    meaning = {"higher_is_better": True, "bounds": [0.0, 1.0]}
    metrics = {name: {"primary": name, **meaning} for name in scores}
    for number, run in enumerate(plan.runs):
        found = {name: values[number] for name, values in scores.items()}
        if all(value is None for value in found.values()):
            continue
        for stage, values in {"train": {}, "score": found}.items():
            digest = run.group.stages[stage].digest
            folder.write_done(run, stage, Done(digest, "done", values, 90.0, {"torch": "2"}))
        record = {"test": {"scores": found, "metrics": metrics}}
        (folder.run(run.id) / "scores.json").write_text(json.dumps(record))


class Units:
    """Starts made-up processes that end at once, as a script says.

    Args:
        outcomes: By stage, how its processes end, one after another; the last one stays.
        during: Is called while a process is at work.
    """

    def __init__(
        self,
        outcomes: Mapping[str, Sequence[Outcome]] | None = None,
        during: Callable[[], object] = lambda: None,
    ) -> None:
        self.outcomes = {name: list(one) for name, one in (outcomes or {}).items()}
        self.during = during
        self.started: list[tuple[str, str]] = []
        """Run and stage of each process."""
        self.killed = 0
        self.interrupted = 0

    def __call__(self, task: Task) -> "Units":
        self._outcome = self._end(task.run, task.log.parent.name)
        return self

    def _end(self, run: Path, stage: str) -> Outcome:
        """Does a task as the script says."""
        self.started.append((run.name, stage))
        script = self.outcomes.get(stage) or ["done"]
        outcome = script.pop(0) if len(script) > 1 else script[0]
        if stage == "train" and outcome != "input":
            (run / "checkpoints").mkdir(exist_ok=True)
            (run / "checkpoints" / "last.ckpt").write_text("")
        elif outcome == "done":
            record = {"scores": {"mig": len(self.started) / 100, "odd": None}}
            (run / "scores.json").write_text(json.dumps({"test": record}))
        return outcome

    def wait(self, seconds: float) -> bool:
        if self.interrupted or self.killed:
            return True
        waiting, self.during = self.during, lambda: None
        return waiting() is not False

    def interrupt(self) -> None:
        self.interrupted += 1

    def kill(self) -> None:
        self.killed += 1

    def report(self) -> Report:
        return Report(self._outcome, f"it was {self._outcome}", "Traceback", {"dislab": "1"})


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    path = tmp_path / "studies" / "mine"
    path.mkdir(parents=True)
    (tmp_path / "base.yaml").write_text("model: {class_path: VAE}\n")
    return StudyFolder(path)


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts `dislab` in a process of its own, which ends with the test."""
    (tmp_path / "base.yaml").write_text(TINY)
    started: list[Started] = []

    def start(*args: str, before: Callable[[], object] | None = None) -> Started:
        started.append(Started(tmp_path, after, before, list(args), apart=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()


def after(before: Callable[[], object] | None, args: list[str]) -> int:
    """The command, in a process that something may be done to before."""
    if before is not None:
        before()
    return obey(args)
