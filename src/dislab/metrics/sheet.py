"""The score sheet of an evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from dislab.metrics.evaluation import Evaluation
from dislab.plots import score_sheet


def sheet(evaluation: Evaluation, title: str = "") -> Figure:
    """A page with all scores and their intervals, importances, mutual information and KL."""
    factors = list(evaluation.provenance["factors"])
    return sheet_of(
        evaluation.values, evaluation.intervals, factors, evaluation.parts, title, evaluation.chance
    )


def sheet_of(
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    factors: Sequence[str],
    parts: Mapping[str, Any],
    title: str,
    chance: Mapping[str, float],
) -> Figure:
    """The page of an evaluation, or of its record in `scores.json`.

    If there are several matrices of importances, or of mutual information, the first is drawn;
    missing ones are left out.
    """
    importance, information, kl, about = parts_of(parts)
    return score_sheet(
        values, intervals, factors, importance, information, kl, title, chance, about
    )


class Parts(NamedTuple):
    """Matrices of latents and factors; None for those that are missing.

    Attributes:
        importance: Importance of each latent for predicting each factor.
        information: Mutual information of latents and factors, in nats.
        kl: KL of each latent's posterior from the prior, in nats.
        about: Title of the information.
    """

    importance: npt.NDArray[np.float64] | None
    information: npt.NDArray[np.float64] | None
    kl: npt.NDArray[np.float64] | None
    about: str


def parts_of(parts: Mapping[str, Any]) -> Parts:
    """The parts of an evaluation that are drawn: the first of each kind.

    Args:
        parts: Parts of scores by name.
    """
    about = "information in the mean" if _of_means(parts) else "mutual information"
    names = ("importance", "mutual_information", "kl_per_latent")
    importance, information, kl = (_first(parts, name) for name in names)
    return Parts(importance, information, kl, about)


def _of_means(parts: Mapping[str, Any]) -> bool:
    """Whether the drawn mutual information is that of posterior means."""
    first = next((name for name in parts if name.endswith("mutual_information")), "")
    return "kl_per_latent" in parts and not first.startswith("sampled/")


def _first(parts: Mapping[str, Any], ending: str) -> npt.NDArray[np.float64] | None:
    """The first part whose name has this ending; null in a file becomes NaN."""
    for name, part in parts.items():
        if name.endswith(ending):
            return np.asarray(part, dtype=np.float64)
    return None
