import ast
import builtins
import doctest
import inspect
import itertools
import json
import re
import runpy
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from dislab import base, metrics, plans, plots, runs
from dislab.cli import COMMANDS
from dislab.metrics.score_table import label
from dislab.plugins import _PLUGINS, GROUPS, PARTS, available

ROOT = Path(__file__).parents[1]


PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/recipes.md",
    "docs/datasets.md",
    "docs/predictors.md",
    "docs/transfer.md",
    "docs/statistics.md",
    "docs/stress.md",
    "docs/coming_from.md",
    "docs/troubleshooting.md",
    "docs/api/base.md",
    "docs/api/data.md",
    "docs/api/datamodules.md",
    "docs/api/drawing.md",
    "docs/api/foundations.md",
    "docs/api/functional.md",
    "docs/api/helpers.md",
    "docs/api/networks.md",
    "docs/api/objectives.md",
    "docs/api/regularizers.md",
    "docs/api/scores.md",
    "docs/api/statistics.md",
    "docs/api/supervised.md",
    "docs/api/transfer.md",
]


@pytest.mark.slow
@pytest.mark.usefixtures("lightnings_level")
@pytest.mark.parametrize("page", PAGES)
def test_every_python_line_of_the_page_is_true(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failures, examples = doctest.testfile(str(ROOT / page), module_relative=False)
    assert examples > 0
    assert failures == 0


@pytest.mark.slow
@pytest.mark.parametrize(("page", "blocks"), [("recipes", 3), ("tutorial", None)])
def test_a_script_of_a_page_prints_nothing_but_its_results(
    page: str, blocks: int | None, tmp_path: Path
) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    code = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:blocks]
    examples = doctest.DocTestParser().get_examples("".join(code))
    script = "".join(one.source for one in examples if not one.source.startswith("print("))
    assert "trainer.fit(model, data)" in script
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_page_that_trains_leaves_out_the_notes_of_lightning() -> None:
    pages = {page.stem: "\n".join(code) for page in GUIDES if (code := all_blocks(page))}
    training = {name: code for name, code in pages.items() if "pl.Trainer(" in code}
    assert {"tutorial", "recipes"} <= training.keys()
    silent = 'logging.getLogger("lightning.pytorch").setLevel(logging.'
    assert [name for name, code in training.items() if silent not in code] == []


def all_blocks(page: Path) -> list[str]:
    """The Python code of a page."""
    return [block for section in sections(page) for block in python_blocks(section)]


def test_every_page_is_in_the_navigation_and_exists() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if page not in navigation} == set()


_FENCE = re.compile(r"^( *)```.*?^\1```\s*$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page by the rule of GitHub; `mkdocs build` checks those of MkDocs."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+?)(?: \{#.*\})?$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    slugs = {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}
    return slugs | set(re.findall(r'id="([^"]+)"', text))


def test_links_to_headings_lead_there_on_github_too() -> None:
    linked = False
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        text = _FENCE.sub("", page.read_text(encoding="utf-8"))
        for file, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text):
            assert anchor in anchors(page.parent / file if file else page), (page, anchor)
            linked = True
    assert linked


def test_code_of_the_pages_closes_the_archives_that_it_opens() -> None:
    blocks = [block for page in GUIDES for part in sections(page) for block in python_blocks(part)]
    assert any(re.search(r"with np\.load\(.*\.npz", block) for block in blocks)
    assert not [block for block in blocks if re.search(r"= np\.load\(.*\.npz", block)]


def test_no_link_follows_an_interval_as_the_site_reads_both_as_one_reference() -> None:
    assert _TWO_BRACKETS.search("0.25 [0.08, 0.40] [over six](locatello.md)")
    for page in ROOT.glob("docs/**/*.md"):
        text = _FENCE.sub("", page.read_text(encoding="utf-8"))
        assert not (joined := _TWO_BRACKETS.search(text)), (page, joined[0])


_TWO_BRACKETS = re.compile(r"\] \[[^]\n]*\](?=\()")
_PART = re.compile(r"^(#+) [^\n]*$|^( *)```(\w*)[^\n]*\n(.*?)^\2```", re.MULTILINE | re.DOTALL)
GUIDES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]


def sections(page: Path) -> list[str]:
    """A page in parts that begin at headings; its opening, with the title, is the first."""
    text = page.read_text(encoding="utf-8")
    starts = [one.start() for one in _PART.finditer(text) if one[1] and one[1] != "#"]
    return [text[start:end] for start, end in itertools.pairwise([0, *starts, len(text)])]


def python_blocks(section: str) -> list[str]:
    """The Python code of a part of a page, of examples without prompts and results."""
    found = []
    for block in (textwrap.dedent(one[4]) for one in _PART.finditer(section) if one[3] == "python"):
        examples = doctest.DocTestParser().get_examples(block)
        found.append("".join(one.source for one in examples) or block)
    return found


def names_of(code: str) -> tuple[set[str], set[str], set[str]]:
    """Names that code reads without making them, that it makes, and, of these, that it imports."""
    used: set[str] = set()
    made = set(dir(builtins))
    imported: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            imported.add((node.asname or node.name).partition(".")[0])
    return used - made - imported, made | imported, imported


