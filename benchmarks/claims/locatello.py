"""Claims of Locatello et al. (2019) on methods, strengths, seeds and selection."""

from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

from claims.selection import with_labels, within_methods, without_labels
from claims.tables import (
    DCI,
    LEVEL,
    METHODS,
    ORDERS,
    RHO_MARGIN,
    SCORES,
    Claim,
    Numbers,
    Table,
    claim_of_no_effect,
    claims_table,
    interval,
    jackknife,
    marked,
    named_range,
    rho_by_chance,
    spread,
    value_range,
)
from dislab.study.statistics import correlation_table, holm, rank_correlations, variance_shares

SHARES: Final = ("method", "strength", "seed")
RECONSTRUCTION: Final = "score.reconstruction_sample_test"
MODULARITY: Final = "score.modularity"
MEAN_TC: Final = "score.gaussian_total_correlation"
SAMPLED_TC: Final = "score.sampled/gaussian_total_correlation"


def locatello(runs: pd.DataFrame) -> dict[str, Table]:
    """The tables of the kept runs, with their agreement and their scores on few labels."""
    # the capacity of the annealed VAE weakens the penalty
    weaker = np.where(runs["method"] == "annealedvae", -1.0, 1.0)
    runs["penalty"] = runs["strength"].astype(float) * weaker
    within, table = within_methods(runs)
    claims: list[Claim] = []
    tables: dict[str, Table] = {}
    parts = {
        "shares": _shares,
        "agreement": _agreement,
        "overlap": _overlap,
        "strength": _strength,
        "selection": partial(without_labels, within=within),
        "labels": partial(with_labels, within=within),
        "codes": _codes,
    }
    for name, part in parts.items():
        part_claims, tables[name] = part(runs)
        claims += part_claims
    own = {"trade": _trade(runs), "capacity": _capacity(runs)}
    return {"claims": claims_table(claims, "seeds"), **tables, "within": table, **own}


