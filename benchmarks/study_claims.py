"""Tables of claims of a paper and what comes out in a finished study of the rooms.

python benchmarks/study_claims.py locatello studies/locatello_rooms

Writes benchmarks/results/NAME_rooms.json, and docs/results/NAME_rooms.md unless a page shows its
claims already; `make docs-tables` fills the page with the tables. A verdict follows from a rule on
intervals and corrected p-values alone: *yes* if every test of the claim supports it, *no* if none
does, else *partly*.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dislab.metrics.score_table import label as score_label
from dislab.runs import SCORES as SCORES_FILE
from dislab.runs import versions
from dislab.storage import atomic
from dislab.study import Study
from dislab.study.statistics import (
    correlation_table,
    holm,
    model_selection,
    rank_correlations,
    variance_shares,
)
from dislab.study.statistics.selection import Best

ROOT: Final = Path(__file__).parents[1]
SHUFFLES: Final = 2000
ORDERS: Final = 20_000
LEVEL: Final = 0.05
METHODS: Final = {
    "betavae": "β-VAE",
    "annealedvae": "AnnealedVAE",
    "factorvae": "FactorVAE",
    "dipvae1": "DIP-VAE-I",
    "dipvae2": "DIP-VAE-II",
    "betatcvae": "β-TCVAE",
    "vae": "VAE",
    "adagvae": "Ada-GVAE",
    "adamlvae": "Ada-ML-VAE",
    "true_factors": "true factors",
}
SCENARIOS: Final = {
    "rooms_ood1_a": "OOD1-A",
    "rooms_ood1_b": "OOD1-B",
    "rooms_ood1_c": "OOD1-C",
    "rooms_ood2_a": "OOD2-A",
    "rooms_ood2_b": "OOD2-B",
}
PREDICTORS: Final = {"GradientBoosting": "trees", "MLP": "network"}
LOSSES: Final = r"score\.(elbo|reconstruction)_sample_(validation|test)"
RATIO: Final = "generalisation.mean_ratio"
SCORES: Final = {
    "score.beta_vae_score": "β-VAE score",
    "score.factor_vae_score": "FactorVAE score",
    "score.mig": "MIG",
    "score.sap_r2": "SAP",
    "score.modularity": "Modularity",
    "score.dci_hgbt_disentanglement": "DCI D",
}
SHARES: Final = ("method", "strength", "seed")
MODULARITY: Final = "score.modularity"
DCI: Final = "score.dci_hgbt_disentanglement"
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
MEAN_TC: Final = "score.gaussian_total_correlation"
SAMPLED_TC: Final = "score.sampled/gaussian_total_correlation"

Table = dict[str, Any]
Numbers = npt.NDArray[np.float64]


class Claim(NamedTuple):
    """One row of the table of claims.

    Attributes:
        claim: What the paper says.
        there: Where it stands there, and the figure there.
        here: The figure of this study, with chance beside it.
        supported: Outcome of each test of the claim; none if it was not tried.
    """

    claim: str
    there: str
    here: str
    supported: Sequence[bool]

    def cells(self) -> list[str]:
        """The cells of the row."""
        if not self.supported:
            return [self.claim, self.there, self.here, "not tried"]
        counts = sum(self.supported)
        verdict = "yes" if counts == len(self.supported) else "partly" if counts else "no"
        return [self.claim, self.there, self.here, verdict]


def locatello(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Locatello et al. (2019) on methods, strengths, seeds and selection."""
    runs = runs.join(study.agreement()).join(study.few_labels(100))
    # the capacity of AnnealedVAE weakens the penalty
    weaker = np.where(runs["method"] == "annealedvae", -1.0, 1.0)
    runs["penalty"] = runs["strength"].astype(float) * weaker
    claims: list[Claim] = []
    tables: dict[str, Table] = {}
    for part in (_shares, _agreement, _overlap, _strength, _selection, _labels, _codes):
        part_claims, tables[part.__name__.strip("_")] = part(runs)
        claims += part_claims
    claims.append(
        Claim(
            "Disentangled codes need no fewer labels for downstream tasks",
            "section 5.5",
            "the study has no downstream tasks",
            (),
        )
    )
    return {"claims": _claims(claims), **tables}


