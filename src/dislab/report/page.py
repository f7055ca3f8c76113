"""The page of runs."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.base import DataModule, Objective, is_vector
from dislab.base.inference import lacks
from dislab.errors import InputError
from dislab.metrics.score_table import definition
from dislab.naming.settings import checks_arguments
from dislab.report.document import EXPLORER_SCRIPTS, document, write_document
from dislab.report.explorer import (
    explorer_of,
    reconstruction_figure,
    scatter_figures,
    traversal_figure,
)
from dislab.report.figures import MOST_PANELS, drawing
from dislab.report.run_record import (
    PICTURES,
    RECONSTRUCTIONS,
    TRAVERSALS,
    PagePicture,
    RunRecord,
    Table,
    caution,
    read_run,
)

PAGE: Final = "report.html"
"""Name of the page in a run folder."""
EXPLORER: Final = "explorer.html"
"""Name of a page with only the explorer in a run folder."""

_UNREAD: Final = "the checkpoint or the data could not be read when the page was written"


class Failure(NamedTuple):
    """Why the scores of a run are missing.

    Attributes:
        reason: The error.
        command: The command that takes them: `test` or `validate`.
    """

    reason: str
    command: str


class ReportedRun(NamedTuple):
    """A run folder, with model and data for its explorer.

    Attributes:
        folder: The run folder.
        module: The trained objective; None if it cannot be loaded.
        data: Its prepared data; None if they cannot be loaded.
        failure: Why its last scoring failed; None if it did not.
    """

    folder: Path
    module: Objective | None
    data: DataModule | None
    failure: Failure | None = None

    @property
    def is_whole(self) -> bool:
        """Whether model and data are there, which an explorer needs."""
        return self.module is not None and self.data is not None


class _Shown(NamedTuple):
    """A run in the form that the template reads."""

    anchor: str
    record: RunRecord
    explorer: dict[str, Any] | None
    reason: str
    failure: Failure | None


@checks_arguments
def write_page(
    runs: Sequence[ReportedRun], path: str | Path, *, explorer_only: bool = False
) -> None:
    """Writes the page of one or several runs; the file is replaced atomically.

    Args:
        runs: The runs, in the order of the page.
        path: The HTML file.
        explorer_only: Whether the page contains only the latent explorers.

    Raises:
        InputError: A folder is no run, a run has no explorer with `explorer_only`, the file cannot
            be written, or it has explorers that a run without its model would lose.
    """
    text = page_of(runs, explorer_only=explorer_only)
    write_document(text, Path(path), all(run.is_whole for run in runs))


@checks_arguments
def page_of(runs: Sequence[ReportedRun], *, explorer_only: bool = False) -> str:
    """The HTML text of the page of one or several runs.

    It depends only on the content of the run folders, on the models and on the data: not on the
    clock or the location of the folders.

    Args:
        runs: The runs, in the order of the page.
        explorer_only: Whether the page contains only the latent explorers.

    Raises:
        InputError: A folder is no run, none is given, or a run has no explorer with
            `explorer_only`.
    """
    if not runs:
        raise InputError("a page needs at least one run")
    sections = [_read(index, run) for index, run in enumerate(runs)]
    if explorer_only:
        for section in sections:
            if section.explorer is None:
                raise InputError(f"{section.record.name} has no explorer: {section.reason}")
    names = [section.record.name for section in sections]
    scored = [section for section in sections if section.record.headline]
    content = {
        "title": names[0] if len(names) == 1 else f"{len(names)} runs",
        "runs": sections,
        "blind": _blind(sections),
        "definition": definition,
        "comparison": _comparison(sections) if len(sections) > 1 else None,
        "caution": caution(_facts("scored on", sections), len({*_facts("data set", scored)}) > 1),
    }
    data = {"explorers": [section.explorer for section in sections]}
    template = "explorers.html" if explorer_only else "runs.html"
    return document(template, EXPLORER_SCRIPTS, content, data)


def _read(index: int, run: ReportedRun) -> _Shown:
    record = read_run(run.folder)
    if run.module is None or run.data is None:
        return _Shown(f"run-{index}", record, None, _UNREAD, run.failure)
    try:
        if is_vector(run.data.image_shape):
            figures = islice(scatter_figures(run.module, run.data), MOST_PANELS)
            drawn = [PagePicture(name, drawing(figure), "") for name, figure in figures]
            record = record._replace(panels=[*record.panels, *drawn])
        explorer = explorer_of(run.module, run.data, record.information, record.unearned)
        record = _with_reconstructions(record, run.module, run.data)
        record = _with_traversals(record, run.module, explorer)
        return _Shown(f"run-{index}", record, explorer, "", run.failure)
    except InputError as error:  # the method has nothing to explore
        return _Shown(f"run-{index}", record, None, str(error), run.failure)


def _with_reconstructions(record: RunRecord, module: Objective, data: DataModule) -> RunRecord:
    """The record with reconstructions in the width of a column, if the run has a picture of them.

    A drawing has no white ground on a dark page, as the picture of the run has.
    """
    pictures = [
        picture._replace(
            address=drawing(reconstruction_figure(module, data), has_images=True),
            caption="The first test images of the explorer, their reconstructions below",
        )
        if picture.name == RECONSTRUCTIONS
        else picture
        for picture in record.pictures
    ]
    return record._replace(pictures=pictures)


def _with_traversals(record: RunRecord, module: Objective, explorer: dict[str, Any]) -> RunRecord:
    """The record with traversals in the width of a column, in place of those of the run."""
    figure = traversal_figure(module, explorer)
    caption = PICTURES[TRAVERSALS] if lacks(module, "render") else "Each row moves one factor"
    ranges = {(slider["low"], slider["high"]) for slider in explorer["sliders"] if "low" in slider}
    if len(ranges) == 1:
        caption += " from {:g} to {:g}, left to right".format(*ranges.pop()).replace("-", "−")
    elif ranges:
        caption += " over the range of its slider, left to right"
    if figure is not None:
        caption += f", from {explorer['starts'][:2][-1]['name']}"
    if any(slider["carries"] for slider in explorer["sliders"]):
        caption += "; labels are those of the explorer"
    drawn = [picture for picture in record.pictures if picture.name == TRAVERSALS]
    if figure is not None:
        drawn = [PagePicture(TRAVERSALS, drawing(figure, has_images=True), caption)]
    others = [picture for picture in record.pictures if picture.name != TRAVERSALS]
    captioned = [picture._replace(caption=caption) for picture in drawn]
    return record._replace(pictures=[*others, *captioned])


def _blind(sections: Sequence[_Shown]) -> dict[str, str]:
    """What the scores of all runs cannot see, each limitation once."""
    names: dict[str, list[str]] = {}
    for section in sections:
        for listed, sentence in section.record.blind.items():
            names.setdefault(sentence, []).extend(listed.split(", "))
    return {", ".join(dict.fromkeys(listed)): sentence for sentence, listed in names.items()}


def _facts(name: str, sections: Sequence[_Shown]) -> list[str]:
    """A fact of each run; empty for a run without it."""
    return [section.record.facts.get(name, "") for section in sections]


def _comparison(sections: Sequence[_Shown]) -> Table:
    """Table with one row per run: its method and main scores."""
    scores = list(dict.fromkeys(name for section in sections for name in section.record.headline))
    facts = ("steps", "seed", "data set", "regularizers")
    rows = [
        [
            section.record.name,
            section.record.facts.get("method", ""),
            *(section.record.headline.get(name, ("",))[0] for name in scores),
            *(section.record.facts.get(name, "") for name in facts),
        ]
        for section in sections
    ]
    return Table(["run", "method", *scores, *facts], rows)
