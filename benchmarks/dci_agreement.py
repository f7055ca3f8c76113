"""Compares DCI with histogram boosting to DCI with exact boosting.

python benchmarks/dci_agreement.py kinds     six kinds of codes: two minutes
python benchmarks/dci_agreement.py graded    30 codes of graded quality, fewer images: three minutes
python benchmarks/dci_agreement.py draws     six kinds of codes of 1,000 images, five draws of each:
                                             four minutes
python benchmarks/dci_agreement.py coarse    six kinds of codes of factors of 2 to 5 values, 600
                                             images, five draws of each: a minute

Results of the parts that a call leaves out are kept in the file, and with --quick, which takes
seconds, so are those of exact boosting. The spread is taken over all parts.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from scipy.stats import spearmanr

from dislab.metrics import DCI
from standard_codes import draw_factors, provenance, space_of, standard_codes

SCORES = ("disentanglement", "completeness", "informativeness")
KINDS = ("perfect", "rotated", "noisy", "split", "merged", "dead")
PARTS = {
    "kinds": {"sizes": (3, 6, 10, 8, 8), "latents": 10, "images": 3000, "draws": 1},
    "graded": {"sizes": (3, 4, 5, 6), "latents": 8, "images": 1500, "draws": 1},
    "draws": {"sizes": (3, 6, 10, 8, 8), "latents": 10, "images": 1000, "draws": 5},
    "coarse": {"sizes": (2, 3, 4, 5), "latents": 8, "images": 600, "draws": 5},
}


def graded_codes(factors: np.ndarray, latents: int, number: int) -> torch.Tensor:
    """Codes from nearly perfect to nearly lost: a mixing and a noise that grow at two paces."""
    generator = np.random.default_rng(1000 + number)
    perfect = standard_codes(factors, latents, 0)["perfect"].numpy()
    mixing, spread = (number % 6) / 5, (number // 6) / 4
    rotation = np.linalg.qr(generator.normal(size=(latents, latents)))[0]
    blend = (1 - mixing) * np.eye(latents) + mixing * rotation
    return torch.from_numpy(perfect @ blend + spread * generator.normal(size=perfect.shape))


def cases(part: str) -> dict[str, tuple[torch.Tensor, np.ndarray]]:
    """Codes and factors by the name of the case."""
    size = PARTS[part]
    if part == "graded":
        factors = draw_factors(size["sizes"], size["images"], 0)
        return {str(n): (graded_codes(factors, size["latents"], n), factors) for n in range(30)}
    found = {}
    for seed in range(size["draws"]):
        factors = draw_factors(size["sizes"], size["images"], seed)
        drawn = standard_codes(factors, size["latents"], seed)
        for kind in KINDS:
            found[kind if part == "kinds" else f"{kind} {seed}"] = drawn[kind], factors
    return found


def compare(
    codes: torch.Tensor,
    factors: np.ndarray,
    sizes: tuple[int, ...],
    former: dict[str, object] | None,
) -> dict[str, object]:
    """Both learners' scores and times; those of exact boosting from the former ones, if given."""
    result: dict[str, object] = dict(former or {})
    for learner in ("hgbt",) if former else ("hgbt", "gbt"):
        metric = DCI(space_of(sizes), learner)
        metric.update(codes, torch.from_numpy(factors))
        start = time.process_time()
        scores = metric.compute()
        result[learner] = {name: scores[f"dci_{learner}_{name}"].item() for name in SCORES}
        result[f"{learner}_cpu_s"] = time.process_time() - start
    return result


def rows_of_kinds(results: dict[str, dict]) -> list[list[str]]:
    rows = []
    for kind, one in results.items():
        triples = [
            " / ".join(f"{one[who][name]:.3f}" for name in SCORES) for who in ("hgbt", "gbt")
        ]
        apart = max(abs(one["hgbt"][name] - one["gbt"][name]) for name in SCORES[:2])
        times = [f"{one[f'{who}_cpu_s']:.1f}" for who in ("hgbt", "gbt")]
        rows.append([kind, *triples, f"{apart:.3f}", *times])
    return rows


def rows_of_grades(results: dict[str, dict]) -> list[list[str]]:
    rows = []
    for name in SCORES:
        own, exact = ([one[who][name] for one in results.values()] for who in ("hgbt", "gbt"))
        apart = np.abs(np.array(own) - exact)
        rank = spearmanr(own, exact).statistic
        span = f"{min(exact):.2f} to {max(exact):.2f}"
        rows.append([name, span, f"{rank:.3f}", f"{apart.mean():.3f}", f"{apart.max():.3f}"])
    return rows


def rows_of_spread(report: dict[str, dict]) -> list[list[str]]:
    """For each score how far `hgbt` lies from `gbt`, over the cases of all parts."""
    results = {
        f"{part} {name}": one
        for part in PARTS
        for name, one in report.get(part, {"results": {}})["results"].items()
    }
    rows = []
    for score in SCORES:
        signed = {name: one["hgbt"][score] - one["gbt"][score] for name, one in results.items()}
        low, high = (pick(signed, key=lambda name: signed[name]) for pick in (min, max))
        ends = [
            f"{signed[name]:+.3f} ({results[name]['hgbt'][score]:.3f} against "
            f"{results[name]['gbt'][score]:.3f}, {name})"
            for name in (low, high)
        ]
        apart = np.abs(list(signed.values()))
        shares = [f"{np.mean(apart):.3f}", f"{np.quantile(apart, 0.9):.3f}"]
        rows.append([score, str(len(signed)), *shares, *ends])
    return rows


def tables(report: dict[str, dict]) -> dict[str, dict]:
    found = {}
    if "kinds" in report:
        header = ["codes", "`hgbt`", "`gbt`", "apart", "`hgbt`, s", "`gbt`, s"]
        rows = rows_of_kinds(report["kinds"]["results"])
        found["kinds"] = {"header": header, "rows": rows}
    if "graded" in report:
        header = ["score", "range of `gbt`", "Spearman", "mean difference", "largest"]
        rows = rows_of_grades(report["graded"]["results"])
        found["graded"] = {"header": header, "rows": rows}
    header = ["score", "cases", "mean difference", "nine in ten below", "lowest", "highest"]
    return found | {"spread": {"header": header, "rows": rows_of_spread(report)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="keep results of exact boosting")
    default = Path(__file__).parent / "results" / "dci_agreement.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    size = PARTS[arguments.part]
    report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"tables": {}}
    former = report[arguments.part]["results"] if arguments.quick else {}
    results = {}
    for name, (codes, factors) in cases(arguments.part).items():
        results[name] = compare(codes, factors, size["sizes"], former.get(name))
        print(name, json.dumps(results[name]), flush=True)
    report[arguments.part] = {
        "command": " ".join(["python", *sys.argv]),
        "size": size,
        "results": results,
        **provenance(),
    }
    report["tables"] |= tables(report)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report["tables"]["spread"], indent=1))


if __name__ == "__main__":
    main()
