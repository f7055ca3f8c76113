"""The score sheet of an evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from dislab.metrics.evaluation import BY_CHANCE, INFORMATION, PER_FACTOR, Evaluation
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
    drawn = parts_of(parts, factors)
    return score_sheet(
        values,
        intervals,
        drawn.names,
        drawn.importance,
        drawn.information,
        drawn.kl,
        title,
        chance,
        drawn.about,
        informativeness=drawn.predicted(),
    )


class Parts(NamedTuple):
    """Matrices of latents and factors; None for those that are missing.

    Attributes:
        names: Names of the factors that are drawn.
        importance: Importance of each latent for predicting each factor.
        information: Mutual information of latents and factors, in nats.
        kl: KL of each latent's posterior from the prior, in nats.
        about: Title of the information.
        informativeness: How well each factor is predicted with these importances; 1 is no error.
        chance: That of codes without information; None if it is not known by factor.
    """

    names: list[str]
    importance: npt.NDArray[np.float64] | None
    information: npt.NDArray[np.float64] | None
    kl: npt.NDArray[np.float64] | None
    about: str
    informativeness: npt.NDArray[np.float64] | None
    chance: npt.NDArray[np.float64] | None

    def predicted(self) -> npt.NDArray[np.float64] | None:
        """Informativeness from 0 at chance, if that is known by factor, to 1 without an error."""
        if self.informativeness is None or self.chance is None:
            return self.informativeness
        room = np.where(self.chance < 1, 1 - self.chance, np.inf)
        return np.clip((self.informativeness - self.chance) / room, 0, 1)


def parts_of(parts: Mapping[str, Any], factors: Sequence[str]) -> Parts:
    """The parts of an evaluation that are drawn: the first of each kind.

    Factors that no score has a number for, because they took one value only, are left out.

    Args:
        parts: Parts of scores by name.
        factors: Names of the factors, one for each column of a matrix.
    """
    about = "information in the mean" if _of_means(parts) else "mutual information"
    importance, kl = (first_part(parts, name) for name in ("importance", "kl_per_latent"))
    information = information_of(parts)
    ending = f"{informativeness_in(parts)}{PER_FACTOR}"
    informativeness = first_part(parts, ending) if ending != PER_FACTOR else None
    if informativeness is not None and informativeness.shape != (len(factors),):
        informativeness = None
    chance = first_part(parts, f"{ending}{BY_CHANCE}") if informativeness is not None else None
    if chance is not None and chance.shape != (len(factors),):
        chance = None
    each = [np.asarray(part, float) for name, part in parts.items() if name.endswith(PER_FACTOR)]
    if each and all(part.shape == (len(factors),) for part in each):
        kept = np.isfinite(np.stack(each)).any(axis=0)
        if kept.any():
            factors = [name for name, keep in zip(factors, kept, strict=True) if keep]
            informativeness, chance = (
                levels if levels is None else levels[kept] for levels in (informativeness, chance)
            )
            importance, information = (
                matrix if matrix is None or matrix.shape[1:] != kept.shape else matrix[:, kept]
                for matrix in (importance, information)
            )
    return Parts(list(factors), importance, information, kl, about, informativeness, chance)


def informativeness_in(parts: Mapping[str, Any]) -> str:
    """Name of the informativeness that belongs to the first importances; empty without any.

    Args:
        parts: Parts of scores by name.
    """
    own = next((name for name in parts if name.endswith("importance")), "")
    return f"{own.removesuffix('importance')}informativeness" if own else ""


def information_of(parts: Mapping[str, Any]) -> npt.NDArray[np.float64] | None:
    """The first mutual information of latents and factors, less that by chance; None if missing.

    Codes of few images share information with any factor, the more the more values it has.

    Args:
        parts: Parts of scores by name.
    """
    information, by_chance = first_part(parts, INFORMATION), information_by_chance(parts)
    if information is None or by_chance is None:
        return information
    return np.clip(information - by_chance, 0, None)


def information_by_chance(parts: Mapping[str, Any]) -> npt.NDArray[np.float64] | None:
    """The first mutual information of shuffled codes and factors in nats; None if missing.

    Args:
        parts: Parts of scores by name.
    """
    name = next((name for name in parts if name.endswith(INFORMATION)), "")
    information, by_chance = first_part(parts, INFORMATION), first_part(parts, f"{name}{BY_CHANCE}")
    if information is None or by_chance is None or information.shape != by_chance.shape:
        return None
    return by_chance


def _of_means(parts: Mapping[str, Any]) -> bool:
    """Whether the drawn mutual information is that of posterior means."""
    first = next((name for name in parts if name.endswith(INFORMATION)), "")
    return "kl_per_latent" in parts and not first.startswith("sampled/")


def first_part(parts: Mapping[str, Any], ending: str) -> npt.NDArray[np.float64] | None:
    """The first part whose name has this ending; null in a file becomes NaN."""
    for name, part in parts.items():
        if name.endswith(ending):
            return np.asarray(part, dtype=np.float64)
    return None
