"""The results of a study in a few lines: means of its main scores by method, and a verdict."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from dislab.codes.latent_order import NONE_ACTIVE
from dislab.errors import InputError
from dislab.metrics.score_table import FACTOR_VAE, decimals, is_count, score_text
from dislab.storage import WIDTH, minus_signs, text_table
from dislab.study.identity import OF_THE_HOST
from dislab.study.stages.score import LEVELS
from dislab.study.statistics import comparisons, latex, rank_correlations, seeds_needed
from dislab.study.statistics._frames import AGREEMENT, keyed
from dislab.study.statistics.selection import Best
from dislab.study.statistics.text import BOLD, END
from dislab.study.status import states_line
from dislab.study.summary import (
    LEVEL,
    UNKNOWN,
    averaged_over,
    default_target,
    headline_measures,
    label,
    labels,
    measures_of,
    nested,
    of_few_seeds,
    setting_text,
    values_of,
)

_SETTINGS: Final = 4
"""Maximum number of columns of settings, beside the seed; fewer where a terminal is too narrow."""
_OF_DATA: Final = ("data.dataset", "data.include", "data.resize")
"""Beginnings of settings that decide which images are scored."""
_CELL: Final = 20
"""Letters of a setting in a line of a terminal."""
_INDEX: Final = 40
"""Letters of the name of a row in such a line."""
_SPREAD: Final = "mean ± standard deviation over all runs of a row"
_ROW: Final = "row of the table"
"""Column with the row of each run, for comparisons between rows."""
_COUNT: Final = "score.num_active"
"""Column with the number of latents that vary enough for the FactorVAE score."""
_ACTIVE: Final = "score.active_units"
_OF_STILL: Final = (
    "no latent varies enough, so that the FactorVAE score is 0 there, without a chance level"
)
_NAMED: Final = 8
"""Number of settings up to which a sentence names them."""
_VALUES: Final = 4
"""Number of values of a setting up to which a sentence has them."""
_WEIGHT: Final = re.compile(r"model\.regularizers\.\w+\.(?!\w*steps$)\w+")
_OF_STEPS: Final = ("trainer.max_steps", "trainer.max_epochs")
BEST: Final = "best run"
"""Column of `headline_table` with the name of the best run of each row."""
_FOLDER: Final = "folder"
_WITHOUT_SCORES: Final = ("diverged", "failed")
"""States of runs that have ended without scores, which a row counts."""
_NEAR_CHANCE: Final = 0.02
"""Difference from chance below which a sentence says that no mean reaches it."""
_NAMES: Final = 3
"""Number of runs up to which a sentence names them."""


def measures_to_show(
    runs: pd.DataFrame, primary: Mapping[str, Best] | None = None
) -> dict[str, Best]:
    """The measures that have means: those that vary; if none does, as of a single run, all.

    Args:
        runs: Result of `Study.table`.
        primary: Result of `Study.primary_scores`.
    """
    return measures_of(runs, primary) or measures_of(runs, primary, least=1)


def headline_table(
    runs: pd.DataFrame,
    axes: Sequence[str],
    measures: Mapping[str, Best],
    target: str | None = None,
    by: Sequence[str] = (),
    shown: Mapping[str, Best | None] = MappingProxyType({}),
) -> pd.DataFrame:
    """Mean ± standard deviation of the headline measures for each value of the first axis.

    One row for each value, those of numbers in their order, with the number of scored runs (`2 of
    6` where the others wait, have diverged or failed) and the best run by the first measure, and
    one for each level of `LEVELS`, such as that of chance, where scores have one. `*` marks the
    best mean and each mean whose difference from it is not supported, as `legend` says; counts,
    such as that of latents, have no mark.

    Args:
        runs: Result of `Study.table`.
        axes: Names of the columns that are axes; the first one that varies makes the rows.
        measures: Result of `measures_of`.
        target: The measure to show first; the first headline measure unless given.
        by: Axes of which each combination of values makes a row, instead.
        shown: The results to show, instead of the headline measures, each with the direction in
            which it improves; one without has no mark and, as the first, no best run.
    """
    ends: dict[str, Best | None] = {**measures, **shown}
    columns = list(shown) or headline_measures(measures, target)
    if target is not None:
        columns = list(dict.fromkeys([target, *columns]))
    scored = runs[runs[columns].notna().any(axis=1)]
    by = rows_of(runs, axes, by)
    planned = runs[(runs["state"] != "finished") | runs.index.isin(scored.index)]
    parts = {"all": planned}
    if by:
        grouped = planned.iloc[_order(planned, by)].groupby(by, sort=False, dropna=False)
        parts = {", ".join(map(setting_text, values)): part for values, part in grouped}
    groups = {row: part[part.index.isin(scored.index)] for row, part in parts.items()}
    rows = pd.concat([pd.Series(name, part.index) for name, part in groups.items()])
    rowed = scored.assign(**{_ROW: rows})
    heading = ", ".join(map(label, by)) if by else "setting"
    heads = labels(columns)
    table = pd.DataFrame(index=pd.Index(map(str, groups), name=heading))
    table["runs"] = [
        str(len(group)) if len(group) == len(part) else f"{len(group)} of {len(part)}"
        for group, part in zip(groups.values(), parts.values(), strict=True)
    ]
    for name in columns:
        others = [axis for axis in axes if axis not in by]
        best = ends.get(name)
        marked = _not_worse_than_the_best(rowed, others, name, best) if best else set()
        table[heads[name]] = [
            f"{_spread(group[name])}{'*' if row in marked else ' '}"
            for row, group in groups.items()
        ]
    if columns and (first := ends.get(columns[0])):
        table[BEST] = [_best(group[columns[0]], first) for group in groups.values()]
    for level in LEVELS:
        cells = {
            heads[name]: f"{score_text(name, scored[column].mean())} "
            for name in columns
            if (column := f"{name}/{level}") in scored and scored[column].notna().any()
        }
        if cells:
            table.loc[level] = [cells.get(name, "") for name in table.columns]
    return table


def rows_of(runs: pd.DataFrame, axes: Sequence[str], by: Sequence[str] = ()) -> list[str]:
    """The axes whose values make the rows of a `headline_table`: `by`, or the first that varies."""
    return list(by) or _varying(runs, axes)[:1]


def _order(runs: pd.DataFrame, axes: Sequence[str]) -> npt.NDArray[np.int64]:
    """Positions of runs by the values of axes: numbers by size, others as they first appear.

    A run that lacks an axis comes first.
    """
    ranks = []
    for _, values in keyed(runs, axes).items():
        numbers = pd.to_numeric(values, errors="coerce")
        is_graded = numbers.notna().equals(values.notna())
        ranks.append(numbers.rank().fillna(-1) if is_graded else pd.factorize(values)[0])
    return np.lexsort(ranks[::-1])


def mixture(runs: pd.DataFrame, axes: Sequence[str], by: Sequence[str]) -> str:
    """Says which rows of a `headline_table` are of settings that cannot be compared; else empty.

    These are rows of an axis whose values belong to the values of an earlier axis, such as a
    strength of each method, if one value belongs to several of these and they make no rows, too.

    Args:
        runs: Result of `Study.table`.
        axes: Names of the columns that are axes.
        by: Those whose combinations of values make the rows.
    """
    for axis in by:
        earlier = [name for name in axes[: axes.index(axis)] if name not in by]
        outer = [name for name in earlier if nested(runs, axis, name)]
        if any(_share_a_row(runs, name, by) for name in outer):
            return (
                f"each {label(outer[0])} has values of {label(axis)} of its own, and a row mixes "
                f"those that are equal; --by {' '.join([*outer, *by])} has a row for each"
            )
    return ""


def _share_a_row(runs: pd.DataFrame, axis: str, by: Sequence[str]) -> bool:
    """Whether runs of two values of an axis are in one row of a `headline_table`."""
    values = runs[axis].map(repr).groupby([runs[name].map(repr) for name in by])
    return bool((values.nunique() > 1).any())


def _not_worse_than_the_best(
    runs: pd.DataFrame, axes: Sequence[str], score: str, best: Best
) -> set[str]:
    """Rows with the best mean of a score, and with means whose difference from it is unsupported.

    It is empty if these are all rows, as then no difference from the best mean is supported.
    """
    means = runs.groupby(_ROW, sort=False)[score].mean().dropna()
    count, seeds = len(means), runs["seed"].nunique()
    if count < 2 or is_count(score, means.iloc[0]):
        return set()
    if seeds < seeds_needed(0.0, level=LEVEL, tests=count * (count - 1) // 2):
        return set()
    try:
        pairs = _differences(runs[runs[_ROW].isin(means.index)], [_ROW, *axes], _ROW, score)
    except InputError:  # no two rows have runs of one seed
        return set()
    first = means.idxmax() if best == "highest" else means.idxmin()
    apart = pairs[pairs["p_holm"] < LEVEL][["first", "second"]].to_numpy().tolist()
    marked = {row for row in means.index if [first, row] not in apart and [row, first] not in apart}
    return marked if len(marked) < count else set()


def spread_note(table: pd.DataFrame) -> str:
    """Says what the cells of a `headline_table` are; empty if none has a standard deviation."""
    has_spread = any("±" in str(cell) for cell in table.to_numpy().flat)
    return _SPREAD if has_spread else ""


def legend(
    table: pd.DataFrame,
    runs: pd.DataFrame,
    verdict: str = "",
    measures: Mapping[str, Best | None] = MappingProxyType({}),
) -> str:
    """Says which means of a `headline_table` are marked, or why none is, and what chance is.

    It begins with the number of runs in each state, unless all have finished, and names the scores
    of which lower is better. Where there are too few seeds to mark any, it says how many would
    allow it. A single row has no mark.

    Args:
        table: Result of `headline_table`.
        runs: The runs that it was made of.
        verdict: Text beside the table; what it says about too few seeds is not repeated.
        measures: The results with the direction in which each improves.
    """
    levels = [text for level, text in LEVELS.items() if level in table.index]
    heads = [label(name) for name, best in measures.items() if best == "lowest"]
    lowest = ", ".join(name for name in heads if name in table and "lower is better" not in name)
    of_lowest = f"lower is better: {lowest}" * bool(lowest)
    marks = _of_marks(table, runs, verdict)
    return "; ".join(filter(None, [unfinished(runs), marks, of_lowest, *levels]))


def unfinished(runs: pd.DataFrame) -> str:
    """Number of runs in each state, as means are of the finished ones; empty if all have finished.

    Args:
        runs: Result of `Study.table`.
    """
    return "" if (runs["state"] == "finished").all() else states_line(list(runs["state"]))


def _of_marks(table: pd.DataFrame, runs: pd.DataFrame, verdict: str) -> str:
    """Says which means are marked, or why none is; empty for one row."""
    rows = table.drop(index=list(LEVELS), errors="ignore")
    count = int((~rows["runs"].str.startswith("0 ")).sum())
    if count < 2:
        return ""
    tests = count * (count - 1) // 2
    p = f"p (Holm, over the {tests} differences in" if tests > 1 else "p (uncorrected, of"
    p += " each score alone), paired by seed,"
    if table.map(lambda cell: cell[-1:] == "*").to_numpy().any():
        return (
            "* marks the best mean of a score, and those whose difference from it is not supported:"
            f" its {p} is {LEVEL} or more"
        )
    seeds = runs.loc[runs["state"] == "finished", "seed"].nunique()
    if seeds and (few := of_few_seeds(seeds, tests)):
        return f"no mean is marked: {few if few not in verdict else 'too few seeds'}"
    return (
        f"no mean is marked, as no difference from the best is supported: no {p} is below {LEVEL}"
    )


def _differences(runs: pd.DataFrame, axes: Sequence[str], axis: str, score: str) -> pd.DataFrame:
    """Comparisons of the values of an axis in a score, averaged over the other axes.

    Axes whose values mean something else for each value of the axis do not make pairs.
    """
    kept = [name for name in axes if name == axis or not nested(runs, name, axis)]
    return comparisons(runs[[*kept, "seed", score]], axis, [score], within=[])


def without_latents(runs: pd.DataFrame, names: Sequence[str], axes: Sequence[str] = ()) -> str:
    """Sentences on runs in which no latent is active, or varies enough for the FactorVAE score.

    Args:
        runs: Result of `Study.table` or `compare`.
        names: Names of measures; without a FactorVAE score, latents that vary little do not matter.
        axes: Names of the columns that are axes, by whose values runs are named, if there are some.
    """
    sentences = {_ACTIVE: f"no latent is active: {NONE_ACTIVE}"}
    if any(name.startswith(f"score.{FACTOR_VAE}") for name in names):
        sentences[_COUNT] = _OF_STILL
    found = {name: runs.index[runs[name] == 0] for name in sentences if name in runs}
    return " ".join(
        f"In {_listed([named_run(runs, run, axes) if axes else str(run) for run in where])} "
        f"{sentences[name]}."
        for name, where in found.items()
        if len(where)
    )


def _listed(runs: Sequence[str]) -> str:
    """The number of runs and, of a few, their names."""
    count = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    comma = "; " if any("," in run for run in runs) else ", "
    return f"{count} ({comma.join(runs)})" if len(runs) <= _NAMES else count


def conclusion(
    runs: pd.DataFrame, axes: Sequence[str], measures: Mapping[str, Best], target: str
) -> str:
    """The verdict on a measure, and sentences on chance, lost values and runs without latents.

    Args:
        runs: Result of `Study.table`.
        axes: Names of the columns that are axes.
        measures: Result of `measures_of`.
        target: The measure.
    """
    sentences = [
        verdict(runs, axes, {target: measures[target]}),
        _at_chance(runs, axes, target) if measures[target] == "highest" else "",
        _lost(runs, axes),
        without_latents(runs, headline_measures(measures), axes),
    ]
    return " ".join(filter(None, sentences))


def _at_chance(runs: pd.DataFrame, axes: Sequence[str], target: str) -> str:
    """Says that no mean over the runs of a setting is clearly above chance; else empty."""
    if (level := f"{target}/chance") not in runs or not axes:
        return ""
    keys = [key for _, key in keyed(runs, axes).items()]
    above = (runs[target] - runs[level]).groupby(keys, dropna=False).mean()
    if not above.max() < _NEAR_CHANCE:
        return ""
    return f"No mean of any setting is {_NEAR_CHANCE} above chance."


def _lost(runs: pd.DataFrame, axes: Sequence[str]) -> str:
    """Names values of the first axis whose runs all diverged or failed: no comparison has them."""
    sentences = []
    for axis in _varying(runs, axes)[:1]:
        for setting, group in runs.groupby(axis, sort=False):
            if group["state"].isin(_WITHOUT_SCORES).all():
                value = setting_text(setting)
                subject = value if axis == "method" else f"{label(axis)} {value}"
                ends = " or ".join(
                    state for state in _WITHOUT_SCORES if state in set(group["state"])
                )
                every = {1: "The only run", 2: "Both runs"}.get(
                    len(group), f"All {len(group)} runs"
                )
                sentences.append(f"{every} of {subject} {ends}, so it is in no comparison.")
    return " ".join(sentences)


def narrow_table(
    runs: pd.DataFrame,
    settings: Sequence[str],
    measures: Mapping[str, Best],
    axes: Sequence[str] = (),
    *,
    is_wide: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Runs with the settings in which they differ and their headline measures, as text.

    The axes come first, then the method, weights of regularizers, steps, the data set, and the
    rest, last what cannot change a result. Settings that follow from the axes have no column. Of
    the scores, those that most runs have come first.

    Args:
        runs: Result of `Study.table` or `compare`.
        settings: Names of the columns that are settings; at most four are shown, beside the seed,
            and fewer if the table would be wider than 100 letters. Axes displace scores, down to
            one, unless they follow from axes before them; if that is not enough, scores follow
            below, see `text`.
        measures: Result of `measures_of`. Columns of `Study.agreement` are shown too.
        axes: The settings that are axes of a study, if the runs belong to one.
        is_wide: Whether the table may be wider, as in a document.

    Returns:
        The table, and the names of the settings that differ without having a column.
    """
    measures = measures or measures_of(runs, least=1)  # of a single run, no score varies
    varying = _varying(runs, settings)
    varying.sort(key=lambda name: _rank(runs, name, axes))
    ends = ["seed"]
    if (runs["state"] != "finished").any():
        ends.append("state")
    columns: list[str] = []
    scores = _shown_scores(measures)
    scores.sort(key=lambda score: int(runs[score].isna().to_numpy().sum()))
    for name in varying:
        if name not in axes and _follows(runs, name, axes):
            continue
        if len(columns) == _SETTINGS:
            break
        fitting = len(scores)
        while fitting and not _fits(_narrow(runs, [*columns, name, *ends], scores[:fitting])):
            fitting -= 1
        if columns and not is_wide and fitting < len(scores):
            if name not in axes or _follows(runs, name, columns):
                break
            scores = scores[:fitting] or scores
        columns.append(name)
    others = [name for name in varying if name not in columns and not _is_of_method(runs, name)]
    return _narrow(runs, [*columns, *ends], scores), others


