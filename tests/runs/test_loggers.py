"""Loggers by name: the real packages write into local files, and the tests read these."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from tests.processes import start
from tests.small_runs import small_config

from dislab.cli import main

SMALL = small_config("blob", "{pictures: true, score_curves: {steps: 2, points: 100}}")
RUN = "runs/small/version_0"
READ = """
import json
import pathlib
import mlflow

client = mlflow.tracking.MlflowClient(f"sqlite:///{pathlib.Path('runs/mlflow.db').resolve()}")
(run,) = client.search_runs([client.get_experiment_by_name("dislab").experiment_id])
found = {"id": run.info.run_id, "name": run.info.run_name, "status": run.info.status}
found |= {"params": run.data.params, "metrics": run.data.metrics}
found["steps"] = [one.step for one in client.get_metric_history(run.info.run_id, "train/loss")]
found["pictures"] = [one.path for one in client.list_artifacts(run.info.run_id, "images")]
print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)
    for name in ("WANDB_PROJECT", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def dislab(*args: str) -> None:
    """Runs a command in a process of its own."""
    process = start(Path.cwd(), *args)
    output, _ = process.communicate()
    assert process.returncode == 0, output[-3000:]


def refusal(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The message of a refused command."""
    try:
        status = main(["fit", "--config=small.yaml", *args])
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == 2
    assert not Path(RUN).exists()
    return capsys.readouterr().err


@pytest.mark.slow
def test_mlflow_gets_losses_scores_pictures_and_settings_and_goes_on_after_a_resume() -> None:
    if find_spec("mlflow") is None:
        pytest.skip("mlflow is not installed")
    dislab("fit", "--config=small.yaml", "--logger=mlflow")
    dislab("fit", f"--resume={RUN}", "--trainer.max_steps=6", "--then_test=false")
    # in a process of its own: importing mlflow changes the finder of installed packages
    read = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    run = json.loads(read.stdout)
    assert run["id"] == json.loads(Path(RUN, "logger.json").read_text())["mlflow"]
    assert (run["name"], run["status"]) == ("small/version_0", "FINISHED")
    assert run["params"]["model/init_args/latent_dim"] == "3"
    assert run["params"]["trainer/max_steps"] == "4"
    assert run["steps"] == [1, 3, 5]
    scores = json.loads(Path(RUN, "scores_until_step_4.json").read_text())["test"]["scores"]
    assert run["metrics"]["scores/mig"] == pytest.approx(scores["mig"])
    assert "curves/mig" in run["metrics"]
    assert "images/traversals.png" in run["pictures"]
    assert not list(Path(RUN).glob("events.out.*"))
    assert Path(RUN, "metrics.csv").is_file()


@pytest.mark.slow
def test_wandb_gets_losses_scores_pictures_and_settings_and_keeps_its_run_after_a_resume() -> None:
    pytest.importorskip("wandb")
    dislab("fit", "--config=small.yaml", "--logger=wandb")
    (folder,) = Path("runs/wandb").glob("offline-run-*")
    (file,) = folder.glob("*.wandb")
    identity = json.loads(Path(RUN, "logger.json").read_text())["wandb"]
    assert file.name == f"run-{identity}.wandb"
    logged, settings = _wandb_rows(file)
    steps = {row["trainer/global_step"] for row in logged if "train/loss" in row}
    assert steps == {1, 3}
    scores = json.loads(Path(RUN, "scores.json").read_text())["test"]["scores"]
    assert any(row.get("scores/mig") == pytest.approx(scores["mig"]) for row in logged)
    assert any("curves/mig" in row for row in logged)
    assert any("images/traversals/count" in row for row in logged)
    assert list(folder.glob("files/media/images/images/traversals_*.png"))
    assert settings["model"]["init_args"]["latent_dim"] == 3
    dislab("fit", f"--resume={RUN}", "--trainer.max_steps=6", "--then_test=false")
    both = {one.name for one in Path("runs/wandb").glob("offline-run-*/*.wandb")}
    assert both == {file.name}
    assert len(list(Path("runs/wandb").glob("offline-run-*"))) == 2


def _wandb_rows(file: Path) -> tuple[list[dict[str, object]], dict[str, dict[str, dict[str, int]]]]:
    """The logged rows and the settings in the file of an offline run."""
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

    rows, settings = [], {}
    for data in _wandb_records(file.read_bytes()):
        record = Record()
        record.ParseFromString(data)
        if record.HasField("history"):
            rows.append(
                {
                    one.key or "/".join(one.nested_key): json.loads(one.value_json)
                    for one in record.history.item
                }
            )
        for part in (record.config, record.run.config):
            for one in part.update:
                settings[one.key or "/".join(one.nested_key)] = json.loads(one.value_json)
    return rows, settings


def _wandb_records(content: bytes) -> Iterator[bytes]:
    """The records of W&B's file, in the format of LevelDB's log.

    https://github.com/google/leveldb/blob/main/doc/log_format.md, after 7 bytes of W&B.
    """
    block, header, place, whole = 32768, 7, 7, b""
    while place + header <= len(content):
        if block - place % block < header:  # filled up with zeros
            place += block - place % block
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        place += header
        whole += content[place : place + length]
        place += length
        if kind in (1, 4):  # whole, or the last piece
            yield whole
            whole = b""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv", "none"])
def test_the_own_log_needs_no_logger(name: str) -> None:
    short = ["--then_test=false", "--pictures=false", "--trainer.max_steps=2"]
    assert main(["fit", "--config=small.yaml", f"--logger={name}", *short]) == 0
    assert "train/loss" in Path(RUN, "metrics.csv").read_text()
    assert not list(Path(RUN).glob("events.out.*"))
    assert not Path(RUN, "logger.json").exists()
    assert yaml.safe_load(Path(RUN, "config.yaml").read_text())["logger"] == name


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_an_absent_package_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    message = refusal(capsys, f"--logger={name}")
    assert f"--logger {name} needs {name}" in message
    assert f"pip install 'dislab[{name}]'" in message
    assert len(message.splitlines()) == 1


def test_a_misspelt_logger_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(capsys, "--logger=wandbb")
    assert "logger: expected one of tensorboard, wandb, mlflow, csv, none" in message
    assert "did you mean wandb?" in message


def test_two_settings_of_loggers_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(capsys, "--logger=csv", "--trainer.logger=false")
    assert "leave one of the two out" in message


@pytest.mark.parametrize("text", ["[]", "no json"])
def test_a_damaged_file_of_identifiers_is_named(text: str, tmp_path: Path) -> None:
    from dislab.errors import InputError
    from dislab.runs.loggers import _identity

    (tmp_path / "logger.json").write_text(text)
    with pytest.raises(InputError, match=r"logger\.json (holds no JSON object|is no JSON)"):
        _identity(tmp_path, "wandb")
