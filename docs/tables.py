"""Writes the tables of the docs between their markers: `python docs/tables.py`.

A table stands between `<!-- table: what -->` and `<!-- end -->`, where `what` is

    commands            the commands of dislab, in the order of its help
    plugins GROUP       the plug-ins of a group, of dislab itself
    contracts           the groups of parts: base classes, leading arguments, methods, checks
    bank                what a score gets, from the class
    scores              the scores, with links to their parts of docs/metrics.md
    datasets            the data sets with their factors and licences
    zoo                 the trained models
    results FILE NAME   a table that a benchmark wrote into benchmarks/results/FILE.json; with
                        ` | first words of rows | headings`, separated by semicolons, a part
    claims FILE         its claims, what decides them (docs/claims.yaml), and numbers of tests
    tests FILE          all tests of these claims, folded
    summary STUDY NAME  a table of docs/results/STUDY/summary.md, which `dislab study summary` wrote
    verdicts            the numbers of verdicts in each part of docs/results/what_comes_out.md
    tally               the sentences with those of all parts

A line below the tables of studies says which intervals their brackets hold, as `intervals` beside
the rows of a file in benchmarks/results records it, and what a star means.
Scores have two decimals.
"""

import inspect
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Container
from decimal import Decimal
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final, get_args

import yaml

from dislab import base, cli, testing
from dislab.codes.bank import CodeBank
from dislab.metrics.score_table import label
from dislab.plugins import COMMANDS, PARTS, Plugin, available, declared, load_all

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ZOO = ROOT / "plugins" / "dislab-zoo" / "src" / "dislab_zoo" / "files"
METRICS = ROOT / "docs" / "metrics.md"
CLAIMS = ROOT / "docs" / "results" / "what_comes_out.md"
PHRASES = ROOT / "docs" / "claims.yaml"
BY_INTERVAL = "yes, by the interval"
EXAMPLES = {
    "example for": "show the claim",
    "example in part": "show a part",
    "example against": "show the contrary",
}
VERDICTS = (
    *("yes", BY_INTERVAL, "mostly", "partly", "mixed"),
    *("undecided", "no", *EXAMPLES, "not tried"),
)
INTERVALS = {
    "runs": "by resampling runs (bootstrap)",
    "means": "of means, by Student's distribution",
    "differences": "of differences, by Student's distribution",
    "within": "by resampling runs within methods (bootstrap)",
    "welch": "of differences of means, by Welch's t",
    "episodes": "by resampling the episodes of these agents (bootstrap)",
    "seeds": "by leaving out one seed at a time (jackknife)",
    "both": "of ρ by resampling runs (bootstrap), of all else by leaving out one seed at a time "
    "(jackknife)",
}
"""What the brackets of a table hold, by the word for it in its file."""
TWO_DECIMALS = re.compile(r"MIG|SAP|DCI|Modularity|.*(score|FactorVAE)$|.*_mig|.*disentanglement")
"""Headings of columns of scores."""
MARKED = re.compile(
    r"<!-- table: ([\w ]+?(?: \| [^|\n]+ \| [^|\n]+)?) -->\n(?:.*?\n)??<!-- end -->", re.DOTALL
)


