"""Model cards: training data, inputs and outputs, and scores of a file of weights."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

import jinja2

from dislab.base import Objective, Regularizer
from dislab.exports.networks import Network
from dislab.report.run_record import Table, read_run
from dislab.runs import CONFIG, versions
from dislab.storage import markdown_text

CARD: Final = "README.md"
"""File name of the card, which the Hugging Face Hub shows as the model's page."""
_TEMPLATE: Final = files("dislab.exports") / "card.md.jinja"


class About(NamedTuple):
    """Information about a run for its card.

    Attributes:
        name: Title of the card.
        method: Name of the method.
        penalties: Classes of its regularisers.
        facts: Names and values: method, data, steps and the like.
        scores: The table of scores; None if the run was not scored.
        bounds: The table of likelihoods, if any.
        blind: What each score cannot see, by the names of the scores.
        notes: Remarks on the scores.
        settings: The training configuration; empty for a run from Python.
        versions: Versions by distribution.
    """

    name: str
    method: str
    penalties: Sequence[str]
    facts: Mapping[str, str]
    scores: Table | None
    bounds: Table | None
    blind: Mapping[str, str]
    notes: Sequence[str]
    settings: str
    versions: Mapping[str, str]


def described(run: Path, model: Objective) -> About:
    """Reads the information in a run folder; for a checkpoint or a run from Python, the method.

    Args:
        run: A run folder, a checkpoint file, or an export.
        model: Its model.

    Raises:
        InputError: A file of the run is damaged.
    """
    method = type(model).__name__
    penalties = [type(part).__name__ for part in model.modules() if isinstance(part, Regularizer)]
    if not (run / CONFIG).is_file():
        facts = {"method": method, "steps": f"{int(model.steps):,}"}
        return About(
            run.stem or method, method, penalties, facts, None, None, {}, [], "", versions()
        )
    record = read_run(run, draw=False)
    facts = {"method": method, **record.facts}
    method = facts["method"]
    # the versions at the time of scoring, else the current ones
    used = record.versions or versions()
    return About(
        record.name,
        method,
        penalties,
        facts,
        record.scores,
        record.bounds,
        record.blind,
        record.notes,
        record.settings,
        used,
    )


def card(
    about: About,
    networks: Sequence[Network],
    contents: Mapping[str, float | None],
    half: bool = False,
) -> str:
    """The text of a card, in Markdown with the metadata header of the Hub.

    Args:
        about: Information about the run.
        networks: The encoder and the decoder.
        contents: Files of the export, each with the largest difference between its outputs and
            those of the run's model; None for files without outputs.
        half: Whether the weights were rounded to half precision.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML
    )
    environment.filters["cell"] = markdown_text
    environment.filters["shape"] = _shape
    environment.filters["tag"] = _tag
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        about=about, networks=networks, contents=contents, half=half, config=CONFIG
    )


def _tag(method: str) -> str:
    """The name of a method as a tag of the Hub, which is plain YAML."""
    return re.sub(r"[^\w-]+", "-", method).strip("-") or "dislab"


def _shape(shape: Sequence[int]) -> str:
    return "(" + ", ".join(["batch", *map(str, shape)]) + ")"
