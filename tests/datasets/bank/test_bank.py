import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from dislab.datasets.bank.bank import BankSpec, bank_record, bank_rows, open_bank, prepare_bank
from dislab.errors import InputError
from dislab.storage import sha256

ROWS = np.random.default_rng(0).integers(256, size=(100, 16), dtype=np.uint8)
WHITE = int(np.unpackbits(ROWS).sum())


class Maker:
    """Makes the rows in two blocks and counts how often."""

    def __init__(self, rows: np.ndarray = ROWS) -> None:
        self.rows = rows
        self.calls = 0

    def __call__(self) -> Iterator[np.ndarray]:
        self.calls += 1
        yield self.rows[:60]
        yield self.rows[60:]


def spec(folder: Path, make: Maker, version: str = "1", white: int | None = WHITE) -> BankSpec:
    return BankSpec(folder / "deep/bank.npy", ROWS.shape, {"version": version}, make, white)


def test_written_once_and_read_back(tmp_path: Path) -> None:
    make = Maker()
    for _ in range(2):
        prepare_bank(spec(tmp_path, make))
    bank = open_bank(spec(tmp_path, make))
    assert torch.equal(bank, torch.from_numpy(ROWS))
    assert make.calls == 1
    path = tmp_path / "deep/bank.npy"
    assert np.array_equal(np.load(path), ROWS)
    expected = {"version": "1", "sha256": sha256(path), "white_pixels": str(WHITE)}
    assert bank_record(spec(tmp_path, make)) == expected


def test_what_is_written_to_the_tensor_stays_there(tmp_path: Path) -> None:
    prepare_bank(spec(tmp_path, Maker()))
    open_bank(spec(tmp_path, Maker())).zero_()
    assert torch.equal(open_bank(spec(tmp_path, Maker())), torch.from_numpy(ROWS))


def test_a_finished_bank_needs_no_permission_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    prepare_bank(spec(tmp_path, Maker()))
    monkeypatch.setattr("dislab.storage.cache.FileLock.acquire", refused)
    monkeypatch.setattr(os, "replace", refused)
    monkeypatch.setattr(Path, "mkdir", refused)
    prepare_bank(spec(tmp_path, Maker()))
    assert torch.equal(open_bank(spec(tmp_path, Maker())), torch.from_numpy(ROWS))
    with pytest.raises(InputError, match=r"bank\.npy cannot be made, as .* DISLAB_CACHE"):
        prepare_bank(spec(tmp_path, Maker(), version="2"))


def test_rows_are_copies(tmp_path: Path) -> None:
    prepare_bank(spec(tmp_path, Maker()))
    bank = open_bank(spec(tmp_path, Maker()))
    index = torch.tensor([7, 99, 7])
    rows = bank_rows(bank, index)
    assert torch.equal(rows, torch.from_numpy(ROWS[[7, 99, 7]]))
    rows.zero_()
    assert torch.equal(bank, torch.from_numpy(ROWS))


def damage_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def damage_alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))


def damage_record(path: Path) -> None:
    path.with_suffix(".json").write_text("{")


def damage_other(path: Path) -> None:
    path.with_suffix(".json").write_text(json.dumps({"version": 2}))


@pytest.mark.parametrize("damage", [damage_cut, damage_alter, damage_record, damage_other])
def test_damaged_bank_is_made_anew(damage: object, tmp_path: Path) -> None:
    make = Maker()
    prepare_bank(spec(tmp_path, make))
    assert callable(damage)
    damage(tmp_path / "deep/bank.npy")
    prepare_bank(spec(tmp_path, make))
    assert make.calls == 2
    assert torch.equal(open_bank(spec(tmp_path, make)), torch.from_numpy(ROWS))


def test_bank_of_another_version_is_made_anew(tmp_path: Path) -> None:
    make = Maker()
    prepare_bank(spec(tmp_path, make))
    prepare_bank(spec(tmp_path, make, version="2"))
    assert make.calls == 2


def test_a_touched_but_unchanged_bank_stays(tmp_path: Path) -> None:
    make = Maker()
    prepare_bank(spec(tmp_path, make))
    os.utime(tmp_path / "deep/bank.npy", ns=(1, 1))
    prepare_bank(spec(tmp_path, make))
    assert make.calls == 1


def test_a_bank_is_hashed_again_only_after_it_was_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Path] = []

    def counted(path: Path) -> str:
        hashed.append(path)
        return sha256(path)

    prepare_bank(spec(tmp_path, Maker()))
    monkeypatch.setattr("dislab.datasets.bank.bank.sha256", counted)
    prepare_bank(spec(tmp_path, Maker()))
    assert hashed == []
    os.utime(tmp_path / "deep/bank.npy", (1, 1))
    prepare_bank(spec(tmp_path, Maker()))
    assert hashed == [tmp_path / "deep/bank.npy"]


def test_opening_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bank\.npy does not exist; prepare the data set first"):
        open_bank(spec(tmp_path, Maker()))
    with pytest.raises(InputError, match="does not exist"):
        bank_record(spec(tmp_path, Maker()))
    prepare_bank(spec(tmp_path, Maker()))
    path = tmp_path / "deep/bank.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-7])
    with pytest.raises(InputError, match=f"was cut: it has {len(content) - 7} bytes instead of"):
        open_bank(spec(tmp_path, Maker()))
    path.write_bytes(b"?" + content[1:])
    with pytest.raises(InputError, match="cannot be mapped"):
        open_bank(spec(tmp_path, Maker()))


@pytest.mark.parametrize(
    ("rows", "white", "message"),
    [
        (ROWS[:99], None, "99 with .* instead of 100"),
        (ROWS, WHITE + 1, f"with {WHITE} white pixels, instead of 100 with {WHITE + 1}"),
    ],
)
def test_rows_that_are_not_the_expected_ones_leave_no_bank(
    rows: np.ndarray, white: int | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        prepare_bank(spec(tmp_path, Maker(rows), white=white))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["bank.npy.lock"]


def test_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    class Full(Maker):
        def __call__(self) -> Iterator[np.ndarray]:
            yield self.rows[:60]
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match=r"bank\.npy cannot be written: .*No space left"):
        prepare_bank(spec(tmp_path, Full()))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["bank.npy.lock"]


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    leftover = tmp_path / "deep/.bank.npy.0123abcd.tmp"
    leftover.parent.mkdir()
    leftover.touch()
    prepare_bank(spec(tmp_path, Maker()))
    assert not leftover.exists()


PROCESS = """
import sys, time
from pathlib import Path
import numpy as np
from dislab.datasets.bank.bank import BankSpec, open_bank, prepare_bank

folder = Path(sys.argv[1])

def blocks():
    with open(folder / "made", "a") as log:
        log.write("made\\n")
    for number in range(10):
        time.sleep(0.05)
        yield np.full((10, 16), number, dtype=np.uint8)

spec = BankSpec(folder / "bank.npy", (100, 16), {"version": "1"}, blocks)
(folder / sys.argv[2]).touch()
while not all((folder / name).exists() for name in "ab"):
    time.sleep(0.01)
prepare_bank(spec)
print(int(open_bank(spec).sum()))
"""


@pytest.mark.slow
def test_two_processes_at_once_write_one_bank(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(tmp_path), name],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs == [f"{45 * 160}\n"] * 2
    assert (tmp_path / "made").read_text() == "made\n"
