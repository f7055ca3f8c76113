"""Values of the literature beside those of a run."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.metrics.score_table import label
from dislab.naming.classes import class_name, method_of
from dislab.runs.curves import CURVES, read_curves
from dislab.runs.records import mapping_in
from dislab.yaml_files import parse_yaml

_VALUES: Final = files("dislab.report") / "literature.yaml"
_RESTRICTIONS: Final = ("include", "hold_out", "correlation", "resize")
"""Settings of data that make other data of a data set."""
_NO_REPRODUCTION: Final = (
    "Close values reproduce the paper only if images, settings and length of training are the same."
)


class PublishedValue(NamedTuple):
    """A score of a run beside that of a paper.

    Attributes:
        score: Its name in words.
        obtained: That of the run.
        published: That of the paper.
        about: Sentences on the training and the images of both.
    """

    score: str
    obtained: str
    published: str
    about: str

    @property
    def sentences(self) -> str:
        """All of it in sentences."""
        return f"{self.score}: {self.obtained} obtained, {self.published} published. {self.about}"


def literature(
    folder: Path, settings: Mapping[str, Any], scored: Mapping[str, Any]
) -> list[PublishedValue]:
    """Published values of the same method, data and score beside a run's own.

    Weights, networks and steps may differ; a sentence says the images and the training of both.

    Args:
        folder: The run folder; the last value of its training log stands for a loss.
        settings: The run's configuration.
        scored: Its record of scores; empty for none.
    """
    scores = mapping_in(scored, "scores")
    if any(_setting(settings, f"data.{name}") for name in _RESTRICTIONS):
        return []
    values = []
    for entry in parse_yaml(_VALUES.read_text(encoding="utf-8"), _VALUES.name):
        required = {"data.dataset": entry["dataset"], **entry.get("settings", {})}
        if method_of(settings) != entry["method"] or any(
            _setting(settings, name) != value for name, value in required.items()
        ):
            continue
        score = entry["score"]
        value = scores[score] if score in scores else _last_logged(folder, score)
        if isinstance(value, int | float):
            steps = entry.get("steps")
            trained = f"after {steps:,} steps" if steps else "after an unknown number of steps"
            about = (
                f"Obtained after {_training(folder, scored)} on {entry['dataset']}"
                f"{_origin(scored)}; published in {entry['source']}, {trained} on "
                f"{entry['images']}: {entry['conditions']}. {_NO_REPRODUCTION}"
            )
            published = f"{entry['value']:.3g}"
            values.append(PublishedValue(label(score), f"{value:.3f}", published, about))
    return values


def _training(folder: Path, scored: Mapping[str, Any]) -> str:
    """How many steps a run has taken, as its scores or its training log have it."""
    steps = mapping_in(scored, "checkpoint").get("steps")
    if not isinstance(steps, int):
        logged = [int(row["step"]) for row in read_curves(folder / CURVES).rows if "step" in row]
        steps = max(logged, default=0)
    return f"{steps:,} step{'s' * (steps != 1)}" if steps else "an unknown number of steps"


def _origin(scored: Mapping[str, Any]) -> str:
    """Where the images of a run are from, in parentheses; empty if its record does not say."""
    source = mapping_in(mapping_in(scored, "data"), "provenance").get("source")
    return f" ({source})" if source else ""


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
