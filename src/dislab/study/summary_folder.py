"""Pictures of a study, and the folder with all its tables and pictures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import isfinite, nan
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from dislab.plots import correlation_matrix, parallel_settings, save, scatter, violins
from dislab.storage import markdown_text, new_folder
from dislab.study.schedule import plain
from dislab.study.stages.score import CHANCE
from dislab.study.statistics import correlation_table, markdown
from dislab.study.statistics._frames import ALL, groups, numbers
from dislab.study.study import warn_of_replaced
from dislab.study.summary import (
    UDR,
    UNKNOWN,
    StudySummary,
    headline_measures,
    label,
    labels,
    nested,
    setting_text,
    slugs,
)
from dislab.study.tables import PICTURES, PictureFormat, is_table, write_table

_WIDE: Final = 40
"""Maximum number of scores in a matrix; more would be illegible."""
_TALL: Final = 40
"""Maximum number of violins in a picture; trailing axes are dropped to stay below it."""
_OF_P: Final = "; p is corrected by Holm for all rows of the rank correlations"


class StudyPicture(NamedTuple):
    """One picture of a study.

    Attributes:
        name: File name without suffix.
        caption: One-sentence description.
        figure: The picture.
    """

    name: str
    caption: str
    figure: Figure


def pictures(summary: StudySummary, most: int | None = None) -> Iterator[StudyPicture]:
    """Draws the pictures of a study one by one.

    They are violin plots of each measure by setting, the matrix of rank correlations, scatter plots
    of the target against the measures that need no factor labels, and, where violins do not show
    all axes, parallel coordinates of settings and target.

    Args:
        summary: Result of `summarize`.
        most: Maximum number of violin plots and of scatter plots, those of the target first; None
            for all.
    """
    runs, target = summary.runs, summary.target
    varying = [axis for axis in summary.axes if runs[axis].map(repr).nunique() > 1]
    values = numbers(runs, [*summary.measures, *(name for name in [UDR] if name in runs)])
    files = slugs(map(str, values))
    by = ", ".join(labels(_few(runs, varying)).values())
    first = [target, *headline_measures(summary.measures)]
    for measure in list(dict.fromkeys([*first, *summary.measures]))[:most]:
        level = f"{measure}{CHANCE}"
        chance = float(numbers(runs, [level])[level].mean()) if level in runs else nan
        yield StudyPicture(
            f"violins_{files[measure]}",
            f"{label(measure)}{by and f' by {by}'}; every point is a run, every bar a mean"
            f"{', the dotted line chance' if isfinite(chance) else ''}.",
            _violins(runs, values[measure], varying, label(measure), chance),
        )
    if "rank_correlations" in summary.tables:
        rho = correlation_table(summary.tables["rank_correlations"].table)
        if len(rho) <= _WIDE:
            names = [label(str(name)) for name in rho.columns]
            count = int(values.notna().any(axis=1).sum())
            yield StudyPicture(
                "rank_correlations",
                f"Spearman's rank correlations of the scores over {count} runs.",
                correlation_matrix(rho.to_numpy(), [label(str(name)) for name in rho.index], names),
            )
        yield from _scatters(summary, values, files, varying[:1], most)
    if _are_parallel(runs, varying):
        yield StudyPicture(
            "settings",
            f"The settings of every run beside its {label(target)}; one line is one run.",
            parallel_settings(
                {
                    name: [_or_dash(value) for value in runs[axis]]
                    for axis, name in labels(varying).items()
                },
                values[target],
                label(target),
            ),
        )


def _are_parallel(runs: pd.DataFrame, axes: list[str]) -> bool:
    """Whether parallel coordinates of the settings show more than violins.

    That is the case for the trials of a search, and for more settings than fit a picture of
    violins, unless a value means something else in each method.
    """
    settings = len(list(groups(runs, axes)))
    if not axes or settings == len(runs):
        return bool(axes)
    return _few(runs, axes) != axes and not any(
        nested(runs, *pair) for pair in permutations(axes, 2)
    )


def _scatters(
    summary: StudySummary,
    values: pd.DataFrame,
    files: Mapping[str, str],
    by: list[str],
    most: int | None,
) -> Iterator[StudyPicture]:
    """The target against each score that needs no factor labels."""
    target = summary.target
    kinds = [setting_text(value) for value in summary.runs[by[0]]] if by else []
    known = summary.tables.get("rank_correlations")
    others = [str(name) for name in values if name != target]
    for partner in [name for name in others if name == UDR or not _needs_labels(name)][:most]:
        name = label(partner)
        yield StudyPicture(
            f"scatter_{files[partner]}",
            f"{label(target)} against {name}, with Spearman's ρ over all runs"
            f"{f' and by {label(by[0])}' if by else ''}{'' if known is None else _OF_P}.",
            scatter(
                values[target],
                values[partner],
                (label(target), name),
                kinds,
                p={} if known is None else _p_of(known.table, {target, partner}, by),
            ),
        )


def _p_of(correlations: pd.DataFrame, pair: set[str], by: list[str]) -> dict[str, float]:
    """The corrected p of a pair by value of the axis, and over all runs under the empty name."""
    both = correlations["left"].isin(pair) & correlations["right"].isin(pair)
    part = correlations[both & correlations["p_holm"].notna()]
    starts = [f"{axis}=" for axis in by]
    names = ["" if name == ALL else name.removeprefix("".join(starts)) for name in part["group"]]
    return dict(zip(names, part["p_holm"], strict=True))


def _violins(
    runs: pd.DataFrame, values: pd.Series, axes: list[str], name: str, chance: float
) -> Figure:
    axes = _few(runs, axes)
    scores = {}
    kinds = []
    for key, group in groups(runs, axes):
        texts = [text for text in map(setting_text, key.values()) if text != UNKNOWN]
        scores[", ".join(texts) or "all"] = values[group.index].tolist()
        kinds.append(texts[0] if texts else "all")
    return violins(scores, name, kinds=kinds if len(axes) > 1 else (), chance=chance)


def _few(runs: pd.DataFrame, axes: list[str]) -> list[str]:
    """The longest prefix of the axes that gives few enough violins for one picture."""
    for count in range(len(axes), 1, -1):
        if len(list(groups(runs, axes[:count]))) <= _TALL:
            return axes[:count]
    return axes[:1]


def _needs_labels(column: str) -> bool:
    """Whether a score compares codes with factors."""
    return column.startswith("score.") and not column.startswith(
        ("score.elbo_", "score.reconstruction_")
    )


def _or_dash(value: Any) -> Any:
    """The value, or a dash for a run without this setting."""
    return UNKNOWN if setting_text(value) == UNKNOWN else plain(value)


PAGE: Final = "summary.md"
_RUNS: Final = "runs.csv"
_TITLE: Final = ": tables and pictures"
_NUMBERS: Final = "All numbers: ["


def write_summary(
    summary: StudySummary, folder: Path, form: PictureFormat = "svg", about: Sequence[str] = ()
) -> list[Path]:
    """Writes all tables and pictures of a study into a folder, and returns the files.

    Each table becomes a CSV file with full precision, and `runs.csv` has one row per run.
    `summary.md` shows the pictures and the most important part of each table. Equal runs give equal
    bytes. The files reach the folder when all of them are written; they replace those of an earlier
    summary there, and no others; its pictures of the same names in other formats are removed.

    Args:
        summary: Result of `summarize`.
        folder: The folder; created if missing.
        form: Format of the pictures, or `none` for no pictures.
        about: Lines about the origin of the numbers.

    Raises:
        InputError: A file cannot be written, or would replace a file of the user.

    Warns:
        StudyWarning: The folder had the summary of another study.
    """
    captions, earlier = [], _earlier_pictures(folder, form)
    with new_folder("--out", folder, _is_of_summary) as temporary:
        write_table(summary.runs, temporary / _RUNS)
        for name, table in summary.tables.items():
            write_table(table.table.set_index(table.table.columns[0]), temporary / f"{name}.csv")
        for picture in pictures(summary) if form != "none" else ():
            save(picture.figure, temporary / f"{picture.name}.{form}")
            captions.append((picture.name, picture.caption))
        text = page(summary, captions, form, about)
        (temporary / PAGE).write_text(text, encoding="utf-8")
        warn_of_replaced(folder / PAGE, _summarized(folder), _summarized(temporary))
    for name, _ in captions:
        for path in earlier.get(name, []):
            path.unlink(missing_ok=True)
    tables = [f"{name}.csv" for name in summary.tables]
    files = [f"{name}.{form}" for name, _ in captions]
    return [folder / name for name in (_RUNS, *tables, *files, PAGE)]


def _summarized(folder: Path) -> str:
    """The name of the study whose summary is in a folder; empty if there is none."""
    path = folder / PAGE
    first = path.read_text("utf-8", "replace").partition("\n")[0] if path.is_file() else ""
    name = first.removeprefix("# ").removesuffix(_TITLE).replace("\\", "")
    return name if first.endswith(_TITLE) else ""


def _earlier_pictures(folder: Path, form: PictureFormat) -> dict[str, list[Path]]:
    """Pictures of an earlier summary in other formats, by name."""
    pictures_by_name: dict[str, list[Path]] = {}
    if (folder / PAGE).is_file():
        for path in folder.iterdir():
            other = path.suffix.removeprefix(".")
            if other in PICTURES and other != form and path.is_file() and _is_of_summary(path):
                pictures_by_name.setdefault(path.stem, []).append(path)
    return pictures_by_name


def _is_of_summary(path: Path) -> bool:
    """Whether a file belongs to the summary in its folder."""
    if path.name == _RUNS:
        return is_table(path)
    text = (path.parent / PAGE).read_text(encoding="utf-8")
    is_summary = text.partition("\n")[0].endswith(_TITLE) and _NUMBERS in text
    return is_summary and (path.name == PAGE or f"]({path.name})" in text)


def page(
    summary: StudySummary,
    captions: Iterable[tuple[str, str]],
    form: PictureFormat,
    about: Sequence[str],
) -> str:
    """The tables and the pictures, by name and caption, of a study in Markdown."""
    states = summary.runs["state"].value_counts(sort=False)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    parts = [
        f"# {markdown_text(summary.name)}{_TITLE}",
        "\n".join([f"{len(summary.runs)} runs ({counts}).", *map(markdown_text, about)]),
    ]
    said = {""}
    for name, table in summary.tables.items():
        note = table.note if table.details in said else f"{table.note} {table.details}"
        said.add(table.details)
        text = "\n".join(markdown(excerpt) for excerpt in table.excerpts)
        parts += [
            f"## {markdown_text(table.title)}",
            f"{markdown_text(note)} {_NUMBERS}{name}.csv]({name}.csv).",
            text.rstrip("\n"),
        ]
    if summary.absent:
        parts.append("## Tables left out")
        parts.append(
            "\n".join(f"* {name}: {markdown_text(why)}" for name, why in summary.absent.items())
        )
    if shown_pictures := [
        f"![{caption}]({name}.{form})\n\n*{caption}*"
        for name, caption in ((name, markdown_text(text)) for name, text in captions)
    ]:
        parts += ["## Pictures", *shown_pictures]
    ends = ", ".join(
        f"{markdown_text(label(name))} ({end})" for name, end in summary.measures.items()
    )
    parts.append(f"Scores of these tables, each with its good end: {ends}.")
    return "\n\n".join(parts) + "\n"
