"""Workers, with made-up processes: what is done, done again, given up, and left to others."""

import dataclasses
import errno
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.study.conftest import Units, planned

from dislab.errors import InputError, TrainingError
from dislab.storage import atomic
from dislab.study import results, worker
from dislab.study.claims import Claims
from dislab.study.results import StudyFolder
from dislab.study.schedule import Schedule, read_schedule
from dislab.study.study import Study
from dislab.study.worker import Settings, Worker
from dislab.yaml_files import PLAN, read_mapping

TWO = "base: [base.yaml]\naxes: {model.b: [1, 2]}\nfailure: {retries: 2, stop_after: 2}\n"
ONE = "base: [base.yaml]\nfailure: {retries: 2, stop_after: 2}\n"


@pytest.fixture(autouse=True)
def _without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_PATIENCE", 0.01)
    monkeypatch.setattr(worker, "_SETTLING", 0.01)


@pytest.fixture
def work(folder: StudyFolder) -> Callable[..., None]:
    def working(plan: Schedule, units: Units, **settings: object) -> None:
        Worker(folder, plan, units, Settings(**settings)).work()  # type: ignore[arg-type]

    return working


def states(folder: StudyFolder, plan: Schedule) -> list[str]:
    return [one.state for one in Study.of(folder.path, plan).status().runs]