def _shown_scores(measures: Mapping[str, Best]) -> list[str]:
    main = headline_measures(measures)
    return headline_measures(measures, default_target(main) if main else None)


def _rank(runs: pd.DataFrame, name: str, axes: Sequence[str]) -> int:
    """The place of a setting by how much it matters: 0 first; those of one place in their order."""
    section, _, setting = name.rpartition(".")
    if name in axes or not section:  # such as the method
        return 0 if name in axes else 1
    if setting in OF_THE_HOST.get(section.rpartition(".")[2], ()):
        return 9
    if _WEIGHT.fullmatch(name) and pd.to_numeric(runs[name], errors="coerce").notna().any():
        return 4 if runs[name].isna().any() else 2
    places = {"model.": 6, "data.": 7, **dict.fromkeys(_OF_DATA, 5), **dict.fromkeys(_OF_STEPS, 3)}
    return min((place for start, place in places.items() if name.startswith(start)), default=8)


def _follows(runs: pd.DataFrame, name: str, axes: Sequence[str]) -> bool:
    """Whether runs of the same values of the axes have the same value of a setting."""
    if not axes:
        return False
    counts = [len(keyed(runs, names).drop_duplicates()) for names in (axes, [*axes, name])]
    return counts[0] == counts[1]


def _is_of_method(runs: pd.DataFrame, name: str) -> bool:
    """Whether all runs of some methods have a setting with one value, and others lack it."""
    if "method" not in runs or runs["method"].nunique() < 2:
        return False
    is_of_some = runs[name].isna().any() and runs[name].map(setting_text).nunique() == 2
    return bool(is_of_some) and _follows(runs, name, ["method"])


