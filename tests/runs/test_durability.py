"""What is on the disk at each named point of a write: failures are injected there."""

import os
import resource
import stat
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch

from dislab.callbacks import Checkpoints
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs.checkpoints import CheckpointFiles, read_checkpoint
from dislab.runs.curves import Curves, read_curves
from dislab.storage import atomic


def test_content_is_synchronised_before_the_file_appears_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def record_fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        text = "" if is_folder else path.read_text()
        events.append(("fsync folder" if is_folder else "fsync file", text))
        fsync(descriptor)

    def record_replace(source: Path, target: Path) -> None:
        events.append(("replace", Path(target).name))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    with atomic(tmp_path / "scores.json") as temporary:
        temporary.write_text("{}")
    assert events == [("fsync file", "{}"), ("replace", "scores.json"), ("fsync folder", "")]


def test_rows_are_synchronised_when_a_checkpoint_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curves = Curves(tmp_path)
    curves.log_metrics({"loss": 1.0}, 1)
    inodes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: inodes.append(os.fstat(descriptor).st_ino))
    curves.sync()
    assert inodes == [(tmp_path / "metrics.csv").stat().st_ino]


@pytest.mark.parametrize("column", ["loss", "rate"], ids=["a longer row", "a new column"])
def test_a_disk_that_fills_while_the_table_is_rewritten_loses_no_row(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curves, path = Curves(tmp_path), tmp_path / "metrics.csv"
    for step in (1, 2, 3):
        curves.log_metrics({"loss": float(step)}, step)
    before = path.read_bytes()
    write_text = Path.write_text

    def half(self: Path, text: str, **settings: Any) -> int:
        write_text(self, text[: len(text) // 2], **settings)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(InputError, match="No space left"):
        curves.log_metrics({column: 4.0, "rate": 0.1}, 3 if column == "loss" else 4)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["metrics.csv"]


def test_a_row_of_which_the_disk_takes_a_part_is_an_error(tmp_path: Path) -> None:
    curves, path = Curves(tmp_path), tmp_path / "metrics.csv"
    curves.log_metrics({"loss": 0.5}, 1)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 3, limits[1]))
    try:
        with pytest.raises(OSError, match="No space left on device"):
            curves.log_metrics({"loss": 0.25}, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before + b"0.2"
    Curves(tmp_path, first_step=2).log_metrics({"loss": 0.25}, 2)
    assert [row["step"] for row in read_curves(path).rows] == ["1", "2"]


def test_a_resumed_run_replaces_the_values_of_the_step_it_repeats(tmp_path: Path) -> None:
    killed = Curves(tmp_path)
    for step in (1, 2, 3):
        killed.log_metrics({"loss": float(step)}, step)
    resumed = Curves(tmp_path, first_step=2)
    for step in (2, 3):
        resumed.log_metrics({"loss": 10.0 * step}, step)
    rows = read_curves(tmp_path / "metrics.csv").rows
    assert [row["loss"] for row in rows] == ["1.0", "20.0", "30.0"]


@pytest.mark.parametrize("change", ["in place", "replaced, of the same time"])
def test_a_checkpoint_that_changes_after_it_was_read_is_verified_again(
    change: str, tmp_path: Path
) -> None:
    path = tmp_path / "last.ckpt"
    state = {"weight": torch.arange(3000.0)}
    content = {"state_dict": state, "global_step": 7, "pytorch-lightning_version": "2.6.6"}
    CheckpointFiles().save_checkpoint(content | {"epoch": 0, "loops": {}}, path)
    assert read_checkpoint(path)["global_step"] == 7
    status, damaged = path.stat(), bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    if change == "in place":
        path.write_bytes(damaged)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    else:
        (tmp_path / "new.ckpt").write_bytes(damaged)
        os.replace(tmp_path / "new.ckpt", path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputError, match="does not match its checksum"):
        read_checkpoint(path)


def test_the_row_of_a_step_is_on_the_disk_before_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = VAE(
        (1, 64, 64),
        900,
        latent_dim=2,
        encoder=partial(MLPEncoder, hidden=(8,)),
        decoder=partial(MLPDecoder, hidden=(8,)),
        regularizers={"kl": KL},
    )
    trainer = pl.Trainer(
        max_steps=6,
        accelerator="cpu",
        logger=Curves(tmp_path),
        log_every_n_steps=1,
        callbacks=[Checkpoints(dirpath=tmp_path, save_last=True, every_n_train_steps=2)],
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    written: dict[int, list[str]] = {}
    synchronised: dict[int, int] = {}
    """Bytes of each file at its last `fsync`, by inode."""
    fsync = os.fsync

    def record_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        synchronised[status.st_ino] = status.st_size
        fsync(descriptor)

    def record(path: Path, *_: Any, **__: Any) -> None:
        table = tmp_path / "metrics.csv"
        written[trainer.global_step] = [row["step"] for row in read_curves(table).rows]
        assert synchronised[table.stat().st_ino] == table.stat().st_size

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(trainer, "save_checkpoint", record)
    data = SingleData(GaussianBlob(), batch_size=8, steps_per_epoch=10, validation=0.05, test=0.1)
    trainer.fit(model, data)
    assert set(written) >= {2, 4, 6}
    for step, steps in written.items():
        assert steps == [str(logged) for logged in range(step)], step
