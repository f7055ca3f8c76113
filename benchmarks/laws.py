"""Tries every score by every law and writes the page of laws.

python benchmarks/laws.py                        all scores: some twenty minutes
python benchmarks/laws.py --scores mig dci_hgbt  some of them; the others keep their results
python benchmarks/laws.py --laws dead random     some of the laws; how scores move is kept
python benchmarks/laws.py --scores               none; the page is written from kept results

Laws, cases and expected verdicts are in tests/metrics/laws.py. The exit status is 1 where a verdict
is another one than expected.
"""

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the table of laws in tests

import torch
from tests.metrics import laws

from standard_codes import provenance

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "laws.json"
PAGE = ROOT / "docs" / "laws.md"
INTRODUCTION = """# Laws of the scores

This page shows which changes of the codes leave a score as it is, whether each score reaches its
best and worst value, and for each law that does not hold the smallest codes that show it. For
example, `mig` knows no order, sign or unit of the latents, but a copy of a latent takes away all
that its factor adds: the gap between the best and the second best latent is then 0.
"""

READING = """A law *holds* where {draws} cases, drawn by
[Hypothesis](https://hypothesis.readthedocs.io), of two or three factors, gave no counterexample
({few} where a score takes long). `DownstreamAccuracy`
takes at least 600 images. *Noise* and *few* are one law at two sizes, as chance information falls
with the number of images. *Permutation* also tries two latents of the same information. *Perfect*
also tries a factor of 40 values: scores that count with 20 bins cannot tell them apart. Where a law
does not hold, the table of verdicts has the size of the smallest counterexample: by how much the
score moved, or by how much it misses the value that it should have.
Breaking a law is no error in itself: a score of compactness should fall when a latent is doubled.

Factors here have few values, and there are two or three. The [stress test](stress.md) compares the
scores in whole situations, such as missing factors, on five continuous factors, where some verdicts
differ: chance is lower for `modularity`, `beta_vae_score` and `factor_vae_score`, and forests
(`dci_rf`) give perfect codes 1.00.
"""

EXAMPLES = """## Smallest counterexamples

Codes are the factors, standardised, one latent each. Noise is in standard deviations of a factor,
mix is the share of the next factor that each latent has on top, idle latents are noise. Of a law
about one kind of codes the table has the value of those codes alone.
"""
MOVES = """## How scores move

With the number of images: codes of factors of 3, 4 and 6 values with noise of 0.3 and one idle
latent. With correlated factors: 3,000 images of the same codes, and of perfect ones, where the
difference of the first two factors has a deviation of 0.2 of their range. Last, 3,000 images of
perfect codes of factors of 3 and 40 values and one idle latent. A cell is empty where a score
needs more images.
"""
MAKING = """## How the page is made

`make laws`, which is `python benchmarks/laws.py`, writes it; `tests/metrics/test_laws.py`
compares it with the scores. Scores that draw take 600 points to learn from and 300 to test on,
`DownstreamAccuracy` 400 labels and 200 images to test on, `BlockMCC` 200 images to learn from with
a kernel, and `DCIES` depths of 1, 2, 4 and 8, or 16, 64 and 256 features. `InfoMEC` with
`discrete` takes latents of few codes only: those of more than 50 are rounded to halves.
"""


def measure(key: str, law: str) -> dict[str, dict[str, object]]:
    """The smallest counterexample of each result of a score that breaks a law."""
    record: dict[str, dict[str, object]] = {}
    for result in laws.SCORES[key].breaks:
        case = laws.counterexample(key, law, result, laws.SCORES[key].draws)
        if case is not None:
            trial = laws.tried(key, law, case)
            record[result] = {
                "case": laws.to_json(laws.enough(key, case)),
                "before": trial.before.get(result),
                "after": trial.after[result],
                "size": laws.broken_by(law, trial, result),
            }
    return record


def moves(key: str) -> dict[str, dict[str, float]]:
    """Each result at several numbers of images and with correlated factors."""
    moved = {name: laws.plain(key, case) for name, case in laws.movements(key)}
    return {
        result: {name: values[result] for name, values in moved.items()}
        for result in laws.SCORES[key].breaks
    }