def test_every_stage_of_every_run_is_done_once(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan, units = planned(tmp_path, TWO), Units()
    work(plan, units)
    one, two = (run.id for run in plan.runs)
    assert units.started == [(one, "train"), (one, "score"), (two, "train"), (two, "score")]
    assert states(folder, plan) == ["finished", "finished"]
    work(plan, units)
    assert len(units.started) == 4
    assert not any(path for path in folder.claims.iterdir())


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("outcomes", "attempts", "state"),
    [
        (["crash", "done"], 2, "finished"),
        (["crash", "memory", "done"], 3, "finished"),
        (["crash"], 3, "failed"),
        (["memory"], 3, "failed"),
        (["exception"], 1, "failed"),
        (["crash", "exception"], 2, "failed"),
        (["input"], 1, "failed"),
        (["interrupted", "interrupted", "interrupted", "interrupted", "done"], 5, "finished"),
    ],
)
def test_what_is_tried_again(
    work: Callable[..., None],
    folder: StudyFolder,
    tmp_path: Path,
    outcomes: list[str],
    attempts: int,
    state: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan, units = planned(tmp_path, ONE), Units({"train": outcomes})  # type: ignore[dict-item]
    work(plan, units)
    assert [stage for _, stage in units.started].count("train") == attempts
    told = capsys.readouterr().out
    retried = attempts - 1 if "interrupted" not in outcomes else 0
    assert told.count("tried again") == retried
    if outcomes == ["memory"]:
        first = f"{plan.runs[0].id}: seed 0: train failed (out of memory), attempt 1 of 3; tried"
        assert told.startswith(first)
    assert states(folder, plan) == [state]
    again = Units()
    work(plan, again)
    assert bool(again.started) is False
    if state == "failed":
        failed = folder.failed(plan.runs[0], "train")
        assert failed is not None
        assert failed.message == f"it was {outcomes[-1]}"
        assert failed.traceback == "Traceback"
        assert folder.forget_failures(plan) == 1
        work(plan, again)
        assert states(folder, plan) == ["finished"]


def test_a_failed_score_leaves_other_stages_alone(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    text = ONE + "stages: {train: {}, score: {}, transfer: {scenarios: [finger_ood1_a]}}\n"
    plan, units = planned(tmp_path, text), Units({"score": ["exception"]})
    work(plan, units)
    assert [stage for _, stage in units.started] == ["train", "score", "transfer"]
    assert states(folder, plan) == ["failed"]


def test_the_same_failure_of_the_first_runs_stops_the_study(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, TWO.replace("[1, 2]", "[1, 2, 3, 4]"))
    units = Units({"train": ["exception"]})
    with pytest.raises(
        TrainingError, match=r"train of 2 runs has failed alike.* it was exception; .*/log.txt"
    ):
        work(plan, units)
    assert len(units.started) == 2
    assert not any(path for path in folder.claims.iterdir())


def test_failures_after_a_success_stop_nothing(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, TWO.replace("[1, 2]", "[1, 2, 3, 4]"))
    work(plan, Units({"train": ["done", "exception"]}))
    assert states(folder, plan) == ["finished", "failed", "failed", "failed"]


def test_divergence_is_a_result(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan, units = planned(tmp_path, TWO), Units({"train": ["diverged", "done"]})
    work(plan, units)
    table = Study.of(folder.path, plan).table()
    assert list(table["state"]) == ["diverged", "finished"]
    assert table["score.mig"].isna().tolist() == [True, False]
    assert [stage for _, stage in units.started] == ["train", "train", "score"]


def test_other_score_settings_repeat_that_stage_alone(
    work: Callable[..., None], tmp_path: Path
) -> None:
    work(planned(tmp_path, ONE), Units())
    units = Units()
    work(planned(tmp_path, ONE + "stages: {score: {points: 5}}"), units)
    assert [stage for _, stage in units.started] == ["score"]


def test_the_same_point_of_two_studies_is_one_run(
    work: Callable[..., None], tmp_path: Path
) -> None:
    work(planned(tmp_path, TWO), Units())
    other, units = planned(tmp_path, TWO.replace("[1, 2]", "[2, 3]"), "other"), Units()
    work(other, units)
    assert units.started == [(other.runs[1].id, "train"), (other.runs[1].id, "score")]


def test_a_run_of_another_worker_is_left_to_it(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan, units = planned(tmp_path, TWO), Units()
    held = Claims(folder.claims).take(plan.runs[0].id)
    assert held is not None
    work(plan, units, leave=True)
    assert {run for run, _ in units.started} == {plan.runs[1].id}
    assert states(folder, plan) == ["running", "finished"]
    held.release()
    work(plan, units, leave=True)
    assert states(folder, plan) == ["finished", "finished"]


def test_a_worker_waits_for_runs_of_others(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, units = planned(tmp_path, ONE), Units()
    held = Claims(folder.claims).take(plan.runs[0].id)
    assert held is not None
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: held.release())
    monkeypatch.setattr(worker, "time", clock)  # other threads of this process keep theirs
    work(plan, units)
    assert len(units.started) == 2


def test_a_waiting_worker_says_so_at_first_and_every_minute(
    work: Callable[..., None],
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = planned(tmp_path, TWO)
    held = [Claims(folder.claims).take(run.id) for run in plan.runs]
    seconds = 0.0

    def sleep(_: float) -> None:
        nonlocal seconds
        seconds += 25.0
        for claim in held:
            assert claim is not None
            claim.beat()
            if seconds == 125.0:
                claim.release()

    clock = SimpleNamespace(monotonic=lambda: seconds, sleep=sleep)
    monkeypatch.setattr(worker, "time", clock)  # other threads of this process keep theirs
    work(plan, Units())
    assert capsys.readouterr().out.splitlines() == [
        "waiting for 2 runs of other workers",
        "waiting for 2 runs of other workers, for 75 s",
    ]


def test_a_run_that_another_process_trains_is_tried_later(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan, units = planned(tmp_path, TWO), Units({"train": ["busy", "done"]})
    work(plan, units)
    one, two = (run.id for run in plan.runs)
    assert [run for run, stage in units.started if stage == "train"] == [one, two, one]
    assert states(folder, plan) == ["finished", "finished"]


def test_a_run_that_was_taken_over_is_left(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)

    def take_over() -> bool:
        (folder.claims / f"{plan.runs[0].id}.1").write_text("{}")
        return False

    units = Units(during=take_over)
    work(plan, units, leave=True)
    assert units.killed == 1
    assert folder.done(plan.runs[0], "train") is None


def test_an_interrupt_saves_and_gives_the_run_back(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)

    def interrupt() -> None:
        raise KeyboardInterrupt

    units = Units(during=interrupt)
    with pytest.raises(KeyboardInterrupt):
        work(plan, units)
    assert units.interrupted == 1
    assert Claims(folder.claims).take(plan.runs[0].id) is not None


def test_a_worker_ends_with_its_launcher(work: Callable[..., None], tmp_path: Path) -> None:
    units = Units(during=lambda: False)
    with pytest.raises(KeyboardInterrupt, match="launcher"):
        work(planned(tmp_path, ONE), units, alive=lambda: False)
    assert units.interrupted == 1


@pytest.mark.parametrize("where", ["in the process", "in the worker"])
def test_a_full_disk_stops_the_worker_and_fails_no_run(
    work: Callable[..., None],
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    plan = planned(tmp_path, ONE)
    units = Units({"train": ["full"]} if where == "in the process" else {})
    if where == "in the worker":

        def full(path: Path) -> object:
            if path.name == results.DONE:
                raise InputError(f"{path} cannot be written: {OSError(errno.ENOSPC, 'full')}")
            return atomic(path)

        monkeypatch.setattr(results, "atomic", full)
    with pytest.raises(InputError, match=r"make room|cannot be written"):
        work(plan, units)
    assert states(folder, plan) == ["waiting"]
    monkeypatch.undo()
    work(plan, Units())
    assert states(folder, plan) == ["finished"]


def test_a_run_without_checkpoint_starts_afresh(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)
    here = folder.run(plan.runs[0].id)
    (here / "images").mkdir(parents=True)
    (here / "images" / "old.png").write_text("")
    (here / "metrics.csv").write_text("")
    work(plan, Units({"train": ["crash", "done"]}))
    assert not (here / "metrics.csv").exists()
    assert not (here / "images").exists()
    assert (here / "stages" / "train" / "settings.yaml").is_file()


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "text", ['{"dig', "[]", '{"digest": 1e999}', "[" * 10_000, '{"digest": "\\ud800"}', "\0"]
)
def test_a_damaged_record_is_made_again(
    text: str, work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)
    work(plan, Units())
    (folder.stage(plan.runs[0].id, "score") / results.DONE).write_text(text)
    units = Units()
    with pytest.warns(results.RecordWarning, match="done.json"):
        work(plan, units)
    assert [stage for _, stage in units.started] == ["score"]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "link", ["", "stages", "stages/train", "stages/train/log.txt", "images", "checkpoints"]
)
def test_a_link_out_of_the_study_is_refused(
    link: str, work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)
    (home := tmp_path / "home").mkdir()
    (home / "last.ckpt").write_text("all")
    path = folder.run(plan.runs[0].id) / link
    path.parent.mkdir(parents=True)
    path.symlink_to(home / "last.ckpt" if path.suffix else home)
    with pytest.raises(InputError, match=r"leads out of .* to .*home"):
        work(plan, Units())
    assert [one.read_text() for one in home.iterdir()] == ["all"]
    path.unlink()
    work(plan, Units())
    assert states(folder, plan) == ["finished"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("runs", 0, 0), "../../home"),
        (("runs", 0, 0), "/home"),
        (("runs", 0, 0), ".."),
        (("runs", 0, 0), "a" * 300),
        (("runs", 0, 0), "a*"),
        (("runs", 0, 0), 7),
        (("runs", 0, 1), "x"),
        (("runs", 0, 2), -1),
        (("name",), "../x"),
        (("stages", 1), "../score"),
        (("axes",), ["nothing"]),
        (("resources", "cpus"), "all"),
        (("groups", 0, "config"), []),
        (("groups", 0, "stages", "score"), None),
    ],
)
def test_a_plan_of_somebody_else_is_checked(
    path: tuple[str | int, ...], value: object, folder: StudyFolder, tmp_path: Path
) -> None:
    planned(tmp_path, ONE).write(folder.path)
    record = json.loads((folder.path / PLAN).read_text())
    part = record
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    (folder.path / PLAN).write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"plan\.json is damaged.* make it again") as raised:
        read_schedule(folder.path)
    assert "\n" not in str(raised.value)


def test_fields_of_later_versions_are_ignored(
    work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)
    plan.write(folder.path)
    work(plan, Units())
    records = [folder.path / PLAN, *folder.path.rglob("done.json")]
    assert len(records) == 3
    for path in records:
        path.write_text(json.dumps({**json.loads(path.read_text()), "of a later version": [1]}))
    assert states(folder, read_schedule(folder.path)) == ["finished"]


@pytest.mark.parametrize("name", ["1e1638797704", "1e5", "123456789012", "000000000e12"])
def test_the_configuration_of_a_run_keeps_its_name(
    name: str, work: Callable[..., None], folder: StudyFolder, tmp_path: Path
) -> None:
    plan = planned(tmp_path, ONE)
    plan = dataclasses.replace(plan, runs=(dataclasses.replace(plan.runs[0], id=name),))
    work(plan, Units())
    path = folder.stage(name, "train") / "settings.yaml"
    assert read_mapping(path, "name: x")["name"] == name
