"""Models that a loss or a score on few labels selects."""

from typing import Final

import pandas as pd

from claims.tables import LEVEL, ORDERS, SCORES, Claim, Table, interval, rho_by_chance, value_range
from dislab.study.statistics import model_selection, rank_correlations
from dislab.study.statistics.selection import Best

SELECTORS: Final = {
    "score.elbo_sample_test": "ELBO",
    "score.reconstruction_sample_test": "reconstruction",
    "agreement.udr_lasso_pooled": "UDR",
}
BEST: Final[dict[str, Best]] = {
    "score.elbo_sample_test": "highest",
    "score.reconstruction_sample_test": "lowest",
    "agreement.udr_lasso_pooled": "highest",
}
LABELLED: Final = {
    "labelled.mig_100_labels": "MIG of 100 labels",
    "labelled.sap_r2_100_labels": "SAP of 100 labels",
}


def without_labels(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Runs chosen without labels for each score, beside a random choice."""
    chosen, table = _choices(runs, SELECTORS, BEST)
    return [_chosen(runs, selector, chosen) for selector in SELECTORS.values()], table


def with_labels(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Runs chosen by scores on few labels for each score, beside a random choice."""
    chosen, table = _choices(runs, LABELLED, dict.fromkeys(LABELLED, "highest"))
    text = "A score on 100 labels selects good models"
    helps = [good for _, _, good in chosen]
    here = f"{_chosen_figures(runs, chosen)} of {len(helps)} pairs of two selectors and six scores"
    return [Claim(text, "Locatello et al. (2020), section 3", here, helps)], table


def _choices(
    runs: pd.DataFrame, selectors: dict[str, str], best: dict[str, Best]
) -> tuple[list[tuple[str, float, bool]], Table]:
    """For each score and selector its ρ, and whether it helps; the table of both."""
    pairs = rank_correlations(runs, list(selectors), list(SCORES), orders=ORDERS)
    corrected = pairs[pairs["group"] == "all"].set_index(["left", "right"])["p_holm"]
    rows, chosen = [], []
    for column, title in SCORES.items():
        selected = model_selection(runs, column, best).set_index("selector")
        at_random = float(selected.loc["random", "regret"])
        for name, selector in selectors.items():
            row, p = selected.loc[name], float(corrected[name, column])
            helps = p < LEVEL and row["rho"] > 0 and row["regret"] < at_random
            chosen.append((selector, float(row["rho"]), bool(helps)))
            figures = [f"{p:.3f}", f"{row['regret']:.2f}", f"{at_random:.2f}"]
            rows.append([title, selector, interval(row["rho"], row["low"], row["high"]), *figures])
    figures = ["p (Holm)", "regret", "regret of a random choice"]
    return chosen, {"header": ["score", "chosen by", "ρ", *figures], "rows": rows}


def _chosen(runs: pd.DataFrame, selector: str, chosen: list[tuple[str, float, bool]]) -> Claim:
    """The claim on one selector."""
    chosen = [choice for choice in chosen if choice[0] == selector]
    helps = [good for _, _, good in chosen]
    here = f"{_chosen_figures(runs, chosen)} of six"
    if selector == "UDR":
        text = "UDR selects good models without labels"
        return Claim(text, "Duan et al. (2020)", here, helps)
    text = f"{selector[0].upper()}{selector[1:]} does not select good models"
    return Claim(text, "section 5.4", here, [not good for good in helps])


def _chosen_figures(runs: pd.DataFrame, chosen: list[tuple[str, float, bool]]) -> str:
    """The range of ρ beside chance, and how often a choice helps."""
    return (
        f"ρ with six scores {value_range(rho for _, rho, _ in chosen)} (by chance below "
        f"{rho_by_chance(runs):.2f}); a corrected p < .05 and less regret than a random choice "
        f"for {sum(good for _, _, good in chosen)}"
    )
