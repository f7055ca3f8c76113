"""Tables as Markdown and LaTeX."""

import math
import re
from typing import Any, Final

import numpy as np
import pandas as pd

from dislab.functional.checks import check_count
from dislab.metrics.score_table import LARGE, count_text, is_count
from dislab.storage import markdown_text, minus_signs
from dislab.study.stages.score import LEVELS

_NUMBERS: Final = ("score", "mean", "sd", "low", "high", "runs", "seeds", "missing", *LEVELS)
_NOISE: Final = 1e-12
"""Numbers below are rounding noise of sums that are 0."""
BOLD: Final = "\ue000"
END: Final = "\ue001"
"""Characters of no language, between which `latex` makes text bold."""
_LATEX: Final = str.maketrans(
    {BOLD: r"\textbf{", END: "}"}
    | {"±": r"$\pm$", "–": "--", "−": "$-$", "×": r"$\times$", "²": "$^2$"}
    | {"≤": r"$\leq$", "≥": r"$\geq$", "β": r"$\beta$", "γ": r"$\gamma$", "λ": r"$\lambda$"}
    | {"ρ": r"$\rho$", "σ": r"$\sigma$"}
)
_NUMBER: Final = re.compile(r"\W{0,2}\d|–?$")
"""How a cell of a column of numbers begins, also in bold and below 0, or one without."""
_SPECIAL: Final = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def summary_table(summary: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """The rows of `summary` as text, with one column per score: `0.53 ± 0.04 [0.50, 0.56]`.

    A cell has mean ± standard deviation over runs, and the interval of the mean; the last column,
    `runs`, has the number of runs with a score, as a range if scores differ in it, and `0 of 3`
    where none of three has any. If chance levels are known, a last row `chance` has their mean over
    all runs, and so has `untrained`.

    Args:
        summary: Result of `summary`.
        digits: Digits after the point; two fewer in cells with a mean of 100 or more.

    Raises:
        InputError: The number of digits is negative or no whole number.
    """
    check_count("digits", digits, 0, 15)
    keys = [name for name in summary.columns if name not in _NUMBERS]
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    counts: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for record in summary.to_dict("records"):
        key = tuple(repr(record[name]) for name in keys)
        row = rows.setdefault(key, {name: record[name] for name in keys})
        row[record["score"]] = _cell(record, digits)
        counts.setdefault(key, []).append((record["runs"], record.get("missing", 0)))
    for key, row in rows.items():
        (least, _), (most, missing) = min(counts[key]), max(counts[key])
        row["runs"] = str(most) if least == most else f"{least}–{most}"
        if missing and not most:
            row["runs"] = f"0 of {missing}"
    lines = list(rows.values())
    for level in LEVELS:
        if level in summary and summary[level].notna().any():
            lines.append(_level(summary, level, keys, digits))
    return pd.DataFrame(lines)


def _level(summary: pd.DataFrame, level: str, keys: list[str], digits: int) -> dict[str, str]:
    """Row of the levels of scores, averaged over groups weighted by their number of runs."""
    row = {**dict.fromkeys(keys, "–"), "runs": "–"}
    row[next(iter(row))] = level
    for name, part in summary.groupby("score", sort=False):
        scored = part[part[level].notna() & (part["runs"] > 0)]
        mean = np.average(scored[level], weights=scored["runs"]) if len(scored) else np.nan
        row[str(name)] = _score(float(mean), digits)
    return row


def _cell(record: dict[Any, Any], digits: int) -> str:
    if abs(record["mean"]) >= LARGE:
        digits = max(digits - 2, 0)
    mean, sd, low, high = (
        count_text(record[name])
        if is_count(record["score"], record[name])
        else _score(record[name], digits)
        for name in ("mean", "sd", "low", "high")
    )
    if math.isnan(record["sd"]):
        return mean
    return f"{mean} ± {sd}" + ("" if math.isnan(record["low"]) else f" [{low}, {high}]")


def markdown(table: pd.DataFrame, digits: int = 3) -> str:
    """The table in Markdown; an index other than row numbers becomes the first column.

    Args:
        table: Any table.
        digits: Digits after the point of numbers that are not whole.

    Raises:
        InputError: The number of digits is negative or no whole number.
    """
    check_count("digits", digits, 0, 15)
    cells = texts(table, digits)
    rows = [list(cells.columns), ["---"] * cells.shape[1], *cells.to_numpy().tolist()]
    lines = [" | ".join(minus_signs(markdown_text(cell)) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def latex(table: pd.DataFrame, digits: int = 3, notes: str = "") -> str:
    """The table as a LaTeX `tabular`, which needs the package booktabs; numbers stand at the right.

    Special characters are escaped; other arguments, index and errors are as for `markdown`.

    Args:
        table: Any table.
        digits: Digits after the point of numbers that are not whole.
        notes: Sentences for a paragraph below the table.
    """
    check_count("digits", digits, 0, 15)
    cells = texts(table, digits)
    sides = "".join("r" if all(map(_NUMBER.match, column)) else "l" for _, column in cells.items())
    made = cells.to_latex(index=False, escape=True, column_format=sides)
    made = minus_signs(made).translate(_LATEX)
    if notes:
        below = notes.translate(_SPECIAL).translate(_LATEX)
        made += f"\\par\\smallskip\n{{\\footnotesize {below}\\par}}\n"
    return "% needs \\usepackage{booktabs}\n" + made


def texts(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Every cell as text; an index other than row numbers becomes the first column."""
    frame = table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
    columns = [[_text(value, digits) for value in column] for _, column in frame.items()]
    cells = pd.DataFrame(dict(enumerate(columns)), dtype=object)
    return cells.set_axis(frame.columns, axis=1)  # two columns may have one name


def _score(value: float, digits: int) -> str:
    """A score with fixed digits, as tables of means and pages of runs have it."""
    if not math.isfinite(value):
        return _text(value, digits)
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no minus before a zero


def _text(value: Any, digits: int) -> str:
    """A number as text: a dash if missing, with an exponent if it would round to 0."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "–"
    if not isinstance(value, float):
        return str(value)
    if _NOISE < abs(value) < 0.5 * 10.0**-digits or math.isinf(value):
        return f"{value:.0e}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # zero has no sign
