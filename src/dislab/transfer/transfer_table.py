"""Transfer scores as a table for a terminal."""

from collections.abc import Mapping
from typing import Final

from dislab.transfer.transfer import Transfer

_COLUMNS: Final = ("", "/in_distribution", "/accuracy")
_HEADS: Final = ("error", "in distribution", "accuracy")


def transfer_table(found: Mapping[str, Transfer]) -> str:
    """One line a scenario and predictor, some columns a run, and the notes below.

    Args:
        found: The scores by the name of the run; the name of a single one is not shown.
    """
    rows: dict[str, None] = {}
    for one in found.values():
        for scenario, predictors in one.parts.items():
            for predictor in predictors:
                name = f"{scenario}/{predictor}"
                rows |= dict.fromkeys(_lines(name, one))
    kinds = any(name.endswith("/accuracy") for one in found.values() for name in one.values)
    columns = _COLUMNS if kinds else _COLUMNS[:-1]
    count = len(columns)
    table = [["scenario/predictor", *(_HEADS[:count] * len(found))]]
    for name in rows:
        cells = [
            _cell(one, f"{name}{column}") for one in found.values() for column in _COLUMNS[:count]
        ]
        table.append([name, *cells])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    if len(found) > 1:
        table.insert(0, ["", *(cell for name in found for cell in (name, *[""] * (count - 1)))])
    lines = [_line(row, widths) for row in table]
    notes = dict.fromkeys(note for one in found.values() for note in one.notes)
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def _lines(name: str, found: Transfer) -> list[str]:
    """The mean of a scenario, and the second one with fewer factors."""
    further = [key for key in found.values if key.startswith(f"{name}/without_")]
    return [name, *(key for key in further if not key.endswith("/in_distribution"))]


def _cell(found: Transfer, name: str) -> str:
    return f"{found.values[name]:.4f}" if name in found.values else ""


def _line(row: list[str], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
    return "  ".join(cells).rstrip()