def test_code_can_be_copied_with_the_code_of_its_section() -> None:
    pages = {
        page: [(_FENCE.sub("", part), python_blocks(part)) for part in sections(page)]
        for page in GUIDES
    }
    blocks = [block for parts in pages.values() for _, code in parts for block in code]
    assert len(blocks) > 80
    libraries = set().union(*(names_of(block)[2] for block in blocks))
    missing = []
    for page, parts in pages.items():
        opening: set[str] = set()  # what the section may use, made in the opening of the page
        for number, (words, code) in enumerate(parts):
            defined = set(opening)
            placeholders = set(re.findall(r"`(\w+)`", parts[0][0] + words)) - libraries
            for block in code:
                used, made, _ = names_of(block)
                missing += [(page.name, name, block) for name in used - defined - placeholders]
                defined |= made
            opening = defined if number == 0 else opening
    assert missing == []


def test_a_command_of_a_plugin_is_named_with_its_plugin() -> None:
    found = []
    for page in GUIDES:
        opening, *parts = sections(page)
        for part, (plugin, names) in itertools.product([opening, *parts], _PLUGINS.items()):
            name = "|".join(map(re.escape, names))
            command = rf"(?:(?<!from )dislab (?:study \w+ )?|--config[= ])(?:{name})(?![\w-])"
            found += [
                (page.name, one, plugin in opening + part) for one in re.findall(command, part)
            ]
    assert len(found) > 20
    assert [one for one in found if not one[2]] == []


def test_titles_in_the_navigation_differ() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    titles = re.findall(r"^ +- ([^:\n]+):", text.partition("\nnav:")[2], re.MULTILINE)
    assert len(titles) > 50
    assert len({one.lower() for one in titles}) == len(titles)
    results = text.partition("\n  - Results:")[2].partition("\n  - Reference:")[0]
    titles = re.findall(r"^ +- \"?([^:\n]+?)\"?: \S", results, re.MULTILINE)
    assert len(titles) > 15
    assert [one for one in titles if len(one.split()) > 4] == []
    starts = [
        (one, other)
        for one, other in itertools.permutations(titles, 2)
        if other.lower().startswith(one.lower())
    ]
    assert starts == []  # cut off, none reads like another


SOUGHT = [
    "beta-VAE",
    "cite",
    "disentanglement_lib",
    "Docker",
    "FAQ",
    "fine-tune",
    "GPU",
    "installation",
    "learning rate",
    "Isaac3D",
    "MIG of perfect codes",
    "MLflow",
    "multi-GPU",
    "NaN",
    "notebook",
    "out of memory",
    "own images",
    "resume",
    "save and load a model",
    "Slurm",
    "wandb",
]
"""Words that people search for; the search counts those of headings and openings most."""


@pytest.mark.parametrize("words", SOUGHT)
def test_a_heading_or_an_opening_has_the_words(words: str) -> None:
    places = []
    for path in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        opening = re.findall(r"^# .*\n+([^#]*?)\n\n", text, re.MULTILINE)
        places += [*re.findall(r"^#+ (.*)$", text, re.MULTILINE), *opening]
    assert any(words.lower() in one.lower() for one in places)


def test_a_short_script_has_at_most_15_lines() -> None:
    page = (ROOT / "docs/recipes.md").read_text()
    scripts = page.partition("\n## ")[2]  # the imports that all share come before
    blocks = re.findall(r"^```python\n(.*?)^```", scripts, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 9
    lines = [re.findall(r"^(?:>>>|\.\.\.) .*$", block, re.MULTILINE) for block in blocks]
    assert [block for block in lines if len(block) > 15] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_lines_of_code_fit_into_a_page_left_of_the_copy_button(page: Path) -> None:
    """At 1280 pixels there is room for 108 characters; the button covers the last ones."""
    blocks = _PART.finditer(page.read_text(encoding="utf-8"))
    code = [block for block in blocks if block[4] and block[3] not in ("math", "text")]
    lines = [
        line
        for block in code
        for line in textwrap.dedent(block[4]).splitlines()
        if len(line) > 100 - 2 * len(block[2])
    ]
    assert lines == []


def test_a_printed_entry_point_names_its_file_and_a_printed_module() -> None:
    entries = 0
    for page in GUIDES:
        blocks = [block for block in _PART.finditer(page.read_text(encoding="utf-8")) if block[4]]
        texts = [textwrap.dedent(block[4]) for block in blocks]
        modules = set(re.findall(r"^# src/(\S+)\.py$", "\n".join(texts), re.MULTILINE))
        for text, language in zip(texts, [block[3] for block in blocks], strict=True):
            if language == "toml":
                assert text.startswith("# pyproject.toml\n"), (page.name, text)
                points = tomllib.loads(text)["project"]["entry-points"]
                for group, parts in points.items():
                    values = [value.partition(":")[0].replace(".", "/") for value in parts.values()]
                    assert group == "dislab.configurations" or {*values} <= modules, page.name
                    entries += len(values)
    assert entries > 4


def test_commands_name_configurations_without_folder_and_suffix() -> None:
    files = [ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "configs").rglob("*.yaml"), *(ROOT / "plugins").glob("*/README.md")]
    paths = re.compile(r"(?:--config[= ]|dislab (?:study \w+|report) )configs/\S+")
    assert {path: found for path in files if (found := paths.findall(path.read_text()))} == {}


