"""Records of scores in a run folder, and where the scores come from."""

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from dislab.base import DataModule, Objective
from dislab.errors import InputError
from dislab.naming.builders import versions
from dislab.naming.settings import checks_arguments
from dislab.storage import atomic, check_fields, json_text, locked, read_json

ScoreStage = Literal[
    "validate",
    "test",
    "validate_concepts",
    "test_concepts",
    "validate_transfer",
    "test_transfer",
    "test_generalisation",
]
"""Key of a record: the command that wrote it, with the kind of scores if not of codes."""

Record = dict[str, Any]
"""JSON data: numbers, strings, lists and dictionaries."""

SCORES = "scores.json"

OTHER_DATA: Final = "other_data"
"""Folder in a run folder that holds the results on other data, in a folder for each."""

_NUMBERS = dict[str, float | None]
_FIELDS: Final[dict[str, Any]] = {
    "scores": _NUMBERS,
    "chance": _NUMBERS | None,
    "intervals": dict[str, list[float | None] | None] | None,
    "parts": dict[str, Any],
    "metrics": dict[str, dict[str, Any]],
    "skipped": dict[str, str],
    "notes": list[str],
    "sample": dict[str, Any],
    "versions": dict[str, str],
    "draw": dict[str, Any],
    "data": dict[str, Any],
    "checkpoint": dict[str, Any],
    "losses": dict[str, Any],
    "untrained": dict[str, Any] | None,
    "baselines": dict[str, _NUMBERS] | None,
}
"""Types of the fields of a record, any of which may be missing."""


def scored_stage(data: DataModule) -> Literal["validate", "test"]:
    """The command that scores a trained model: validate for data without a test split."""
    return "test" if len(data.indices("test")) else "validate"


def write_scores(run: str | Path, stage: ScoreStage, record: Record) -> Path:
    """Writes a record of scores under its stage in `scores.json`, and returns the file's path.

    The records of other stages are kept. The file is replaced atomically, so that readers never see
    an incomplete file. Non-finite numbers become null.

    Args:
        run: The run folder; created if missing.
        stage: Key of the record; an older record of the same stage is replaced.
        record: The record.

    Raises:
        InputError: The file exists but is no JSON object, or cannot be written.
    """
    path = Path(run, SCORES)
    with locked(path):
        records = read_scores(run) if path.exists() else {}
        with atomic(path) as temporary:
            temporary.write_text(json_text({**records, stage: record}), encoding="utf-8")
    return path


def results_folder(run: Path, stage: ScoreStage, record: Record) -> Path:
    """The run folder; one in `other_data` if it has scores of the stage on other data."""
    earlier = read_scores(run).get(stage, {}) if (run / SCORES).exists() else {}
    data = record["data"]
    if earlier.get("data", data) == data:
        return run
    digest = hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
    return run / OTHER_DATA / f"{data['dataset']}-{digest[:8]}"


@checks_arguments
def read_scores(run: str | Path) -> dict[str, Record]:
    """The records of `scores.json`, by stage.

    Raises:
        InputError: The file is missing, or is no JSON object.
    """
    path = Path(run, SCORES)
    if not path.is_file():
        raise InputError(f"{path.parent} has no {SCORES}; `dislab validate` or `test` writes one")
    remedy = "delete it and score the run again"
    records = read_json(path, remedy)
    for stage, record in records.items():
        try:
            check_fields({stage: record}, {stage: Record}, str(path))
            check_fields(record, _FIELDS, f"{path}, {stage},")
        except InputError as error:
            raise InputError(f"{error}; {remedy}") from error
    return records


def mapping_in(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The mapping under a name of a record; empty if there is none.

    Args:
        record: A record of scores, a configuration, or a part of one.
        name: Key of the record.
    """
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def processor() -> str:
    """The processor's name and how many there are, where the system says so."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return f"{names[0]} × {len(names)}" if names else platform.processor()


def origin(model: Objective, data: DataModule, checkpoint: str | Path | None) -> Record:
    """Data, objective, checkpoint, seed and versions that scores come from, for `scores.json`.

    Args:
        model: The objective that is scored.
        data: The data module whose images it encodes.
        checkpoint: File that its weights come from, if any.
    """
    return {
        "data": {
            "datamodule": type(data).__name__,
            "dataset": type(data.dataset).__name__,
            "factors": list(data.factors.names),
            "provenance": data.dataset.provenance(),
        },
        "objective": type(model).__name__,
        "checkpoint": {
            "path": str(checkpoint) if checkpoint else None,
            "steps": int(model.steps),
        },
        "seed": int(model.draw_seed),
        "versions": versions(),
    }