def others_differ(names: Sequence[str], runs: pd.DataFrame) -> str:
    """Says which settings differ without having a column in a table; empty if there are none.

    Of a few values it has each. Settings of a part that differs itself, as some runs lack it, are
    not named beside it, except weights.

    Args:
        names: Those of `narrow_table`.
        runs: The runs that it was made of.
    """
    parts = tuple(f"{part}." for part in names)
    names = [name for name in names if _WEIGHT.fullmatch(name) or not name.startswith(parts)]
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = []
    for name in names[:_NAMED]:
        values = list(dict.fromkeys(_cut(setting_text(value)) for value in runs[name]))
        listed.append(f"{name} ({', '.join(values)})" if len(values) <= _VALUES else name)
    return f"also differ: {', '.join(listed)}{more}"


def _cut(setting: str, room: int = _CELL) -> str:
    """A setting with `…` for letters that a narrow table has no room for; paths keep their end."""
    if len(setting) <= room:
        return setting
    return f"…{setting[1 - room :]}" if "/" in setting else f"{setting[: room - 1]}…"


def data_differ(runs: pd.DataFrame) -> bool:
    """Whether runs have different data sets or parts of them, or images of different sizes.

    Args:
        runs: Result of `Study.table` or `compare`.
    """
    return bool(_varying(runs, [name for name in map(str, runs) if _is_of_data(name)]))


