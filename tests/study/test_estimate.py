"""Estimates of a plan: steps of its runs, and hours at a measured rate."""

from pathlib import Path
from typing import Any

import pytest

from dislab.study.resolving import Resolved, make_schedule
from dislab.study.schedule import Schedule
from dislab.study.status import estimate, training_steps
from dislab.study.study_file import read_study_file


def configured(trainer: dict[str, Any], data: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"trainer": trainer, "data": {"init_args": data or {}}}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (configured({"max_steps": 300}), 300),
        (configured({"max_steps": 300, "max_epochs": None}), 300),
        (configured({"max_steps": 0}), 0),
        (configured({"max_steps": -1, "max_epochs": 100}), None),  # an epoch of unknown length
        (configured({"max_steps": -1, "max_epochs": 3}, {"steps_per_epoch": 50}), 150),
        (configured({"max_steps": 120, "max_epochs": 3}, {"steps_per_epoch": 50}), 120),
        (configured({"max_steps": 300, "max_epochs": 3}, {"steps_per_epoch": 50}), 150),
        (configured({"max_steps": 300, "max_epochs": -1}, {"steps_per_epoch": 50}), 300),
        # three batches a step: 17 steps an epoch, the last one of two batches
        (
            configured(
                {"max_steps": -1, "max_epochs": 2, "accumulate_grad_batches": 3},
                {"steps_per_epoch": 50},
            ),
            34,
        ),
        ({}, None),
    ],
)
def test_steps_of_a_run(config: dict[str, Any], expected: int | None) -> None:
    assert training_steps(config) == expected


def steps_plan(folder: Path, steps: tuple[int, ...], more: str = "") -> Schedule:
    """Two seeds of each number of steps."""
    (folder / "base.yaml").write_text("model: {class_path: VAE}\n")
    path = folder / "mine.yaml"
    path.write_text(f"base: [base.yaml]\naxes: {{model.a: {list(steps)}}}\nseeds: 2\n{more}")

    def resolved(args: Any) -> Resolved:
        given = next(one for one in args if one.startswith("--model.a="))
        count = int(given.partition("=")[2])
        trainer = {"max_steps": count, "max_epochs": 7 if count < 0 else None}
        return Resolved(
            {"data": {}, "trainer": trainer, "evaluate": {}}, {"a": count}, {"evaluate": {}}
        )

    return make_schedule(read_study_file(path), lambda: resolved, {"dislab": "1"})


@pytest.mark.parametrize(
    ("steps", "more", "rate", "expected"),
    [
        ((300_000,), "", None, ["training: 600,000 steps, 300,000 a run"]),
        ((1000, 2000), "", None, ["training: 6,000 steps, 1,000 to 2,000 a run"]),
        (
            (300_000, 600_000),
            "",
            250.0,
            [
                "training: 1,800,000 steps, 300,000 to 600,000 a run",
                # 1,800,000 / 250 / 3600
                "at 250 steps a second: 2.0 hours of one worker; without score",
            ],
        ),
        (
            (360_000,),
            "resources: {gpus: 0.5}",
            100.0,
            [
                "training: 720,000 steps, 360,000 a run",
                # 7200 s of one worker, and two workers share a card
                "at 100 steps a second: 2.0 hours of one worker, 1.0 hours of one GPU; without "
                "score",
            ],
        ),
        (
            (1000, -1),
            "",
            10.0,
            [
                "training: 2,000 steps, 1,000 a run; 2 more runs count epochs, whose steps depend "
                "on the data",
                "at 10 steps a second: 0.1 hours of one worker; without score",
            ],
        ),
        (
            (36_000,),
            "stages: {train: {}}",
            10.0,
            [
                "training: 72,000 steps, 36,000 a run",
                "at 10 steps a second: 2.0 hours of one worker",
            ],
        ),
        ((-1,), "", 10.0, ["training: all runs count epochs, whose steps depend on the data"]),
    ],
)
def test_lines(
    tmp_path: Path, steps: tuple[int, ...], more: str, rate: float | None, expected: list[str]
) -> None:
    assert list(estimate(steps_plan(tmp_path, steps, more), rate)) == expected
