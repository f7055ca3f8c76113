import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import lightning.pytorch as pl
import numpy as np
import pytest
import torch

from dislab import runs
from dislab.base import Objective
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs.folders import best_checkpoint

CHECKPOINT = {"global_step": 0, "pytorch-lightning_version": "2.6.0", "state_dict": {}}
"""The least that is read as a checkpoint."""


def _vae() -> VAE:
    return VAE(
        (1, 8, 8),
        32,
        latent_dim=3,
        encoder=partial(MLPEncoder, hidden=(5,)),
        decoder=partial(MLPDecoder, hidden=(4,)),
        regularizers={"kl": partial(KL, beta=2.0)},
    )


def _saved(module: Objective, path: Path) -> Path:
    trainer = pl.Trainer(accelerator="cpu", devices=1, logger=False, enable_progress_bar=False)
    trainer.strategy.connect(module)
    trainer.save_checkpoint(path)
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    return _saved(_vae(), tmp_path / "run" / "checkpoints" / "last.ckpt")


def test_runs_are_numbered_above_all_that_exist(tmp_path: Path) -> None:
    first = runs.new_run(tmp_path / "runs", "beta_vae")
    assert first == tmp_path / "runs" / "beta_vae" / "version_0"
    (first / "scores.json").write_text("{}")
    (first.parent / "version_7").mkdir()
    (first.parent / "version_x").mkdir()
    assert runs.new_run(tmp_path / "runs", "beta_vae").name == "version_8"
    assert runs.new_run(tmp_path / "runs", "other").name == "version_0"
    assert (first / "scores.json").read_text() == "{}"


def test_runs_begun_at_once_never_share_a_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        begun = pool.map(lambda _: runs.new_run(tmp_path, "beta_vae").name, range(60))
        names = set(begun)
    assert len(names) == 60
    assert {folder.name for folder in (tmp_path / "beta_vae").iterdir()} == names


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/tmp", "a b", "-x"])
def test_what_names_no_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot name a run"):
        runs.new_run(tmp_path, name)


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(InputError, match="choose another root folder"):
        runs.new_run(tmp_path / "runs", "name")


