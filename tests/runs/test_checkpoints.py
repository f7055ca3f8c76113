import io
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch

from dislab.errors import InputError
from dislab.runs import read_checkpoint
from dislab.runs.checkpoints import CheckpointFiles, check_resumable


def content() -> dict[str, Any]:
    return {
        "state_dict": {"weight": torch.arange(3000.0)},
        "global_step": 7,
        "epoch": 0,
        "pytorch-lightning_version": lightning.__version__,
        "hyper_parameters": {"_class_path": "dislab.objectives.vae.VAE"},
        "loops": {"fit_loop": {"state_dict": {}}},
        "callbacks": {},
        "optimizer_states": [{"state": {}, "param_groups": []}],
        "lr_schedulers": [],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "last.ckpt"
    CheckpointFiles().save_checkpoint(content(), path)
    return path


def test_a_checkpoint_comes_back(path: Path) -> None:
    for stored in (read_checkpoint(path), CheckpointFiles().load_checkpoint(path)):
        assert torch.equal(stored["state_dict"]["weight"], torch.arange(3000.0))
        assert stored["global_step"] == 7
        check_resumable(path, stored)
    assert os.listdir(path.parent) == ["last.ckpt"]


def test_other_programs_read_it_too(path: Path) -> None:
    assert torch.load(path, weights_only=True)["global_step"] == 7
    assert zipfile.ZipFile(path).testzip() is None


def test_checkpoints_without_a_checksum_are_read(tmp_path: Path) -> None:
    torch.save(content(), tmp_path / "old.ckpt")
    assert read_checkpoint(tmp_path / "old.ckpt")["global_step"] == 7


def test_a_flipped_bit_anywhere_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    places = [*range(0, len(whole), 997), *range(len(whole) - 110, len(whole))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="it is damaged"):
            read_checkpoint(path)
        with pytest.raises(InputError, match="it is damaged"):
            CheckpointFiles().load_checkpoint(path)
    path.write_bytes(whole)
    assert read_checkpoint(path)["global_step"] == 7


@pytest.mark.parametrize("length", [0, 1, 21, 22, 78, 100, 5000, -79, -78, -22, -1])
def test_a_file_that_was_cut_off_is_noticed(length: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        read_checkpoint(path)


def test_a_failed_write_leaves_the_previous_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(value: object, file: io.BufferedWriter) -> None:
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(torch, "save", fails)
    with pytest.raises(InputError, match="cannot be written"):
        CheckpointFiles().save_checkpoint(content(), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["last.ckpt"]


@pytest.mark.skipif(sys.platform == "win32", reason="sets a limit that Windows does not know")
@pytest.mark.parametrize("limit", [2_000, 20_000, 60_000])
def test_a_disk_that_is_full_within_a_tensor_is_named(limit: int, tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    large = {**content(), "state_dict": {"weight": torch.zeros(10_000), "more": torch.zeros(9_000)}}
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(InputError, match=r"last.ckpt cannot be written: .*File too large"):
            CheckpointFiles().save_checkpoint(large, tmp_path / "last.ckpt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not any(tmp_path.iterdir())


def test_what_a_killed_write_left_is_removed_by_the_next_one(path: Path) -> None:
    leftover = path.with_name(".last.ckpt.0a1b2c3d.tmp")
    leftover.write_bytes(b"half of it")
    CheckpointFiles().save_checkpoint(content(), path)
    assert os.listdir(path.parent) == ["last.ckpt"]


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda stored: stored.pop("state_dict"), "state_dict"),
        (lambda stored: stored.update(state_dict=[1]), "state_dict"),
        (lambda stored: stored.update(state_dict={1: 2}), "names in state_dict"),
        (lambda stored: stored.update(global_step="7"), "global_step"),
    ],
)
def test_a_file_without_weights_is_no_checkpoint(
    change: Change, named: str, tmp_path: Path
) -> None:
    stored = content()
    change(stored)
    torch.save(stored, tmp_path / "x.ckpt")
    with pytest.raises(InputError, match=f"is no checkpoint of a training run: it lacks {named}"):
        read_checkpoint(tmp_path / "x.ckpt")


def test_counters_of_another_kind_are_named(tmp_path: Path) -> None:
    counters = {"progress": {"total": {"ready": 0}, "done": False}, "other": None}
    stored = content()
    stored["loops"]["fit_loop"] = {"progress": {"total": {"ready": 3}, "done": True}, "other": 5}
    check_resumable(tmp_path / "x.ckpt", stored, counters)
    for wrong in ({}, {"ready": 3.0}, None):
        stored["loops"]["fit_loop"]["progress"]["total"] = wrong
        with pytest.raises(InputError, match=r"it lacks loops\.fit_loop\.progress\.total"):
            check_resumable(tmp_path / "x.ckpt", stored, counters)
    stored["loops"]["fit_loop"]["progress"]["total"] = {}
    stored["pytorch-lightning_version"] = "2.6.0.other"
    check_resumable(tmp_path / "x.ckpt", stored, counters)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda stored: stored.update(optimizer_states=[]), "optimizer_states"),
        (lambda stored: stored.update(optimizer_states=[3]), "optimizer_states"),
        (lambda stored: stored.update(optimizer_states=None), "optimizer_states"),
        (lambda stored: stored.pop("optimizer_states"), "optimizer_states"),
        (lambda stored: stored.update(loops=None), "loops"),
        (lambda stored: stored.update(loops={}), "loops.fit_loop"),
        (lambda stored: stored.pop("lr_schedulers"), "lr_schedulers"),
        (lambda stored: stored.update(callbacks=[]), "callbacks"),
        (lambda stored: stored.update(hyper_parameters=3), "hyper_parameters"),
        (lambda stored: stored.update(epoch=None), "epoch"),
    ],
)
def test_training_does_not_go_on_from_a_part_of_a_state(
    change: Change, named: str, tmp_path: Path
) -> None:
    stored = content()
    change(stored)
    with pytest.raises(InputError, match=f"it lacks {named}, or holds something else there"):
        check_resumable(tmp_path / "x.ckpt", stored)
