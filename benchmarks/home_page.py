"""What the docs show of the model of their home page.

    dislab fit --config adagvae --config home
    python benchmarks/home_page.py runs/home/version_0

Writes the record and the table of scores to benchmarks/results/home.json, and the run's traversals
and score sheet to docs/images.
"""

import argparse
import json
from pathlib import Path

from PIL import Image

from dislab.runs import SCORES
from dislab.storage import atomic
from hardware import processor

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "home.json"
PICTURES = {"traversals": ("home_traversals", 940), "scores": ("score_sheet", None)}
"""Pictures of a run, their names in docs/images, and the width that is kept: of traversals labels
and the first of three images."""
SHOWN = {
    "mig": "MIG",
    "dci_hgbt_disentanglement": "DCI disentanglement (`dci_hgbt`)",
    "dci_hgbt_completeness": "DCI completeness (`dci_hgbt`)",
    "dci_hgbt_informativeness": "DCI informativeness (`dci_hgbt`)",
    "factor_vae_score": "FactorVAE score",
}


def main() -> None:
    """Writes the record and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=int, help="processor time of the run, as `time` gave it")
    options = parser.parse_args()
    test = json.loads((options.run / SCORES).read_text(encoding="utf-8"))["test"]
    gaps = dict(zip(test["data"]["factors"], test["parts"]["mig_per_factor"], strict=True))
    factors = [name for name, gap in gaps.items() if gap is not None]  # others do not vary
    record = {
        "command": __doc__.splitlines()[2].strip(),
        "processor": processor(),
        "processor_seconds": options.seconds,
        "versions": test["versions"],
        "seed": test["seed"],
        "steps": test["checkpoint"]["steps"],
        "scores": {name: test["scores"][name] for name in SHOWN},
        "gaps": {name: gaps[name] for name in factors},
        "tables": {
            "scores": {
                "header": list(SHOWN.values()),
                "rows": [[f"{test['scores'][name]:.2f}" for name in SHOWN]],
            },
            "gaps": {
                "header": [f"`{name}`" for name in factors],
                "rows": [[f"{gaps[name]:.2f}" for name in factors]],
            },
        },
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for name, (target, width) in PICTURES.items():
        with Image.open(options.run / "images" / f"{name}.png") as picture:
            cropped = picture.convert("RGB").crop((0, 0, width or picture.width, picture.height))
            small = cropped.quantize(128)
        with atomic(ROOT / "docs" / "images" / f"{target}.png") as temporary:
            small.save(temporary, format="png", optimize=True)


if __name__ == "__main__":
    main()
