"""Sentences of the pages on scores, each with the cell of the stress test that it follows from."""

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.metrics.test_stress import SCRIPT

from dislab.testing import Situation
from dislab.testing.situations import DEPENDENT, FEW, MISSING, MOVES, PERFECT

ROOT = Path(__file__).parents[2]
REPORT: dict[str, Any] = json.loads((ROOT / "benchmarks/results/stress.json").read_text())
CELLS = {
    result: cells
    for record in REPORT["results"].values()
    for result, cells in record["cells"].items()
}
CORRELATED, COPIED, SUMMED = Situation("correlated"), Situation("copied"), Situation("summed")
MONOTONE, LINEAR, DROPPED, COPIES, HALVES, OVERCOMPLETE, ANGLES, NOISE, CURVED = (
    Situation(encoder=encoder)
    for encoder in (
        "monotone",
        "linear",
        "dropped",
        "copies",
        "halves",
        "overcomplete",
        "angles",
        "noise",
        "curved",
    )
)
PERFECT_50, _, PERFECT_10000, NOISE_50, _, NOISE_10000 = FEW
NINE, SEVEN, FIVE, THREE, ONE = (MISSING[10 - latents] for latents in (9, 7, 5, 3, 1))
STRESS, CHOOSING, METRICS, LAWS = "stress.md", "choosing.md", "metrics.md", "laws.md"


class Claim(NamedTuple):
    """Words of a page and the cell that they follow from.

    Attributes:
        page: File in docs.
        words: Part of a sentence; white space does not count, and braces are the value of the cell.
        result: Name of the result.
        situation: That of the cell.
        least: Smallest value that agrees with the words.
        most: Largest value that does.
        lost: Whether the limits are of what perfect codes of independent factors lose.
        spread: Whether braces are the spread over draws.
    """

    page: str
    words: str
    result: str
    situation: Situation
    least: float = -math.inf
    most: float = math.inf
    lost: bool = False
    spread: bool = False

    def __str__(self) -> str:
        return f"{self.page}: {self.words} [{self.result}, {self.situation}]"


def equal_to_perfect(page: str, words: str, result: str, situation: Situation) -> Claim:
    """Perfect codes lose no more than the pages call a difference."""
    return Claim(page, words, result, situation, most=MOVES, lost=True)


def below_perfect(
    page: str, words: str, result: str, situation: Situation, by: float = MOVES
) -> Claim:
    """Perfect codes lose more than that."""
    return Claim(page, words, result, situation, least=by, lost=True)