def _is_of_data(column: str) -> bool:
    return column.startswith(_OF_DATA)


def _narrow(runs: pd.DataFrame, columns: Sequence[str], scores: Sequence[str]) -> pd.DataFrame:
    agreement = [str(column) for column in runs if str(column).startswith(AGREEMENT)]
    scores = [*scores, *agreement]
    heads = labels([*columns, *scores])
    table = pd.DataFrame(index=runs.index.map(str))
    for name in columns:
        table[heads[name]] = [_cut(setting_text(cell)) for cell in runs[name]]
    for name in scores:
        table[heads[name]] = [
            "–" if pd.isna(score) else score_text(name, score) for score in runs[name]
        ]
    return table


def text(table: pd.DataFrame) -> list[str]:
    """Lines of a table of texts for a terminal, with its index.

    Columns that a line of 100 letters has no room for follow below, after the index again.
    """
    index = [_cut(name, _INDEX) for name in table.index]
    table = table.set_axis(pd.Index(index, name=table.index.name), axis=0)
    count = table.shape[1]
    while count > 1 and not _fits(table.iloc[:, :count]):
        count -= 1
    below = ["", *text(table.iloc[:, count:])] if count < table.shape[1] else []
    return [*_lines(table.iloc[:, :count]), *below]


def _fits(table: pd.DataFrame) -> bool:
    return max(map(len, _lines(table)), default=0) <= WIDTH