def test_every_extra_is_in_the_table_of_the_installation() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/install.md").read_text(), re.MULTILINE)
    extras = set(project["optional-dependencies"]) - {"test", "docs", "dev"}
    assert sorted(extras) == [name for name in listed if not name.isupper()]


def test_the_overview_names_every_method_of_dislab_and_its_plugins() -> None:
    page = (ROOT / "docs/overview.md").read_text().lower().replace("β", "beta")
    letters = re.sub(r"[^a-z]", "", page)
    projects = [ROOT / "pyproject.toml", *(ROOT / "plugins").glob("*/pyproject.toml")]
    points = [tomllib.loads(path.read_text())["project"]["entry-points"] for path in projects]
    methods = [name for groups in points for name in groups.get("dislab.objectives", {})]
    assert len(methods) > 20
    assert [name for name in methods if name.lower() not in letters] == []


def test_every_group_has_a_generated_table() -> None:
    text = (ROOT / "docs/parts.md").read_text()
    for group in GROUPS:
        assert f"<!-- table: plugins {group} -->" in text
        assert all(plugin.summary for plugin in available(group))


def test_the_page_of_plugins_has_the_signatures_of_every_base_class() -> None:
    text = (ROOT / "docs/plugins.md").read_text().partition("## Methods of the base classes")[2]
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block
    classes = [one for one in ast.parse(block[1]).body if isinstance(one, ast.ClassDef)]
    groups = {f"{one.name.lower()}s" for one in classes} - {"planneddatas", "indexplans"}
    assert groups == set(PARTS)
    assert len(classes) == len(PARTS) + 2
    for one in classes:
        cls = getattr(plans if hasattr(plans, one.name) else base, one.name)
        methods = [node for node in one.body if isinstance(node, ast.FunctionDef)]
        assert {node.name for node in methods} >= cls.__abstractmethods__, one.name
        for node in methods:
            found = inspect.getattr_static(cls, node.name)
            function: Any = found.fget if isinstance(found, property) else found
            arguments = list(inspect.signature(function).parameters)
            assert [argument.arg for argument in node.args.args] == arguments, node.name


def test_pages_have_the_tables_of_their_sources() -> None:
    tables = runpy.run_path(str(ROOT / "docs/tables.py"))
    pages = {str(page.relative_to(ROOT)): page.read_text() for page in tables["pages"]()}
    assert {"docs/datasets.md", "docs/zoo.md", "docs/results/dittadi.md"} <= set(pages)
    for name, page in pages.items():
        assert tables["filled"](page) == page, f"{name} is behind: make docs-tables"
    stale = "<!-- table: plugins regularizers -->\nold\n<!-- end -->"
    assert "`TotalCorrelation`" in tables["filled"](stale)
    assert "old" not in tables["filled"](stale)


def test_a_table_of_results_says_what_its_brackets_and_stars_hold() -> None:
    tables = runpy.run_path(str(ROOT / "docs/tables.py"))
    header, rows = ["method", "MIG", "error"], [["VAE", "-0.456 [-0.471, 0.5]\\*", "0.123"]]
    *_, row, empty, legend = tables["_shown"](header, rows, "seeds").split("\n")
    assert row == "| VAE | −0.46 [−0.47, 0.5]\\* | 0.123 |"  # scores alone have two decimals
    assert empty == ""
    assert legend.startswith("*Brackets: 95 % intervals, by leaving out one seed at a time")
    assert legend.endswith(r"\*: supported, p (Holm) below .05.*")
    assert tables["_shown"](["a"], [["0.5 (0.4 to 0.6)"]], "").endswith("0.6) |")
    with pytest.raises(SystemExit, match="has intervals, but no word of runs"):
        tables["_shown"](header, rows, "")


def test_chance_in_results_is_the_level_of_a_score_unless_its_kind_is_named() -> None:
    """Errors without codes, guesses and levels of ρ are other numbers, and have other names."""
    is_score = re.compile("MIG|SAP R²|Modularity|DCI disentanglement|MCC.*|.*score|perfect|here.*")
    for path in sorted((ROOT / "benchmarks/results").glob("*.json")):
        for name, table in json.loads(path.read_text()).get("tables", {}).items():
            levels = [row for row in table["rows"] if "chance" in row]
            heads = {
                head
                for row in levels
                for head, cell in zip(table["header"], row, strict=True)
                if re.fullmatch(r"[\d.]+", cell) and row.index("chance") < row.index(cell)
            }
            assert all(map(is_score.fullmatch, heads)), (path.name, name, heads)


def test_results_name_scores_as_the_pages_of_runs_and_studies_do() -> None:
    other = re.compile(r"\bDCI [DCI]\b|D-score|\bSAP\b(?! R²| does not)|UDR \(")
    for path in sorted((ROOT / "benchmarks/results").glob("*.json")):
        tables = json.loads(path.read_text(encoding="utf-8")).get("tables", {})
        cells = [
            cell
            for table in tables.values()
            for row in [table["header"], *table["rows"]]
            for cell in row
        ]
        assert [cell for cell in cells if other.search(cell)] == [], path.name
    named = {label(name) for name in ("mig", "sap_r2", "dci_hgbt_disentanglement")}
    stored = json.loads((ROOT / "benchmarks/results/locatello_rooms.json").read_text())
    assert named < set(stored["tables"]["runs"]["header"])


