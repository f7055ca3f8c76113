"""Every score on seven kinds of made-up codes of 15,000 images of dSprites' factors, and its cost.

python benchmarks/score_table.py                             all scores
python benchmarks/score_table.py --scores sap_r2 irs         some; the others keep their results
python benchmarks/score_table.py --scores mig --kinds dead   one kind of codes; likewise

The page of the scores shows the tables that this writes.
"""

import argparse
import json
import os
import statistics
import sys
import time
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from dislab.metrics import (
    DCI,
    DCIES,
    DCIMIG,
    DMIG,
    IRS,
    JEMMIG,
    MCC,
    MIG,
    OMES,
    RDC,
    SAP,
    BetaVAEScore,
    BlockMCC,
    DownstreamAccuracy,
    Explicitness,
    FactorVAEScore,
    GaussianTotalCorrelation,
    InfoMEC,
    MeanPairwiseMI,
    MIGSup,
    Modularity,
    WassersteinCorrelation,
)
from standard_codes import draw_factors, provenance, space_of, standard_codes

SIZES = (3, 6, 40, 32, 32)
LATENTS, IMAGES = 10, 15_000
QUICK = 1.0  # seconds; scores that take less are timed three times a kind
SCORES = {
    "beta_vae_score": (BetaVAEScore, ["beta_vae_score"]),
    "factor_vae_score": (FactorVAEScore, ["factor_vae_score"]),
    "mig": (MIG, ["mig"]),
    "mig_sup": (MIGSup, ["mig_sup", "mig_sup_active"]),
    "jemmig": (JEMMIG, ["jemmig"]),
    "dcimig": (DCIMIG, ["dcimig"]),
    "dmig": (DMIG, ["dmig"]),
    "modularity": (Modularity, ["modularity"]),
    "modularity_active": (partial(Modularity, active_only=True), ["modularity_active"]),
    "explicitness": (Explicitness, ["explicitness", "explicitness_normalized"]),
    "explicitness_multinomial": (
        partial(Explicitness, classifier="multinomial"),
        ["explicitness_multinomial"],
    ),
    "sap_r2": (SAP, ["sap_r2"]),
    "sap_svc": (partial(SAP, predictor="svc"), ["sap_svc"]),
    "irs": (IRS, ["irs"]),
    "mcc_linear": (partial(MCC, alignment="linear"), ["mcc_linear_pearson"]),
    "block_mcc_linear": (BlockMCC, None),
    "block_mcc_kernel": (partial(BlockMCC, regression="kernel"), None),
    "mcc_pearson": (MCC, ["mcc_pearson"]),
    "omes": (OMES, ["omes"]),
    "rdc": (RDC, ["rdc"]),
    "mcc_spearman": (partial(MCC, correlation="spearman"), ["mcc_spearman"]),
    "infomec_knn": (InfoMEC, ["infom_knn", "infoc_knn", "infoe"]),
    "infomec_bins": (partial(InfoMEC, estimator="bins"), ["infom_bins", "infoc_bins"]),
    "dci_hgbt": (DCI, None),
    "dci_rf": (partial(DCI, learner="rf"), None),
    "dci_lasso": (partial(DCI, learner="lasso"), None),
    "dci_lassocv": (partial(DCI, learner="lassocv"), None),
    "dcies_rf": (DCIES, None),
    "dcies_rff": (partial(DCIES, probe="rff"), None),
    "downstream_logistic": (DownstreamAccuracy, None),
    "downstream_hgbt": (partial(DownstreamAccuracy, classifier="hgbt"), None),
    "gaussian_total_correlation": (GaussianTotalCorrelation, None),
    "wasserstein_correlation": (WassersteinCorrelation, None),
    "mean_pairwise_mi": (MeanPairwiseMI, None),
}
KEPT = {
    "dci": ("disentanglement", "completeness", "informativeness", "informativeness_nrmse"),
    "downstream": ("100", "10000", "efficiency"),
}


def result_names(key: str, values: dict[str, float]) -> list[str]:
    """Which results of a score the table shows."""
    names = SCORES[key][1]
    parts = KEPT.get(key.partition("_")[0])
    if names is None and parts:
        names = [f"{key}_{name}" for name in parts]
    return list(values) if names is None else names


def measure(key: str, codes: torch.Tensor, factors: torch.Tensor) -> dict[str, object]:
    times: list[float] = []
    while not times or (len(times) < 3 and times[0] < QUICK):
        metric = SCORES[key][0](space_of(SIZES))
        metric.update(codes, factors)
        start = time.process_time()
        result = metric.compute()
        times.append(time.process_time() - start)
    values = {name: value.item() for name, value in result.items() if value.ndim == 0}
    return {"values": values, "cpu_s": statistics.median(times)}


def tables(results: dict[str, dict[str, dict]], kinds: list[str]) -> dict[str, object]:
    """Rows for the docs, of scores that were measured on all kinds of codes."""
    ordered = {key: results[key] for key in SCORES if set(results.get(key, {})) == set(kinds)}
    rows, costs = [], []
    for key, by_kind in ordered.items():
        for name in result_names(key, by_kind[kinds[0]]["values"]):
            numbers = [f"{by_kind[kind]['values'][name]:.2f}" for kind in kinds]
            rows.append([f"`{name}`", *numbers])
        seconds = [by_kind[kind]["cpu_s"] for kind in kinds]
        costs.append(
            [f"`{key}`", *(two_digits(duration) for duration in (min(seconds), max(seconds)))]
        )
    return {
        "scores": {"header": ["score", *kinds], "rows": rows},
        "cost": {"header": ["score", "least, s", "most, s"], "rows": costs},
    }


def two_digits(seconds: float) -> str:
    return f"{float(f'{seconds:.2g}'):g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", nargs="+", choices=list(SCORES), default=list(SCORES))
    parser.add_argument("--kinds", nargs="+", help="kinds of codes; all unless given")
    default = Path(__file__).parent / "results" / "score_table.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    factors = draw_factors(SIZES, IMAGES, 0)
    kinds = standard_codes(factors, LATENTS, 0)
    if unknown := {*(arguments.kinds or ())} - {*kinds}:
        parser.error(f"no kind of codes: {', '.join(unknown)}; they are {', '.join(kinds)}")
    report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    results = report.get("results", {})
    # a first call pays for imports
    measure("mig", kinds["perfect"], torch.from_numpy(factors))
    for key in arguments.scores:
        for kind in arguments.kinds or kinds:
            measurement = measure(key, kinds[kind], torch.from_numpy(factors))
            results.setdefault(key, {})[kind] = measurement
            print(key, kind, measurement["cpu_s"], flush=True)
        report = {
            "command": " ".join(["python", *sys.argv]),
            "size": {"images": IMAGES, "latents": LATENTS, "values": SIZES},
            **provenance(),
            "results": results,
            "tables": tables(results, list(kinds)),
        }
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