def _lines(table: pd.DataFrame) -> list[str]:
    frame = table.reset_index()
    lines = text_table([list(map(str, frame.columns)), *frame.to_numpy().tolist()])
    return [minus_signs(line) for line in lines]


def latex_means(
    table: pd.DataFrame,
    runs: pd.DataFrame,
    by: Sequence[str] = (),
    measures: Mapping[str, Best | None] = MappingProxyType({}),
) -> str:
    """The result of `headline_table` as a LaTeX `tabular` with its notes, marked means in bold.

    It has no best runs, a column for each axis, and a rule above the levels, such as chance.

    Args:
        table: Result of `headline_table`.
        runs: The runs that it was made of.
        by: The axes that make its rows; without any, their names have one column.
        measures: The results with the direction in which each improves.
    """
    marked = table.drop(columns=BEST, errors="ignore").map(
        lambda cell: f"{BOLD}{cell[:-1]}{END}" if cell[-1:] == "*" else cell.strip()
    )
    if by:
        cells = [list(map(setting_text, runs[axis])) for axis in by]
        rows = {", ".join(values): values for values in zip(*cells, strict=True)}
        settings = pd.DataFrame(
            [rows.get(row, (row, *[""] * (len(by) - 1))) for row in marked.index],
            columns=list(map(label, by)),
        )
        marked = pd.concat([settings, marked.reset_index(drop=True)], axis=1)
    marks = legend(table, runs, measures=measures).replace("* marks", "bold marks", 1)
    words = "; ".join(filter(None, [spread_note(table), marks]))
    made = latex(marked, notes=f"{words[:1].upper()}{words[1:]}." if words else "")
    level = next((level for level in LEVELS if level in table.index), "")
    return made.replace(f"\n{level} &", f"\n\\midrule\n{level} &", 1) if level else made