def _finished(runs: pd.DataFrame) -> Table:
    """Number of finished runs of each method, with mean and range of their scores."""
    names = [name for name in SCORES if name in runs]
    rows = []
    for method, part in runs.groupby("method", sort=False):
        done = part[part["state"] == "finished"]
        title = METHODS.get(str(method), str(method))
        rows.append(
            [title, f"{len(done)} of {len(part)}", *(_spread(done[name]) for name in names)]
        )
    chance = [
        f"{runs[f'{name}/chance'].mean():.2f}" if f"{name}/chance" in runs else "–"
        for name in names
    ]
    header = ["method", "runs", *(SCORES[name] for name in names)]
    return {"header": header, "rows": [*rows, ["chance", "", *chance]]}


def _spread(values: npt.ArrayLike) -> str:
    """Mean and range; a dash for no values."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return "–"
    return f"{numbers.mean():.2f} ({numbers.min():.2f} to {numbers.max():.2f})"


def _claims(claims: Sequence[Claim]) -> Table:
    header = ["claim of the paper", "there", "here", "comes out"]
    return {"header": header, "rows": [claim.cells() for claim in claims]}


def _shares(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Shares of variance with intervals over seeds, beside those of shuffled scores."""
    chance = _shuffled_shares(runs)

    def shares(some: pd.DataFrame) -> Numbers:
        explained = variance_shares(some, "method", list(SCORES), settings=["strength"])
        values: Numbers = explained[["method", "setting", "seed"]].to_numpy(dtype=float)
        # whether method outweighs the rest, and whether the seed outweighs method
        differences = [values[:, 0] - values[:, 1:].sum(1), values[:, 2] - values[:, 0]]
        return np.column_stack([values, *differences])

    value, low, high = jackknife(runs, shares)
    rows = [
        [title, *(_interval(value[row, k], low[row, k], high[row, k]) for k in range(3))]
        for row, title in enumerate(SCORES.values())
    ]
    rows.append(["by chance below (shuffled scores)", *(f"{level:.2f}" for level in chance)])
    spread = [f"{name} {_range(value[:, k])}" for k, name in enumerate(SHARES)]
    levels = ", ".join(f"{level:.2f}" for level in chance)
    # what is left over is the seed only if it is more than shuffled scores leave
    more = (low[:, 4] > 0) & (value[:, 2] > chance[2])
    claims = [
        Claim(
            "Strength and seed together matter more than the method",
            "section 5.3",
            f"shares of variance of six scores: {', '.join(spread)} (by chance below {levels})",
            list((high[:, 3] < 0) & (value[:, 1] > chance[1])),
        ),
        Claim(
            "The seed alone matters more than the method",
            "section 5.3",
            f"more for {more.sum()} of six scores, less for {(high[:, 4] < 0).sum()}, by intervals",
            list(more),
        ),
    ]
    return claims, {"header": ["score", *SHARES], "rows": rows}


def _shuffled_shares(runs: pd.DataFrame) -> Numbers:
    """Shares that shuffled scores exceed in one of twenty studies with as many scores."""
    generator = np.random.default_rng(0)
    methods = runs.groupby("method").ngroup().to_numpy()
    settings = runs.groupby(["method", "strength"]).ngroup().to_numpy()
    score = runs[DCI].to_numpy(dtype=float)
    score = score - score.mean()
    shares = []
    for _ in range(SHUFFLES):
        shuffled = generator.permutation(score)
        by_method, by_setting = (
            float((np.bincount(kinds, shuffled) ** 2 / np.bincount(kinds)).sum() / (score**2).sum())
            for kinds in (methods, settings)
        )
        shares.append([by_method, by_setting - by_method, 1 - by_setting])
    quantiles: Numbers = np.quantile(shares, 1 - LEVEL / len(SCORES), axis=0)
    return quantiles


