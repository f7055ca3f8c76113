import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.report.cases import write_run
from tests.study.conftest import TINY
from tests.study.test_summary_folder import TEXT, filled

from dislab.cli import main
from dislab.plugins import available, load
from dislab.report.citations import citations, references
from dislab.study.results import StudyFolder

CITATION = Path(__file__).parents[2] / "CITATION.cff"


def field(entry: str, name: str) -> str:
    match = re.search(rf"  {name} = \{{(.*)\}},?\n", entry)
    assert match, (name, entry)
    return match[1]


def test_entries_are_complete_and_have_different_keys() -> None:
    keys = [entry.partition("{")[2].partition(",")[0] for entry in references()]
    assert len(set(keys)) == len(keys)
    for entry in references():
        assert entry.count("{") == entry.count("}")
        assert all(field(entry, name) for name in ("title", "author", "year", "url"))


@pytest.mark.parametrize("group", ["objectives", "regularizers", "metrics"])
def test_every_part_of_a_paper_has_an_entry(group: str) -> None:
    for plugin in available(group):
        urls = re.findall(r"arxiv.org/abs/[\d.]*\d", load(group, plugin.name).__doc__ or "")
        if plugin.distribution == "dislab" and urls:
            cited = citations({"model": {"class_path": f"dislab.{group}.{plugin.name}"}})
            cited |= citations({"evaluate": {"metrics": {"a": plugin.name}}})
            assert not [entry for entry in cited.values() if f"{{{plugin.name}," in entry]
            assert len(cited) > 1, plugin.name


def test_citation_cff_has_all_authors() -> None:
    entries = {field(entry, "url"): entry for entry in references()}
    for reference in yaml.safe_load(CITATION.read_text())["references"]:
        if reference["url"] in entries:
            authors = field(entries[reference["url"]], "author").split(" and ")
            assert len(reference["authors"]) == len(authors), reference["title"]


def test_the_citation_of_dislab_has_one_version_and_one_year() -> None:
    cff = yaml.safe_load(CITATION.read_text())
    preferred, entry = cff["preferred-citation"], citations({})[""]
    project = tomllib.loads(CITATION.with_name("pyproject.toml").read_text())["project"]
    assert cff["version"] == preferred["version"] == project["version"]
    assert field(entry, "year") == str(preferred["year"])
    assert field(entry, "title") == preferred["title"] == cff["title"]


def test_a_source_without_an_entry_is_cited_by_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dislab.report.citations.references", list)
    cited = citations({"evaluate": {"metrics": {"mig": {"class_path": "dislab.metrics.MIG"}}}})
    assert cited["https://arxiv.org/abs/1802.04942"].startswith("@misc{MIG,")


def test_the_command_prints_entries_of_runs_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(write_run(tmp_path / name)) for name in ("a", "b")]
    assert main(["cite", *runs]) == 0
    text = capsys.readouterr().out
    assert text.startswith("% dislab (software)\n@software{dislab,")
    entries = text.strip().split("\n\n")
    assert all(re.match(r"% \S.* \([a-z ]+\)\n@\w+\{", entry) for entry in entries)
    assert any(entry.startswith("% VAE (method)") for entry in entries)
    assert text.count("@inproceedings{kingma2014vae,") == 1
    assert main(["cite", str(tmp_path)]) == 0  # a folder of runs
    assert capsys.readouterr().out == text
    assert main(["cite", str(tmp_path / "c")]) == 2
    assert "is no run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seeds", "codes", "cited"),
    [
        (5, ", codes: {images: 100}", ["duan2020udr", "locatello2020"]),
        (4, ", codes: {images: 100}", ["locatello2020"]),
        (5, "", []),
    ],
)
def test_a_study_cites_the_scores_that_its_tables_add(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: int, codes: str, cited: list[str]
) -> None:
    (tmp_path / "base.yaml").write_text(TINY)
    folder = StudyFolder(tmp_path / "studies" / "mine")
    folder.path.mkdir(parents=True)
    filled(folder, TEXT.format(seeds=seeds, codes=codes))
    assert main(["cite", str(folder.path)]) == 0
    text = capsys.readouterr().out
    assert [key for key in ("duan2020udr", "locatello2020") if key in text] == cited
    assert ("% UDR (score)\n" in text) == ("duan2020udr" in cited)


def test_the_command_reads_the_configurations_of_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "base.yaml").write_text(TINY)
    folder = StudyFolder(tmp_path / "studies" / "mine")
    folder.path.mkdir(parents=True)
    plan = filled(folder, TEXT.format(seeds=3, codes=""))
    read: list[Mapping[str, Any]] = []

    def noted(settings: Mapping[str, Any]) -> dict[str, str]:
        read.append(settings)
        return {"": "@a"}

    monkeypatch.setattr("dislab.report.citations.citations", noted)
    assert main(["cite", str(folder.path)]) == 0
    assert capsys.readouterr().out == "% dislab (software)\n@a\n"
    assert len(read) == len({id(run.group) for run in plan.runs}) > 1
