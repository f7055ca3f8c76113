"""What the records of the finger's models say together."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from finger_codes import space
from finger_figures import SCENARIOS
from scipy.stats import rankdata

from dislab.study.statistics import holm

Record = dict[str, Any]

DCI = "dci_hgbt_disentanglement"
INSIDE = "in distribution"
NEAREST = "OOD1-C"
"""The scenario whose error on its own training hues stands for the error in distribution."""
DRAWS = 20_000
"""Permutations behind a p value."""


def spearman(one: list[float], two: list[float]) -> dict[str, float]:
    """Rank correlation and its two-sided p value, by random permutations.

    With a handful of models the usual approximation by a t distribution is too coarse.
    """
    first, second = (_standard(rankdata(values)) for values in (one, two))
    rho = float(first @ second)
    order = np.random.default_rng(0).permuted(np.tile(second, (DRAWS, 1)), axis=1)
    beyond = int((np.abs(order @ first) >= abs(rho) - 1e-12).sum())
    return {"rho": rho, "p": (beyond + 1) / (DRAWS + 1), "models": len(one)}


def _standard(ranks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    centred = ranks - ranks.mean()
    return np.asarray(centred / np.linalg.norm(centred))


def correlations(models: dict[str, Record]) -> dict[str, Any]:
    """Of disentanglement with transfer error: by group, scenario and predictor."""
    groups: dict[str, Callable[[Record], bool]] = {
        "trained": lambda one: one["kind"] != "mixed",
        "mixed": lambda one: one["kind"] == "mixed",
    }
    found: dict[str, Any] = {}
    for group, belongs in groups.items():
        members = [one for one in models.values() if belongs(one)]
        found[group] = {
            scenario: {
                predictor: spearman(
                    [one["scores"][DCI] for one in members],
                    [_error(one, scenario, predictor) for one in members],
                )
                for predictor in members[0]["transfer"][NEAREST]
            }
            for scenario in (INSIDE, *SCENARIOS)
            if scenario == INSIDE or all(scenario in one["transfer"] for one in members)
        }
        shifts = [name for name in found[group] if name != INSIDE]
        tests = [one for name in shifts for one in found[group][name].values()]
        for one, corrected in zip(tests, holm([one["p"] for one in tests]), strict=True):
            one["holm"] = corrected
    return found


def _error(one: Record, scenario: str, predictor: str) -> float:
    if scenario == INSIDE:
        return float(one["transfer"][NEAREST][predictor]["in_distribution"])
    return float(one["transfer"][scenario][predictor]["error"])


def noise_effects(models: dict[str, Record]) -> dict[str, Any]:
    """Error with input noise less error without, of models that differ in nothing else."""
    trained = [one for one in models.values() if one["kind"] != "mixed"]
    pairs = [
        (clean, noisy)
        for clean, noisy in product(trained, trained)
        if noisy["noise"]
        and not clean["noise"]
        and all(clean[key] == noisy[key] for key in ("kind", "beta", "seed"))
    ]
    return {
        scenario: {
            predictor: _effect(
                [[one["transfer"][scenario][predictor] for one in two] for two in pairs]
            )
            for predictor in trained[0]["transfer"][scenario]
        }
        for scenario in SCENARIOS
    }


def _effect(pairs: list[list[Record]]) -> dict[str, Any]:
    """Errors, and what they are more than on the predictor's own distribution."""
    errors = np.array([[one["error"] for one in pair] for pair in pairs])
    excess = errors - [[one["in_distribution"] for one in pair] for pair in pairs]
    return {
        name: {
            "clean": float(values[:, 0].mean()),
            "noise": float(values[:, 1].mean()),
            "differences": (values[:, 1] - values[:, 0]).tolist(),
            "lower": int((values[:, 1] < values[:, 0]).sum()),
            "pairs": len(pairs),
        }
        for name, values in (("error", errors), ("excess", excess))
    }


def tables(models: dict[str, Record], chance: dict[str, Record]) -> dict[str, Any]:
    """What the page shows: the models, the correlations, and the effect of noise.

    Below the errors of the models, and those of each factor, are those of `chance`.
    """
    trained = {name: one for name, one in models.items() if one["kind"] != "mixed"}
    return {
        "models": _models(trained, chance),
        "mixed": _mixed([one for one in models.values() if one["kind"] == "mixed"]),
        "correlations": _correlations(correlations(models)),
        "holm": _holm(correlations(models)["trained"]),
        "second_domain": _second_domain(trained, chance),
        "noise": _noise(noise_effects(models)),
        "factors": _factors(list(trained.values()), chance),
    }


