"""What transfer scores say of one encoder."""

from typing import Any, NamedTuple, final


@final
class Transfer(NamedTuple):
    """Errors of predictors where they learnt and where the distribution has shifted.

    An error is the mean absolute difference of factors scaled to [0, 1]; lower is better.

    Attributes:
        values: By `<scenario>/<predictor>` the mean error over the factors that neither shift nor
            stood still in training, under the shift; with `/in_distribution` behind it, on images
            that were held back from training; with `/without_<factor>`, the mean without further
            factors; with `/accuracy` and `/accuracy_in_distribution`, the share of kinds that are
            classified rightly. `<scenario>/chance` is the error of a prediction without codes: the
            median of the numbers that predictors learnt from, and the most frequent kind.
        parts: By scenario and predictor, `error` and `in_distribution` of each factor, and
            `accuracy` and `accuracy_in_distribution` of each kind. The shifted ones are here too.
        scenarios: By name, each scenario with the numbers of images used, the factors that stood
            still in training, and those that the other data set does not have.
        predictors: By name, class, settings and versions of each predictor.
        provenance: Numbers wanted, seed, factors and versions.
        notes: What a reader of the numbers should know.
    """

    values: dict[str, float]
    parts: dict[str, dict[str, dict[str, dict[str, float]]]]
    scenarios: dict[str, dict[str, Any]]
    predictors: dict[str, dict[str, Any]]
    provenance: dict[str, Any]
    notes: list[str]

    def beside(self, other: "Transfer", name: str) -> "Transfer":
        """The same with the numbers of other codes, whose predictors are called `<predictor>_NAME`.

        Args:
            other: What the same predictors make of other codes in the same scenarios.
            name: What the other codes are called.
        """
        values, parts = dict(self.values), {key: dict(one) for key, one in self.parts.items()}
        for scenario, own in other.parts.items():
            for predictor in other.predictors:
                old, new = f"{scenario}/{predictor}", f"{scenario}/{predictor}_{name}"
                parts[scenario][f"{predictor}_{name}"] = own[predictor]
                for key, value in other.values.items():
                    if key == old or key.startswith(f"{old}/"):
                        values[new + key.removeprefix(old)] = value
        return self._replace(values=values, parts=parts)

    def record(self) -> dict[str, Any]:
        """All of it under the names that `scores.json` has, for JSON."""
        sample = {key: one for key, one in self.provenance.items() if key != "versions"}
        return {
            "scores": self.values,
            "parts": self.parts,
            "scenarios": self.scenarios,
            "predictors": self.predictors,
            "sample": sample,
            "notes": self.notes,
            "versions": self.provenance["versions"],
        }
