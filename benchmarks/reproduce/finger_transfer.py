"""Transfer scores of the finger's codes, in the shape that the records have."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from finger_codes import Numbers, space

from dislab.datasets import RobotFingerPseudoReal
from dislab.transfer import Domain, transfer_scores

PREDICTORS: Final = ("GradientBoosting", "MLP", "Ridge")

SHIPPED: Final = {
    "OOD1-A": ("finger_ood1_a", "seen"),
    "OOD1-B": ("finger_ood1_b", "seen"),
    "OOD1-C": ("finger_ood1_c", "seen"),
    "OOD2-A": ("finger_ood2_a", "hues"),
    "OOD2-B": ("finger_ood2_b", "look"),
}
"""By the paper's name: the scenario, and the images that it tests on."""


def transfer(
    codes: Mapping[str, Numbers],
    positions: Mapping[str, npt.NDArray[np.int64]],
    labels: int,
    tested: int,
) -> dict[str, dict[str, Any]]:
    """Errors by scenario and predictor, of those scenarios whose images have codes.

    Each has the mean `error`, the same `in_distribution`, and the error of each of the `factors`.
    OOD2-B, which leaves out no factor, has the mean `without_color` as well.
    """
    possible = {name: where for name, where in SHIPPED.items() if where[1] in codes}
    exact = RobotFingerPseudoReal().labels()
    others = {
        shipped: Domain(codes[where], positions[where], space(), exact if where == "look" else None)
        for shipped, where in possible.values()
        if where != "seen"
    }
    found = transfer_scores(
        codes["seen"],
        positions["seen"],
        space(),
        [shipped for shipped, _ in possible.values()],
        PREDICTORS,
        labels,
        tested,
        others=others,
    )
    return {
        name: {
            predictor: {
                "error": found.values[f"{shipped}/{predictor}"],
                "in_distribution": found.values[f"{shipped}/{predictor}/in_distribution"],
                "factors": found.parts[shipped][predictor]["error"],
            }
            | _without(found.values, f"{shipped}/{predictor}/without_color")
            for predictor in PREDICTORS
        }
        for name, (shipped, _) in possible.items()
    }


def chance(
    positions: Mapping[str, npt.NDArray[np.int64]], labels: int, tested: int
) -> dict[str, dict[str, Any]]:
    """Errors by scenario of the median of the labels, which knows nothing of the images."""
    exact = RobotFingerPseudoReal().labels()
    still = {name: np.zeros((len(rows), 1)) for name, rows in positions.items()}
    others = {
        shipped: Domain(still[where], positions[where], space(), exact if where == "look" else None)
        for shipped, where in SHIPPED.values()
        if where != "seen"
    }
    scenarios = [shipped for shipped, _ in SHIPPED.values()]
    found = transfer_scores(
        still["seen"],
        positions["seen"],
        space(),
        scenarios,
        "Ridge",
        labels,
        tested,
        others=others,
    )
    return {
        name: {
            "error": found.values[f"{shipped}/chance"],
            "in_distribution": found.values[f"{shipped}/chance/in_distribution"],
            "factors": found.parts[shipped]["chance"]["error"],
        }
        | _without(found.values, f"{shipped}/chance/without_color")
        for name, (shipped, _) in SHIPPED.items()
    }


def _without(values: Mapping[str, float], key: str) -> dict[str, float]:
    return {"without_color": values[key]} if key in values else {}