def stored_report() -> dict[str, dict]:
    """What the file of results has, in the order of the table."""
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"results": {}}
    record = report["results"]
    return report | {"results": {key: record[key] for key in laws.SCORES if key in record}}


def keep(key: str, part: str, change: dict[str, dict]) -> None:
    """Adds what was measured to the file: of the counterexamples those of one law."""
    report = stored_report()
    score = report["results"].setdefault(key, {"broken": {}, "moved": {}})
    if part == "moved":
        score["moved"] = change
    else:
        for result in laws.SCORES[key].breaks:
            broken = {**score["broken"].get(result, {}), part: change.get(result)}
            score["broken"][result] = {law: broken[law] for law in laws.LAWS if broken.get(law)}
    stamp = provenance()
    stamp["versions"] |= {name: version(name) for name in ("scipy", "hypothesis")}
    report |= {"command": "python benchmarks/laws.py", **stamp}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def digits(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.3f}".replace("-", "−")


def page(report: dict[str, dict]) -> str:
    """The whole page from the kept results."""
    of_result = {
        result: (key, report["results"][key])
        for result, (key, _) in laws.results().items()
        if key in report["results"]
    }
    verdicts = [
        [
            f"`{result}`",
            *(
                digits(measured["broken"][result][law]["size"], "+")
                if law in measured["broken"][result]
                else "holds"
                for law in laws.LAWS
            ),
        ]
        for result, (_, measured) in of_result.items()
    ]
    examples = [
        [
            f"`{result}`",
            law,
            str(laws.from_json(broken["case"])),
            digits(broken["before"]),
            digits(broken["after"]),
        ]
        for result, (_, measured) in of_result.items()
        for law, broken in measured["broken"][result].items()
    ]
    moved = [
        [f"`{result}`", *(digits(measured["moved"].get(result, {}).get(name)) for name in COLUMNS)]
        for result, (_, measured) in of_result.items()
    ]
    draws = max(score.draws for score in laws.SCORES.values())
    few = min(score.draws for score in laws.SCORES.values())
    versions = ", ".join(f"{name} {measured}" for name, measured in report["versions"].items())
    statements = [
        [
            name,
            law.statement,
            ", ".join(f"{images:,}" for images in law.images),
            TOLERANCES[law.kind].format(law.tolerance),
        ]
        for name, law in laws.LAWS.items()
    ]
    parts = [
        INTRODUCTION,
        table(["law", "statement", "images", "holds where the score"], statements),
        READING.format(draws=draws, few=few),
        "## Verdicts",
        table(["result", *laws.LAWS], verdicts),
        EXAMPLES,
        table(["result", "law", "codes", "value", "changed"], examples),
        MOVES,
        table(["result", *COLUMNS], moved),
        MAKING,
        f"Measured on {report['hardware']['processor']} with {versions}.",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


COLUMNS = [name for name, _ in laws.movements("mig")]
TOLERANCES = {
    "stays": "moves by at most {}",
    "worsens": "gets worse by at least {}",
    "best": "is within {} of its best value",
    "worst": "is within {} of its worst value; without one, that far from its best",
}


def unexpected(report: dict[str, dict]) -> list[str]:
    """Verdicts that are not those of the table in tests/metrics/laws.py."""
    lines = []
    for result, (key, expected) in laws.results().items():
        violated = set(report["results"].get(key, {"broken": {}})["broken"].get(result, {}))
        if violated != expected:
            lines.append(f"{result}: {' '.join(law for law in laws.LAWS if law in violated)}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", nargs="*", choices=list(laws.SCORES), default=list(laws.SCORES))
    parser.add_argument("--laws", nargs="+", choices=list(laws.LAWS), default=list(laws.LAWS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for key in arguments.scores:
        for law in arguments.laws:
            start = time.monotonic()
            keep(key, law, measure(key, law))
            print(f"{key}, {law}: {time.monotonic() - start:.0f} s", flush=True)
        if set(arguments.laws) == set(laws.LAWS) or key not in stored_report()["results"]:
            keep(key, "moved", moves(key))
    report = stored_report()
    PAGE.write_text(page(report))
    lines = unexpected(report)
    print(
        "\n".join(["verdicts that laws.py does not expect:", *lines] if lines else ["as expected"])
    )
    return int(bool(lines))


if __name__ == "__main__":
    raise SystemExit(main())
