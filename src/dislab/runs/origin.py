"""The origin of scores: data, model, checkpoint, seed and versions."""

from pathlib import Path

from dislab.base import DataModule, Objective
from dislab.naming.builders import versions
from dislab.runs.records import Record


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
