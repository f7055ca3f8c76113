"""Tables and pictures of docs/results that the summary of a study does not have.

python benchmarks/study_findings.py montero studies/montero_laptop
python benchmarks/study_findings.py correlated studies/correlated_laptop
python benchmarks/study_findings.py dittadi studies/dittadi_laptop

Writes benchmarks/results/NAME_laptop.json, whose tables the pages show, and for `montero` also
docs/images/results/montero_images.png. The studies are those of configs/studies.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from claims.tables import ORDERS, interval, jackknife, rho_by_chance
from dislab import plots
from dislab.base.datamodule import draw_states
from dislab.base.inference import images_of
from dislab.runs import SCORES, open_run
from dislab.storage import atomic
from dislab.study import Study
from dislab.study.statistics import rank_correlations

ROOT = Path(__file__).parents[1]
IMAGES = 8
FACTORS = ("scale", "posX", "posY")
PAIRS = (("posX", "scale"), ("posX", "posY"), ("posY", "scale"))
SCENARIOS = {
    "finger_ood1_a": "OOD1-A",
    "finger_ood1_b": "OOD1-B",
    "finger_ood1_c": "OOD1-C",
    "finger_ood2_a": "OOD2-A",
    "finger_ood2_b": "OOD2-B",
}
PREDICTORS = {"GradientBoosting": "trees", "MLP": "network"}
GROUPS = {"all": "ρ, all", "supervision=weak": "weak", "supervision=unsupervised": "unsupervised"}
DISENTANGLEMENT = "score.dci_hgbt_disentanglement"
D_SCORE = "score.dci_lassocv_disentanglement"
RATIO = "generalisation.mean_ratio"
METHODS = {
    "vae": "VAE",
    "betavae8": "β-VAE",
    "factorvae20": "FactorVAE",
    "true_factors": "true factors",
    "composition": "composition VAE",
}


def montero(study: Study) -> dict[str, Any]:
    """Reconstruction of states of training and of held-out states, and a picture a condition."""
    table = study.table()
    rows = []
    for (condition, method), runs in table.groupby(["condition", "method"], sort=False):
        cells = [condition, METHODS[method], _mean(runs[D_SCORE], 2)]
        for decoded in ("mean", "sample"):
            columns = [f"generalisation.{decoded}_{name}" for name in ("train", "test", "ratio")]
            cells += [
                _mean(runs.get(name, ()), digits)
                for name, digits in zip(columns, (1, 1, 2), strict=True)
            ]
        rows.append(cells)
    order = list(dict.fromkeys(table["condition"]))
    rows.sort(key=lambda cells: order.index(cells[0]))
    for condition in order:
        _draw(study, condition)
    losses = ["training", "held out", "ratio"]
    of_samples = [f"{name}, samples" for name in losses]
    header = ["condition", "method", "DCI lassocv disentanglement", *losses, *of_samples]
    return {
        "reconstruction": {"header": header, "rows": rows},
        "correlations": generalisation_correlations(table),
        "beside": beside_true_factors(table),
    }


def generalisation_correlations(table: pd.DataFrame) -> dict[str, Any]:
    """Rank correlation of DCI disentanglement and the ratio, corrected for these rows alone."""
    runs = table[table["method"] != "true_factors"]
    correlations = rank_correlations(runs, D_SCORE, RATIO, by=["condition"], orders=ORDERS)
    rows = [
        [
            str(row["group"]).removeprefix("condition="),
            str(row["runs"]),
            interval(row["rho"], row["low"], row["high"]),
            f"{row['p']:.3f}",
            f"{row['p_holm']:.3f}",
        ]
        for row in correlations.to_dict("records")
    ]
    header = ["condition", "runs", "ρ of DCI lassocv disentanglement and ratio", "p", "p (Holm)"]
    return {"header": header, "rows": rows, "intervals": "runs"}


def beside_true_factors(table: pd.DataFrame) -> dict[str, Any]:
    """Ratio of each method less that of the true factors, paired by seed."""
    conditions = list(dict.fromkeys(table["condition"]))
    methods = [name for name in METHODS if name != "true_factors"]

    def differences(some: pd.DataFrame) -> npt.NDArray[np.float64]:
        means = some.groupby(["method", "condition"])[RATIO].mean().unstack()[conditions]
        values = np.array(means.loc[methods] - means.loc["true_factors"], dtype=float)
        return np.vstack([values, values.mean(0)])

    ends = np.stack(jackknife(table, differences), axis=-1)
    titles = [*(METHODS[name] for name in methods), "mean of these methods"]
    rows = [
        [title, *(interval(*cell) for cell in part)]
        for title, part in zip(titles, ends, strict=True)
    ]
    header = ["ratio less that of true factors", *conditions]
    return {"header": header, "rows": rows, "intervals": "seeds"}


def correlated(study: Study) -> dict[str, Any]:
    """Importance shared by the latents of two factors, and errors of predicted factors."""
    table = study.table()
    rows, scores = [], []
    columns_by_title = {"MIG": "score.mig", "DCI disentanglement": "score.dci_hgbt_disentanglement"}
    columns_by_title |= {
        "FactorVAE score": "score.factor_vae_score",
        "ELBO, nats": "score.elbo_sample_test",
    }
    for (method, correlation), runs in table.groupby(["method", "correlation"], sort=False):
        correlations = [_of_factors(study.folder.run(str(run)) / SCORES) for run in runs.index]
        columns = zip(*correlations, strict=True)
        digits = [1 if "nats" in name else 2 for name in columns_by_title]
        means = [
            _mean(runs[name], n) for name, n in zip(columns_by_title.values(), digits, strict=True)
        ]
        scores.append([method, correlation, *means])
        rows.append([method, correlation, *(_mean(column, 2) for column in columns)])
    header = ["method", "correlation", *(f"shared: {a}, {b}" for a, b in PAIRS)]
    header += [f"error: {name}" for name in FACTORS]
    return {
        "scores": {"header": ["method", "correlation", *columns_by_title], "rows": scores},
        "factors": {"header": header, "rows": rows},
    }


def dittadi(study: Study) -> dict[str, Any]:
    """Errors of trees and of a network under each shift, and their correlations with DCI."""
    table = study.table()
    errors: dict[str, list[list[str]]] = {name: [] for name in PREDICTORS}
    axes = ["supervision", "beta", "noise"]
    for (supervision, beta, noise), runs in table.groupby(axes, sort=False):
        model = f"{supervision}, β {beta}, {noise} noise"
        disentanglement = _mean(runs[DISENTANGLEMENT], 2)
        for name, rows in errors.items():
            means = [_mean(runs[f"transfer.{scenario}/{name}"], 2) for scenario in SCENARIOS]
            rows.append([model, disentanglement, *means])
    header = ["models", "DCI disentanglement", *SCENARIOS.values()]
    tables = {PREDICTORS[name]: {"header": header, "rows": rows} for name, rows in errors.items()}
    return tables | {"correlations": transfer_correlations(table)}


def transfer_correlations(table: pd.DataFrame) -> dict[str, Any]:
    """Rank correlation of DCI and the errors, over all models and those of each supervision."""
    columns = [f"transfer.{scenario}/{name}" for scenario in SCENARIOS for name in PREDICTORS]
    correlations = rank_correlations(table, [DISENTANGLEMENT], columns, by=["supervision"])
    rows = []
    for scenario, label in SCENARIOS.items():
        for name, title in PREDICTORS.items():
            mine = correlations[correlations["right"] == f"transfer.{scenario}/{name}"].set_index(
                "group"
            )
            ends = [mine.loc[group, ["rho", "low", "high"]] for group in GROUPS]
            cells = [interval(*numbers) for numbers in ends]
            rows.append([label, title, *cells, f"{mine['p_holm']['all']:.3f}"])
    parts = [table, *(table[table["supervision"] == name] for name in ("weak", "unsupervised"))]
    chance = [f"{rho_by_chance(part):.2f}" for part in parts]
    rows.append(["by chance below (shuffled scores)", "", *chance, ""])
    header = ["shift", "predictor", *GROUPS.values(), "p (Holm), all"]
    return {"header": header, "rows": rows, "intervals": "runs"}


def _of_factors(scores: Path) -> list[float]:
    """Overlap of importances for each pair, from 0 to 1, and the error (NRMSE) of each factor."""
    test = json.loads(scores.read_text(encoding="utf-8"))["test"]
    names = test["data"]["factors"]
    importance = np.array(test["parts"]["dci_hgbt_importance"], dtype=float)  # (latent, factor)
    shares = importance / importance.sum(0).clip(min=1e-12)
    numbers = [[names.index(name) for name in pair] for pair in PAIRS]
    overlaps = [float(np.minimum(shares[:, a], shares[:, b]).sum()) for a, b in numbers]
    errors = test["parts"]["dci_hgbt_informativeness_nrmse_per_factor"]
    return overlaps + [errors[names.index(name)] for name in FACTORS]


def _draw(study: Study, condition: str) -> None:
    """Held-out images above the decoded means of every method, first seed."""
    table = study.table()
    chosen = table[(table["condition"] == condition) & (table["seed"] == table["seed"].min())]
    rows: list[npt.NDArray[np.float32]] = []
    names = []
    for name, method in zip(chosen.index, chosen["method"], strict=True):
        run = open_run(study.folder.run(str(name)))
        states = draw_states(run.data, "test", IMAGES, 0)
        with torch.no_grad():
            image = images_of(run.data, run.model, states, run.precision)
            if method == "true_factors":
                decoded = run.model.render(torch.from_numpy(run.data.factors.positions(states)))
            else:
                decoded = run.model.reconstruct(image)
        rows = rows or [image.float().numpy()]
        names = names or ["held out"]
        rows.append(decoded.float().numpy())
        names.append(METHODS[method])
    path = ROOT / "docs" / "images" / "results" / f"montero_{condition}.png"
    plots.image_grid(np.stack(rows), names, title=condition).savefig(path)


def _mean(values: Sequence[float], digits: int) -> str:
    """Mean and standard deviation over seeds."""
    finite = np.array([value for value in values if value == value])
    if not len(finite):
        return "–"
    return f"{finite.mean():.{digits}f} ± {finite.std(ddof=1):.{digits}f}"


FINDINGS = {"montero": montero, "correlated": correlated, "dittadi": dittadi}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=tuple(FINDINGS))
    parser.add_argument("study", type=Path)
    arguments = parser.parse_args()
    study = Study(arguments.study)
    name = f"{arguments.name}_laptop"
    content = {
        "command": f"python benchmarks/study_findings.py {arguments.name} studies/{name}",
        "tables": FINDINGS[arguments.name](study),
    }
    with atomic(ROOT / "benchmarks" / "results" / f"{name}.json") as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