def test_a_part_of_a_table_has_the_rows_and_columns_that_were_named() -> None:
    tables = runpy.run_path(str(ROOT / "docs/tables.py"))
    header = ["method", "strength", "MIG", "SAP"]
    rows = [["VAE", "1", "0.1", "0.2"], ["VAE", "10", "0.3", "0.4"], ["chance", "", "0.0", "0.0"]]
    part = tables["_part"](header, rows, ["chance", "VAE 1"], ["MIG"])
    assert part == (["method", "MIG"], [["chance", "0.0"], ["VAE", "0.1"]])
    assert len(tables["_part"](header, rows, ["VAE"], ["SAP"])[1]) == 2
    with pytest.raises(SystemExit, match="has no VAE 2, DCI disentanglement"):
        tables["_part"](header, rows, ["VAE 2"], ["DCI disentanglement"])
    marked = "<!-- table: results first_run scores | MIG | chance -->\n<!-- end -->"
    assert tables["filled"](marked).count("| MIG | 0.00 |") == 1


def test_the_pages_of_scores_and_commands_begin_with_a_table_of_all() -> None:
    tables = runpy.run_path(str(ROOT / "docs/tables.py"))["TABLES"]
    scores = re.findall(r"^\| \[`(\w+)`\]\(#[\w-]+\) \|", tables["scores"](), re.MULTILINE)
    own = [part.name for part in available("metrics") if part.distribution == "dislab"]
    assert sorted(scores) == sorted(own)
    commands = re.findall(r"^\| `dislab (\w+)` \| [A-Z]", tables["commands"](), re.MULTILINE)
    assert tuple(commands) == COMMANDS


def test_the_tally_counts_every_claim_on_the_page_by_a_declared_verdict() -> None:
    page = (ROOT / "docs/results/what_comes_out.md").read_text()
    tally, _, claims = page.partition("<!-- table: verdicts -->")[2].partition("<!-- end -->")
    heads, _, *rows = [line.strip("| ").split(" | ") for line in tally.split("\n") if line]
    declared = re.findall(r"^\* \*\*([a-z ,]+)\*\*:", claims, re.MULTILINE)
    counts = dict(zip(heads[1:], map(int, rows[-1][1:]), strict=True))
    cells = [
        line.strip("| ").split(" | ")
        for line in claims.split("\n")
        if line.startswith("| ") and line.count(" | ") == 3
    ]
    cells = [row for row in cells if row[1] not in ("---", "comes out")]
    tried = Counter(verdict for _, verdict, *_ in cells)
    assert set(tried) <= set(declared)
    assert counts.pop("claims") == len(cells) > 70
    assert counts == tried
    columns = [sum(int(row[k]) for row in rows[:-1]) for k in range(1, len(heads))]
    assert columns == list(map(int, rows[-1][1:]))
    short = r" \((?:at least )?(\d+) of (\d+) tests agrees?, \d+ disagrees?\)$"
    for claim, verdict, there, here in cells:  # also those that no command wrote
        finding = re.sub(r"(van )?\w+ et al\. \(\d{4}b?\)|section [\d.]+|Fig\. \d+", "", there)
        assert re.sub(r"\b(pictures?|tables?|curves|surface|definition)\b|\W", "", finding), claim
        assert len(finding.split()) <= 8, claim
        found = re.search(short, here) or re.match(
            r"(\d+) of (\d+) tests agrees?( \(.*?\))?, (\d+) disagrees?( \(.*?\))?, ", here
        )
        if verdict in ("mostly", "partly"):
            assert found, claim
            good, tests = map(int, found.groups()[:2])
            if found.re.groups > 2:
                assert found[3], claim  # their names
                assert bool(found[5]) == (found[4] != "0"), claim
            assert verdict == ("mostly" if 2 * good > tests else "partly"), claim
        assert len(here.split()) <= 25, claim  # more is for the linked page