def _spread(scores: "pd.Series[float]") -> str:
    mean, deviation = scores.mean(), scores.std()
    if math.isnan(mean):
        return "–"
    shown = [score_text(str(scores.name), value, mean) for value in (mean, deviation)]
    return shown[0] if math.isnan(deviation) else " ± ".join(shown)


def _best(scores: "pd.Series[float]", best: Best) -> str:
    scores = scores.dropna()
    if scores.empty:
        return "–"
    return str(scores.idxmax() if best == "highest" else scores.idxmin())


def named_run(runs: pd.DataFrame, run: str, axes: Sequence[str]) -> str:
    """A run by what differs in it, with its name: `strength 8, seed 3 (ba37373433b9)`.

    Args:
        runs: Result of `Study.table`.
        run: Name of the run.
        axes: Names of the columns that are axes to name.
    """
    return f"{', '.join(run_values(runs, run, axes))} ({run})"


def best_runs(
    means: pd.DataFrame, runs: pd.DataFrame, axes: Sequence[str], target: str, folder: Path
) -> list[str]:
    """Lines of a terminal with the best run of each row: its settings, score and folder.

    Args:
        means: Result of `headline_table`.
        runs: The runs that it was made of.
        axes: Names of the columns that are axes and make no rows.
        target: The measure of the first column.
        folder: The folder that has the run folders; above the names where lines have no room.
    """
    found = means[BEST][means[BEST].isin(runs.index)]
    table = pd.DataFrame(index=found.index)
    table[BEST] = [", ".join(run_values(runs, run, axes)) for run in found]
    table[label(target)] = [score_text(target, runs[target].loc[run]) for run in found]
    whole = table.assign(**{_FOLDER: [str(folder / run) for run in found]})
    if _fits(whole):
        return text(whole)
    return [f"folders in {folder}:", *text(table.assign(**{_FOLDER: list(found)}))]


def best_run(
    runs: pd.DataFrame, axes: Sequence[str], measures: Mapping[str, Best | None], target: str
) -> tuple[str, str] | None:
    """The name of the best run of all by a measure, and what it is in words; None without any.

    The words have its score and the levels of this, such as that of chance. There is none by a
    result without a direction in which it improves.

    Args:
        runs: Result of `Study.table`.
        axes: Names of the columns that are axes.
        measures: Result of `measures_of`.
        target: The measure.
    """
    best = measures[target]
    if best is None or (run := _best(runs[target], best)) not in runs.index:
        return None
    columns = {label(target): target, **{level: f"{target}/{level}" for level in LEVELS}}
    score, *levels = (
        minus_signs(f"{name} {score_text(target, runs[column].loc[run])}")
        for name, column in columns.items()
        if column in runs and pd.notna(runs[column].loc[run])
    )
    words = ", ".join([*run_values(runs, run, axes), score])
    return run, f"{words} ({', '.join(levels)})" if levels else words


def run_values(runs: pd.DataFrame, run: Any, axes: Sequence[str]) -> list[str]:
    """The values of those axes that vary, and the seed, of a run, each with its name.

    Args:
        runs: Result of `Study.table`.
        run: Name of the run.
        axes: Names of the columns that are axes.
    """
    row, names = runs.loc[run], labels(axes)
    values = {names[axis]: setting_text(row[axis]) for axis in _varying(runs, axes)}
    known = [f"{name} {value}" for name, value in values.items() if value != UNKNOWN]
    return [*known, f"seed {row['seed']}"]


