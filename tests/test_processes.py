import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import Started, start, start_several


def says(status: int) -> int:
    print("out", Path.cwd().name, os.environ.get("PLACE"), os.environ.get("LOCAL_RANK"))
    print("err", file=sys.stderr)
    return status


def sleeps() -> int:
    print("awake", flush=True)
    time.sleep(60)
    return 0


@pytest.mark.slow
def test_a_function_has_its_own_folder_variables_output_and_status(tmp_path: Path) -> None:
    process = Started(tmp_path, says, 3, environment={"PLACE": "here"}, apart=True)
    assert process.communicate() == (f"out {tmp_path.name} here None\n", "err\n")
    assert process.returncode == process.poll() == 3
    together = Started(tmp_path, says, 0)
    assert together.communicate() == (f"out {tmp_path.name} None None\nerr\n", "")
    assert together.returncode == 0


@pytest.mark.slow
def test_a_signal_or_a_time_out_ends_it(tmp_path: Path) -> None:
    stopped, late = Started(tmp_path, sleeps), Started(tmp_path, sleeps)
    while not all("awake" in process.output()[0] for process in (stopped, late)):
        time.sleep(0.05)
    assert stopped.poll() is None
    stopped.send_signal(signal.SIGINT)
    assert stopped.wait() == -signal.SIGINT  # as Python itself ends
    with pytest.raises(subprocess.TimeoutExpired, match="dislab"):
        late.wait(timeout=0)
    assert late.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_several_are_the_ranks_of_one_group_and_one_is_none(tmp_path: Path) -> None:
    for count, ranks in ((1, ["None"]), (2, ["0", "1"])):
        group = start_several(tmp_path, count, says, 0)
        assert [one.communicate()[0].split()[3] for one in group] == ranks


@pytest.mark.slow
def test_the_command_runs_as_from_a_shell(tmp_path: Path) -> None:
    process = start(tmp_path, "fit", "--config", "missing.yaml")
    said, _ = process.communicate()
    assert process.returncode == 2
    assert "missing.yaml" in said
    assert "Traceback" not in said