def pages() -> list[Path]:
    """The pages that have tables."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in files if MARKED.search(page.read_text(encoding="utf-8"))]


def filled(page: str, left_out: Container[str] = ()) -> str:
    """The text of a page with all tables as their sources have them now, but for some kinds."""

    def table(marked: re.Match[str]) -> str:
        what, *part = marked[1].split(" | ")
        kind, *names = what.split()
        if kind in left_out:
            return marked[0]
        return f"<!-- table: {marked[1]} -->\n\n{TABLES[kind](*names, *part)}\n\n<!-- end -->"

    return MARKED.sub(table, page)


def _plugins(group: str) -> str:
    rows = [
        f"| `{plugin.name}` | {plugin.summary} |"
        for plugin in available(group)
        if plugin.distribution == "dislab"  # whatever else is installed where the pages are made
    ]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


LEADING = {
    "encoders": "image shape, number of outputs",
    "decoders": "number of latents, image shape",
    "regularizers": "number of latents, size of the training set",
    "metrics": "the `FactorSpace`",
    "predictors": "number of latents, classes of each factor (0 for a number)",
    "datamodules": "none; by convention `dataset`",
    "objectives": "none; those in `offers` of the data are filled in",
}
"""The first arguments of the constructors of parts."""


def _contracts() -> str:
    """The groups of parts with base class, leading arguments, required methods and check."""
    rows = [
        "| group | base class | leading arguments | must have | check |",
        "|---|---|---|---|---|",
    ]
    for group in PARTS:
        cls = next(cls for name in base.__all__ if is_base(cls := getattr(base, name), group))
        methods = ", ".join(f"`{name}`" for name in sorted(cls.__abstractmethods__))
        check = f"check_{cls.__name__.lower()}"
        assert check in testing.__all__
        leading = LEADING.get(group, "none")
        rows.append(f"| `dislab.{group}` | `{cls.__name__}` | {leading} | {methods} | `{check}` |")
    callback = "| `dislab.callbacks` | `lightning.pytorch.Callback` | none | nothing | |"
    return "\n".join([*rows, callback])


def is_base(cls: object, group: str) -> bool:
    """Whether a name of `dislab.base` is the base class of a group."""
    return inspect.isclass(cls) and f"{cls.__name__.lower()}s" == group


def _bank() -> str:
    """The attributes and tables of a `CodeBank`, with shapes; not what makes other banks."""
    rows = ["| `bank.` | shape | what it is |", "|---|---|---|"]
    for name, member in vars(CodeBank).items():
        function = getattr(member, "fget", None) or getattr(member, "func", member)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        kind = inspect.signature(function).return_annotation
        if kind == "CodeBank" or name == "resampled":
            continue
        arguments = ", ".join(list(inspect.signature(function).parameters)[1:])
        call = f"{name}({arguments})" if arguments else name
        shape = _shape_of(kind)
        what = str(inspect.getdoc(member)).partition("\n")[0]
        rows.append(f"| `{call}` | {shape} | {what} |")
    return "\n".join(rows)


def _shape_of(kind: Any) -> str:
    """The axes of an array, or of those in a list; the fields of a named tuple."""
    if fields := getattr(kind, "_fields", ()):
        return ", ".join(f"`{field}`" for field in fields)
    if hasattr(kind, "dim_str"):
        return ", ".join(kind.dim_str.split())
    array, *_ = get_args(kind)
    return f"list of ({_shape_of(array)})" if hasattr(array, "dim_str") else "numbers"


def _commands() -> str:
    """The commands with the first lines of their docstrings."""
    summaries = declared(COMMANDS)
    rows = [
        f"| `dislab {name}` | {summaries[name].summary.replace('….', '…')} |"
        for name in cli.COMMANDS
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _scores() -> str:
    """The scores in the order of the page that defines them, each with a link to its heading."""
    summaries = {plugin.name: plugin.summary for plugin in available("metrics")}
    rows = []
    for heading in re.findall(r"^## (.*`.*)$", METRICS.read_text(encoding="utf-8"), re.MULTILINE):
        letters = re.sub(r"[^a-z0-9\s-]", "", heading.lower()).strip()
        anchor = re.sub(r"[-\s]+", "-", letters)  # as Markdown makes it
        rows += [
            f"| [`{name}`](#{anchor}) | {summaries[name]} |"
            for name in re.findall(r"`(\w+)`", heading)
            if name in summaries
        ]
    return "\n".join(["| score | what it is |", "|---|---|", *rows])


def _datasets() -> str:
    """The table of data sets, from their classes; settings decide how to get the images."""
    classes = load_all(("datasets",))["datasets"]
    plugins = [plugin for plugin in available("datasets") if plugin.distribution == "dislab"]
    rows = [_dataset(plugin, classes[plugin.name]) for plugin in plugins]
    heading = "| name | images | shape | factors and their values | licence | images are |"
    return "\n".join([heading, "|---|---|---|---|---|---|", *rows])


def _dataset(plugin: Plugin, cls: Any) -> str:
    contents = str(plugin.constants.get("contents"))
    described = re.fullmatch(r"(?:([\d,]+)|(.*?)) ?images.* (\d+)×(\d+)×(\d+): (.*)", contents)
    cells = [f"`{plugin.name}`", "yours", "yours", "yours"]
    if described:
        count, _, height, width, channels, factors = described.groups()
        cells[1:] = [count or "as published", f"{channels}×{height}×{width}", factors]
    settings = inspect.signature(cls).parameters
    if "source" in settings:
        cells.append(f"{plugin.constants['licence']} | drawn; read with `source: official`")
    elif "download" in settings:
        cells.append(f"{plugin.constants['licence']} | read; fetched with `download: true`")
    else:
        own = "drawn" if described else "given in memory"
        files = (
            "read from files that you have" if {"path", "folder", "file"} & set(settings) else own
        )
        cells.append(f"{plugin.constants['licence']} | {files}")
    return "| " + " | ".join(cells) + " |"


def _zoo() -> str:
    """The table of trained models, from their files."""
    names = ("mig", "sap_r2", "factor_vae_score", "dci_hgbt_disentanglement")
    scores = {name: label(name) for name in names}
    heads = ["name", "data", "image", "steps", "MB", *scores.values(), "selected", "data licence"]
    rows = [heads, ["---"] * len(heads)]
    chances: dict[str, list[float]] = {score: [] for score in scores}
    for path in sorted(ZOO.glob("*/zoo.json")):
        model = json.loads(path.read_text(encoding="utf-8"))
        stored = json.loads(path.with_name("scores.json").read_text(encoding="utf-8"))["test"]
        for score in chances.keys() & stored["chance"].keys():
            chances[score].append(stored["chance"][score])
        size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
        half = model["rescored"]["half"]
        rows.append(
            [
                f"`{path.parent.name}`",
                f"`{model['data']}`, {model['provenance']}",
                "×".join(map(str, model["image_shape"])),
                f"{model['steps']:,}",
                f"{size:.1f}",
                *(f"{half[score]:.2f}" for score in scores),
                model["selected"],
                model["data_licence"],
            ]
        )
    highest = [f"{max(levels):.2f}" for levels in chances.values()]
    rows.append(["chance, highest", *[""] * 4, *highest, "", ""])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _results(name: str, table: str, words: str = "", heads: str = "") -> str:
    result = json.loads((RESULTS / f"{name}.json").read_text())["tables"][table]
    header, rows = result["header"], result["rows"]
    if words:
        header, rows = _part(header, rows, words.split("; "), heads.split("; "))
    return _shown(header, rows, result.get("intervals", ""))


def _claims(name: str) -> str:
    """Each claim with what decides it, and the numbers of its tests."""
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["tables"]["claims"]
    phrases = yaml.safe_load(PHRASES.read_text(encoding="utf-8"))[name]
    rows = [
        [*cells, phrases[cells[0]] + _numbers_of_tests(here)] for *cells, here in result["rows"]
    ]
    bootstrapped = any(re.search(r"ρ[^;]* \[", phrase) for phrase in phrases.values())
    seeds = result.get("intervals") == "seeds" and bootstrapped
    return _shown(result["header"], rows, "both" if seeds else result.get("intervals", ""))


def _numbers_of_tests(here: str) -> str:
    """The numbers of tests for and against a claim, from its stored figures.

    >>> _numbers_of_tests("1 of 2 tests for (MIG), 1 against (SAP R²), 0 undecided: ρ 0.87")
    ' (1 of 2 tests agrees, 1 disagrees)'
    >>> _numbers_of_tests("at least 4 of 12 tests for, 5 against, at most 3 undecided: open")
    ' (at least 4 of 12 tests agree, 5 disagree)'
    """
    found = re.match(r"((?:at least )?(\d+) of \d+ tests) for(?: \(.*?\))?, (\d+) against", here)
    if not found:
        return ""
    agree, disagree = (
        verb + "s" * (found[k] == "1") for verb, k in (("agree", 2), ("disagree", 3))
    )
    return f" ({found[1]} {agree}, {found[3]} {disagree})"


def _tests(name: str) -> str:
    """Every test of each claim of a page, folded."""
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["tables"]["claims"]
    header = [result["header"][0], "all its tests"]
    table = _shown(header, [[row[0], row[-1]] for row in result["rows"]], result["intervals"])
    summary = "<summary>All tests of each claim</summary>"
    return f"<details markdown>\n{summary}\n\n{table}\n\n</details>"


def _part(
    header: list[str], rows: list[list[str]], words: list[str], heads: list[str]
) -> tuple[list[str], list[list[str]]]:
    """The first column and those with these headings, of the rows that begin with these words."""
    chosen = [[row for row in rows if f"{' '.join(row)} ".startswith(f"{word} ")] for word in words]
    unknown = [word for word, found in zip(words, chosen, strict=True) if not found]
    if unknown := [*unknown, *(head for head in heads if head not in header)]:
        sys.exit(f"a table with {header} has no {', '.join(unknown)}")
    columns = [0, *map(header.index, heads)]
    kept = [[row[column] for column in columns] for found in chosen for row in found]
    return [header[column] for column in columns], kept


def _summary(study: str, table: str) -> str:
    text = (ROOT / "docs" / "results" / study / "summary.md").read_text(encoding="utf-8")
    after = text.partition(f"All numbers: [{table}.csv]({table}.csv).")[2]
    parts = after.partition("\n## ")[0].strip().split("\n\n")
    intervals = "differences" if table.startswith("comparisons") else "runs"
    return "\n\n".join(_shown_again(part, intervals) for part in parts)


def _shown_again(table: str, intervals: str) -> str:
    """A table of a summary as those of results, with two decimals but for p."""
    header, _, *rows = (
        [c.strip() for c in line.strip("| ").split(" | ")] for line in table.split("\n")
    )
    return _shown(header, rows, intervals, re.compile(r"(?!p\b|least possible p)"))


def _shown(
    header: list[str],
    rows: list[list[str]],
    intervals: str,
    rounded: re.Pattern[str] = TWO_DECIMALS,
) -> str:
    """A table with minus signs, two decimals in the `rounded` columns, and its legend."""
    cells = [
        [
            re.sub(
                r"(?<![\w.)-])-(?=\d)", "−", _two_decimals(cell) if rounded.match(head) else cell
            )
            for head, cell in zip(header, row, strict=True)
        ]
        for row in rows
    ]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *cells])
    text = "\n".join(cell for row in rows for cell in row)
    legend = []
    if re.search(r"(?:^|\d )\[[-−+]?\d", text, re.MULTILINE):
        if intervals not in INTERVALS:
            sys.exit(f"a table with {header} has intervals, but no word of {', '.join(INTERVALS)}")
        legend.append(f"Brackets: 95 % intervals, {INTERVALS[intervals]}.")
    if "\\*" in text:
        legend.append("\\*: supported, p (Holm) below .05.")
    return lines + (f"\n\n*{' '.join(legend)}*" if legend else "")


def _two_decimals(cell: str) -> str:
    return re.sub(r"\d+\.\d{3,}(?!\d)", lambda number: f"{Decimal(number[0]):.2f}", cell)


def _tally() -> str:
    """The sentences with the numbers of verdicts of all claims."""
    count, rows = _counts()["all"], [row for part in _rows().values() for row in part]
    against = sum(
        verdict in {"mostly", "partly"} and bool(re.search(r", [1-9]\d* disagrees?\b", here))
        for _, verdict, _, here in rows
    )
    examples = ", ".join(
        f"{count[name]} {words} (*{name.removeprefix('example ')}*)"
        for name, words in EXAMPLES.items()
    )
    return (
        f"**Of {count.total()} claims of papers, {count['yes'] + count[BY_INTERVAL]} come out in "
        f"these small models (*yes*; {count[BY_INTERVAL]} of them *by the interval* alone), "
        f"{count['mostly']} *mostly* (in more than half of their tests), {count['partly']} "
        f"*partly* (in up to half), {count['mixed']} are *mixed* (one part comes out, another "
        f"does not or is open) and {count['no']} do not come out (*no*).**\n\n"
        f"{count['undecided']} are *undecided*, as no test is for them but wide intervals leave "
        f"them possible. {sum(map(count.__getitem__, EXAMPLES))} are an *example*, one run of each "
        f"kind: {examples}. {against} of "
        "those that come out mostly or partly have a test against them ([the rule](#the-rule))."
    )


def _rows() -> dict[str, list[list[str]]]:
    """The rows of claims in each part of the page."""
    page = filled(CLAIMS.read_text(encoding="utf-8"), left_out=["verdicts", "tally"])
    parts = {}
    for part in page.split("\n## ")[1:]:
        head = r"^\| [^|]* \| comes out \|.*\n\|.*\n"
        tables = re.findall(rf"{head}((?:\|.*\n)*)", part, re.MULTILINE)
        rows = [row.strip("| ").split(" | ") for row in "".join(tables).splitlines()]
        if rows:
            parts[part.partition("\n")[0]] = rows
    return parts


def _counts() -> dict[str, Counter[str]]:
    """The numbers of verdicts in each part of the page."""
    counts = {part: Counter(row[1] for row in rows) for part, rows in _rows().items()}
    counts["all"] = sum(counts.values(), Counter())
    unknown = set(counts["all"]) - set(VERDICTS)
    if unknown:
        sys.exit(f"{CLAIMS} has other verdicts than {', '.join(VERDICTS)}: {', '.join(unknown)}")
    return counts


def _verdicts() -> str:
    """The table of the numbers of verdicts."""
    counts = _counts()
    verdicts = [verdict for verdict in VERDICTS if counts["all"][verdict]]
    rows = [
        [name, count.total(), *(count[verdict] for verdict in verdicts)]
        for name, count in counts.items()
    ]
    heads = ["claims of", "claims", *verdicts]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _budget(*names: str) -> str:
    """A sentence on the steps and the images of configurations, and how to take fewer steps."""
    classes, budgets = load_all(("datasets",))["datasets"], {}
    for name in names:
        content = yaml.safe_load(_file_of(name).read_text(encoding="utf-8"))
        dataset = content["data"]["init_args"]["dataset"]
        cls = dataset if isinstance(dataset, str) else dataset["class_path"]
        budgets.setdefault((content["trainer"]["max_steps"], cls), []).append(f"`{name}`")
    texts = []
    for (steps, cls), group in budgets.items():
        takes = "takes" if len(group) == 1 else "take"
        text = f"{' and '.join(group)} {takes} {steps:,} steps on `{cls}`"
        settings = inspect.signature(classes[cls]).parameters if cls in classes else {}
        if "download" in settings and "source" not in settings:
            text += ", whose files `--data.dataset.download true` fetches"
        texts.append(text)
    most = max(steps for steps, _ in budgets)
    quick = yaml.safe_load(_file_of("quick").read_text(encoding="utf-8"))["trainer"]["max_steps"]
    trial = f" Without a GPU, begin with `--config quick` behind it: {quick:,} steps."
    return f"*{'; '.join(texts)}.{trial * (most >= 10 * quick)}*"


def _file_of(name: str) -> Path:
    """The file of a configuration of dislab or of one of its plugins, installed or not."""
    own = ROOT / "configs" / f"{name}.yaml"
    return own if own.is_file() else next((ROOT / "plugins").rglob(f"configs/{name}.yaml"))


TABLES: Final[dict[str, Callable[..., str]]] = {
    "bank": _bank,
    "budget": _budget,
    "commands": _commands,
    "contracts": _contracts,
    "plugins": _plugins,
    "scores": _scores,
    "datasets": _datasets,
    "zoo": _zoo,
    "results": _results,
    "claims": _claims,
    "tests": _tests,
    "summary": _summary,
    "verdicts": _verdicts,
    "tally": _tally,
}


def _check_installed() -> None:
    """Refuses an environment whose dislab is older than pyproject.toml: rows would go missing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for group, parts in project["entry-points"].items():
        installed = {part.name for part in distribution("dislab").entry_points.select(group=group)}
        if installed != set(parts):
            sys.exit(
                f"the installed dislab declares other parts of {group} than pyproject.toml: "
                f"{', '.join(sorted(installed ^ set(parts)))}; run pip install -e . and try again"
            )


if __name__ == "__main__":
    _check_installed()
    for path in pages():
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
