"""Records of scores in a run folder, and the versions that numbers depend on."""

import json
from pathlib import Path
from platform import python_version
from typing import Any, Literal

from dislab.builders import version_of
from dislab.errors import InputError
from dislab.storage import atomic, json_text, locked

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


def read_scores(run: str | Path) -> dict[str, Record]:
    """The records of `scores.json`, by stage.

    Args:
        run: The run folder.

    Raises:
        InputError: The file is missing, or is no JSON object.
    """
    path = Path(run, SCORES)
    if not path.is_file():
        raise InputError(f"{path.parent} has no {SCORES}; `dislab validate` or `test` writes one")
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{path} is no JSON ({error}); delete it and score the run again"
        ) from error
    if not isinstance(records, dict):
        raise InputError(f"{path} holds no JSON object; delete it and score the run again")
    return records


def versions() -> dict[str, str]:
    """Versions of the packages that affect results; for PyTorch including its build."""
    names = ("dislab", "torch", "lightning", "numpy", "scikit-learn")
    return {name: version_of(name) for name in names} | {"python": python_version()}