def verdict(runs: pd.DataFrame, axes: Sequence[str], measures: Mapping[str, Best]) -> str:
    """Says whether values of the first axis differ in a score, which differ most, and by how much.

    A further sentence has the difference of the two best values, if these are others. Differences
    are averaged over the other axes; where runs of both values share the values of these, a
    sentence has the range of the largest one over them. For each axis of three numbers or more a
    sentence says whether the score rises or falls with it. A difference is supported if its p
    value, of a permutation test that pairs runs by seed and corrected for all pairs of values by
    Holm, is below 0.05, and by no other rule: the interval beside it is of this difference alone.
    Other scores count only in the complete tables of comparisons.

    Args:
        runs: Result of `Study.table`.
        axes: Names of the columns that are axes; the first one that varies is compared.
        measures: Result of `measures_of`; the first headline measure is compared, or a bound if
            there is nothing else.
    """
    varying = _varying(runs, axes)
    target = next(iter([*headline_measures(measures), *measures]), None)
    if not varying or target is None:
        return "Nothing to compare: no axis has two values, or no score varies."
    axis, *others = varying
    inner = [name for name in others if nested(runs, name, axis)]
    try:
        pairs = _differences(runs, axes, axis, target)
    except InputError as error:
        return f"Nothing to compare: {error}."
    digits = {"digits": decimals(runs[target].mean())}
    rows = [row | digits for row in pairs.to_dict("records") if not pd.isna(row["difference"])]
    if not rows:
        return f"Nothing to compare: no two values of {label(axis)} have scores of one seed."
    largest = max(rows, key=lambda row: abs(row["difference"]))
    over = averaged_over(runs, axis, others, inner)
    support = _support(rows, f"{label(target)}{f', {over},' if over else ''}")
    own = _own_values(runs, axis, inner)
    sentence = f"{support} {_of_the_largest(rows, largest, axis, own)}"
    sentence += _of_the_best(rows, largest, label(axis), measures[target])
    sentence += _range_of(runs, largest, axis, [n for n in others if n not in inner], target)
    return sentence + _trends(runs, [name for name in varying if name not in inner], target)


def planned_support(runs: pd.DataFrame, axes: Sequence[str]) -> str:
    """Says that a study has too few seeds for any supported difference; empty if it has enough.

    It counts the differences of `verdict` before any run is trained.

    Args:
        runs: The planned runs, with their axes and `seed`.
        axes: Names of the columns that are axes; values of the first one that varies are compared.
    """
    for axis in _varying(runs, axes)[:1]:
        settings = [name for name in axes if name != axis and not nested(runs, name, axis)]
        keys = keyed(runs, [axis, *settings, "seed"])
        found = [
            set(part.drop(columns=axis).itertuples(index=False, name=None))
            for _, part in keys.groupby(axis, sort=False, dropna=False)
        ]
        pairs = [{key[-1] for key in first & second} for first, second in combinations(found, 2)]
        if seeds := [len(pair) for pair in pairs if pair]:
            return of_few_seeds(max(seeds), len(seeds), is_planned=True)
    return ""


def _of_the_best(
    rows: Sequence[Mapping[Any, Any]], largest: Mapping[Any, Any], axis: str, best: Best
) -> str:
    """Sentence on the two best values of the axis, unless the first one has named them."""
    above: dict[Any, float] = {}
    for row in rows:
        difference = row["difference"] if best == "highest" else -row["difference"]
        above[row["first"]] = above.get(row["first"], 0) + difference
        above[row["second"]] = above.get(row["second"], 0) - difference
    pair = sorted(above, key=lambda value: -above[value])[:2]
    row = next((row for row in rows if {row["first"], row["second"]} == set(pair)), largest)
    if row is largest:
        return ""
    kind = "methods" if axis == "method" else f"values of {axis}"
    named = " and ".join(map(setting_text, pair))
    difference = f"{abs(row['difference']):.{row['digits']}f}"
    return f" The two best {kind}, {named}, differ by {difference}: {_evidence(row, rows)}."


def _range_of(
    runs: pd.DataFrame, largest: Mapping[Any, Any], axis: str, crossed: list[str], target: str
) -> str:
    """Sentence with the least and the largest difference over the values of the other axes."""
    if not crossed:
        return ""
    values, sign = [largest["first"], largest["second"]], math.copysign(1, largest["difference"])
    pair = runs[keyed(runs, [axis])[axis].isin(values)]
    parts = comparisons(pair[[axis, *crossed, "seed", target]], axis, [target])
    parts = parts.assign(above=sign * parts["difference"]).dropna(subset="above")
    if len(parts) < 2:
        return ""
    rows, digits = parts.sort_values("above", kind="stable").to_dict("records"), largest["digits"]
    least, most = (
        f"{round(row['above'], digits) + 0.0:.{digits}f}".replace("-", "−")
        + f" ({', '.join(setting_text(row[name]) for name in crossed)})"
        for row in (rows[0], rows[-1])
    )
    return f" By {' and '.join(map(label, crossed))} the difference ranges from {least} to {most}."


