"""Tables and pictures of studies whose run folders are gone, from the scores of their runs.

python benchmarks/archived_summaries.py

Reads docs/results/NAME/runs.csv, which stays as it is, and writes beside it what `dislab study
summary` writes of such a study.
"""

import math
import shutil
import tempfile
from pathlib import Path

import pandas as pd

from dislab.study.statistics.means import Ranges
from dislab.study.statistics.selection import Best
from dislab.study.summary import UDR, StudySummary, summarize
from dislab.study.summary_folder import write_summary
from dislab.yaml_files import read_mapping

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
SHARE = (0.0, 1.0)
"""Range of every primary score."""
SCORES = ("factor_vae_score", "mig", "sap_r2", "dci_hgbt_disentanglement")
PRIMARY = {
    "locatello_laptop": ("beta_vae_score", *SCORES[:3], "modularity", SCORES[3]),
    "correlated_laptop": SCORES,
    "dittadi_laptop": SCORES,
    "montero_laptop": ("dci_lassocv_disentanglement",),
}
"""Primary scores of each study."""

TITLES = {
    "betavae8": "β-VAE (β 8)",
    "factorvae20": "FactorVAE (γ 20)",
    "true_factors": "true factors",
    "composition": "composition VAE",
}
"""Methods whose names are not those of configurations."""


def summary_of(name: str) -> StudySummary:
    """The tables of a study, from the stored scores of its runs."""
    runs = pd.read_csv(RESULTS / name / "runs.csv", index_col="run")
    columns = [str(column) for column in runs]
    axes = columns[: columns.index("seed")]
    titles = {path.stem: _method(path) for path in (ROOT / "configs").glob("*.yaml")} | TITLES
    runs = runs.assign(**{axis: [titles.get(v, v) for v in runs[axis]] for axis in axes})
    if UDR not in runs:  # the studies with fewer than five seeds
        runs[UDR] = math.nan
    primary: dict[str, Best] = {f"score.{score}": "highest" for score in PRIMARY[name]}
    ranges: Ranges = {
        f"score.{codes}{score}{images}": SHARE
        for score in PRIMARY[name]
        for codes in ("", "sampled/")
        for images in ("", "_train")
    }
    return summarize(runs, name, axes, primary, ranges=ranges)


def write(name: str) -> None:
    """Writes the tables and the pictures of a study."""
    folder = RESULTS / name
    about = (folder / "summary.md").read_text(encoding="utf-8").split("\n\n")[1].splitlines()[1:]
    with tempfile.TemporaryDirectory() as temporary:
        written = write_summary(summary_of(name), Path(temporary) / name, about=about)
        for path in folder.iterdir():
            if path.name != "runs.csv":
                path.unlink()
        for path in written:
            if path.name != "runs.csv":
                shutil.copy(path, folder / path.name)


def _method(path: Path) -> str:
    return str(read_mapping(path, "method: β-VAE").get("method", path.stem))


if __name__ == "__main__":
    for name in PRIMARY:
        write(name)
