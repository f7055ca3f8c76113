"""Claims with their verdicts, intervals over seeds, and cells of tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dislab.study.summary import label

SHUFFLES: Final = 2000
ORDERS: Final = 20_000
LEVEL: Final = 0.05
RHO_MARGIN: Final = 0.3
"""The |rank correlation| that still counts as no effect."""
_LISTED: Final = 6
"""Tests for a claim that a verdict lists; of more it names the others."""
MARGIN: Final = 0.05
"""The difference of scores or of ratios that still counts as no effect."""
METHODS: Final = {
    "betavae": "β-VAE",
    "annealedvae": "Annealed VAE",
    "factorvae": "FactorVAE",
    "dipvae1": "DIP-VAE-I",
    "dipvae2": "DIP-VAE-II",
    "betatcvae": "β-TCVAE",
    "vae": "VAE",
    "adagvae": "Ada-GVAE",
    "adamlvae": "Ada-ML-VAE",
    "slowvae": "SlowVAE",
    "true_factors": "true factors",
}
SCORES: Final = {
    name: label(name)
    for name in (
        "score.beta_vae_score",
        "score.factor_vae_score",
        "score.mig",
        "score.sap_r2",
        "score.modularity",
        "score.dci_hgbt_disentanglement",
    )
}
"""Names of scores in tables, as the page of a study has them."""
NO_CODES: Final = "chance (no codes)"
"""Title of a row with errors of predictions without codes."""
DCI: Final = "score.dci_hgbt_disentanglement"
MIG: Final = "score.mig"

Table = dict[str, Any]
Numbers = npt.NDArray[np.float64]


class Claim(NamedTuple):
    """One row of the table of claims.

    Attributes:
        claim: What the paper says.
        there: Where it stands there, and the figure there.
        here: The figure of this study, with chance beside it.
        supported: Outcome of each test of the claim; none if it was not tried.
        otherwise: The verdict unless every test supports the claim, and after a colon what precedes
            the figure; by default how many tests do, unless all come out alike.
        by_interval: Whether the tests are intervals over few seeds, without a p-value.
        reach: How far the interval of each test goes in the direction of the claim; without it
            a claim that no test supports is refuted.
        margin: The reach up to which an interval refutes the claim.
        against: Whether each test speaks against the claim; by default where its reach ends within
            the margin.
        names: Name of each test, of which the verdict lists those for the claim and against it.
    """

    claim: str
    there: str
    here: str
    supported: Sequence[bool]
    otherwise: str = ""
    by_interval: bool = False
    reach: npt.ArrayLike = -np.inf
    margin: float = MARGIN
    against: Sequence[bool] = ()
    names: Sequence[str] = ()

    def cells(self) -> list[str]:
        """The cells of the row: the claim, the verdict alone, there, and here after the counts."""
        if not self.supported:
            return [self.claim, "not tried", self.there, self.here]
        supported = np.asarray(self.supported, dtype=bool)
        excluded = np.asarray(self.reach, dtype=float) <= self.margin
        yes = "yes, by the interval" if self.by_interval else "yes"
        unsupported = "no" if excluded.all() else "undecided"
        if excluded.shape == supported.shape and len(set(excluded)) == 2:
            unsupported += f": {ways(supported, excluded, self.names)}"
        if supported.all():
            verdict = yes
        elif self.otherwise or not supported.any():
            verdict = self.otherwise or unsupported
        else:
            counts = ways(supported, self.against or excluded, self.names)
            verdict = f"{some(supported)}: {counts}"
        word, _, counts = verdict.partition(": ")
        return [self.claim, word, self.there, f"{counts}: {self.here}" if counts else self.here]


def some(supported: npt.ArrayLike) -> str:
    """The verdict where some tests support a claim: *mostly* if more than half of them do."""
    return "mostly" if np.mean(np.asarray(supported, dtype=bool)) > 0.5 else "partly"


def ways(
    supported: npt.ArrayLike,
    against: npt.ArrayLike,
    names: Sequence[str] = (),
    contrary: str = "",
) -> str:
    """How many tests are for a claim, against it and undecided, with the names of the first two.

    What is contrary to the claim precedes the names of the tests against it; many tests for it are
    those that are left.
    """
    good = np.asarray(supported, dtype=bool)
    bad = ~good & np.asarray(against, dtype=bool)
    rest = good.size - good.sum() - bad.sum()
    ours, theirs = (", ".join(compress(names, part)) for part in (good, bad))
    if names and good.sum() > _LISTED:
        others = ", ".join(compress(names, ~good))
        ours = "all others" if others == theirs else f"all but {others}"
    ours, theirs = (f" ({text})" if text else "" for text in (ours, theirs and contrary + theirs))
    counts = f"{good.sum()} of {good.size} tests for{ours}, {bad.sum()} against{theirs}"
    return f"{counts}, {rest} undecided"


def claim_of_no_effect(
    claim: Claim,
    reach: npt.ArrayLike,
    seen: npt.ArrayLike,
    margin: float,
    quantity: str = "",
    names: Sequence[str] = (),
) -> Claim:
    """A claim of no effect, which a test supports if its interval ends within the margin.

    *No* means that some test finds an effect and no interval ends within the margin; *undecided*
    that none finds one, and no interval ends there.

    Args:
        claim: The claim, whose tests are replaced.
        reach: How far the interval of each test goes in the direction of the effect.
        seen: Whether each test finds the effect.
        margin: The effect that still counts as none.
        quantity: Format of the largest effect that remains possible; without, no number.
        names: Name of each test.
    """
    far, effect = np.asarray(reach, dtype=float), np.asarray(seen, dtype=bool)
    within = ~effect & (far <= margin)
    up_to = f", up to {quantity.format(far.max())}" if quantity else ""
    otherwise = f"undecided: no effect seen{up_to}"
    if within.any() or effect.any():
        otherwise = (
            f"{some(within) if within.any() else 'no'}: {ways(within, effect, names, 'it does: ')}"
        )
    return claim._replace(supported=list(within), otherwise=otherwise)


def finished_table(runs: pd.DataFrame) -> Table:
    """Number of finished runs of each method, with mean and range of their scores."""
    names = [name for name in SCORES if name in runs]
    rows = []
    for method, part in runs.groupby("method", sort=False):
        done = part[part["state"] == "finished"]
        title = METHODS.get(str(method), str(method))
        rows.append([title, f"{len(done)} of {len(part)}", *(spread(done[name]) for name in names)])
    chance = [
        f"{runs[f'{name}/chance'].mean():.2f}" if f"{name}/chance" in runs else "–"
        for name in names
    ]
    header = ["method", "runs", *(SCORES[name] for name in names)]
    return {"header": header, "rows": [*rows, ["chance", "", *chance]]}


def spread(values: npt.ArrayLike, digits: int = 2) -> str:
    """Mean and range; a dash for no values."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return "–"
    mean, low, high = (
        f"{value:.{digits}f}" for value in (numbers.mean(), numbers.min(), numbers.max())
    )
    return f"{mean} ({low} to {high})"