def _models(trained: dict[str, Record], chance: dict[str, Record]) -> Record:
    rows = []
    for one in trained.values():
        scores = [one["scores"][name] for name in (DCI, "mig")]
        errors = [_error(one, name, "GradientBoosting") for name in (INSIDE, *SCENARIOS)]
        row = ["Ada-GVAE" if one["kind"] == "weak" else "β-VAE", f"{one['beta']:g}"]
        row += ["yes" if one["noise"] else "no", f"{one['losses']['reconstruction']:.0f}"]
        row += [f"{one['losses']['kl']:.1f}", *(f"{value:.3f}" for value in scores + errors)]
        rows.append(row)
    errors = [chance[NEAREST]["in_distribution"], *(chance[name]["error"] for name in SCENARIOS)]
    rows.append(["chance", *[""] * 6, *(f"{value:.3f}" for value in errors)])
    header = ["model", "β", "noise", "reconstruction, nats", "KL, nats", "DCI D", "MIG"]
    return {"header": [*header, INSIDE, *SCENARIOS], "rows": rows}


def _mixed(records: list[Record]) -> Record:
    rows = []
    for share in sorted({one["share"] for one in records}):
        group = [one for one in records if one["share"] == share]
        row = [f"{share:g}", f"{np.mean([one['scores'][DCI] for one in group]):.3f}"]
        for scenario, predictor in product(SCENARIOS[:3], group[0]["transfer"][SCENARIOS[0]]):
            errors = [one["transfer"][scenario][predictor]["error"] for one in group]
            row.append(f"{np.mean(errors):.3f}")
        rows.append(row)
    names = [f"{a} {b}" for a, b in product(SCENARIOS[:3], records[0]["transfer"][SCENARIOS[0]])]
    return {"header": ["share of true factors", "DCI D", *names], "rows": rows}


def _correlations(found: Record) -> Record:
    groups = {"trained": "trained models", "mixed": "mixed codes"}
    columns = (INSIDE, *SCENARIOS)
    rows = []
    for group, scenarios in found.items():
        for predictor, first in scenarios[INSIDE].items():
            row = [f"{groups[group]} ({first['models']})", predictor]
            for name in columns:
                one = scenarios.get(name, {}).get(predictor)
                row.append(f"{one['rho']:.2f} (p {_p(one['p'])})" if one else "")
            rows.append(row)
    return {"header": ["codes", "predictor", *columns], "rows": rows}


def _holm(found: Record) -> Record:
    """The tests of the trained models, the smallest p value first."""
    tests = [
        (name, predictor, one)
        for name, predictors in found.items()
        if name != INSIDE
        for predictor, one in predictors.items()
    ]
    rows = [
        [name, predictor, f"{one['rho']:.2f}", _p(one["p"]), _p(one["holm"])]
        for name, predictor, one in sorted(tests, key=lambda test: float(test[2]["p"]))
    ]
    return {"header": ["scenario", "predictor", "ρ", "p", "p after Holm"], "rows": rows}


def _second_domain(trained: dict[str, Record], chance: dict[str, Record]) -> Record:
    """Errors of every model and predictor in OOD2-B."""
    found = chance["OOD2-B"]
    rows = []
    predictors = list(next(iter(trained.values()))["transfer"]["OOD2-B"])
    for one in trained.values():
        row = ["Ada-GVAE" if one["kind"] == "weak" else "β-VAE", f"{one['beta']:g}"]
        row.append("yes" if one["noise"] else "no")
        for predictor in predictors:
            error = one["transfer"]["OOD2-B"][predictor]["error"]
            row.append(f"{error:.3f}" + (" (chance)" if error >= found["error"] else ""))
        rows.append(row)
    rows.append(["chance", "", "", *[f"{found['error']:.3f}"] * len(predictors)])
    return {"header": ["model", "β", "noise", *predictors], "rows": rows}


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _noise(found: Record) -> Record:
    rows = []
    for scenario, predictors in found.items():
        for predictor, of in predictors.items():
            row = [scenario, predictor]
            for one in (of["error"], of["excess"]):
                row += [f"{round(one[key], 3) + 0.0:.3f}" for key in ("clean", "noise")]  # no −0
                row.append(f"{one['lower']} of {one['pairs']}")
            rows.append(row)
    columns = ("without noise", "with noise", "lower with noise")
    header = ["scenario", "predictor", *columns, *(f"excess {column}" for column in columns)]
    return {"header": header, "rows": rows}


def _factors(trained: list[Record], chance: dict[str, Record]) -> Record:
    names = space().names
    rows = []
    for scenario, noise in product(("OOD2-A", "OOD2-B"), (False, True)):
        of = [
            one["transfer"][scenario]["GradientBoosting"]["factors"]
            for one in trained
            if one["noise"] == noise
        ]
        means = [[one[name] for one in of if one.get(name) is not None] for name in names]
        cells = [f"{np.mean(values):.3f}" if values else "" for values in means]
        rows.append([scenario, "yes" if noise else "no", *cells])
        if noise:
            own = chance[scenario]["factors"]
            cells = [f"{own[name]:.3f}" if name in own else "" for name in names]
            rows.append([scenario, "chance", *cells])
    return {"header": ["scenario", "noise", *names], "rows": rows}
