"""Claims: one worker a run, and dead workers hold nothing."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest

from dislab.errors import InputError
from dislab.study import claims
from dislab.study.claims import Claim, Claims


def other_machine(path: Path, seconds: float) -> None:
    """Makes a claim one of a worker elsewhere that was last heard of some seconds ago."""
    path.write_text(json.dumps({"machine": "elsewhere", "process": 1, "began": "1"}))
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_run_is_claimed_once(tmp_path: Path) -> None:
    one, two = Claims(tmp_path), Claims(tmp_path)
    held = one.take("a")
    assert held is not None
    assert two.take("a") is None
    assert two.take("b") is not None
    assert one.current() == {"a", "b"}
    held.release()
    assert two.take("a") is not None


def test_of_many_workers_at_once_one_gets_the_run(tmp_path: Path) -> None:
    together = Barrier(8, timeout=60)

    def take(_: int) -> bool:
        worker = Claims(tmp_path)
        together.wait()
        return worker.take("a") is not None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(64))) == 1


@pytest.mark.parametrize(("seconds", "free"), [(30.0, False), (90.0, True)])
def test_a_silent_worker_loses_its_run(tmp_path: Path, seconds: float, free: bool) -> None:
    mine = Claims(tmp_path, stale=60.0)
    other_machine(tmp_path / "a.0", seconds)
    assert (mine.take("a") is not None) is free
    assert (tmp_path / "a.1").exists() is free


def test_a_heartbeat_of_the_future_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock was set back: the worker is alive if another heartbeat follows."""
    passed = [0.0]
    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    mine = Claims(tmp_path, stale=60.0)
    for run in ("silent", "alive"):
        other_machine(tmp_path / f"{run}.0", -3600.0)
    assert (mine.take("silent"), mine.take("alive")) == (None, None)
    other_machine(tmp_path / "alive.0", -3605.0)
    passed[0] = 30.0
    assert (mine.take("silent"), mine.take("alive")) == (None, None)
    passed[0] = 61.0
    assert mine.take("alive") is None
    assert mine.take("silent") is not None


def test_of_two_that_take_over_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = Claims(tmp_path), Claims(tmp_path)
    other_machine(tmp_path / "a.0", 90.0)
    abandoned = Claims._is_abandoned
    taken: list[Claim | None] = []

    def meanwhile(self: Claims, path: Path) -> bool:
        found = abandoned(self, path)
        if self is mine and not taken:
            taken.append(other.take("a"))  # between the look and the claim
        return found

    monkeypatch.setattr(Claims, "_is_abandoned", meanwhile)
    assert mine.take("a") is None
    assert taken[0] is not None


def test_its_former_worker_notices(tmp_path: Path) -> None:
    first = Claims(tmp_path, stale=60.0).take("a")
    assert first is not None
    assert first.beat()
    text = (tmp_path / "a.0").read_text()
    other_machine(tmp_path / "a.0", 90.0)
    second = Claims(tmp_path, stale=60.0).take("a")
    assert second is not None
    (tmp_path / "a.0").write_text(text)  # it was never gone, only silent
    assert not first.beat()
    assert second.beat()
    second.release()
    assert not first.beat()
    assert Claims(tmp_path).take("a") is not None
    assert not first.beat()  # the new claim has the same name, and is another one


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_former_worker_that_releases_its_run_leaves_the_new_claim(tmp_path: Path) -> None:
    former, worker = Claims(tmp_path), Claims(tmp_path)
    lost = former.take("a")
    assert lost is not None
    other_machine(tmp_path / "a.0", 90.0)
    assert worker.take("a") is not None
    lost.release()
    assert worker.current() == {"a"}
    assert former.take("a") is None


def test_a_worker_of_this_machine_that_has_ended_holds_nothing(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from dislab.study.claims import Claims; "
        f"Claims(Path({str(tmp_path)!r})).take('a')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "a.0").exists()
    assert Claims(tmp_path).take("a") is not None


def test_the_clock_is_that_of_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_machine(tmp_path / "a.0", 30.0)
    monkeypatch.setattr(claims, "time", SimpleNamespace(time=lambda: 2e9))
    assert Claims(tmp_path, stale=60.0).take("a") is None


def test_a_claim_that_is_cut_short_counts_while_it_is_fresh(tmp_path: Path) -> None:
    (tmp_path / "a.0").write_text('{"machi')
    assert Claims(tmp_path, stale=60.0).take("a") is None


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "claims").write_text("a file")
    with pytest.raises(InputError, match="cannot be written to"):
        Claims(tmp_path / "claims")
