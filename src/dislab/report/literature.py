"""Values of the literature beside those of a run."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from dislab.metrics.score_table import label
from dislab.naming.classes import class_name, method_of
from dislab.runs.curves import CURVES, read_curves
from dislab.yaml_files import parse_yaml

_VALUES: Final = files("dislab.report") / "literature.yaml"
_RESTRICTIONS: Final = ("include", "hold_out", "correlation", "resize")
"""Settings of data that make other data of a data set."""


def literature(folder: Path, settings: Mapping[str, Any], scores: Mapping[str, Any]) -> list[str]:
    """Sentences that put published values of the same method, data and score beside a run's own.

    Weights, networks and steps may differ; a sentence says those that the publication gives.

    Args:
        folder: The run folder; the last value of its training log stands for a loss.
        settings: The run's configuration.
        scores: Its scores by name.
    """
    if any(_setting(settings, f"data.{name}") for name in _RESTRICTIONS):
        return []
    sentences = []
    for entry in parse_yaml(_VALUES.read_text(encoding="utf-8"), _VALUES.name):
        required = {"data.dataset": entry["dataset"], **entry.get("settings", {})}
        if method_of(settings) != entry["method"] or any(
            _setting(settings, name) != value for name, value in required.items()
        ):
            continue
        score = entry["score"]
        value = scores[score] if score in scores else _last_logged(folder, score)
        if isinstance(value, int | float):
            published = f"published {entry['value']:.3g}, {entry['conditions']}"
            sentences.append(f"{label(score)}: here {value:.3g}; {published} ({entry['source']}).")
    return sentences


def _setting(settings: Mapping[str, Any], name: str) -> Any:
    """A setting under its command-line name; of a part, the name of its class."""
    value: Any = settings
    for key in name.split("."):
        part = value if isinstance(value, Mapping) else {}
        arguments = part.get("init_args")
        value = part.get(key, arguments.get(key) if isinstance(arguments, Mapping) else None)
    is_part = isinstance(value, Mapping) and "class_path" in value
    return class_name(value) if is_part else value


def _last_logged(folder: Path, score: str) -> float | None:
    """The last value of a loss in the training log."""
    name = f"train/{score}"
    logged = [row[name] for row in read_curves(folder / CURVES).rows if name in row]
    return float(logged[-1]) if logged else None