CLAIMS = [
    Claim(STRESS, "independent factors get a `mig` of {}", "mig", PERFECT),
    Claim(STRESS, "but {} where one factor is a copy of another", "mig", COPIED),
    Claim(STRESS, "and {} where each latent has a copy", "mig", COPIES),
    below_perfect(STRESS, "fall with the correlation", "mig", CORRELATED),
    below_perfect(STRESS, "fall with the correlation", "sap_r2", CORRELATED),
    below_perfect(STRESS, "fall with the correlation", "dcimig", CORRELATED),
    equal_to_perfect(STRESS, "`dmig` divides that gap by what", "dmig", CORRELATED),
    *(
        Claim(STRESS, "falls in proportion", "mcc_pearson", few, share - 0.01, share + 0.01)
        for few, share in ((SEVEN, 0.7), (FIVE, 0.5), (THREE, 0.3), (ONE, 0.1))
    ),
    *(
        Claim(STRESS, "The second is 1 in each column", "mcc_pairs_pearson", few, least=0.995)
        for few in MISSING
    ),
    Claim(STRESS, "with 0.5 it is {}.", "infom_knn", DEPENDENT[0]),
    Claim(STRESS, "`mcc_pearson` spreads by {}.", "mcc_pearson", LINEAR, spread=True),
    Claim(STRESS, "to 0.034 there, and from {} to", "mcc_pearson", NOISE_50),
    Claim(STRESS, "to {} here", "mcc_pearson", NOISE_10000),
    Claim(STRESS, "here `infom_knn` is {} with 50 images", "infom_knn", NOISE_50),
    Claim(STRESS, "{} with 1,000 and", "infom_knn", NOISE),
    Claim(STRESS, "and {} with 10,000.", "infom_knn", NOISE_10000),
    Claim(STRESS, "is 0.741 there and {} here", "mig", PERFECT),
    Claim(STRESS, "from {} with 50 to", "mig", PERFECT_50),
    Claim(STRESS, "to {} with 10,000.", "mig", PERFECT_10000),
    below_perfect(CHOOSING, "`MIG` and `SAP` fall where factors depend", "mig", CORRELATED),
    below_perfect(CHOOSING, "`MIG` and `SAP` fall where factors depend", "sap_r2", CORRELATED),
    equal_to_perfect(CHOOSING, "which [`DMIG`](metrics.md", "dmig", CORRELATED),
    below_perfect(CHOOSING, "stored as sine and cosine looks bad", "mig", ANGLES),
    below_perfect(CHOOSING, "stored as sine and cosine looks bad", "sap_r2", ANGLES),
    below_perfect(CHOOSING, "stored as sine and cosine looks bad", "dci_hgbt_completeness", ANGLES),
    *(
        equal_to_perfect(CHOOSING, "a factor in many latents", result, situation)
        for result in ("dci_hgbt_disentanglement", "modularity_active")
        for situation in (COPIES, HALVES, ANGLES)
    ),
    equal_to_perfect(CHOOSING, "a factor in many latents", "dcimig", COPIES),
    below_perfect(CHOOSING, "which `DCIMIG` sees where none", "dcimig", HALVES),
    equal_to_perfect(CHOOSING, "mixed codes score the same by linear", "explicitness", LINEAR),
    equal_to_perfect(
        CHOOSING, "mixed codes score the same by linear", "downstream_logistic_400", LINEAR
    ),
    below_perfect(CHOOSING, "and a little less by trees", "dci_hgbt_informativeness", LINEAR),
    Claim(CHOOSING, "and a little less by trees", "dci_hgbt_informativeness", LINEAR, least=0.7),
    Claim(CHOOSING, "codes without information get 1", "dcies_rf_explicitness", NOISE, 0.995),
    equal_to_perfect(CHOOSING, "rotations within a block", "mcc_linear_pearson", LINEAR),
    equal_to_perfect(CHOOSING, "rotations within a block", "block_mcc_linear", LINEAR),
    Claim(CHOOSING, "many different models score 1", "factor_vae_score", OVERCOMPLETE, 0.9),
    Claim(CHOOSING, "many different models score 1", "beta_vae_score", OVERCOMPLETE, 0.9),
    equal_to_perfect(CHOOSING, "`IRS`: factors that no latent holds", "irs", DROPPED),
    equal_to_perfect(CHOOSING, "`BetaVAEScore`: one such factor", "beta_vae_score", NINE),
    Claim(CHOOSING, "noise of 50 gets {} of `IRS`", "irs", NOISE_50),
    Claim(CHOOSING, "and {} of `BetaVAEScore`", "beta_vae_score", NOISE_50),
    Claim(METRICS, "sine and cosine of each factor get {}", "mig", ANGLES),
    Claim(METRICS, "a copy of each latent leaves {} ([stress", "mig", COPIES),
    Claim(METRICS, "`rf` only of continuous factors", "dci_rf_disentanglement", PERFECT, 0.99),
    Claim(METRICS, "`rf` only of continuous factors", "dci_rf_completeness", PERFECT, 0.99),
    Claim(METRICS, "completeness falls to {}", "dci_gbt_completeness", COPIES),
    Claim(METRICS, "and {} with a copy of each latent", "dci_rf_completeness", COPIES),
    Claim(METRICS, "takes the first one, and keeps {}", "dci_hgbt_completeness", COPIES),
    Claim(METRICS, "factors gets {} with 1,000 images and 0.35", "factor_vae_score", NOISE),
    Claim(METRICS, "factors gets 0.23 with 1,000 images and {}", "factor_vae_score", NOISE_50),
    Claim(METRICS, "factors gets {} with 1,000 images and 0.70", "beta_vae_score", NOISE),
    Claim(METRICS, "factors gets 0.22 with 1,000 images and {}", "beta_vae_score", NOISE_50),
    Claim(METRICS, "so that linear mixtures get {}", "beta_vae_score", LINEAR),
    Claim(METRICS, "and {} with twice as many latents", "beta_vae_score", OVERCOMPLETE),
    equal_to_perfect(METRICS, "is recognised by all others varying", "beta_vae_score", NINE),
    Claim(
        METRICS, "A factor without a latent costs its share", "factor_vae_score", FIVE, 0.45, 0.6
    ),
    Claim(METRICS, "z + z³ of each factor z gets {}", "sap_r2", MONOTONE),
    *(
        equal_to_perfect(
            METRICS, "a factor spread over many latents; codes with", "modularity", encoding
        )
        for encoding in (COPIES, HALVES, ANGLES)
    ),
    Claim(METRICS, "and {} of five continuous factors", "modularity", NOISE),
    Claim(METRICS, "is {} there with 10,000 images", "modularity_active", NOISE_10000),
    Claim(METRICS, "but {} with 1,000, where chance", "modularity_active", NOISE),
    equal_to_perfect(METRICS, "active ([stress test]", "modularity_active", COPIES),
    equal_to_perfect(METRICS, "Explicitness: rotations", "explicitness", LINEAR),
    Claim(METRICS, "three latents of five factors get {}", "irs", DROPPED),
    equal_to_perfect(METRICS, "as perfect codes do, and noise", "irs", DROPPED),
    Claim(METRICS, "and noise gets {}, since extremes", "irs", NOISE),
    Claim(METRICS, "noise of 50 images gets {} ([stress test](stress.md)).", "irs", NOISE_50),
    below_perfect(METRICS, "Relations that are not linear (`pearson`)", "mcc_pearson", MONOTONE),
    equal_to_perfect(METRICS, "or monotone (`spearman`)", "mcc_spearman", MONOTONE),
    equal_to_perfect(METRICS, "`mcc_linear_…` cannot see rotations", "mcc_linear_pearson", LINEAR),
    Claim(
        METRICS,
        "which is 1 for perfect codes of one factor of ten",
        "mcc_pairs_pearson",
        ONE,
        0.995,
    ),
    Claim(METRICS, "where `mcc_pearson` is 0.1", "mcc_pearson", ONE, 0.095, 0.105),
    *(
        Claim(METRICS, "for any smooth relation with few turns", "rdc", situation, least=0.99)
        for situation in (MONOTONE, HALVES, ANGLES)
    ),
    Claim(METRICS, "noise gets {} with 50 images", "rdc", NOISE_50),
    Claim(METRICS, "and {} with 1,000 ([stress", "rdc", NOISE),
    equal_to_perfect(METRICS, "rotated codes get the same. What the", "block_r2_linear", LINEAR),
    Claim(METRICS, "images get {} with neighbours", "infom_knn", PERFECT),
    Claim(METRICS, "and {} with bins", "infom_bins", PERFECT),
    Claim(METRICS, "gets an `infom_knn` of {}", "infom_knn", NOISE),
    Claim(METRICS, "noise of 50 images gets {} ([stress test](stress.md#n", "infoe", NOISE_50),
    Claim(METRICS, "a copy of each latent leaves {}, what perfect", "mig_sup", COPIES),
    equal_to_perfect(METRICS, "what perfect codes get", "mig_sup", COPIES),
    Claim(METRICS, "a part of a factor, to {} with halves", "mig_sup", HALVES),
    Claim(METRICS, "correlate by 0.8 get {}", "dmig", CORRELATED),
    Claim(METRICS, "where `mig` is {}", "mig", CORRELATED),
    Claim(METRICS, "all of a factor, to {} with halves", "dcimig", HALVES),
    equal_to_perfect(METRICS, "and cannot see copies", "dcimig", COPIES),
    equal_to_perfect(METRICS, "rotated codes serve a logistic", "downstream_logistic_400", LINEAR),
    Claim(METRICS, "0, reached by noise too", "gaussian_total_correlation", NOISE, most=0.05),
    Claim(LAWS, "chance is lower for `modularity`", "modularity", NOISE, most=0.4),
    Claim(LAWS, "`beta_vae_score` and", "beta_vae_score", NOISE, most=0.4),
    Claim(LAWS, "`factor_vae_score`, and forests", "factor_vae_score", NOISE, most=0.4),
    Claim(LAWS, "give perfect codes {}", "dci_rf_disentanglement", PERFECT),
]


