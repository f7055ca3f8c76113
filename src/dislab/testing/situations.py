"""Scores on codes of known quality: which situations mislead them."""

import warnings
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final, NamedTuple

from dislab.base import MetricBuilder
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.metrics import evaluate_fully
from dislab.testing.constructions import ENCODERS, WORLDS, cut, gaussian_factors, standardised


class Situation(NamedTuple):
    """Gaussian factors, and codes of them.

    Attributes:
        world: Key of `WORLDS`.
        encoder: Key of `ENCODERS`.
        images: How many.
        factors: How many.
        correlation: Of each pair of factors in the world `correlated`.
        latents: Number of latents that `dropped` keeps, of the first factors; a little more than
            half unless given. It is for `dropped` alone.
    """

    world: str = "independent"
    encoder: str = "scaled"
    images: int = 1000
    factors: int = 5
    correlation: float = 0.8
    latents: int | None = None

    def __str__(self) -> str:
        """The situation in words, without what is as by default."""
        more = [f"{self.images:,} images"] * (self.images != 1000)
        more += [f"{self.factors} factors"] * (self.factors != 5)
        more += [f"correlation {self.correlation:g}"] * (self.correlation != 0.8)
        more += [f"{self.latents} latents"] * (self.latents is not None)
        return ", ".join([self.world, self.encoder, *more])


class Cell(NamedTuple):
    """A score in one situation.

    Attributes:
        value: Mean over the draws.
        spread: Largest value of a draw minus the smallest.
        chance: Value of the codes of other images, of the first draw; None for a score that does
            not use factors.
    """

    value: float
    spread: float
    chance: float | None


PERFECT: Final = Situation()
MAP: Final = tuple(Situation(world, encoder) for world in WORLDS for encoder in ENCODERS)
"""Every world with every encoder."""
FEW: Final = tuple(
    Situation(encoder=encoder, images=images)
    for encoder in ("scaled", "noise")
    for images in (50, 200, 10_000)
)
"""Perfect codes and noise of fewer and of more images than the map."""
DEPENDENT: Final = tuple(Situation("correlated", correlation=share) for share in (0.5, 0.95))
"""Perfect codes of factors that depend less and more on each other than in the map."""
MISSING: Final = tuple(
    Situation(encoder="dropped", factors=10, latents=latents) for latents in range(10, 0, -1)
)
"""Ten factors of which the first so many have a latent."""
SITUATIONS: Final = (*MAP, *FEW, *DEPENDENT, *MISSING)
"""All of them."""


class Stress(NamedTuple):
    """Results of a score in some situations.

    Attributes:
        cells: By result and situation; without those that the score refuses.
        refused: Why the score refuses a situation.
        bounded: Whether values run from 0 to 1, the best.
    """

    cells: Mapping[str, Mapping[Situation, Cell]]
    refused: Mapping[Situation, str]
    bounded: bool

    def __str__(self) -> str:
        """A table of worlds and encoders for each result, chance in parentheses, and sentences."""
        return "\n\n".join(map(self._table, self.cells))

    def findings(self, result: str) -> list[str]:
        """What misleads a result, each in a clause that follows from one cell.

        Not each is an error: a score of compactness should fall when latents are doubled, and one
        of information should not notice that they are mixed. Without bounds there are no clauses.

        Args:
            result: Name of the result.
        """
        return findings(self.cells[result]) if self.bounded else []

    def _table(self, result: str) -> str:
        cells = self.cells[result]
        worlds = list(dict.fromkeys(situation.world for situation in MAP))
        width = max(map(len, ENCODERS)) + 1
        lines = [f"{result:<14}" + "".join(f"{world:>15}" for world in worlds)]
        for encoder in ENCODERS:
            values = [self._cell_text(cells, Situation(world, encoder)) for world in worlds]
            lines.append(f"{encoder:<{width}} " + "".join(f"{value:>15}" for value in values))
        others = [situation for situation in cells if situation not in MAP]
        lines += [f"{situation}: {self._cell_text(cells, situation)}" for situation in others]
        lines += [f"{situation}: refused, {reason}" for situation, reason in self.refused.items()]
        return "\n".join([*lines, *(f"- {clause}" for clause in self.findings(result))])

    def _cell_text(self, cells: Mapping[Situation, Cell], situation: Situation) -> str:
        if situation not in cells:
            return "refused" if situation in self.refused else "-"
        value, _, chance = cells[situation]
        return f"{value:.2f}" + ("" if chance is None else f" ({chance:.2f})")


