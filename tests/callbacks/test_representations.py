from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from tests.callbacks.conftest import BlockData, Linear, quiet_trainer
from tests.processes import start_several

from dislab.base import DataModule, Objective
from dislab.callbacks import Representations
from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.errors import InputError

MakeTrainer = Callable[..., pl.Trainer]


def test_the_file_holds_the_codes_and_factors_of_the_predicted_states(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, objective: Objective
) -> None:
    runner = trainer(callbacks=[Representations()])
    for _ in range(2):
        runner.predict(objective, datamodule=data, return_predictions=False)
    states = data.indices("test")
    with torch.no_grad():
        codes = objective.codes(data.images(torch.from_numpy(states)))
    with np.load(tmp_path / "run" / "representations.npz", allow_pickle=False) as file:
        assert set(file) == {"codes", "factors", "names", "states", "checkpoint"}
        assert file["codes"].dtype == np.float32
        assert file["factors"].dtype == np.int64
        np.testing.assert_allclose(file["codes"], codes.numpy(), rtol=1e-6)
        np.testing.assert_array_equal(file["factors"], data.factors.positions(states))
        np.testing.assert_array_equal(file["states"], states)
        assert file["names"].tolist() == ["x", "y", "brightness"]


def test_numbers_of_continuous_factors_are_in_the_file(
    tmp_path: Path, trainer: MakeTrainer, objective: Objective
) -> None:
    points = np.random.default_rng(0).random((30, 1))
    pixels = np.random.default_rng(1).integers(256, size=(30, 8, 8), dtype=np.uint8)
    dataset = ArrayDataset(pixels, points, names=["x"], kinds={"x": "continuous"})
    runner = trainer(callbacks=[Representations()])
    data = SingleData(dataset, batch_size=4, validation=0.1, test=0.5)
    runner.predict(objective, datamodule=data, return_predictions=False)
    with np.load(tmp_path / "run" / "representations.npz", allow_pickle=False) as file:
        assert file["values_x"].tolist() == np.sort(points[:, 0]).tolist()
        found = file["values_x"][file["factors"]]
        assert np.array_equal(found, dataset.values(data.indices("test")))
        assert np.array_equal(points[file["rows"]], found)


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = trainer(callbacks=[Representations()])
    runner.predict(objective, datamodule=data, return_predictions=False)
    path = tmp_path / "run" / "representations.npz"
    before = path.read_bytes()

    def fail(file: object, **arrays: object) -> None:
        assert hasattr(file, "write")
        file.write(b"half")
        raise RuntimeError("cut short")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(RuntimeError, match="cut short"):
        runner.predict(objective, datamodule=data, return_predictions=False)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["representations.npz"]


def test_other_predictions_are_refused(
    trainer: MakeTrainer, data: DataModule, objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objective, "predict_step", lambda batch, batch_idx: [1, 2])
    runner = trainer(callbacks=[Representations()])
    with pytest.raises(InputError, match="must return a dictionary with codes and factors"):
        runner.predict(objective, datamodule=data, return_predictions=False)


def predict_in_a_group() -> int:
    """Writes the codes of one of two processes."""
    torch.manual_seed(0)
    runner = quiet_trainer(Path("run"), callbacks=[Representations()], devices=2, strategy="ddp")
    runner.predict(Linear(), datamodule=BlockData(), return_predictions=False)
    return 0


@pytest.mark.slow
def test_the_rows_of_two_processes_follow_one_another(tmp_path: Path, data: DataModule) -> None:
    for process in start_several(tmp_path, 2, predict_in_a_group):
        said, _ = process.communicate()
        assert process.returncode == 0, said
    positions = data.factors.positions(data.indices("test"))
    with np.load(tmp_path / "run" / "representations.npz") as file:
        np.testing.assert_array_equal(file["factors"], np.concatenate([positions, positions]))
        np.testing.assert_array_equal(file["codes"][:12], file["codes"][12:])
