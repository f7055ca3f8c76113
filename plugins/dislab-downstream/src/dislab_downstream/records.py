"""Records of tasks in a run folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dislab.errors import InputError
from dislab.storage import atomic, check_fields, json_text, read_json


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Writes a record, atomically."""
    with atomic(path) as temporary:
        temporary.write_text(json_text(record), encoding="utf-8")


def read_scores(path: Path) -> dict[str, float | None]:
    """Scores in a record.

    Args:
        path: The file.

    Raises:
        InputError: The file is missing or damaged.
    """
    remedy = f"delete it, and run `dislab {path.stem} {path.parent}` again"
    record = read_json(path, remedy)
    fields = {"scores": dict[str, float | None]}
    if "scores" not in record:
        raise InputError(f"{path} has no scores; {remedy}")
    check_fields({"scores": record["scores"]}, fields, str(path))
    scores: dict[str, float | None] = record["scores"]
    return scores
