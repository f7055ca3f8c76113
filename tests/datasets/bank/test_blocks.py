import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from dislab.datasets.bank.bank import BankSpec, Blocks, bank_record, prepare_bank

ROWS = np.random.default_rng(0).integers(256, size=(103, 16), dtype=np.uint8)


class Maker:
    """Makes rows, keeps what it was asked for, and fails at one block where that is wanted."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.asked: list[int] = []
        self.fails_at = fails_at

    def __call__(self, start: int, stop: int) -> np.ndarray:
        self.asked.append(start)
        if start == self.fails_at:
            raise OSError(28, "No space left on device")
        return ROWS[start:stop]


def spec(folder: Path, make: Maker, workers: int = 1, version: str = "1") -> BankSpec:
    return BankSpec(
        folder / "bank.npy", ROWS.shape, {"version": version}, Blocks(10, make, workers)
    )


def broken_off(folder: Path) -> Maker:
    """Leaves what a run leaves that ends before its eighth block; the blocks 0 to 5 are whole."""
    make = Maker(fails_at=70)
    with pytest.raises(ValueError, match="No space left"):
        prepare_bank(spec(folder, make))
    assert not (folder / "bank.npy").exists()
    return make


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_blocks_make_the_same_file_as_rows_in_order(workers: int, tmp_path: Path) -> None:
    make = Maker()
    prepare_bank(spec(tmp_path, make, workers))
    assert sorted(make.asked) == list(range(0, 103, 10))
    assert np.array_equal(np.load(tmp_path / "bank.npy"), ROWS)
    in_order = BankSpec(
        tmp_path / "b.npy", ROWS.shape, {"version": "1"}, lambda: [ROWS[:3], ROWS[3:]]
    )
    prepare_bank(in_order)
    assert (tmp_path / "b.npy").read_bytes() == (tmp_path / "bank.npy").read_bytes()
    assert bank_record(in_order) == bank_record(spec(tmp_path, make))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{n}.{end}" for n in ("b", "bank") for end in ("npy", "json", "npy.lock")}


def test_blocks_are_made_at_the_same_time(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=30)

    def make(start: int, stop: int) -> np.ndarray:
        together.wait()
        assert torch.get_num_threads() == 1
        return ROWS[start:stop]

    before = torch.get_num_threads()
    prepare_bank(BankSpec(tmp_path / "bank.npy", (90, 16), {}, Blocks(10, make, workers=3)))
    assert torch.get_num_threads() == before


def test_what_was_finished_is_not_made_again(tmp_path: Path) -> None:
    first = broken_off(tmp_path)
    assert 70 in first.asked
    second = Maker()
    prepare_bank(spec(tmp_path, second))
    assert not {0, 10, 20, 30, 40, 50} & set(second.asked)
    assert {70, 80, 90, 100} <= set(second.asked)
    assert np.array_equal(np.load(tmp_path / "bank.npy"), ROWS)


def test_blocks_of_another_origin_are_not_taken_over(tmp_path: Path) -> None:
    broken_off(tmp_path)
    second = Maker()
    prepare_bank(spec(tmp_path, second, version="2"))
    assert len(second.asked) == 11


def alter_a_row(part: Path, journal: Path) -> set[int]:
    content = bytearray(part.read_bytes())
    content[128 + 25 * 16] ^= 1
    part.write_bytes(content)
    return {20}


def cut_the_rows(part: Path, journal: Path) -> set[int]:
    part.write_bytes(part.read_bytes()[: 128 + 45 * 16])
    return {40, 50}


def cut_the_journal(part: Path, journal: Path) -> set[int]:
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:4], lines[4][:1]]))
    return {30, 40, 50}


def lose_the_rows(part: Path, journal: Path) -> set[int]:
    part.unlink()
    return {0, 10, 20, 30, 40, 50}


def lose_the_journal(part: Path, journal: Path) -> set[int]:
    journal.write_bytes(b"")
    return {0, 10, 20, 30, 40, 50}


@pytest.mark.parametrize(
    "damage", [alter_a_row, cut_the_rows, cut_the_journal, lose_the_rows, lose_the_journal]
)
def test_damaged_blocks_are_made_again(damage: object, tmp_path: Path) -> None:
    broken_off(tmp_path)
    assert callable(damage)
    expected = damage(tmp_path / ".bank.npy.part", tmp_path / ".bank.npy.part.journal")
    second = Maker()
    prepare_bank(spec(tmp_path, second))
    assert {0, 10, 20, 30, 40, 50} & set(second.asked) == expected
    assert np.array_equal(np.load(tmp_path / "bank.npy"), ROWS)


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("name", [".bank.npy.part", ".bank.npy.part.journal"])
def test_a_link_in_the_place_of_a_part_is_not_written_through(
    link: Callable[[Path, Path], None], name: str, tmp_path: Path
) -> None:
    broken_off(tmp_path)
    victim = tmp_path / "victim"
    (tmp_path / name).rename(victim)
    link(tmp_path / name, victim)
    before = victim.read_bytes()
    second = Maker()
    prepare_bank(spec(tmp_path, second))
    assert len(second.asked) == 11
    assert victim.read_bytes() == before
    assert not (tmp_path / "bank.npy").is_symlink()
    assert np.array_equal(np.load(tmp_path / "bank.npy"), ROWS)


@pytest.mark.parametrize("rows", [ROWS[:9], ROWS[:10, :3], ROWS[:10].astype(np.int16)])
def test_a_block_of_another_shape_or_type_is_refused(rows: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a block of uint8 \(10, 16\) was made as"):
        prepare_bank(BankSpec(tmp_path / "b.npy", (100, 16), {}, Blocks(10, lambda *_: rows)))


def test_unpacked_rows_have_no_white_pixels(tmp_path: Path) -> None:
    unpacked = spec(tmp_path, Maker())._replace(packed=False)
    prepare_bank(unpacked)
    assert set(bank_record(unpacked)) == {"version", "sha256"}


PROCESS = """
import sys, time
from pathlib import Path
import numpy as np
from dislab.datasets.bank.bank import Blocks, BankSpec, prepare_bank

folder, pause = Path(sys.argv[1]), float(sys.argv[2])

def make(start, stop):
    with open(folder / "made", "a") as log:
        log.write(f"{start}\\n")
    time.sleep(pause)
    return np.full((stop - start, 16), start, dtype=np.uint8)

prepare_bank(BankSpec(folder / "bank.npy", (100, 16), {}, Blocks(10, make, workers=2)))
"""


@pytest.mark.slow
def test_a_killed_process_is_continued_by_the_next_one(tmp_path: Path) -> None:
    made = tmp_path / "made"
    first = subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path), "0.5"])
    deadline = time.monotonic() + 120
    while not made.exists() or made.read_text().count("\n") < 6:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not (tmp_path / "bank.npy").exists()
    started = made.read_text().split()
    made.unlink()
    subprocess.run([sys.executable, "-c", PROCESS, str(tmp_path), "0"], check=True, timeout=120)
    again = made.read_text().split()
    assert len(again) < 10 - len(started) + 4 + 1
    expected = np.repeat(np.arange(0, 100, 10, dtype=np.uint8), 160).reshape(100, 16)
    assert np.array_equal(np.load(tmp_path / "bank.npy"), expected)
