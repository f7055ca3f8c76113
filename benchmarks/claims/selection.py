"""Models that a loss or a score on few labels selects."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from claims.tables import (
    LEVEL,
    METHODS,
    ORDERS,
    RHO_MARGIN,
    SCORES,
    SHUFFLES,
    Claim,
    Numbers,
    Table,
    claim_of_no_effect,
    interval,
    named_range,
    rho_by_chance,
)
from dislab.study.statistics import holm, model_selection, rank_correlations
from dislab.study.statistics.selection import Best
from dislab.study.summary import label

SELECTORS: Final = {
    "score.elbo_sample_test": "ELBO",
    "score.reconstruction_sample_test": "reconstruction",
    "agreement.udr_lasso_pooled": label("agreement.udr_lasso_pooled"),
    "agreement.udr_spearman_pooled": label("agreement.udr_spearman_pooled"),
}
BEST: Final[dict[str, Best]] = {
    "score.elbo_sample_test": "highest",
    "score.reconstruction_sample_test": "lowest",
    "agreement.udr_lasso_pooled": "highest",
    "agreement.udr_spearman_pooled": "highest",
}
LABELLED: Final = {
    name: label(name) for name in ("labelled.mig_100_labels", "labelled.sap_r2_100_labels")
}


class Choice(NamedTuple):
    """The run that a selector chooses for a score, with its regret and that of a random choice.

    `high` is the upper end of the interval of ρ, which is `rho`; `within` is the mean ρ within
    methods with its corrected p, NaN if there are no methods to look within.
    """

    score: str
    selector: str
    rho: float
    high: float
    p: float
    regret: float
    at_random: float
    within: float = np.nan
    p_within: float = np.nan

    @property
    def is_ranked_within(self) -> bool:
        """Whether no more is known than over all runs, or it prefers the better runs of methods."""
        return bool(np.isnan(self.within)) or (self.p_within < LEVEL and self.within > 0)

    @property
    def is_ranked(self) -> bool:
        """Whether the selector prefers the better runs, by its corrected p, also within methods."""
        return self.p < LEVEL and self.rho > 0 and self.is_ranked_within

    @property
    def helps(self) -> bool:
        """Whether the chosen run is better than a random one too, in the decimals of the table."""
        return self.is_ranked and round(self.regret, 2) < round(self.at_random, 2)


def without_labels(
    runs: pd.DataFrame, within: pd.DataFrame | None = None
) -> tuple[list[Claim], Table]:
    """Runs chosen without labels for each score, beside a random choice."""
    choices, table = _choices(runs, SELECTORS, BEST, within)
    chance = rho_by_chance(runs)
    by_selector = {
        title: [choice for choice in choices if choice.selector == title]
        for title in SELECTORS.values()
    }
    return [claim_without_labels(part, chance) for part in by_selector.values()], table


def with_labels(
    runs: pd.DataFrame, among: str = "", within: pd.DataFrame | None = None
) -> tuple[list[Claim], Table]:
    """Runs chosen by scores on few labels for each score, beside a random choice."""
    choices, table = _choices(runs, LABELLED, dict.fromkeys(LABELLED, "highest"), within)
    return [claim_with_labels(choices, rho_by_chance(runs), among)], table


def within_methods(runs: pd.DataFrame) -> tuple[pd.DataFrame, Table]:
    """Mean over methods of each selector's ρ with each score, and the table with every method.

    The index is score and selector, the columns `rho`, `low` and `high`, by resampling runs within
    methods, and `p_holm`, from permutations within methods, corrected for all selectors without
    labels, and for all with labels.
    """
    selectors = SELECTORS | LABELLED
    signs = np.array([-1.0 if BEST.get(name) == "lowest" else 1.0 for name in selectors])
    generator = np.random.default_rng(0)
    by_method: dict[str, Numbers] = {}
    resampled, permuted = [], []
    for method, part in runs.groupby("method", sort=False):
        scores = part[list(SCORES)].to_numpy(dtype=float)
        chosen = part[list(selectors)].to_numpy(dtype=float) * signs
        by_method[METHODS[str(method)]] = _rho(scores, chosen)
        rows = generator.integers(len(part), size=(SHUFFLES, len(part)))
        resampled.append(_rho(scores[rows], chosen[rows]))
        orders = generator.permuted(np.tile(np.arange(len(part)), (ORDERS, 1)), axis=1)
        permuted.append(_rho(scores[orders], chosen))
    # a resample in which a score is constant has no correlation
    rho, *draws = (
        np.nanmean(part, axis=0) for part in ([*by_method.values()], resampled, permuted)
    )
    low, high = np.nanquantile(draws[0], (LEVEL / 2, 1 - LEVEL / 2), axis=0)
    p = (1 + (np.abs(draws[1]) >= np.abs(rho) - 1e-12).sum(0)) / (1 + ORDERS)
    index = pd.MultiIndex.from_product([SCORES, selectors])
    ends = {"rho": rho.ravel(), "low": low.ravel(), "high": high.ravel()}
    split = len(SELECTORS)
    families = [np.reshape(holm(part.ravel()), part.shape) for part in (p[:, :split], p[:, split:])]
    found = pd.DataFrame(ends | {"p_holm": np.hstack(families).ravel()}, index=index)
    rows_shown = [
        [
            SCORES[score],
            selectors[name],
            interval(row.rho, row.low, row.high),
            f"{row.p_holm:.3f}",
            *(f"{part.ravel()[place]:.2f}" for part in by_method.values()),
        ]
        for place, ((score, name), row) in enumerate(found.iterrows())
    ]
    chance = f"{np.quantile(np.abs(draws[1]), 1 - LEVEL):.2f}"
    of_one = f"{rho_by_chance(runs[runs['method'] == runs['method'].iloc[0]]):.2f}"
    rows_shown.append(
        ["by chance below (shuffled scores)", "", chance, "", *[of_one] * len(by_method)]
    )
    header = ["score", "chosen by", "mean ρ within methods", "p (Holm)", *by_method]
    return found, {"header": header, "rows": rows_shown, "intervals": "within"}


def _rho(left: Numbers, right: Numbers) -> Numbers:
    """Rank correlations (…, left, right) of columns of runs; NaN of a constant column."""
    from scipy.stats import rankdata

    units = []
    for columns in (left, right):
        ranks = rankdata(columns, axis=-2)
        centred = ranks - ranks.mean(-2, keepdims=True)
        with np.errstate(invalid="ignore"):
            units.append(centred / np.linalg.norm(centred, axis=-2, keepdims=True))
    rho: Numbers = np.swapaxes(units[0], -1, -2) @ units[1]
    return rho


def _choices(
    runs: pd.DataFrame,
    selectors: dict[str, str],
    best: dict[str, Best],
    within: pd.DataFrame | None,
) -> tuple[list[Choice], Table]:
    """The choice of each selector for each score; the table of them."""
    pairs = rank_correlations(runs, list(selectors), list(SCORES), orders=ORDERS)
    corrected = pairs[pairs["group"] == "all"].set_index(["left", "right"])["p_holm"]
    rows, choices = [], []
    for column, title in SCORES.items():
        selected = model_selection(runs, column, best).set_index("selector")
        at_random = float(selected.loc["random", "regret"])
        for name, selector in selectors.items():
            row, p = selected.loc[name], float(corrected[name, column])
            numbers = [float(row["rho"]), float(row["high"]), p, float(row["regret"]), at_random]
            if within is not None:
                numbers += within.loc[(column, name), ["rho", "p_holm"]].tolist()
            choice = Choice(title, selector, *numbers)
            choices.append(choice)
            figures = [f"{p:.3f}", f"{choice.regret:.2f}", f"{at_random:.2f}"]
            rows.append([title, selector, interval(row["rho"], row["low"], row["high"]), *figures])
    figures = ["p (Holm)", "regret", "regret of a random choice"]
    header = ["score", "chosen by", "ρ", *figures]
    return choices, {"header": header, "rows": rows, "intervals": "runs"}


def claim_without_labels(choices: Sequence[Choice], chance: float) -> Claim:
    """The claim on one selector, with the scores for which it helps."""
    helps = [choice.helps for choice in choices]
    reach = [choice.high for choice in choices]
    here = _figures(choices, chance)
    scores = [choice.score for choice in choices]
    selector = choices[0].selector
    if selector.startswith("UDR"):
        text = f"{selector} selects good models without labels"
        return Claim(
            text,
            "Duan et al. (2020): agrees with scores (not read here)",
            here,
            helps,
            reach=reach,
            margin=RHO_MARGIN,
            names=scores,
        )
    text = f"{selector[0].upper()}{selector[1:]} does not select good models"
    good = ", ".join(choice.score for choice in choices if choice.helps)
    claim = Claim(
        text,
        "no loss identifies good models (not read here)",
        f"{here}; helps for {good or 'none'}",
        [],
    )
    ranked = [choice.is_ranked for choice in choices]
    return claim_of_no_effect(claim, reach, ranked, RHO_MARGIN, "ρ {:.2f}", scores)


def claim_with_labels(choices: Sequence[Choice], chance: float, among: str = "") -> Claim:
    """The claim on scores of 100 labels, with the pairs for which they help.

    Args:
        choices: The choices of all selectors.
        chance: The |ρ| that 95 % of shuffled scores do not exceed.
        among: Which models they select among, behind the claim, if others than the paper's.
    """
    names = [f"{choice.score} by {choice.selector}" for choice in choices]
    here = _figures(choices, chance)
    text = "A score on 100 labels selects good models"
    there = "Locatello et al. (2020): few labels suffice (not read here)"
    if among:
        text = f"{text} among {among}"
    helps, reach = [choice.helps for choice in choices], [choice.high for choice in choices]
    return Claim(text, there, here, helps, reach=reach, margin=RHO_MARGIN, names=names)


def _figures(choices: Sequence[Choice], chance: float) -> str:
    """The range of ρ beside chance and within methods."""
    parts = [
        f"ρ {named_range((choice.score, choice.rho) for choice in choices)}, by chance below "
        f"{chance:.2f}"
    ]
    within = [(choice.score, choice.within) for choice in choices]
    if not any(np.isnan(rho) for _, rho in within):
        parts.append(f"within methods {named_range(within)}")
    return "; ".join(parts)
