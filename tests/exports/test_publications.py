"""No publication of a run shows secrets and private paths of its configuration."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.exports.test_hub import RUN, Hub, hub  # noqa: F401  # a fixture

from dislab.cli import main
from dislab.report import ReportedRun
from dislab.report.page import page_of

ADDRESS = "https://alice:hunter2@mlflow.example.org/x"
FOLDER = "/home/alice/hunter2/runs"
TEXTS = [
    ADDRESS,
    f"file://{FOLDER}",
    f"sqlite:///{FOLDER}/x.db",
    f"{FOLDER}/x.npz",
    "~alice/hunter2/x",
    "C:\\Users\\alice\\hunter2\\x",
    f"see {FOLDER}/x, or {ADDRESS}; else ~alice/hunter2/x",
]
PART = {"class_path": "my.Part", "init_args": {"api_key": "hunter2", "note": "hunter2"}}


def hostile() -> dict[str, Any]:
    """Settings with the texts in every section, and a secret in each that is not published."""
    text = TEXTS
    return {
        "name": "small",
        "runs": text,
        "logger": PART,
        "slack": PART,
        "ckpt_path": text,
        "checkpoint": {"dirpath": text, "filename": "hunter2"},
        "trainer": {
            "max_steps": 3,
            "logger": [PART, {"class_path": "W", "init_args": {"uri": text}}],
            "callbacks": [PART],
            "profiler": PART,
            "plugins": [PART],
            "strategy": PART,
            "default_root_dir": text,
        },
        "optimizer": {"class_path": "torch.optim.Adam", "init_args": {"lr": 0.5, "note": text}},
        "data": {
            "class_path": "dislab.datamodules.SingleData",
            "init_args": {"dataset": {"init_args": {"files": text, **dict.fromkeys(text, 1)}}},
        },
        "evaluate": {"note": text, "token": "hunter2"},
    }


def run_folder(folder: Path) -> Path:
    """A run whose configuration and scores hold the texts."""
    run = folder / "private" / "version_0"
    shutil.copytree(RUN, run)
    settings = yaml.safe_load((run / "config.yaml").read_text()) | hostile()
    (run / "config.yaml").write_text(yaml.safe_dump(settings))
    record = {
        "scores": {"mig": 0.5},
        "metrics": {"mig": {"primary": "mig"}},
        "skipped": {"dci": " ".join(TEXTS)},
        "data": {"provenance": {"files": TEXTS}},
        "versions": {"torch": TEXTS[-1]},
        "notes": TEXTS,
    }
    records = {"test": record, "test_transfer": {**record, "scores": {"a/mlp": 0.5}}}
    (run / "scores.json").write_text(json.dumps(records))
    return run


def exported(run: Path, folder: Path) -> Path:
    assert main(["export", str(run), "--to", "safetensors", "--out", str(folder / "out")]) == 0
    return folder / "out"


def an_export(run: Path, folder: Path, hub: Hub) -> dict[str, bytes]:  # noqa: F811
    return {one.name: one.read_bytes() for one in exported(run, folder).iterdir()}


def a_push(run: Path, folder: Path, hub: Hub) -> dict[str, bytes]:  # noqa: F811
    assert main(["push", str(run), "somebody/model"]) == 0
    return hub.repositories["somebody/model"]


def a_push_of_an_old_export(run: Path, folder: Path, hub: Hub) -> dict[str, bytes]:  # noqa: F811
    """An export of a dislab that wrote the whole configuration."""
    out = exported(run, folder)
    for name in ("config.yaml", "scores.json"):
        shutil.copyfile(run / name, out / name)
    return a_push(out, folder, hub)


def a_page(run: Path, folder: Path, hub: Hub) -> dict[str, bytes]:  # noqa: F811
    return {"report.html": page_of([ReportedRun(run, None, None)]).encode()}


@pytest.mark.slow
@pytest.mark.parametrize("publish", [an_export, a_push, a_push_of_an_old_export, a_page])
def test_a_run_is_published_without_them(
    publish: Callable[[Path, Path, Hub], dict[str, bytes]],
    tmp_path: Path,
    hub: Hub,  # noqa: F811
) -> None:
    files = publish(run_folder(tmp_path), tmp_path, hub)
    for name, content in files.items():
        assert b"alice" not in content, name
        assert b"hunter2" not in content, name
    assert any(b"max_steps: 3" in content for content in files.values())
    if publish is not a_page:
        assert yaml.safe_load(files["config.yaml"])["optimizer"]["init_args"]["lr"] == 0.5