@pytest.mark.parametrize(
    ("oldest_first", "expected"),
    [
        (["last.ckpt", "step=9.ckpt"], "last.ckpt"),
        (["last-v1.ckpt", "last.ckpt"], "last.ckpt"),
        (["last.ckpt", "last-v1.ckpt", "step=9.ckpt"], "last-v1.ckpt"),
        (["step=9.ckpt", "step=10.ckpt", "notes.txt"], "step=10.ckpt"),
        (["step=10.ckpt", "step=9.ckpt"], "step=9.ckpt"),
        (["blast.ckpt", "a.ckpt"], "a.ckpt"),
    ],
)
def test_the_last_checkpoint_is_found(
    oldest_first: list[str], expected: str, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for age, name in enumerate(oldest_first):
        torch.save(CHECKPOINT, folder / name)
        os.utime(folder / name, (age, age))
    assert runs.checkpoint_of(tmp_path) == folder / expected
    assert runs.checkpoint_of(folder) == folder / expected
    assert runs.checkpoint_of(folder / oldest_first[0]) == folder / oldest_first[0]


@pytest.mark.parametrize(
    ("best_model_path", "expected"),
    [
        ("/moved/checkpoints/chosen.ckpt", "chosen.ckpt"),
        ("checkpoints/last.ckpt", None),  # of the last step, which no monitor chose
        ("checkpoints/gone.ckpt", None),
        ("", None),
        (5, None),
    ],
)
def test_the_best_checkpoint_is_the_one_that_a_monitor_chose(
    best_model_path: object, expected: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    torch.save(CHECKPOINT, folder / "chosen.ckpt")
    state = {"monitor": "validation/loss", "best_model_path": best_model_path}
    state["best_model_score"] = torch.tensor(2.5)
    torch.save({**CHECKPOINT, "callbacks": {"ModelCheckpoint": state}}, folder / "last.ckpt")
    best = best_checkpoint(tmp_path)
    if expected is None:
        assert best is None
        assert runs.checkpoint_of(tmp_path) == folder / "last.ckpt"
    else:
        assert best == (folder / expected, "validation/loss", 2.5)
        assert runs.checkpoint_of(tmp_path) == folder / expected


def test_without_a_checkpoint_the_message_lists_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        runs.checkpoint_of(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"it has no config\.yaml; .* or give a \.ckpt file"):
        runs.checkpoint_of(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(InputError, match=r"checkpoints is empty; give the folder of a run"):
        runs.checkpoint_of(tmp_path)
    (tmp_path / "checkpoints/notes").touch()
    with pytest.raises(InputError, match=r"checkpoints holds no checkpoint, only: notes; give"):
        runs.checkpoint_of(tmp_path)


def test_a_run_comes_back_with_its_weights_and_settings(checkpoint: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    original = _vae().eval()
    loaded = runs.load_run(tmp_path / "run")
    assert type(loaded) is VAE
    assert not any(part.training for part in loaded.modules())
    image = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(loaded.codes(image), original.codes(image), rtol=0, atol=0)
    z = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(loaded.decode(z), original.decode(z), rtol=0, atol=0)
    assert loaded.regularizers["kl"].beta == 2.0


def test_a_loaded_run_can_be_saved_and_loaded_again(checkpoint: Path, tmp_path: Path) -> None:
    once = runs.load_run(checkpoint)
    twice = runs.load_run(_saved(once, tmp_path / "again.ckpt"))
    for name, weight in once.state_dict().items():
        torch.testing.assert_close(twice.state_dict()[name], weight, rtol=0, atol=0)


def test_rebuilding_draws_new_weights_for_the_same_settings(checkpoint: Path) -> None:
    for module in (_vae(), runs.load_run(checkpoint)):
        torch.manual_seed(7)
        copy = runs.rebuild(module)
        torch.manual_seed(7)
        expected = _vae().state_dict()
        assert type(copy) is VAE
        assert {name: one.shape for name, one in copy.state_dict().items()} == {
            name: one.shape for name, one in expected.items()
        }
        after = copy.state_dict()
        for name, weight in expected.items():
            torch.testing.assert_close(after[name], weight, rtol=0, atol=0)


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_truncated_checkpoint_is_refused(size: int, checkpoint: Path) -> None:
    checkpoint.write_bytes(checkpoint.read_bytes()[:size])
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        runs.load_run(checkpoint)


def test_foreign_objects_are_refused_without_running_them(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    torch.save({"state_dict": Trap()}, tmp_path / "trap.ckpt")
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        runs.load_run(tmp_path / "trap.ckpt")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("class_path", "message"),
    [
        (None, "not written by a dislab run"),
        ("nowhere.Method", "nowhere.Method, which no installed distribution declares"),
        ("os.path.join", "no installed distribution declares"),
        ("torch.nn.Linear", "no installed distribution declares"),
    ],
)
def test_other_classes_are_refused(
    class_path: str | None, message: str, tmp_path: Path, checkpoint: Path
) -> None:
    stored = torch.load(checkpoint, weights_only=True)
    stored["hyper_parameters"]["_class_path"] = class_path
    torch.save(stored, tmp_path / "other.ckpt")
    with pytest.raises(InputError, match=message):
        runs.load_run(tmp_path / "other.ckpt")


@pytest.mark.parametrize(
    ("what", "reason"), [("setting", "latent_dim.*many"), ("weights", "Missing key")]
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    what: str, reason: str, tmp_path: Path, checkpoint: Path
) -> None:
    stored = torch.load(checkpoint, weights_only=True)
    if what == "setting":
        stored["hyper_parameters"]["latent_dim"] = "many"
    else:
        stored["state_dict"].popitem()
    torch.save(stored, tmp_path / "other.ckpt")
    with pytest.raises(InputError, match=f"does not fit VAE as it is installed now: .*{reason}"):
        runs.load_run(tmp_path / "other.ckpt")


def test_scores_of_stages_stand_side_by_side(tmp_path: Path) -> None:
    path = runs.write_scores(tmp_path / "run", "validate", {"scores": {"mig": 0.25}})
    runs.write_scores(tmp_path / "run", "test", {"scores": {"mig": 0.5}})
    runs.write_scores(tmp_path / "run", "validate", {"parts": {"dci": [float("nan"), 1.0]}})
    expected = {"validate": {"parts": {"dci": [None, 1.0]}}, "test": {"scores": {"mig": 0.5}}}
    assert json.loads(path.read_text()) == expected
    assert runs.read_scores(tmp_path / "run") == expected


def test_a_failed_write_leaves_the_old_scores_and_nothing_else(tmp_path: Path) -> None:
    runs.write_scores(tmp_path, "test", {"scores": {"mig": 0.5}})
    there = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        runs.write_scores(tmp_path, "test", {"scores": np.zeros(3)})
    assert runs.read_scores(tmp_path) == {"test": {"scores": {"mig": 0.5}}}
    assert {path.name for path in tmp_path.iterdir()} == there


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "has no scores.json"), ('{"test": ', "is no JSON"), ("[]", "holds no JSON object")],
)
def test_scores_that_cannot_be_read_are_refused(
    text: str | None, message: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "scores.json").write_text(text)
        with pytest.raises(InputError, match=message):
            runs.write_scores(tmp_path, "test", {})
    with pytest.raises(InputError, match=message):
        runs.read_scores(tmp_path)


def test_versions_are_those_of_the_imported_libraries() -> None:
    found = runs.versions()
    libraries = ["torch", "lightning", "torchmetrics", "numpy", "scipy", "scikit-learn"]
    assert list(found) == ["dislab", *libraries, "python"]
    assert found["torch"] == torch.__version__
    assert found["lightning"] == lightning.__version__
    assert found["numpy"] == np.__version__