def _trends(runs: pd.DataFrame, axes: list[str], target: str) -> str:
    """Sentences with the rank correlations of the target with axes of numbers, over all runs."""
    values = runs[axes].apply(pd.to_numeric, errors="coerce")
    graded = [axis for axis in axes if values[axis].notna().all() and values[axis].nunique() > 2]
    if not graded:
        return ""
    rows = rank_correlations(values[graded].assign(**{target: runs[target]}), target, graded)
    sentences = []
    for row in rows[rows["rho"].notna()].to_dict("records"):
        direction = "rises" if row["rho"] > 0 else "falls"
        trend = direction if row["p_holm"] < LEVEL else "has no supported trend"
        rho, low, high = (f"{row[end]:.2f}".replace("-", "−") for end in ("rho", "low", "high"))
        figures = f"ρ {rho} [{low}, {high}], p (Holm) {row['p_holm']:.2g}"
        subject = f"Over {row['runs']} runs {label(target)}"
        sentences.append(f" {subject} {trend} with {label(row['right'])} ({figures}).")
    return "".join(sentences)


def _own_values(runs: pd.DataFrame, axis: str, inner: Sequence[str]) -> dict[str, str]:
    """For each value of an axis, those of the axes that depend on it: ` (strength 1, 4)`.

    Args:
        runs: Result of `Study.table`.
        axis: The axis that is compared.
        inner: The axes whose values depend on it; one of more than `_VALUES` values is left out.
    """
    texts = {}
    for value, part in runs.groupby(keyed(runs, [axis])[axis], sort=False, dropna=False):
        lists = {name: values_of(part[name]) for name in inner}
        named = [
            f"{label(name)} {', '.join(values)}"
            for name, values in lists.items()
            if 0 < len(values) <= _VALUES
        ]
        texts[setting_text(value)] = f" ({'; '.join(named)})" if named else ""
    return texts


def _of_the_largest(
    rows: Sequence[Mapping[Any, Any]],
    largest: Mapping[Any, Any],
    axis: str,
    own: Mapping[str, str],
) -> str:
    """Sentence on the largest difference, with the result of `_own_values`."""
    row = _upwards(largest)
    names = [setting_text(row[name]) for name in ("first", "second")]
    first, second = (f"{name}{own.get(name, '')}" for name in names)
    subject = first if axis == "method" else f"{label(axis)} {first}"
    beginning = "The largest: " if len(rows) > 1 else ""
    difference = f"{row['difference']:.{row['digits']}f}"
    above = f"{subject} is {difference} above {second}"
    if not float(difference):
        above = f"{subject} and {second} differ by less than {0.1 ** row['digits']:g}"
    return f"{beginning}{above}: {_evidence(row, rows)}."


def _upwards(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """The comparison in the direction in which its difference is not negative."""
    if row["difference"] >= 0:
        return dict(row)
    turned = {"first": "second", "second": "first"}
    signs = {"difference": "difference", "low": "high", "high": "low"}
    return {
        **row,
        **{name: row[other] for name, other in turned.items()},
        **{name: -row[other] for name, other in signs.items()},
    }


def _support(rows: Sequence[Mapping[Any, Any]], target: str) -> str:
    """Sentence on how many of the differences are supported, or why none is."""
    count, supported = len(rows), sum(row["p_holm"] < LEVEL for row in rows)
    if count == 1 and supported:
        return f"The difference in {target} is supported, for this score alone."
    if supported:
        return (
            f"{supported} of {count} differences in {target} are supported, for this score alone."
        )
    few = of_few_seeds(max(row["seeds"] for row in rows), count)
    return f"No difference in {target} is supported: {few or f'no p (Holm) is below {LEVEL}'}."


def _evidence(row: Mapping[Any, Any], rows: Sequence[Mapping[Any, Any]]) -> str:
    """Interval and seeds of one of the differences, and its p where a smaller one is possible."""
    row = _upwards(row)
    low, high, seeds = (row[name] for name in ("low", "high", "seeds"))
    if math.isnan(low):
        parts = [f"{'one seed' if seeds == 1 else 'two seeds'}, no interval"]
    else:
        interval = " to ".join(f"{end:.{row['digits']}f}".replace("-", "−") for end in (low, high))
        corrected = "uncorrected " * (len(rows) > 1)
        parts = [f"{corrected}95 % interval {interval}, {seeds} seeds"]
    if not of_few_seeds(seeds, len(rows)):
        not_so = "" if row["p_holm"] < LEVEL else "not "
        parts.append(f"p (Holm) {row['p_holm']:.2g}, {not_so}supported")
    return ", ".join(parts)


def _varying(runs: pd.DataFrame, axes: Sequence[str]) -> list[str]:
    return [axis for axis in axes if runs[axis].map(repr).nunique() > 1]