def _shares(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Shares of variance with intervals over seeds, beside those of shuffled scores."""

    def explained(some: pd.DataFrame, draws: int) -> pd.DataFrame:
        one_of_twenty = 1 - LEVEL / len(SCORES)
        return variance_shares(
            some, "method", list(SCORES), ["strength"], draws, confidence=one_of_twenty
        )

    def shares(some: pd.DataFrame) -> Numbers:
        values: Numbers = explained(some, 99)[["method", "setting", "seed"]].to_numpy(dtype=float)
        # whether method outweighs the rest, and whether the seed outweighs method
        differences = [values[:, 0] - values[:, 1:].sum(1), values[:, 2] - values[:, 0]]
        return np.column_stack([values, *differences])

    value, low, high = jackknife(runs, shares, bounds=([0, 0, 0, -1, -1], 1))
    levels = ["method_chance_high", "setting_chance_high"]
    chance = explained(runs, ORDERS)[levels].to_numpy(dtype=float)
    above = value[:, :2] > chance
    rows = []
    for row, title in enumerate(SCORES.values()):
        *explaining, left_over = (
            interval(value[row, k], low[row, k], high[row, k]) for k in range(3)
        )
        cells = [
            [cell, f"{level:.2f}{'' if more else ' (not reached)'}"]
            for cell, level, more in zip(explaining, chance[row], above[row], strict=True)
        ]
        rows.append([title, *chain(*cells), left_over])
    # what is left over of a score that may be noise need not be the seed
    explains = above.any(axis=1)
    claims = []
    for subject, verb, ends in (
        ("Strength and seed together", "matter", (-value[:, 3], -high[:, 3], -low[:, 3])),
        ("The seed alone", "matters", (value[:, 4], low[:, 4], high[:, 4])),
    ):
        cells = zip(SCORES.values(), *ends, strict=True)
        figures = ", ".join(f"{name} {interval(*three)}" for name, *three in cells)
        text = f"{subject} {verb} more than the method"
        claims.append(
            Claim(
                text,
                "more than the method (not read here)",
                f"share of the variance less that of the method: {figures}",
                list((ends[1] > 0) & explains),
                by_interval=True,
                reach=ends[2],
                names=list(SCORES.values()),
            )
        )
    method, strength, seed = SHARES
    header = ["score", *chain(*([n, f"{n} by chance below"] for n in (method, strength))), seed]
    return claims, {"header": header, "rows": rows, "intervals": "seeds"}


def _agreement(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """Rank correlations of the six scores over all runs."""
    pairs = rank_correlations(runs, list(SCORES), orders=ORDERS)
    chance = f"{rho_by_chance(runs):.2f}"
    matrix = correlation_table(pairs).rename(index=SCORES, columns=SCORES)
    rows = [[name, *(f"{rho:.2f}" for rho in values)] for name, values in matrix.iterrows()]
    rows.append(["by chance below (shuffled scores)", *[chance] * len(SCORES)])
    odd = (pairs["left"] == MODULARITY) | (pairs["right"] == MODULARITY)
    others, with_odd = pairs[~odd], pairs[odd]
    agree = (others["low"] > 0) & (others["p_holm"] < LEVEL)
    here = (
        f"ρ {_named_pairs(others)}, {agree.sum()} of {len(others)} pairs with a corrected p < .05; "
        f"with Modularity {_named_pairs(with_odd, MODULARITY)}; by chance below {chance}"
    )
    supported = [*agree, *(with_odd[["low", "high"]].abs().max(axis=1) <= RHO_MARGIN)]
    text, reach = "All scores but Modularity rank models alike", others["high"]
    against = [*(reach <= RHO_MARGIN), *(with_odd["p_holm"] < LEVEL)]
    tests = pd.concat([others, with_odd])[["left", "right"]].itertuples(index=False)
    names = [" and ".join(SCORES[name] for name in pair) for pair in tests]
    claim = Claim(
        text,
        "all correlated except Modularity (not read here)",
        here,
        supported,
        "",
        False,
        reach,
        RHO_MARGIN,
        against,
        names,
    )
    return [claim], {"header": ["ρ", *SCORES.values()], "rows": rows}


def _named_pairs(pairs: pd.DataFrame, left_out: str = "") -> str:
    """The range of ρ with the two scores of each end; one of them may be left out."""
    return named_range(
        (
            " and ".join(SCORES[name] for name in (row.left, row.right) if name != left_out),
            row.rho,
        )
        for row in pairs.itertuples()
    )


def _overlap(runs: pd.DataFrame) -> tuple[list[Claim], Table]:
    """How often a run of the worst method beats one of the best."""
    rows, shares, low, high = [], {}, [], []
    for column, title in SCORES.items():
        means = runs.groupby("method")[column].mean()
        best, worst = str(means.idxmax()), str(means.idxmin())
        beaten = partial(_beaten, column=column, best=best, worst=worst)
        share = jackknife(runs, beaten, bounds=(0, 1))
        good, bad = (runs.loc[runs["method"] == name, column] for name in (best, worst))
        shares[title], bottom, top = (float(end[0]) for end in share)
        low.append(bottom)
        high.append(top)
        ends = [f"{METHODS[name]}, {spread(part)}" for name, part in ((best, good), (worst, bad))]
        rows.append([title, *ends, interval(shares[title], bottom, top)])
    here = (
        f"the worst method beats the best one in {named_range(shares.items())} of all pairs of "
        f"runs, .5 by chance; for {sum(share > 0 for share in shares.values())} of six scores in "
        "some pair"
    )
    shown = [bottom > 0 for bottom in low]
    text, names = "The scores of the methods overlap", list(shares)
    claim = Claim(
        text, "scores of methods overlap (not read here)", here, shown, reach=high, names=names
    )
    ends = ["best method, mean (range)", "worst method, mean (range)"]
    header = ["score", *ends, "worst beats best"]
    return [claim], {"header": header, "rows": rows, "intervals": "seeds"}


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
        rows.append([METHODS[method], *(marked(part.loc[column]) for column in SCORES)])
    clear = correlations["p_holm"] < LEVEL
    rising, falling = (
        correlations[clear & (correlations["rho"] > 0)],
        correlations[clear & (correlations["rho"] < 0)],
    )
    here = (
        f"of {len(correlations)} tests, one a pair of method and score, "
        f"{_trends(rising, 'rise')} and {_trends(falling, 'fall')} with the strength "
        f"(corrected p < .05), in {(~clear).sum()} pairs no test finds a trend"
    )
    if not clear.all():
        here += f" (ρ {value_range(correlations['rho'][~clear])})"
    ways = bool(len(rising)), bool(len(falling))
    opposite = [0.0] if clear.all() else correlations[["low", "high"]].abs().max(axis=1)[~clear]
    text = "No strength is good for all methods and scores: trends differ"
    claim = Claim(
        text,
        "no strength is best throughout (not read here)",
        here,
        [all(ways)],
        reach=opposite,
        margin=RHO_MARGIN,
    )
    rows.append(_by_chance(runs, len(SCORES)))
    return [claim], {"header": ["ρ with the strength", *SCORES.values()], "rows": rows}


def _by_chance(runs: pd.DataFrame, columns: int) -> list[str]:
    """The last row of a table of ρ within each method."""
    chance = rho_by_chance(runs[runs["method"] == runs["method"].iloc[0]])
    return ["by chance below (shuffled scores)", *[f"{chance:.2f}"] * columns]


def _trends(rows: pd.DataFrame, verb: str) -> str:
    """The number of trends, with the method and the scores of each."""
    scores = [
        f"{METHODS[str(method)]}: {', '.join(SCORES[name] for name in part['right'])}"
        for method, part in rows.groupby("method", sort=False)
    ]
    return f"{len(rows)} {verb}" + (f" ({'; '.join(scores)})" if scores else "")


def _within(runs: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Rank correlations with the penalty within each method, corrected for all of these rows."""
    parts = [
        rank_correlations(part, "penalty", columns, orders=ORDERS).assign(method=method)
        for method, part in runs.groupby("method", sort=False)
    ]
    correlations = pd.concat(parts, ignore_index=True)
    return correlations.assign(p_holm=holm(correlations["p"].to_numpy()))


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
            *(marked(part.loc[name]) for name in names),
        ]
        rows.append([METHODS[method], *cells])
    title, *levels = _by_chance(runs, len(names))
    rows.append([title, "", "", *levels])
    falls = (correlations["p_holm"] < LEVEL) & (correlations["rho"] < 0)
    sampled, mean = (falls[correlations["right"] == name] for name in names)
    methods = [METHODS[str(method)] for method in runs["method"].unique()]
    by_score = correlations.groupby("right")["rho"]
    rho = {str(name): list(zip(methods, part, strict=True)) for name, part in by_score}
    larger = (runs[MEAN_TC] > runs[SAMPLED_TC]).sum()
    claims = [
        Claim(
            "The total correlation of sampled codes falls with the strength",
            "falls (not read here)",
            f"ρ {named_range(rho[SAMPLED_TC])}",
            list(sampled),
            reach=-correlations["low"][sampled.index],
            margin=RHO_MARGIN,
            names=methods,
        ),
        claim_of_no_effect(
            Claim(
                "That of mean codes does not fall",
                "does not fall (not read here)",
                f"falls for {mean.sum()} of {len(mean)} methods, ρ {named_range(rho[MEAN_TC])}; "
                f"larger than that of sampled codes for {larger} of {len(runs)} runs",
                [],
            ),
            -correlations["low"][mean.index],
            mean,
            RHO_MARGIN,
            "ρ -{:.2f}",
            methods,
        ),
    ]
    kinds = ["sampled codes", "mean codes"]
    header = ["method", *(f"{kind}, nats" for kind in kinds), *(f"ρ, {kind}" for kind in kinds)]
    return claims, {"header": header, "rows": rows}