def _agreement(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of the six scores over all runs."""
    pairs = rank_correlations(runs, list(SCORES), orders=ORDERS)
    chance = f"{_rho_by_chance(runs):.2f}"
    matrix = correlation_table(pairs).rename(index=SCORES, columns=SCORES)
    rows = [[name, *(f"{rho:.2f}" for rho in values)] for name, values in matrix.iterrows()]
    rows.append(["by chance below (shuffled scores)", *[chance] * len(SCORES)])
    odd = (pairs["left"] == MODULARITY) | (pairs["right"] == MODULARITY)
    others, with_odd = pairs[~odd], pairs[odd]
    agree = (others["low"] > 0) & (others["p_holm"] < LEVEL)
    here = (
        f"ρ {_range(others['rho'])} ({agree.sum()} of {len(others)} pairs corrected p < .05); with "
        f"Modularity {_range(with_odd['rho'])}; by chance below {chance}"
    )
    supported = [*agree, bool(with_odd["rho"].mean() < others["rho"].mean())]
    claim = Claim("All scores but Modularity rank models alike", "section 5.2", here, supported)
    return [claim], {"header": ["ρ", *SCORES.values()], "rows": rows}


def _rho_by_chance(runs: pd.DataFrame) -> float:
    """The |rank correlation| that 95 % of shuffled scores do not exceed."""
    generator = np.random.default_rng(0)
    ranks = np.arange(len(runs), dtype=float)
    rho = [np.corrcoef(ranks, generator.permutation(ranks))[0, 1] for _ in range(SHUFFLES)]
    return float(np.quantile(np.abs(rho), 1 - LEVEL))


def _overlap(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """How often a run of the worst method beats one of the best."""
    rows, overlaps, shares = [], [], []
    for column, title in SCORES.items():
        means = runs.groupby("method")[column].mean()
        best, worst = str(means.idxmax()), str(means.idxmin())
        share = jackknife(runs, partial(_beaten, column=column, best=best, worst=worst))
        good, bad = (runs.loc[runs["method"] == name, column] for name in (best, worst))
        overlaps.append(bool(bad.max() > good.min()))
        shares.append(float(share[0][0]))
        ends = [f"{METHODS[name]}, {_spread(part)}" for name, part in ((best, good), (worst, bad))]
        rows.append([title, *ends, _interval(*(float(end[0]) for end in share))])
    here = (
        f"some run of the worst method beats some run of the best one for {sum(overlaps)} of six "
        f"scores, in {_range(shares)} of all pairs of runs (.5 by chance)"
    )
    claim = Claim("The scores of the methods overlap", "section 5.3", here, overlaps)
    ends = ["best method, mean (range)", "worst method, mean (range)"]
    return [claim], {"header": ["score", *ends, "worst beats best"], "rows": rows}


def _beaten(runs: pd.DataFrame, column: str, best: str, worst: str) -> Numbers:
    """Share of pairs in which the run of the worst method has the higher score."""
    good, bad = (runs.loc[runs["method"] == name, column].to_numpy() for name in (best, worst))
    beats = np.sign(bad[:, None] - good[None, :])
    return np.array([(beats + 1).mean() / 2])


def _strength(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlation of the penalty's strength with each score, within each method."""
    correlations = _within(runs, list(SCORES))
    rows = []
    for method in runs["method"].unique():
        part = correlations[correlations["method"] == method].set_index("right")
        rows.append([METHODS[method], *(_marked(part.loc[column]) for column in SCORES)])
    clear = correlations["p_holm"] < LEVEL
    rising, falling = (
        (clear & (correlations["rho"] > 0)).sum(),
        (clear & (correlations["rho"] < 0)).sum(),
    )
    here = (
        f"of {len(correlations)} pairs of method and score, {rising} rise and {falling} fall with "
        f"the strength (corrected p < .05), {(~clear).sum()} show no trend"
    )
    supported = [bool(rising and falling), bool((~clear).any())]
    text = "No strength is good for all methods and scores: trends differ"
    claim = Claim(text, "section 5.3", here, supported)
    return [claim], {"header": ["ρ with the strength", *SCORES.values()], "rows": rows}


def _within(runs: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Rank correlations with the penalty within each method, corrected for all of these rows."""
    parts = [
        rank_correlations(part, "penalty", columns, orders=ORDERS).assign(method=method)
        for method, part in runs.groupby("method", sort=False)
    ]
    correlations = pd.concat(parts, ignore_index=True)
    return correlations.assign(p_holm=holm(correlations["p"].to_numpy()))


def _selection(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Runs chosen without labels for each score, beside a random choice."""
    chosen, table = _choices(runs, SELECTORS, BEST)
    return [_chosen(runs, selector, chosen) for selector in SELECTORS.values()], table


def _labels(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
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
            rows.append([title, selector, _interval(row["rho"], row["low"], row["high"]), *figures])
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
        f"ρ with six scores {_range(rho for _, rho, _ in chosen)} (by chance below "
        f"{_rho_by_chance(runs):.2f}); a corrected p < .05 and less regret than a random choice "
        f"for {sum(good for _, _, good in chosen)}"
    )


def _codes(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Total correlation of sampled and of mean codes against the strength, within each method."""
    names = [SAMPLED_TC, MEAN_TC]
    correlations = _within(runs, names)
    rows = []
    for method in runs["method"].unique():
        part = correlations[correlations["method"] == method].set_index("right")
        nats = runs[runs["method"] == method][names].mean()
        cells = [
            *(f"{nats[name]:.2f}" for name in names),
            *(_marked(part.loc[name]) for name in names),
        ]
        rows.append([METHODS[method], *cells])
    falls = (correlations["p_holm"] < LEVEL) & (correlations["rho"] < 0)
    sampled, mean = (falls[correlations["right"] == name] for name in names)
    larger = (runs[MEAN_TC] > runs[SAMPLED_TC]).sum()
    claims = [
        Claim(
            "The total correlation of sampled codes falls with the strength",
            "section 5.1",
            f"falls for {sampled.sum()} of {len(sampled)} methods (corrected p < .05)",
            list(sampled),
        ),
        Claim(
            "That of mean codes does not fall",
            "section 5.1",
            f"falls for {mean.sum()} of {len(mean)} methods; larger than that of sampled codes for "
            f"{larger} of {len(runs)} runs",
            list(~mean),
        ),
    ]
    kinds = ["sampled codes", "mean codes"]
    header = ["method", *(f"{kind}, nats" for kind in kinds), *(f"ρ, {kind}" for kind in kinds)]
    return claims, {"header": header, "rows": rows}


def jackknife(
    runs: pd.DataFrame, statistic: Callable[[pd.DataFrame], Numbers]
) -> tuple[Numbers, Numbers, Numbers]:
    """A statistic with its 95 % interval by leaving out one seed at a time."""
    from scipy.stats import t

    seeds = runs["seed"].unique()
    without = np.stack([statistic(runs[runs["seed"] != seed]) for seed in seeds])
    count = len(seeds)
    error = np.sqrt((count - 1) / count * ((without - without.mean(0)) ** 2).sum(0))
    value = statistic(runs)
    reach = t.ppf(1 - LEVEL / 2, count - 1) * error
    return value, value - reach, value + reach


def _range(values: Iterable[float]) -> str:
    numbers = list(values)
    return f"{min(numbers):.2f} to {max(numbers):.2f}"


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _interval(value: float, low: float, high: float, digits: int = 2) -> str:
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _marked(row: Any) -> str:
    """A correlation, with a star if its corrected p is below .05."""
    if row["rho"] != row["rho"]:
        return "–"
    return f"{row['rho']:.2f}" + ("\\*" if row["p_holm"] < LEVEL else "")


def dittadi(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Dittadi et al. (2021) on disentanglement, transfer and noise."""
    pairs = runs["method"].isin(["adagvae", "adamlvae"])
    runs = runs.assign(supervision=np.where(pairs, "pairs", "images"))
    claims = [_pairs_disentangle(runs), _unsupervised_metrics(runs)]
    score_claims, scores = _scores_and_transfer(runs)
    transfer_claims, correlations = _transfer(runs)
    noise_claims, noise_table = _noise(runs)
    claims += [*score_claims, *transfer_claims, *noise_claims]
    trees = _errors("GradientBoosting")
    rows = [
        [METHODS[method], noise, *(_spread(part[name]) for name in [DCI, *trees])]
        for (method, noise), part in runs.groupby(["method", "noise"], sort=False)
    ]
    chance = [f"{runs[f'transfer.{name}/chance'].mean():.2f}" for name in SCENARIOS]
    errors = {
        "header": ["errors of trees", "noise", "DCI D", *SCENARIOS.values()],
        "rows": [*rows, ["chance", "", "", *chance]],
    }
    tables = {
        "correlations": correlations,
        "scores": scores,
        "noise": noise_table,
        "errors": errors,
    }
    return {"claims": _claims(claims), **tables}


def _scores_and_transfer(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of scores and losses with each other and with the errors of trees."""
    ood1 = _errors("GradientBoosting")[:3]
    inside = [f"{name}/in_distribution" for name in ood1]
    errors = {"in distribution": runs[inside].mean(axis=1), "OOD1": runs[ood1].mean(axis=1)}
    runs = runs.assign(**errors)
    scores = {name: label for name, label in SCORES.items() if name in runs}
    losses = {name: score_label(name[6:]) for name in runs if re.fullmatch(LOSSES, str(name))}
    of_scores = rank_correlations(runs, list(scores), list(errors), orders=ORDERS)
    in_pairs = runs[runs["supervision"] == "pairs"]
    of_losses = rank_correlations(in_pairs, list(losses), ["OOD1"], orders=ORDERS)
    agreement = rank_correlations(runs, DCI, [n for n in scores if n != DCI], orders=ORDERS)
    agreement = agreement.set_index("right")
    chance, chance_in_pairs = _rho_by_chance(runs), _rho_by_chance(in_pairs)
    rows = [[label, *_cells(of_scores, name, errors)] for name, label in scores.items()]
    rows += [
        [f"{label}, pairs", "", *_cells(of_losses, name, ["OOD1"])]
        for name, label in losses.items()
    ]
    rows.append(["by chance below (all; pairs)", "", f"{chance:.2f}; {chance_in_pairs:.2f}"])
    small = of_scores[
        (of_scores["right"] == "in distribution") & of_scores["left"].isin([DCI, "score.mig"])
    ]
    helps = np.where(of_losses["left"].str.contains("elbo"), -1, 1)  # a high bound, a low loss
    claims = [
        Claim(
            "MIG agrees with DCI D, SAP does not",
            "Fig. 3",
            f"ρ of DCI D with MIG {agreement['rho']['score.mig']:.2f}, with SAP "
            f"{agreement['rho']['score.sap_r2']:.2f}; by chance below {chance:.2f}",
            [
                agreement["p_holm"]["score.mig"] < LEVEL,
                agreement["high"]["score.sap_r2"] < agreement["low"]["score.mig"],
            ],
        ),
        Claim(
            "DCI D and MIG go with small errors of trees in distribution",
            "Fig. 3",
            f"ρ {_listed(small['rho'])}; by chance below {chance:.2f}",
            list((small["rho"] < 0) & (small["p_holm"] < LEVEL)),
        ),
        Claim(
            "With pairs, lower bound and reconstruction select models that transfer in OOD1",
            "section 5",
            f"ρ with the errors of trees {_listed(of_losses['rho'])}; by chance below "
            f"{chance_in_pairs:.2f}",
            list((helps * of_losses["rho"] > 0) & (of_losses["p_holm"] < LEVEL)),
        ),
    ]
    header = ["ρ of the errors of trees with", "in distribution", "mean of OOD1-A, B and C"]
    return claims, {"header": header, "rows": rows}


def _cells(correlations: pd.DataFrame, name: str, columns: Iterable[str]) -> list[str]:
    """Marked correlations of one score with each column."""
    part = correlations[correlations["left"] == name].set_index("right")
    return [_marked(part.loc[column]) for column in columns]


def _errors(predictor: str) -> list[str]:
    return [f"transfer.{scenario}/{predictor}" for scenario in SCENARIOS]


def _pairs_disentangle(runs: pd.DataFrame) -> Claim:
    """The claim that pairs disentangle and images alone do not."""

    def difference(some: pd.DataFrame) -> Numbers:
        means = some.groupby("supervision")[DCI].mean()
        return np.array([means["pairs"] - means["images"]])

    value, low, high = (float(end[0]) for end in jackknife(runs, difference))
    part = runs.loc[runs["supervision"] == "pairs", DCI]
    here = f"DCI D higher by {_interval(value, low, high)}; with pairs {_range(part)}"
    there = "29 % of the models with pairs reach D 0.99"
    return Claim("Pairs disentangle more than images alone", there, here, [low > 0])


def _unsupervised_metrics(runs: pd.DataFrame) -> Claim:
    """The claim that losses tell disentangled models of pairs."""
    columns = [str(name) for name in runs if re.fullmatch(LOSSES, str(name))]
    correlations = rank_correlations(
        runs[runs["supervision"] == "pairs"], DCI, columns, orders=ORDERS
    )
    good = np.where(
        correlations["right"].str.contains("elbo"), correlations["rho"] > 0, correlations["rho"] < 0
    )
    rows = correlations.to_dict("records")
    figures = "; ".join(
        f"{score_label(row['right'][6:])} {_interval(row['rho'], row['low'], row['high'])}"
        for row in rows
    )
    supported = list(good & (correlations["p_holm"] < LEVEL))
    text = "With pairs, lower bound and reconstruction tell which models are disentangled"
    return Claim(text, "Fig. 3 and 14", f"ρ with DCI D: {figures}", supported)


def _transfer(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of disentanglement with the errors under each shift."""
    columns = [name for predictor in PREDICTORS for name in _errors(predictor)]
    correlations = rank_correlations(runs, DCI, columns, by=["supervision"], orders=ORDERS)
    rows = []
    for predictor, title in PREDICTORS.items():
        for scenario, label in SCENARIOS.items():
            part = correlations[
                correlations["right"] == f"transfer.{scenario}/{predictor}"
            ].set_index("group")
            overall = part.loc["all"]
            within = [f"{part['rho'][f'supervision={name}']:.2f}" for name in ("pairs", "images")]
            ends = _interval(overall["rho"], overall["low"], overall["high"])
            rows.append([label, title, ends, f"{overall['p_holm']:.3f}", *within])
    chance = f"{_rho_by_chance(runs):.2f}"
    rows.append(["by chance below (shuffled scores)", "", chance, "", "", ""])
    header = ["shift", "predictor", "ρ with DCI D", "p (Holm)", "within pairs", "within images"]
    table = {"header": header, "rows": rows}
    overall = correlations[correlations["group"] == "all"].set_index("right")
    helps = (overall["p_holm"] < LEVEL) & (overall["rho"] < 0)

    trees, networks = (_errors(predictor) for predictor in PREDICTORS)
    first, last = slice(0, 3), [trees[4], networks[4]]
    weaker = [bool(overall["rho"][trees[3]] > overall["rho"][name]) for name in trees[first]]
    claims = [
        ("OOD1: disentanglement goes with small errors of trees", "strong", trees[first], None),
        ("OOD1: and with those of networks", "mild", networks[first], None),
        ("OOD2-A: less so for trees than in OOD1", "weaker, not negligible", [trees[3]], weaker),
        ("OOD2-B: hardly at all", "minor at best", last, list(~helps[last])),
    ]
    return [
        Claim(
            text,
            there,
            f"ρ {_listed(overall['rho'][names])}; by chance below {chance}",
            list(helps[names]) if supported is None else supported,
        )
        for text, there, names, supported in claims
    ], table


def _noise(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Errors without noise less those with it, with intervals over seeds."""
    columns = [name for predictor in PREDICTORS for name in _errors(predictor)]

    def differences(some: pd.DataFrame) -> Numbers:
        means = some.groupby("noise")[columns].mean()
        values: Numbers = (means.loc["without"] - means.loc["with"]).to_numpy(dtype=float)
        return values

    value, low, high = jackknife(runs, differences)
    cells = [_interval(*ends, digits=3) for ends in zip(value, low, high, strict=True)]
    count = len(SCENARIOS)
    rows = [
        [title, *cells[k * count : (k + 1) * count]] for k, title in enumerate(PREDICTORS.values())
    ]
    second = [k for k in range(len(columns)) if k % count >= 3]
    first = [k for k in range(len(columns)) if k % count < 3]
    texts = (", ".join(cells[k] for k in part) for part in (second, first))
    claims = [
        Claim(text, there, f"errors fall by {figures} (trees, then networks)", supported)
        for text, there, figures, supported in zip(
            ("Noise at the input helps in OOD2", "And has no effect in OOD1"),
            ("significantly", "none"),
            texts,
            (list(low[second] > 0), list((low[first] <= 0) & (high[first] >= 0))),
            strict=True,
        )
    ]
    title = "error without noise less that with it"
    return claims, {"header": [title, *SCENARIOS.values()], "rows": rows}


def montero(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Montero et al. (2021) on unseen combinations."""
    conditions = list(dict.fromkeys(runs["condition"]))
    claim, correlations = _generalisation(runs[runs["method"] != "true_factors"])
    rows = []
    for method, part in runs.groupby("method", sort=False):
        ratios = [part.loc[part["condition"] == name, RATIO] for name in conditions]
        rows.append([METHODS[str(method)], _spread(part[DCI]), *map(_spread, ratios)])
    tables = {
        "ratios": {"header": ["held out / training", "DCI D", *conditions], "rows": rows},
        "correlations": correlations,
    }
    return {"claims": _claims([claim, _true_factors(runs, conditions)]), **tables}


def _generalisation(runs: pd.DataFrame) -> tuple[Claim, Table]:
    """Rank correlations of disentanglement with the ratio of losses, within each condition."""
    correlations = rank_correlations(runs, DCI, RATIO, by=["condition"], orders=ORDERS)
    rows = [
        [str(row["group"]), _interval(row["rho"], row["low"], row["high"]), f"{row['p_holm']:.3f}"]
        for row in correlations.to_dict("records")
    ]
    within = correlations["group"] != "all"
    chance = _rho_by_chance(runs[runs["condition"] == runs["condition"].iloc[0]])
    figures = ", ".join(f"{cells[1]} ({cells[0]})" for cells in rows[1:])
    claim = Claim(
        "Disentanglement does not tell which model generalises",
        "no correlation",
        f"ρ of DCI D with the ratio: {figures}; by chance below {chance:.2f}",
        list(~((correlations["p_holm"] < LEVEL) & (correlations["rho"] < 0))[within]),
    )
    return claim, {"header": ["runs", "ρ of DCI D and the ratio", "p (Holm)"], "rows": rows}


def _true_factors(runs: pd.DataFrame, conditions: list[str]) -> Claim:
    """The claim that perfectly disentangled input does not help."""

    def differences(some: pd.DataFrame) -> Numbers:
        true = some["method"] == "true_factors"
        means = some.groupby([true, "condition"])[RATIO].mean()
        return np.array((means[True] - means[False])[conditions].to_numpy(dtype=float))

    value, low, high = jackknife(runs, differences)
    cells = [_interval(*ends) for ends in zip(value, low, high, strict=True)]
    figures = ", ".join(f"{cell} ({name})" for cell, name in zip(cells, conditions, strict=True))
    text = "Perfectly disentangled input does not generalise better"
    here = f"ratio higher by {figures} than with learnt codes"
    return Claim(text, "no better", here, list(high >= 0))


def correlated(study: Study, runs: pd.DataFrame) -> dict[str, Table]:
    """Claims of Träuble et al. (2021) on latents that correlated factors share."""
    shared = [_shared(study.folder.run(str(run)) / SCORES_FILE) for run in runs.index]
    return _correlated(runs.assign(shared=shared))


def _correlated(runs: pd.DataFrame) -> dict[str, Table]:
    methods = list(dict.fromkeys(runs["method"]))

    def differences(some: pd.DataFrame) -> Numbers:
        means = some.groupby(["method", "correlation"])["shared"].mean().unstack()
        return np.array((means["strong"] - means["none"])[methods].to_numpy(dtype=float))

    value, low, high = jackknife(runs, differences)
    cells = [_interval(*ends) for ends in zip(value, low, high, strict=True)]
    alone = [k for k, name in enumerate(methods) if name != "adamlvae"]
    paired = [k for k, name in enumerate(methods) if name == "adamlvae"]
    figures = [f"{method} {cell}" for method, cell in zip(methods, cells, strict=True)]
    claims = [
        Claim(
            "Without supervision, correlated factors share latents",
            "Träuble et al. (2021)",
            f"shared importance higher by {', '.join(figures[k] for k in alone)} than without",
            list(low[alone] > 0),
        ),
        Claim(
            "Pairs that differ in one factor repair it",
            "Träuble et al. (2021)",
            f"higher by {', '.join(figures[k] for k in paired)}",
            list(low[paired] <= 0),
        ),
    ]
    rows = []
    for (method, correlation), part in runs.groupby(["method", "correlation"], sort=False):
        rows.append([METHODS[method], correlation, _spread(part["shared"]), _spread(part[DCI])])
    header = ["method", "correlation", "shared by floor and object hue", "DCI D"]
    return {"claims": _claims(claims), "shared": {"header": header, "rows": rows}}


def _shared(scores: Path) -> float:
    """Overlap of the latents' importance for the hues of floor and object, from 0 to 1."""
    test = json.loads(scores.read_text(encoding="utf-8"))["test"]
    names = test["data"]["factors"]
    importance = np.array(test["parts"]["dci_hgbt_importance"], dtype=float)  # (latent, factor)
    shares = importance / importance.sum(0).clip(min=1e-12)
    columns = [names.index(name) for name in ("floor_hue", "object_hue")]
    return float(shares[:, columns].min(1).sum())


CLAIMS: Final = {
    "locatello": locatello,
    "dittadi": dittadi,
    "montero": montero,
    "correlated": correlated,
}


def write_page(name: str, tables: Iterable[str]) -> None:
    """Writes a page with a place for every table, unless a page shows the claims already."""
    pages = (ROOT / "docs" / "results").glob("*.md")
    if any(f"<!-- table: results {name} claims -->" in page.read_text("utf-8") for page in pages):
        return
    places = "".join(
        f"\n## {table.capitalize()}\n\n<!-- table: results {name} {table} -->\n<!-- end -->\n"
        for table in tables
    )
    text = (
        f"# {name}\n\n```bash\ndislab study run configs/studies/{name}.yaml\n"
        f"python benchmarks/study_claims.py {name.removesuffix('_rooms')} studies/{name}\n```\n\n"
        "A verdict follows from tests alone: *yes* if all of them support the claim, *no* if none\n"
        "does, else *partly*. That something has no effect comes out if no test finds one; the\n"
        "intervals say what remains possible.\n"
    )
    (ROOT / "docs" / "results" / f"{name}.md").write_text(text + places, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=tuple(CLAIMS))
    parser.add_argument("study", type=Path, help="the folder of the finished study")
    parser.add_argument(
        "--unfinished", action="store_true", help="use methods all of whose runs are"
    )
    arguments = parser.parse_args()
    study = Study(arguments.study)
    runs = study.table()
    states = (runs["state"] == "finished").groupby(runs["method"])
    finished = states.transform("all")
    if not (finished.all() or arguments.unfinished):
        waiting = (runs["state"] != "finished").sum()
        parser.error(f"{waiting} runs of {arguments.study} are not finished: finish the study")
    name = f"{arguments.name}_rooms"
    tables = {"runs": _finished(runs)} | CLAIMS[arguments.name](study, runs[finished])
    content = {
        "command": f"python benchmarks/study_claims.py {arguments.name} studies/{name}",
        "versions": versions(),
        "tables": tables,
    }
    with atomic(ROOT / "benchmarks" / "results" / f"{name}.json") as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    write_page(name, tables)


if __name__ == "__main__":
    main()