def claims_table(claims: Sequence[Claim], intervals: str = "") -> Table:
    """The rows of claims, with the kind of their intervals, a word of docs/tables.py."""
    header = ["claim of the paper", "comes out", "there", "here"]
    table: Table = {"header": header, "rows": [claim.cells() for claim in claims]}
    return table | {"intervals": intervals} if intervals else table


def jackknife(
    runs: pd.DataFrame,
    statistic: Callable[[pd.DataFrame], Numbers],
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] = (-np.inf, np.inf),
) -> tuple[Numbers, Numbers, Numbers]:
    """A statistic with its 95 % interval, cut to bounds, by leaving out one seed at a time."""
    from scipy.stats import t

    seeds = runs["seed"].unique()
    without = np.stack([statistic(runs[runs["seed"] != seed]) for seed in seeds])
    count = len(seeds)
    error = np.sqrt((count - 1) / count * ((without - without.mean(0)) ** 2).sum(0))
    value = statistic(runs)
    reach = t.ppf(1 - LEVEL / 2, count - 1) * error
    return value, np.clip(value - reach, *bounds), np.clip(value + reach, *bounds)


def value_range(values: Iterable[float]) -> str:
    numbers = list(values)
    return f"{min(numbers):.2f} to {max(numbers):.2f}"


def named(values: Mapping[str, float]) -> str:
    """Values behind their names."""
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def named_range(values: Iterable[tuple[str, float]]) -> str:
    """The least and the largest value, with their names."""
    pairs = list(values)
    ends = [end(pairs, key=lambda pair: pair[1]) for end in (min, max)]
    return " to ".join(f"{value:.2f} ({name})" for name, value in ends)


def interval(value: float, low: float, high: float, digits: int = 2) -> str:
    """A value with its interval, which fewer than three seeds do not have."""
    if np.isnan(low):
        return f"{value:.{digits}f} (fewer than three seeds: no interval)"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def marked(row: Any) -> str:
    """A correlation, with a star if its corrected p is below .05."""
    if row["rho"] != row["rho"]:
        return "–"
    return f"{row['rho']:.2f}" + ("\\*" if row["p_holm"] < LEVEL else "")


def rho_by_chance(runs: pd.DataFrame) -> float:
    """The |rank correlation| that 95 % of shuffled scores do not exceed."""
    generator = np.random.default_rng(0)
    ranks = np.arange(len(runs), dtype=float)
    rho = [np.corrcoef(ranks, generator.permutation(ranks))[0, 1] for _ in range(SHUFFLES)]
    return float(np.quantile(np.abs(rho), 1 - LEVEL))
