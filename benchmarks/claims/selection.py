"""Models that a loss or a score on few labels selects."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import pandas as pd

from claims.tables import (
    LEVEL,
    ORDERS,
    RHO_MARGIN,
    SCORES,
    Claim,
    Table,
    claim_of_no_effect,
    interval,
    named_range,
    rho_by_chance,
)
from dislab.study.statistics import model_selection, rank_correlations
from dislab.study.statistics.selection import Best

SELECTORS: Final = {
    "score.elbo_sample_test": "ELBO",
    "score.reconstruction_sample_test": "reconstruction",
    "agreement.udr_lasso_pooled": "UDR (lasso)",
    "agreement.udr_spearman_pooled": "UDR (Spearman)",
}
BEST: Final[dict[str, Best]] = {
    "score.elbo_sample_test": "highest",
    "score.reconstruction_sample_test": "lowest",
    "agreement.udr_lasso_pooled": "highest",
    "agreement.udr_spearman_pooled": "highest",
}
LABELLED: Final = {
    "labelled.mig_100_labels": "MIG of 100 labels",
    "labelled.sap_r2_100_labels": "SAP of 100 labels",
}


class Choice(NamedTuple):
    """The run that a selector chooses for a score, with its regret and that of a random choice.

    `high` is the upper end of the interval of ρ, which is `rho`.
    """

    score: str
    selector: str
    rho: float
    high: float
    p: float
    regret: float
    at_random: float

    @property
    def is_ranked(self) -> bool:
        """Whether the selector prefers the better runs, by its corrected p."""
        return self.p < LEVEL and self.rho > 0

    @property
    def helps(self) -> bool:
        """Whether the chosen run is better than a random one too."""
        return self.is_ranked and self.regret < self.at_random


def without_labels(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Runs chosen without labels for each score, beside a random choice."""
    choices, table = _choices(runs, SELECTORS, BEST)
    chance = rho_by_chance(runs)
    by_selector = {
        title: [choice for choice in choices if choice.selector == title]
        for title in SELECTORS.values()
    }
    return [claim_without_labels(part, chance) for part in by_selector.values()], table


def with_labels(runs: pd.DataFrame, among: str = "") -> tuple[list[Claim], Table]:
    """Runs chosen by scores on few labels for each score, beside a random choice."""
    choices, table = _choices(runs, LABELLED, dict.fromkeys(LABELLED, "highest"))
    return [claim_with_labels(choices, rho_by_chance(runs), among)], table


def _choices(
    runs: pd.DataFrame, selectors: dict[str, str], best: dict[str, Best]
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
            choice = Choice(title, selector, *numbers)
            choices.append(choice)
            figures = [f"{p:.3f}", f"{choice.regret:.2f}", f"{at_random:.2f}"]
            rows.append([title, selector, interval(row["rho"], row["low"], row["high"]), *figures])
    figures = ["p (Holm)", "regret", "regret of a random choice"]
    header = ["score", "chosen by", "ρ", *figures]
    return choices, {"header": header, "rows": rows, "intervals": "runs"}


def claim_without_labels(choices: Sequence[Choice], chance: float) -> Claim:
    """The claim on one selector, with the scores for which it helps or only ranks runs."""
    helps = [choice.helps for choice in choices]
    reach = [choice.high for choice in choices]
    good = [choice.score for choice in choices if choice.helps]
    here = _figures(choices, chance) + (f" ({', '.join(good)})" if good else "")
    here += "".join(
        f"; {choice.score}: ρ {choice.rho:.2f}, but the one run chosen has a regret of "
        f"{choice.regret:.2f}, at random {choice.at_random:.2f}"
        for choice in choices
        if choice.is_ranked and not choice.helps
    )
    selector = choices[0].selector
    if selector.startswith("UDR"):
        text = f"{selector} selects good models without labels"
        return Claim(text, "Duan et al. (2020)", here, helps, reach=reach, margin=RHO_MARGIN)
    text = f"{selector[0].upper()}{selector[1:]} does not select good models"
    claim = Claim(text, "section 5.4", here, [])
    ranked = [choice.is_ranked for choice in choices]
    scores = [choice.score for choice in choices]
    return claim_of_no_effect(claim, reach, ranked, RHO_MARGIN, "ρ {:.2f}", scores)


def claim_with_labels(choices: Sequence[Choice], chance: float, among: str = "") -> Claim:
    """The claim on scores of 100 labels, with the pairs for which they do not help.

    Args:
        choices: The choices of all selectors.
        chance: The |ρ| that 95 % of shuffled scores do not exceed.
        among: Which models they select among, behind the claim, if others than the paper's.
    """
    bad = [f"{choice.score} by {choice.selector}" for choice in choices if not choice.helps]
    here = _figures(choices, chance)
    here += f" (not {', '.join(bad)})" if bad else ""
    text, there = "A score on 100 labels selects good models", "Locatello et al. (2020), section 3"
    if among:
        text, there = f"{text} among {among}", f"{there}: among models without labels"
    helps, reach = [choice.helps for choice in choices], [choice.high for choice in choices]
    return Claim(text, there, here, helps, reach=reach, margin=RHO_MARGIN)


def _figures(choices: Sequence[Choice], chance: float) -> str:
    """The range of ρ beside chance, and how often a choice helps."""
    return (
        f"ρ {named_range((choice.score, choice.rho) for choice in choices)}, by chance below "
        f"{chance:.2f}; helps in {sum(choice.helps for choice in choices)} of {len(choices)} tests"
    )