def stress(
    build: MetricBuilder,
    situations: Sequence[Situation] = SITUATIONS,
    draws: int = 1,
    values: int | None = None,
) -> Stress:
    """A score in every situation; `print` shows its table.

    Args:
        build: The class of the score, or a partial of it.
        situations: What to try. All take seconds for most scores, minutes if it fits models.
        draws: Number of draws of factors and codes; values are their means.
        values: Number of values that each factor is cut into, all equally likely, for a score that
            needs images with equal values; factors are continuous unless given.

    Raises:
        InputError: There are no draws, fewer than two values, a situation does not exist, or the
            score refuses all.

    Examples:
        >>> from dislab.metrics import MIG
        >>> from dislab.testing import Situation, stress
        >>> tried = stress(MIG, [Situation(), Situation(encoder="copies")])
        >>> [round(cell.value, 1) for cell in tried.cells["mig"].values()]
        [0.9, 0.0]
        >>> tried.findings("mig")
        ['falls to 0.00 with a copy of each latent']
    """
    check_count("draws", draws, 1)
    if values is not None:
        check_count("values", values, 2)
    for situation in situations:
        _check(situation)
    cells: dict[str, dict[Situation, Cell]] = {}
    refused: dict[Situation, str] = {}
    bounded = False
    for situation in situations:
        try:
            samples = [_scored(build, situation, seed, values) for seed in range(draws)]
        except InputError as error:
            refused[situation] = str(error)
            continue
        bounded = samples[0].bounded
        for result in samples[0].values:
            drawn = [draw.values[result] for draw in samples]
            spread = max(drawn) - min(drawn)
            cell = Cell(fmean(drawn), spread, samples[0].chance.get(result))
            cells.setdefault(result, {})[situation] = cell
    if not cells:
        reasons = "; ".join(dict.fromkeys(refused.values()))
        raise InputError(f"the score refuses every situation: {reasons}")
    return Stress(cells, refused, bounded)


def _check(situation: Situation) -> None:
    """Refuses a situation that no codes have."""
    gaussian_factors(situation.world, 2, situation.factors, situation.correlation)
    check_count("images", situation.images, 2)
    if situation.encoder not in ENCODERS:
        raise InputError(f"encoder is {situation.encoder!r}; it is one of {', '.join(ENCODERS)}")
    if situation.latents is not None:
        if situation.encoder != "dropped":
            raise InputError(f"latents is for the encoder dropped, not for {situation.encoder}")
        check_count("latents", situation.latents, 1, most=situation.factors)


class _Draw(NamedTuple):
    values: Mapping[str, float]
    chance: Mapping[str, float]
    bounded: bool


def _scored(build: MetricBuilder, situation: Situation, seed: int, cuts: int | None) -> _Draw:
    """One draw of a situation; chance levels of the first seed only."""
    world, encoder, images, count, correlation, latents = situation
    factors = numbers = gaussian_factors(world, images, count, correlation, seed)
    if cuts:
        factors = cut(numbers, cuts)
        numbers = standardised(factors, (cuts,) * count)
    codes = numbers[:, :latents] if latents else ENCODERS[encoder].encode(numbers, seed)
    names = [f"factor_{column}" for column in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # lassos of copies have no optimum
        full = evaluate_fully(
            codes,
            factors,
            {"score": build},
            names,
            seed=seed,
            shuffle=False,
            kinds=dict.fromkeys(names, "ordinal" if cuts else "continuous"),
            chance=seed == 0,
        )
    record = full.metrics["score"]
    bounded = record["bounds"] == [0.0, 1.0] and record["higher_is_better"] is not False
    return _Draw(full.values, full.chance, bounded)


MOVES: Final = 0.1
"""A difference that counts, in the units of a score from 0 to 1."""

_PERFECT_CODES: Final = {
    Situation("correlated"): "factors that correlate by 0.8",
    Situation("copied"): "a factor that is a copy of another",
    Situation("summed"): "a factor that is the sum of others",
    Situation(encoder="monotone"): "a monotone map",
    Situation(encoder="copies"): "a copy of each latent",
    Situation(encoder="halves"): "two latents for the halves of each factor",
    Situation(encoder="angles"): "sine and cosine of each factor",
    Situation(images=50): "only 50 images",
}
_FAULTS: Final = {
    Situation(encoder="linear"): "linear mixing",
    Situation(encoder="overcomplete"): "linear mixing into twice as many latents",
    Situation(encoder="curved"): "nonlinear mixing",
    Situation(encoder="dropped"): "two missing factors of five",
}
_NOISE: Final = {
    Situation(encoder="noise"): "noise of 1,000 images",
    Situation(encoder="noise", images=50): "noise of 50 images",
}


def findings(cells: Mapping[Situation, Cell]) -> list[str]:
    """Clauses on a result from 0 to 1: perfect codes that it lowers, faults that it overlooks."""
    if PERFECT not in cells or any(cell.value > 1 + 1e-9 for cell in cells.values()):
        return []  # a count or an error beside the score
    perfect = cells[PERFECT].value
    clauses = [f"gives perfect codes {perfect:.2f}"] * (perfect < 1 - MOVES)
    values = {situation: cell.value for situation, cell in cells.items()}
    clauses += [
        f"falls to {values[situation]:.2f} with {change}"
        for situation, change in _PERFECT_CODES.items()
        if situation in values and perfect - values[situation] > MOVES
    ]
    clauses += [
        f"overlooks {fault} ({values[situation]:.2f})"
        for situation, fault in _FAULTS.items()
        if situation in values and perfect - values[situation] <= MOVES
    ]
    return clauses + [
        f"gives {codes} {values[situation]:.2f}"
        for situation, codes in _NOISE.items()
        if situation in values and values[situation] > MOVES
    ]
