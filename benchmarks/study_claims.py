"""Tables of claims of a paper and what comes out in a finished study of the rooms.

python benchmarks/study_claims.py locatello studies/locatello_rooms
# the same from the kept scores of each run, without the study
python benchmarks/study_claims.py locatello benchmarks/results/runs/locatello_rooms.csv

Writes benchmarks/results/NAME_rooms.json, the scores of each run to benchmarks/results/runs/, and
docs/results/NAME_rooms.md unless a page shows its claims already; `make docs-tables` fills the page
with the tables. A verdict follows from a rule on intervals and corrected p-values alone: *yes* if
every test of the claim supports it, *mostly* if more than half do and *partly* if fewer do, *no* if
every interval leaves out an effect worth its name, else *undecided*. The figures of a claim that
comes out in a part of its tests begin with the numbers of tests for it, against it and undecided.
The package `claims` has a module for each paper.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pandas as pd

from claims.correlated import correlated
from claims.dittadi import dittadi
from claims.few_labels import few_labels
from claims.locatello import locatello
from claims.montero import montero
from claims.predictors import predictors
from claims.slowvae import slowvae
from claims.tables import Table, finished_table
from dislab.runs import versions
from dislab.storage import atomic
from dislab.study import Study
from kept_runs import keep_runs

ROOT: Final = Path(__file__).parents[1]
FROM_RUNS: Final[dict[str, Callable[[pd.DataFrame], dict[str, Table]]]] = {"locatello": locatello}
"""The claims that the kept scores of each run suffice for."""
CLAIMS: Final[dict[str, Callable[[Study, pd.DataFrame], dict[str, Table]]]] = {
    "dittadi": dittadi,
    "montero": montero,
    "correlated": correlated,
    "labels": few_labels,
    "predictors": predictors,
    "slowvae": slowvae,
}


def write_page(name: str, command: str, tables: Iterable[str]) -> None:
    """Writes a page with a place for every table, unless a page shows the claims already."""
    shown = re.compile(rf"<!-- table: (results {name} claims|claims {name}) -->")
    if any(shown.search(page.read_text("utf-8")) for page in (ROOT / "docs").rglob("*.md")):
        return
    places = "".join(
        f"\n## {table.capitalize()}\n\n<!-- table: results {name} {table} -->\n<!-- end -->\n"
        for table in tables
    )
    text = (
        f"# {name}\n\nWhen the study is finished:\n\n```bash\n{command}\n```\n\n"
        "Verdicts follow from tests alone ([the rule](what_comes_out.md#the-rule)): *yes* if all\n"
        "tests of a claim are for it, *mostly* if more than half are, *partly* if fewer are, else\n"
        "*no* or *undecided*.\n"
    )
    (ROOT / "docs" / "results" / f"{name}.md").write_text(text + places, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=(*FROM_RUNS, *CLAIMS))
    parser.add_argument(
        "study", type=Path, help="the folder of the finished study, or (locatello) its kept runs"
    )
    parser.add_argument(
        "--unfinished", action="store_true", help="use methods all of whose runs are"
    )
    arguments = parser.parse_args()
    path, paper = arguments.study, arguments.name
    is_kept = path.suffix == ".csv"
    if is_kept and paper not in FROM_RUNS:
        parser.error(f"{paper} needs the folder of the study, as its kept runs do not suffice")
    runs = pd.read_csv(path, index_col="run") if is_kept else Study(path).table()
    states = (runs["state"] == "finished").groupby(runs["method"])
    finished = states.transform("all")
    if not (finished.all() or arguments.unfinished):
        waiting = (runs["state"] != "finished").sum()
        parser.error(f"{waiting} runs of {path} are not finished: finish the study")
    kept = path if is_kept else keep_runs(Study(path))
    if paper in FROM_RUNS:
        runs = pd.read_csv(kept, index_col="run")
        tables = FROM_RUNS[paper](runs[finished])
    else:
        tables = CLAIMS[paper](Study(path), runs[finished])
    name = f"{paper}_rooms"
    tables = {"runs": finished_table(runs)} | tables
    command = f"python benchmarks/study_claims.py {paper} studies/{kept.stem}"
    content = {
        "command": command,
        "versions": versions(),
        "tables": tables,
    }
    with atomic(ROOT / "benchmarks" / "results" / f"{name}.json") as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    write_page(name, command, tables)
    print(f"wrote the tables to benchmarks/results/{name}.json; next: make docs-tables")


if __name__ == "__main__":
    main()
