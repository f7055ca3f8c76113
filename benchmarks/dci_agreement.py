"""Compares DCI with histogram boosting to DCI with exact boosting.

python benchmarks/dci_agreement.py kinds     six kinds of codes: two minutes
python benchmarks/dci_agreement.py graded    30 codes of graded quality, fewer images: three minutes
python benchmarks/dci_agreement.py draws     six kinds of codes of 1,000 images, five draws of each:
                                             four minutes
python benchmarks/dci_agreement.py coarse    six kinds of codes of factors of 2 to 5 values, 600
                                             images, five draws of each: a minute
python benchmarks/dci_agreement.py skewed    factors whose values are rare, in narrow and in wide
                                             groups of codes: three minutes

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


def zipf(values: int) -> tuple[float, ...]:
    """Shares of values, each of which is as rare as the square of its rank."""
    shares = np.arange(1, values + 1) ** -2.0
    return tuple(shares / shares.sum())


SKEWED = {
    **{
        f"2 of two values, {rare:g} % and {100 - rare:g} %, {images:,} images": (
            images,
            2,
            (1 - rare / 100, rare / 100),
            0.05,
        )
        for images in (2_000, 15_000)
        for rare in (0.5, 1, 2, 5, 10)
    },
    **{
        f"{factors} of two equal values, {images:,} images": (images, factors, (0.5, 0.5), 0.05)
        for images in (2_000, 15_000)
        for factors in (4, 10)
    },
    "3 of four values, three of them 0.5 %, 2,000 images": (
        2_000,
        3,
        (0.985, 0.005, 0.005, 0.005),
        0.05,
    ),
    "3 of ten values, as rare as their squares, 2,000 images": (2_000, 3, zipf(10), 0.05),
    "2 of 60 values, as rare as their squares, 2,000 images": (2_000, 2, zipf(60), 0.05),
    "2 of two values, 1 % and 99 %, noise 0.3, 2,000 images": (2_000, 2, (0.99, 0.01), 0.3),
    "3 of ten values, as rare as their squares, noise 0.3, 2,000 images": (
        2_000,
        3,
        zipf(10),
        0.3,
    ),
}
"""Images, number of factors, shares of their values, and noise in the distance of two values."""


def graded_codes(factors: np.ndarray, latents: int, grade: int) -> torch.Tensor:
    """Codes from nearly perfect to nearly lost: a mixing and a noise that grow at two paces."""
    generator = np.random.default_rng(1000 + grade)
    perfect = standard_codes(factors, latents, 0)["perfect"].numpy()
    mixing, spread = (grade % 6) / 5, (grade // 6) / 4
    rotation = np.linalg.qr(generator.normal(size=(latents, latents)))[0]
    blend = (1 - mixing) * np.eye(latents) + mixing * rotation
    return torch.from_numpy(perfect @ blend + spread * generator.normal(size=perfect.shape))


def cases(part: str) -> dict[str, tuple[torch.Tensor, np.ndarray]]:
    """Codes and factors by the name of the case."""
    size = PARTS[part]
    if part == "graded":
        factors = draw_factors(size["sizes"], size["images"], 0)
        return {str(n): (graded_codes(factors, size["latents"], n), factors) for n in range(30)}
    arrays = {}
    for seed in range(size["draws"]):
        factors = draw_factors(size["sizes"], size["images"], seed)
        codes = standard_codes(factors, size["latents"], seed)
        for kind in KINDS:
            arrays[kind if part == "kinds" else f"{kind} {seed}"] = codes[kind], factors
    return arrays


def skewed_case(name: str) -> tuple[torch.Tensor, np.ndarray, tuple[int, ...]]:
    """Codes, factors and numbers of values: a latent for each factor and two latents of noise."""
    images, count, shares, noise = SKEWED[name]
    generator = np.random.default_rng(0)
    factors = generator.choice(len(shares), size=(images, count), p=shares)
    noisy = factors + noise * generator.normal(size=factors.shape)
    codes = np.concatenate([noisy, generator.normal(size=(images, 2))], axis=1)
    return torch.from_numpy(codes), factors, (len(shares),) * count


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
    for kind, scores in results.items():
        triples = [
            " / ".join(f"{scores[who][name]:.3f}" for name in SCORES) for who in ("hgbt", "gbt")
        ]
        apart = max(abs(scores["hgbt"][name] - scores["gbt"][name]) for name in SCORES[:2])
        times = [f"{scores[f'{who}_cpu_s']:.1f}" for who in ("hgbt", "gbt")]
        rows.append([kind, *triples, f"{apart:.3f}", *times])
    return rows


def rows_of_grades(results: dict[str, dict]) -> list[list[str]]:
    rows = []
    for name in SCORES:
        estimates, exact = (
            [scores[who][name] for scores in results.values()] for who in ("hgbt", "gbt")
        )
        apart = np.abs(np.array(estimates) - exact)
        rank = spearmanr(estimates, exact).statistic
        span = f"{min(exact):.2f} to {max(exact):.2f}"
        rows.append([name, span, f"{rank:.3f}", f"{apart.mean():.3f}", f"{apart.max():.3f}"])
    return rows


def rows_of_spread(report: dict[str, dict]) -> list[list[str]]:
    """For each score how far `hgbt` lies from `gbt`, over the cases of all parts."""
    results = {
        f"{part} {name}": scores
        for part in [*PARTS, "skewed"]
        for name, scores in report.get(part, {"results": {}})["results"].items()
    }
    rows = []
    for score in SCORES:
        signed = {
            name: scores["hgbt"][score] - scores["gbt"][score] for name, scores in results.items()
        }
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
    tables_by_name = {}
    if "kinds" in report:
        header = ["codes", "`hgbt`", "`gbt`", "apart", "`hgbt`, s", "`gbt`, s"]
        rows = rows_of_kinds(report["kinds"]["results"])
        tables_by_name["kinds"] = {"header": header, "rows": rows}
    if "graded" in report:
        header = ["score", "range of `gbt`", "Spearman", "mean difference", "largest"]
        rows = rows_of_grades(report["graded"]["results"])
        tables_by_name["graded"] = {"header": header, "rows": rows}
    if "skewed" in report:
        header = ["factors", "`hgbt`", "`gbt`", "apart", "`hgbt`, s", "`gbt`, s"]
        rows = rows_of_kinds(report["skewed"]["results"])
        tables_by_name["skewed"] = {"header": header, "rows": rows}
    header = ["score", "cases", "mean difference", "nine in ten below", "lowest", "highest"]
    return tables_by_name | {"spread": {"header": header, "rows": rows_of_spread(report)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=[*PARTS, "skewed"])
    parser.add_argument("--quick", action="store_true", help="keep results of exact boosting")
    default = Path(__file__).parent / "results" / "dci_agreement.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"tables": {}}
    former = report[arguments.part]["results"] if arguments.quick else {}
    if arguments.part == "skewed":
        size: dict[str, object] = {name: list(case) for name, case in SKEWED.items()}
        tried = {name: skewed_case(name) for name in SKEWED}
    else:
        size = PARTS[arguments.part]
        tried = {name: (*case, size["sizes"]) for name, case in cases(arguments.part).items()}
    results = {}
    for name, (codes, factors, sizes) in tried.items():
        results[name] = compare(codes, factors, sizes, former.get(name))
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
