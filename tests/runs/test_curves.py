import csv
import os
import signal
from pathlib import Path

import pytest
import torch
from tests.processes import Started

from dislab.runs.curves import Curves, read_curves


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if v} for row in csv.DictReader(file)]


def test_rows_of_several_kinds_share_one_table(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    curves.log_metrics({"train/loss": torch.tensor(0.5), "epoch": 0}, 1)
    curves.log_metrics({"validation/loss": 2.0}, 1)
    curves.log_metrics({"train/loss": 0.25, "epoch": 0}, 3)
    assert rows(tmp_path) == [
        {"epoch": "0", "step": "1", "train/loss": "0.5"},
        {"step": "1", "validation/loss": "2.0"},
        {"epoch": "0", "step": "3", "train/loss": "0.25"},
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_a_value_that_is_logged_again_adds_nothing(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    curves.log_metrics({"loss": 0.5}, 1)
    curves.log_metrics({"loss": 0.7}, 1)
    assert rows(tmp_path) == [{"loss": "0.5", "step": "1"}]
    curves.log_metrics({"loss": 0.5, "rate": 0.1}, 1)
    assert rows(tmp_path) == [{"loss": "0.5", "rate": "0.1", "step": "1"}]
    curves.log_metrics({"loss": 0.5}, 2)
    assert len(rows(tmp_path)) == 2


def test_a_run_that_goes_on_drops_later_rows_with_its_first_row(tmp_path: Path) -> None:
    whole = Curves(tmp_path)
    for step in (1, 3, 5, 7):
        whole.log_metrics({"loss": float(step)}, step)
    before = (tmp_path / "metrics.csv").read_bytes()
    resumed = Curves(tmp_path, first_step=4)
    assert (tmp_path / "metrics.csv").read_bytes() == before
    resumed.log_metrics({"loss": 3.5}, 3)  # written before the checkpoint
    for step in (5, 7):
        resumed.log_metrics({"loss": float(step)}, step)
    assert (tmp_path / "metrics.csv").read_bytes() == before


def test_rows_from_the_checkpoint_on_hold_the_values_of_the_resumed_run(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    for step in (3, 4, 5):
        curves.log_metrics({"loss": float(step)}, step)
    Curves(tmp_path, first_step=4).log_metrics({"loss": 0.5}, 4)
    assert rows(tmp_path) == [{"loss": "3.0", "step": "3"}, {"loss": "0.5", "step": "4"}]


def keep_logging(folder: Path) -> int:
    curves = Curves(folder)
    for step in range(100_000):
        curves.log_metrics({f"column_{step // 10}": step, "loss": step}, step)
        print(step)
    return 0


@pytest.mark.slow
def test_a_kill_at_new_columns_loses_no_row(tmp_path: Path) -> None:
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = Started(tmp_path, keep_logging, folder)
        while process.output()[0].count("\n") < 60 + 7 * number:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0].splitlines()
        written = [int(row["loss"]) for row in rows(folder)]
        assert written[: len(said)] == list(range(len(said)))
        Curves(folder, first_step=50).log_metrics({"loss": 0}, 50)
        assert len(rows(folder)) == 51


@pytest.mark.parametrize("tail", [b"7,0.", b'7,"', b"7"])
def test_half_a_row_at_the_end_is_dropped(tail: bytes, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_bytes(b"loss,step\n0.5,1\n0.25,3\n" + tail)
    Curves(tmp_path, first_step=4).log_metrics({"loss": 0.125}, 5)
    assert path.read_bytes() == b"loss,step\n0.5,1\n0.25,3\n0.125,5\n"
    assert os.listdir(tmp_path) == ["metrics.csv"]


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"\xff\xfe\x00PNG", 0),
        (b"name,age\nAda,36\n", 0),
        (b"loss,step\n0.5,1\n0.5\n0.25,3\n", 2),
        (b"loss,step\n0.5,1\nnothing,2\n0.25,3\n", 2),
        (b"loss,step\n0.5,1\n0.5,1.5\n0.25,3\n", 2),
        (b"loss,step\n0.5,1\n0.25,3\n0.5,\n", 2),
        (b"step,step\n1,1\n", 0),
        (b"loss,step\n0.5,1\n0.25,3\n0.5,\x00\n", 2),
    ],
)
def test_a_foreign_or_damaged_file_is_kept_aside(content: bytes, kept: int, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_bytes(content)
    curves = Curves(tmp_path, first_step=4)
    with pytest.warns(UserWarning, match=r"it is kept as metrics_damaged_0\.csv"):
        curves.log_metrics({"loss": 1.0}, 5)
    assert (tmp_path / "metrics_damaged_0.csv").read_bytes() == content
    assert [row["step"] for row in rows(tmp_path)] == [*("1", "3")[:kept], "5"]


def test_tables_of_lightning_are_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_bytes(b"epoch,loss,step\r\n0,0.5,1\r\n0.0,0.25,3.0\r\n")
    Curves(tmp_path, first_step=4).log_metrics({"epoch": 0, "loss": 1.0}, 5)
    assert [float(row["step"]) for row in rows(tmp_path)] == [1, 3, 5]
    assert read_curves(path).rows[1] == {"epoch": "0.0", "loss": "0.25", "step": "3"}


def test_rows_of_the_test_split_have_no_epoch(tmp_path: Path) -> None:
    Curves(tmp_path).log_metrics({"test/loss": 1.0, "epoch": 1}, 4)
    assert rows(tmp_path) == [{"step": "4", "test/loss": "1.0"}]


def test_a_row_of_an_earlier_step_is_repeated_by_none(tmp_path: Path) -> None:
    curves = Curves(tmp_path)
    for step in (1, 2):
        curves.log_metrics({"validation/loss": 0.5}, step)
    curves.log_metrics({"validation/loss": 0.5}, 1)
    curves.log_metrics({"test/loss": 0.25}, 1)
    assert [row["step"] for row in rows(tmp_path)] == ["1", "2", "1"]
    assert rows(tmp_path)[2]["test/loss"] == "0.25"


def test_what_killed_writes_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".metrics.csv.01234567.tmp").write_bytes(b"half")
    Curves(tmp_path).log_metrics({"loss": 1.0}, 4)
    assert os.listdir(tmp_path) == ["metrics.csv"]


def test_an_empty_file_is_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_bytes(b"")
    Curves(tmp_path).log_metrics({"loss": 1.0}, 0)
    assert len(rows(tmp_path)) == 1
