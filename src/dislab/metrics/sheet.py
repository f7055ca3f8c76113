"""The score sheet of an evaluation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from dislab.metrics.evaluation import Evaluation
from dislab.plots import score_sheet


def sheet(found: Evaluation, title: str = "") -> Figure:
    """A page with all scores and their intervals, importances, mutual information and KL.

    If there are several matrices of importances, or of mutual information, the first is drawn;
    missing ones are left out.
    """
    return score_sheet(
        found.values,
        found.intervals,
        list(found.provenance["factors"]),
        _first(found.parts, "importance"),
        _first(found.parts, "mutual_information"),
        _first(found.parts, "kl_per_latent"),
        title,
        found.chance,
        "information in the mean" if _of_means(found.parts) else "mutual information",
    )


def _of_means(parts: Mapping[str, Any]) -> bool:
    """Whether the drawn mutual information is that of posterior means."""
    first = next((name for name in parts if name.endswith("mutual_information")), "")
    return "kl_per_latent" in parts and not first.startswith("sampled/")


def _first(parts: Mapping[str, Any], ending: str) -> npt.NDArray[np.float64] | None:
    for name, part in parts.items():
        if name.endswith(ending):
            return np.asarray(part, dtype=np.float64)
    return None