def _trade(runs: pd.DataFrame) -> Table:
    """Rank correlations of β and of the capacity with disentanglement and reconstruction error."""
    titles = {"betavae": "β of β-VAE", "annealedvae": "capacity of Annealed VAE"}
    parts = [
        rank_correlations(
            runs[runs["method"] == method], "strength", [DCI, RECONSTRUCTION], orders=ORDERS
        ).assign(title=title)
        for method, title in titles.items()
    ]
    correlations = pd.concat(parts, ignore_index=True)
    corrected = holm(correlations["p"].to_numpy())
    rows = [
        [
            row.title,
            SCORES.get(row.right, "reconstruction error"),
            interval(row.rho, row.low, row.high),
            "below 0.001" if p < 0.0005 else f"{p:.3f}",
        ]
        for row, p in zip(correlations.itertuples(), corrected, strict=True)
    ]
    header = ["strength", "with", "ρ", "p (Holm)"]
    return {"header": header, "rows": rows, "intervals": "runs"}


def _capacity(runs: pd.DataFrame) -> Table:
    """Scores of Annealed VAE less those of β-VAE for each capacity and β, by Welch's t."""
    beta, capacity = (
        dict(tuple(runs[runs["method"] == method].groupby("strength")))
        for method in ("betavae", "annealedvae")
    )
    rows = []
    for column, title, digits in (
        (DCI, SCORES[DCI], 2),
        (RECONSTRUCTION, "reconstruction error (nats)", 1),
    ):
        for strength, ours in capacity.items():
            cells = [title, f"{strength:g}"]
            for theirs in beta.values():
                test = ttest_ind(ours[column], theirs[column], equal_var=False)
                ends = test.confidence_interval(1 - LEVEL)
                difference = ours[column].mean() - theirs[column].mean()
                cells.append(interval(difference, ends.low, ends.high, digits))
            rows.append(cells)
    header = ["score", "capacity", *(f"less that of β {strength:g}" for strength in beta)]
    return {"header": header, "rows": rows, "intervals": "welch"}