PHRASES = yaml.safe_load((ROOT / "docs/claims.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("study", PHRASES)
def test_a_claim_has_one_short_phrase_of_stored_numbers(study: str) -> None:
    path = ROOT / f"benchmarks/results/{study}.json"
    tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
    claims = {row[0]: row[-1] for row in tables["claims"]["rows"]}
    assert PHRASES[study].keys() == claims.keys()
    rows = [row for name, table in tables.items() if name != "claims" for row in table["rows"]]
    beside = "\n".join(" | ".join(row) for row in rows)
    for claim, phrase in PHRASES[study].items():
        found = re.findall(r"−?\.?\d[\d.]*\d(?: \[[^]]*\])?", phrase)
        assert 1 <= len(found) <= 5, claim
        allowed = f"{claims[claim]}\n{beside}".replace("+", "")
        for number in found:
            stored = number.replace("−", "-").replace("p .", "p 0.")
            stored = f"0{stored}" if stored.startswith(".") else stored
            assert re.search(rf"(?<![\d.]){re.escape(stored)}(?![\d.]\d)", allowed), (claim, number)


def test_a_claim_keeps_the_numbers_of_its_tests() -> None:
    tables = runpy.run_path(str(ROOT / "docs/tables.py"))["TABLES"]
    for study in PHRASES:
        path = ROOT / f"benchmarks/results/{study}.json"
        rows = json.loads(path.read_text(encoding="utf-8"))["tables"]["claims"]["rows"]
        shown = [line.strip("| ").split(" | ") for line in tables["claims"](study).split("\n")]
        for (claim, verdict, _, here), line in zip(rows, shown[2:], strict=False):
            assert line[:2] == [claim, verdict]
            counts = re.match(r"(.*?\d+ tests) for\b.*?, (\d+) against", here)
            assert bool(counts) == ("disagree" in line[3])
            ends = rf"\({counts[1]} agrees?, {counts[2]} disagrees?\)$" if counts else ""
            assert re.search(ends, line[3])


def test_a_file_in_a_page_has_a_link_for_readers_of_the_markdown() -> None:
    hook = runpy.run_path(str(ROOT / "docs/hooks.py"))["on_page_markdown"]
    count = 0
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text()
        for above, file in re.findall(r'(.*)\n\n```.*\n--8<-- "([^"]+)"\n```', text):
            links = re.findall(r"\]\(([^)]+)\)", above)
            assert (ROOT / file).resolve() in [(page.parent / link).resolve() for link in links], (
                f"{page}: no link to {file} in the line above it"
            )
            count += 1
        # the site has the text of the file, and no link that leads out of it
        for link in re.findall(r"\]\(([^)#:]+)\)", hook(text)):
            assert (page.parent / link).resolve().is_relative_to(ROOT / "docs"), page
    includes = [page.read_text().count('\n--8<-- "') for page in (ROOT / "docs").rglob("*.md")]
    assert count == sum(includes) > 60


def test_every_question_has_its_page_and_an_answer_of_ten_words() -> None:
    page = (ROOT / "docs/results/what_comes_out.md").read_text()
    rows = re.findall(r"^\| (.*\?) \| (.*) \| (.*) \|$", page.partition("\n## ")[0], re.MULTILINE)
    assert [answer for _, _, answer in rows if len(answer.split()) > 10] == []
    linked = {name for _, link, _ in rows for name in re.findall(r"\((\w+)\.md", link)}
    assert linked == {path.stem for path in RESULTS}


def test_every_corrected_p_on_a_page_of_results_is_stored() -> None:
    stored = "".join(path.read_text() for path in (ROOT / "benchmarks/results").glob("*.json"))
    stored += "".join(path.read_text() for path in (ROOT / "docs/results").glob("*/*.csv"))
    written = re.compile(r"\bp (?:at most |at least |below )?(0?\.\d{3})\b")
    for page in (ROOT / "docs/results").glob("*.md"):
        text = re.sub(r"<!-- table:.*?<!-- end -->", "", page.read_text(), flags=re.DOTALL)
        found = {f"0.{p.partition('.')[2]}" for p in written.findall(text)}
        assert {p for p in found if f'"{p}"' not in stored and f"p {p}" not in stored} == set(), (
            page
        )


def test_an_interval_beside_a_link_stands_on_the_linked_page() -> None:
    folder = ROOT / "docs/results"
    checked = 0
    for row in (folder / "what_comes_out.md").read_text().split("\n"):
        pages = re.findall(r"\]\(([\w/.]+\.md)", row) if row.startswith("| ") else []
        linked = "".join((folder / page).read_text() for page in pages).replace("+", "")
        if not linked:
            continue
        for low, high in re.findall(r"(?<!\w)\[(−?\d+\.\d+), (−?\d+\.\d+)\]", row):
            # of the opposite difference
            ends = [f"−{end}".replace("−−", "").replace("−0.00", "0.00") for end in (high, low)]
            assert f"[{low}, {high}]" in linked or f"[{', '.join(ends)}]" in linked, row
            checked += 1
    assert checked > 20


def test_a_phone_stacks_tables_of_sentences_with_the_headings_of_their_columns() -> None:
    hook = runpy.run_path(str(ROOT / "docs/hooks.py"))["on_page_content"]
    rows = [["claim of the paper", "comes out"], ["<a>A</a>", "yes"], ["B", "no"]]
    cells = [
        "".join(f"<{kind}>{cell}</{kind}>\n" for cell in row)
        for kind, row in zip(("th", "td", "td"), rows, strict=True)
    ]
    head, *body = (f"<tr>\n{row}</tr>\n" for row in cells)
    table = f"<table>\n<thead>\n{head}</thead>\n<tbody>\n{''.join(body)}</tbody>\n</table>"
    page = SimpleNamespace(file=SimpleNamespace(src_uri="results/x.md"), meta={})
    made = hook(f"<p>x</p>{table}", page=page)
    assert page.meta == {"search": {"boost": 0.5}}  # below the guides
    assert made.startswith('<p>x</p><div class="stacked"><table>')
    assert made.count('<td data-label="claim of the paper">') == 2
    assert '<td data-label="comes out">no</td>' in made
    numbers = table.replace("claim of the paper", "method")
    assert hook(numbers, page=page) == numbers
    names = "<td><code>a.BottleneckGenerator</code></td><td><code>a.b</code></td>"
    broken = "<td><code>a.<wbr>Bottleneck<wbr>Generator</code></td><td><code>a.<wbr>b</code></td>"
    assert hook(names, page=page) == broken
    numbers = "0.1 ± 0.2, 3 [−0.4, 0.5] (0.1 to 2)"
    assert hook(numbers, page=page).split(" ") == [
        *("0.1", "±\xa00.2,", "3", "[−0.4,\xa00.5]", "(0.1", "to\xa02)")
    ]
    picture = '<img alt="rows" src="../x.svg" />'
    assert hook(picture, page=page) == f'<a class="picture" href="../x.svg">{picture}</a>'
    style = (ROOT / "docs/extra.css").read_text().partition("  .picture {")[2]
    assert "overflow-x: auto" in style.partition("}")[0]


def test_findings_stand_on_the_intervals_of_the_pages() -> None:
    page = (ROOT / "docs/results/what_comes_out.md").read_text()
    findings = page.partition("## Findings")[2].partition("\n## ")[0].replace("−", "-")
    bullets = findings.split("\n* ")[1:]
    assert 4 <= len(bullets) <= 6
    results = (ROOT / "benchmarks/results").glob("*.json")
    stored = "".join(path.read_text() for path in results).replace("+", "")
    for bullet in bullets:
        intervals = re.findall(r"-?\d+\.\d+\s\[-?\d+\.\d+,\s-?\d+\.\d+\]", bullet)
        assert intervals, bullet
        assert [one for one in intervals if " ".join(one.split()) not in stored] == []


RESULTS = [p for p in sorted((ROOT / "docs/results").glob("*.md")) if p.stem != "what_comes_out"]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_page_of_results_has_its_finding_then_tables_and_its_setup_last(path: Path) -> None:
    text = path.read_text()
    blocks = [block.strip() for block in text.split("\n\n") if block.strip()]
    finding = blocks[1]
    assert finding.startswith("**")
    assert finding.endswith(".**")
    sentences = re.split(r"(?<=[.:])\s+(?=\[?[A-Z])", re.sub(r"\bet al\.", "et al", finding))
    assert len(sentences) <= 2
    assert len(re.sub(r"\[[^]]*\]", "", finding).split()) <= 35
    assert re.search(r"\d", finding)
    opening, *parts = text.split("\n## ")
    assert "\n|" not in opening
    assert re.match(r"[A-Z](?:\S+\s+){5,60}", f"{blocks[2]} ")  # what it means for a choice
    assert len(parts) > 1
    assert parts[-1].startswith("Setup\n")
    assert re.search(r"^##+ Limitations$", text, re.MULTILINE)
    for picture in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", text):
        assert picture[0]
        assert (path.parent / picture[1]).is_file()


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_page_of_results_names_the_files_of_its_data(path: Path) -> None:
    text = path.read_text()
    (data,) = re.findall(r"^Data of this page: (.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    files = re.findall(r"`([\w/]+\.(?:csv|json))`", data)
    assert files
    folders = [Path(name).parent for name in files]
    for k, name in enumerate(files):  # a bare name lies beside the one before it
        folder = next(folder for folder in folders[k::-1] if folder != Path())
        assert (ROOT / folder / Path(name).name).is_file(), name
    names = {Path(name).name for name in files}
    assert {
        f"{name}.json" for name in re.findall(r"<!-- table: (?:results|claims) (\w+)", text)
    } <= names
    for study in re.findall(r"<!-- table: summary (\w+)", text):
        assert f"docs/results/{study}/runs.csv" in files


def test_every_picture_of_results_has_the_numbers_of_its_table() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks/study_figures.py"))
    pages = "".join(path.read_text() for path in RESULTS)
    for name, (result, _) in script["FIGURES"].items():
        picture = f"images/results/{name}.svg"
        behind = f"{name} is behind: python benchmarks/study_figures.py"
        assert script["origin"](result) in (ROOT / "docs" / picture).read_text(), behind
        assert f"](../{picture})" in pages
    left, right = script["labels"]().axes
    rows = script["tables_of"]("labels_rooms")["labels"][1:-1]
    dots = {line.get_xdata()[0] for line in left.lines if line.get_marker() != "None"}
    assert dots == {float(row[3].split()[0]) for row in rows}
    chance = script["tables_of"]("labels_rooms")["labels"][-1][3]
    for axes in (left, script["correlated"]().axes[1]):
        assert axes.get_xlabel().endswith(f"; dotted: chance, {chance}")
    shares = script["tables_of"]("locatello_rooms")["shares"][1:]
    bars = script["locatello"]().axes[0].containers
    for place, container in zip((1, 3), bars[:2], strict=True):
        hatched = [bar.get_hatch() is not None for bar in container]
        assert hatched == ["not reached" in row[place + 1] for row in shares]
        # a share is above its own level unless the table says otherwise
        for row, is_hatched in zip(shares, hatched, strict=True):
            assert is_hatched or float(row[place].split()[0]) >= float(row[place + 1])
    assert right.get_xlabel().startswith("ρ with DCI disentanglement")
    returns = script["tables_of"]("darla_room")["returns"][1:-1]
    (axes,) = script["darla"]().axes
    drawn = [line.get_xdata()[0] for line in axes.lines if line.get_marker() != "None"]
    means = [float(cell.split()[0]) for row in returns for cell in row[1:]]
    assert sorted(drawn) == pytest.approx(sorted(means), abs=0.006)


CURVES = ("chen", "chen_total_correlation", "locatello", "kim", "higgins", "infowgangp")


@pytest.mark.parametrize("name", CURVES)
def test_the_pictures_of_curves_have_the_numbers_of_their_tables(name: str) -> None:
    script = runpy.run_path(str(ROOT / "benchmarks/study_curves.py"))
    path = ROOT / f"benchmarks/results/curves_{name.partition('_')[0]}.json"
    picture = (ROOT / f"docs/images/results/curves_{name}.svg").read_text()
    behind = f"python benchmarks/study_curves.py {name.partition('_')[0]}"
    assert script["origin"](json.loads(path.read_text())) in picture, behind


def test_the_surface_of_a_score_has_its_level_by_chance() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks/study_curves.py"))
    settings = itertools.product((3, 6), ("0.001", "0.002"), range(3))
    table = pd.DataFrame(settings, columns=["latents", "norm", "seed"]).assign(state="finished")
    for name in ("BETA", "FACTOR", "DCI"):
        table[script[name]] = 0.1 * table["seed"]
        table[f"{script[name]}/chance"] = 0.25
    tables = script["surface_tables"](table)
    assert tables["means"]["rows"][-1] == ["chance", "", "0.25", "0.25", "0.25"]
    axes, bar = script["surface_figure"](tables, {"DCI disentanglement": 0.25}).axes
    assert len(axes.texts) == 4
    assert bar.get_ylabel() == "DCI disentanglement; chance: 0.25"


def test_every_data_set_is_in_the_table_of_its_page() -> None:
    before, _, after = (ROOT / "docs/datasets.md").read_text().partition("\n\nThe number after")
    assert after
    rows = {line.split("`")[1]: line for line in before.splitlines() if line.startswith("| `")}
    for plugin in available("datasets"):
        if plugin.distribution == "dislab":  # whatever else is installed has its own page
            assert rows[plugin.name].count("|") == 7
    assert "| 480,000 | 3×64×64 | floor_hue 10, " in rows["Shapes3D"]
    assert rows["Shapes3D"].endswith("| Apache-2.0 | drawn; read with `source: official` |")
    assert rows["GaussianBlob"].endswith("| drawn |")


def test_the_changelog_has_every_fragment_under_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = runpy.run_path(str(ROOT / "docs/hooks.py"))["on_page_markdown"]
    (tmp_path / "changelog.d").mkdir()
    for name, text in {
        "+b.added.md": "New b.",
        "+a.added.md": "New a,\nlong.",
        "+c.fixed.md": "C.",
    }.items():
        (tmp_path / "changelog.d" / name).write_text(text + "\n")
    (tmp_path / "CHANGELOG.md").write_text("<!-- towncrier release notes start -->\n\n## 0.1\n")
    monkeypatch.setitem(hook.__globals__, "ROOT", tmp_path)
    assert hook("<!-- changelog -->").split("\n") == [
        *("## Next release", "", "### Added", "", "- New a,", "  long.", "- New b.", ""),
        *("### Fixed", "", "- C.", "", "", "", "## 0.1", ""),
    ]


def test_the_changelog_page_has_every_kind_of_fragment() -> None:
    hooks = runpy.run_path(str(ROOT / "docs/hooks.py"))
    page = hooks["on_page_markdown"]((ROOT / "docs/changelog.md").read_text())
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    assert hooks["KINDS"] == tuple(kind["directory"] for kind in settings["type"])
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        assert fragment.read_text().split("\n")[0].strip() in page, fragment.name


@pytest.mark.slow
def test_the_home_page_opens_with_the_explorer_of_its_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    docs = ROOT / "docs"
    home, page = (
        (docs / "index.md").read_text(),
        runpy.run_path(str(docs / "hooks.py"))["explorer"](),
    )
    assert capsys.readouterr().out == ""
    frame = re.search(r"<iframe ([^>]*)>", home)
    assert frame
    attributes = dict(re.findall(r'(\w+)="([^"]*)"', frame[1]))
    assert attributes["src"] == "explorer.html"
    assert attributes["loading"] == "lazy"
    assert attributes["title"]
    assert "](explorer.html)" in home  # a page of its own
    still = re.search(r'<noscript>.*<img src="([^"]+)" alt="[^"]+">', home, re.DOTALL)
    assert still
    assert (docs / still[1]).is_file()
    assert len(page.encode()) <= 1.1e6
    data = re.search(r'<script type="application/json" id="explorers">(.*?)</script>', page)
    assert data
    (explorer,) = json.loads(data[1])
    assert "network" in explorer
    record = json.loads((ROOT / "benchmarks/results/home.json").read_text())
    carried = [one["carries"] for one in explorer["sliders"] if one["carries"]]
    assert sorted(carried) == sorted(record["gaps"])  # a latent each
    assert min(record["gaps"].values()) > 0.5
    assert f"{record['steps']:,} steps</h1>" in page
    assert record["command"] in (docs / "methods/adagvae.md").read_text()


def test_every_method_has_a_picture_in_the_gallery() -> None:
    methods = ROOT / "docs" / "methods"
    gallery = (methods / "index.md").read_text().partition('<div class="gallery" markdown>')[2]
    shown = re.findall(r"\[!\[([^]]+)\]\(\.\./images/gallery/(\w+)\.png\)\]\(([^)#]+)", gallery)
    pictures = {path.stem for path in (ROOT / "docs/images/gallery").glob("*.png")}
    assert {name for _, name, _ in shown} == pictures
    pages = {path.name for path in methods.glob("*.md")} - {"index.md"}
    assert {page for _, _, page in shown} >= pages


def test_the_gallery_has_the_pictures_of_the_pages_as_they_are_now() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks/effects/gallery.py"))
    assert "betavae_dae" in script["CUTS"]
    for name, (source, box) in script["CUTS"].items():
        with (
            Image.open(script["IMAGES"] / source) as whole,
            Image.open(script["GALLERY"] / f"{name}.png") as cut,
        ):
            page, shown = (
                np.asarray(one.convert("RGBA").convert("RGB"), float)
                for one in (whole.crop(box), cut)
            )
        behind = f"{name} is behind: python benchmarks/effects/gallery.py"
        assert shown.shape == page.shape, behind
        assert np.abs(shown - page).mean() < 5, behind  # it has 128 colours


def test_the_table_of_the_rooms_has_the_stored_scores_of_other_scripts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks/effects")
    rows = runpy.run_path(str(ROOT / "benchmarks/effects/rooms.py"))["rows"]
    stored = json.loads((ROOT / "benchmarks/results/rooms.json").read_text())
    assert stored["tables"]["methods"]["rows"] == rows(stored["methods"])


LISTED = re.compile(r"^::: (\S+)(?:\n    options:\n      members: \[(.*)\])?", re.MULTILINE)


def documented() -> list[object]:
    """The public names of the modules that the pages of the API list."""
    text = "".join(page.read_text() for page in sorted((ROOT / "docs/api").glob("*.md")))
    found = []
    for name, members in LISTED.findall(text):
        module = import_module(name)
        names = members.split(", ") if members else getattr(module, "__all__", defined(module))
        found += [getattr(module, one) for one in names if not one.startswith("_")]
    return found


@pytest.mark.parametrize(("page", "module"), [("scores", metrics), ("runs", runs), ("runs", plots)])
def test_a_page_that_chooses_an_order_has_every_name_once(page: str, module: ModuleType) -> None:
    text = (ROOT / f"docs/api/{page}.md").read_text()
    listed = [names for name, names in LISTED.findall(text) if name == module.__name__]
    assert sorted(", ".join(listed).split(", ")) == sorted(module.__all__)


def test_a_module_of_the_reference_has_its_options_once() -> None:
    for page in sorted((ROOT / "docs/api").glob("*.md")):
        for block in page.read_text().split("\n::: ")[1:]:
            assert block.count("    options:") <= 1, (page.name, block)


def test_the_reference_shows_names_where_users_import_them_from() -> None:
    """A name that a package exports is not shown under the module that defines it."""
    inner = []
    for page in sorted((ROOT / "docs/api").glob("*.md")):
        for name, members in LISTED.findall(page.read_text()):
            parent, _, last = name.rpartition(".")
            module, package = import_module(name), import_module(parent)
            names = members.split(", ") if members else getattr(module, "__all__", defined(module))
            exported = {*getattr(package, "__all__", ())} - {last}
            inner += [f"{name}.{one}" for one in names if parent != "dislab" and one in exported]
    assert inner == []


def test_functions_named_like_their_files_are_in_the_reference() -> None:
    """A page of a package leaves such a function out, as its reader finds the file instead."""
    text = "".join(page.read_text() for page in sorted((ROOT / "docs/api").glob("*.md")))
    listed = {name for name, _ in LISTED.findall(text)}
    packages = [name for name in listed if hasattr(import_module(name), "__path__")]
    named = [
        f"{package}.{name}"
        for package in packages
        for name in getattr(import_module(package), "__all__", ())
        if (Path(str(import_module(package).__file__)).parent / f"{name}.py").exists()
    ]
    assert named
    assert sorted(set(named) - listed) == []


PAGES_OF_USERS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/examples").glob("*.py")),
    ROOT / "README.md",
]


def test_what_pages_and_examples_import_is_in_the_reference() -> None:
    shown = {id(one) for one in documented()}
    hidden = [
        f"{page.name}: from {module} import {name}"
        for page in PAGES_OF_USERS
        for module, names in re.findall(
            r"from (dislab(?:\.\w+)*) import ([\w, ]+)", page.read_text()
        )
        for name in names.split(", ")
        if not inspect.ismodule(one := getattr(import_module(module), name))
        and id(one) not in shown
    ]
    assert hidden == []


def defined(module: ModuleType) -> list[str]:
    """The names that a module defines itself."""
    names = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [one.id for one in targets if isinstance(one, ast.Name)]
    return names


def imported(source: str) -> list[tuple[str, str]]:
    """Modules of dislab, and what is imported from each."""
    return [
        (node.module, name.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "dislab"
        for name in node.names
        if node.module
    ]


PLUGINS = sorted((ROOT / "plugins").glob("*/*/**/*.py"))


def test_plugins_use_documented_names_only() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in PLUGINS}
    page = (ROOT / "docs/plugins.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    sources |= {f"docs/plugins.md, block {number}": text for number, text in enumerate(blocks)}
    shown = {id(one) for one in documented()}
    hidden = [
        f"{where}: from {module} import {name}"
        for where, source in sources.items()
        for module, name in imported(source)
        if id(getattr(import_module(module), name)) not in shown
    ]
    assert PLUGINS
    assert hidden == []
