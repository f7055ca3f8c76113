"""Transfer scores of one encoder, and their table on a terminal."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, final

from dislab.storage import WIDTH, text_table

_COLUMNS: Final = ("", "/in_distribution", "/accuracy")
_HEADS: Final = ("error", "in distribution", "accuracy")


@final
class Transfer(NamedTuple):
    """Errors of predictors in the training distribution and in the shifted one.

    An error is the mean absolute difference of factors scaled to [0, 1]; lower is better.

    Attributes:
        values: Under `<scenario>/<predictor>` the mean error in the shifted distribution, over the
            factors that neither shift nor are constant in training. With `/in_distribution`
            appended, the error on held-back images of the training distribution; with
            `/without_<factor>`, the mean without further factors; with `/accuracy` and
            `/accuracy_in_distribution`, the classification accuracy of categorical factors.
            `<scenario>/chance` is the error of a prediction without codes: the median or the most
            frequent class of the training images.
        parts: By scenario and predictor, `error` and `in_distribution` of each factor, and
            `accuracy` and `accuracy_in_distribution` of each categorical one, including the
            shifted factors.
        scenarios: By name, each scenario with the numbers of images used, the factors that are
            constant in training, and those that the other data set lacks.
        predictors: By name, class, settings and versions of each predictor.
        provenance: Requested numbers of images, seed, factors and versions.
        notes: Remarks on how to interpret the numbers.
    """

    values: dict[str, float]
    parts: dict[str, dict[str, dict[str, dict[str, float]]]]
    scenarios: dict[str, dict[str, Any]]
    predictors: dict[str, dict[str, Any]]
    provenance: dict[str, Any]
    notes: list[str]

    def beside(self, copies: "Transfer", name: str) -> "Transfer":
        """Returns a copy with the scores of other codes added as `<predictor>_<name>`.

        Args:
            copies: Scores of the same predictors on other codes in the same scenarios.
            name: Name of the other codes.
        """
        values, parts = dict(self.values), {key: dict(part) for key, part in self.parts.items()}
        for scenario, predictors in copies.parts.items():
            for predictor in copies.predictors:
                old, new = f"{scenario}/{predictor}", f"{scenario}/{predictor}_{name}"
                parts[scenario][f"{predictor}_{name}"] = predictors[predictor]
                for key, value in copies.values.items():
                    if key == old or key.startswith(f"{old}/"):
                        values[new + key.removeprefix(old)] = value
        return self._replace(values=values, parts=parts)

    def record(self) -> dict[str, Any]:
        """All fields under their names in `scores.json`, in JSON-ready form."""
        sample = {key: value for key, value in self.provenance.items() if key != "versions"}
        return {
            "scores": self.values,
            "parts": self.parts,
            "scenarios": self.scenarios,
            "predictors": self.predictors,
            "sample": sample,
            "notes": self.notes,
            "versions": self.provenance["versions"],
        }


def transfer_table(transfers: Mapping[str, Transfer]) -> str:
    """Formats scores with one line per scenario and predictor, columns per run, and notes below.

    Args:
        transfers: The scores by the name of the run; the name of a single run is not shown.
    """
    rows: dict[str, None] = {}
    for transfer in transfers.values():
        for scenario, predictors in transfer.parts.items():
            for predictor in predictors:
                name = f"{scenario}/{predictor}"
                rows |= dict.fromkeys(_lines(name, transfer))
    kinds = any(
        name.endswith("/accuracy") for transfer in transfers.values() for name in transfer.values
    )
    columns = _COLUMNS if kinds else _COLUMNS[:-1]
    count = len(columns)
    table = [["scenario/predictor", *(_HEADS[:count] * len(transfers))]]
    for name in rows:
        cells = [
            _cell(transfer, f"{name}{column}")
            for transfer in transfers.values()
            for column in _COLUMNS[:count]
        ]
        table.append([name, *cells])
    runs = ["", *(cell for name in transfers for cell in (name, *[""] * (count - 1)))]
    lines = text_table(table, numbers=True, above=runs if len(transfers) > 1 else ())
    if len(transfers) > 1 and max(map(len, lines)) > WIDTH:
        return "\n\n".join(
            f"{run}\n{transfer_table({run: transfer})}" for run, transfer in transfers.items()
        )
    notes = dict.fromkeys(note for transfer in transfers.values() for note in transfer.notes)
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def _lines(name: str, transfer: Transfer) -> list[str]:
    """Lines with the mean of a scenario, and with the second mean over fewer factors."""
    further = [key for key in transfer.values if key.startswith(f"{name}/without_")]
    return [name, *(key for key in further if not key.endswith("/in_distribution"))]


def _cell(transfer: Transfer, name: str) -> str:
    return f"{transfer.values[name]:.4f}" if name in transfer.values else ""