def plain(text: str) -> str:
    return " ".join(text.split())


PAGES = {
    page: plain((ROOT / "docs" / page).read_text(encoding="utf-8"))
    for page in (STRESS, CHOOSING, METRICS, LAWS)
}


def value(result: str, situation: Situation, part: int = 0) -> float:
    number: float = CELLS[result][str(situation)][part]
    return number


def spoken(claim: Claim) -> str:
    """The words of a claim with the value of its cell."""
    number = value(claim.result, claim.situation, part=1 if claim.spread else 0)
    return claim.words.replace("{}", f"{number:.2f}")


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_sentence_follows_from_its_cell(claim: Claim) -> None:
    number = value(claim.result, claim.situation)
    assert spoken(claim) in PAGES[claim.page]
    compared = value(claim.result, PERFECT) - number if claim.lost else number
    assert claim.least <= compared <= claim.most


def sentences(page: str) -> list[str]:
    """The sentences of a page, without code, tables that scripts wrote, and headings."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    text = re.sub(r"<!-- table.*?<!-- end -->|```.*?```|^#.*?$", "", text, flags=re.DOTALL | re.M)
    parts = re.split(r"(?<=[.:;])\s+|\n\n|\n- ", text)
    return [plain(part) for part in parts if part.strip()]


def without_claim(page: str) -> list[str]:
    """Sentences of a page with a figure of a score and no claim."""
    tied = [spoken(claim) for claim in CLAIMS if claim.page == page]
    return [
        sentence
        for sentence in sentences(page)
        if re.search(r"\b0\.\d\d\b", sentence) and not any(words in sentence for words in tied)
    ]


def test_every_figure_of_the_stress_test_is_tied_to_a_cell() -> None:
    assert without_claim(STRESS) == []
    linked = [sentence for sentence in without_claim(METRICS) if "(stress.md" in sentence]
    assert linked == []


def test_advice_follows_from_cells_by_its_rules() -> None:
    """The common scores in the table are those that keep its rules, with their quantity."""
    rows = {row[0]: row[1:] for row in REPORT["tables"]["advice"]["rows"]}
    named = 0
    for situation, advice in SCRIPT.ADVICE.items():
        for cell, rules in zip(rows[situation], (advice.use, (advice.avoid,)), strict=True):
            figures = dict(re.findall(r"`(\w+)` (-?\d\.\d\d)", cell))
            for result in SCRIPT.COMMON:
                quantities = [quantity(rule, result) for rule in rules]
                kept = all(
                    figure >= rule.limit if rule.least else figure <= rule.limit
                    for rule, figure in zip(rules, quantities, strict=True)
                )
                assert kept == (result in figures), (situation, result)
                if kept:
                    assert figures[result] == f"{quantities[-1]:.2f}"
                    named += 1
    assert named > 50


def quantity(rule: Any, result: str) -> float:
    """What a rule compares, from the file of results."""
    cells = CELLS[result]
    if any(str(cell) not in cells for cell in (rule.high, *rule.low)):
        return math.nan
    high = value(result, rule.high)
    low = [value(result, situation) for situation in rule.low]
    if rule.quantity == "share":
        return low[0] / high
    mixed = {situation.encoder for situation in rule.low} <= {"linear", "overcomplete"}
    return high - (max(low) if mixed else min(low))


def test_published_figures_agree_where_the_page_says_so() -> None:
    agree = [
        abs(value(result, situation) - figure)
        for situation, figures in SCRIPT.PUBLISHED.items()
        for result, figure in figures.items()
        if str(situation) in CELLS[result]
        and situation != NOISE_50
        and (result != "mcc_pearson")
        and (result != "infom_knn" or situation in (PERFECT, COPIED, SUMMED))
    ]
    assert len(agree) == 39
    assert max(agree) < 0.025
