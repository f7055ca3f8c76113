import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.exports.test_publications import TEXTS, hostile
from tests.report.cases import blobs, vae
from tests.report.test_page import within
from tests.study.conftest import planned, scored

from dislab.errors import InputError
from dislab.metrics.score_table import blind_spot
from dislab.report import ReportedRun
from dislab.study import Study
from dislab.study.page import study_page_of, write_study_page
from dislab.study.results import Done, Failed, StudyFolder
from dislab.study.schedule import study_file_of

TEXT = """
base: [base.yaml]
axes: {method: {one: {optimizer: 1}, two: {optimizer: 2}}, beta: [1, 4]}
seeds: 2
"""
Make = Callable[..., Study]


@pytest.fixture
def make(folder: StudyFolder, tmp_path: Path) -> Make:
    """A study whose runs have the named scores, in the order of the runs; None is waiting."""

    def made(text: str = TEXT, **scores: list[float | None]) -> Study:
        plan = planned(tmp_path, text)
        scored(folder, plan, scores)
        return Study(folder.path)

    return made


def data_of(text: str, name: str) -> Any:
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', text)
    return json.loads(found)


def column(text: str, label: str) -> list[Any]:
    study = data_of(text, "study")
    (number,) = [n for n, one in enumerate(study["columns"]) if one["label"] == label]
    return [row[number] for row in study["rows"]]


MIG = [0.1, 0.2, 0.3, 0.25, 0.5, 0.45, 0.7, None]


@pytest.mark.slow
def test_every_run_is_a_row_with_its_settings_and_scores(make: Make, tmp_path: Path) -> None:
    study = make(mig=MIG, sap=[0.1234567] * 8)
    text = study_page_of(study, tmp_path)
    assert column(text, "method") == ["one"] * 4 + ["two"] * 4
    assert column(text, "seed") == [0, 1] * 4
    assert column(text, "MIG") == MIG
    assert column(text, "SAP")[0] == 0.123457
    assert column(text, "state") == ["finished"] * 8
    found = data_of(text, "study")
    assert found["columns"][found["by"]]["label"] == "MIG"
    assert found["descending"] is True
    assert (
        found["settings"] == [{"optimizer": "1"}] * 2 + [{"optimizer": "2"}] * 2
    )  # axes stand in rows
    assert ["train", "90 s"] in found["runs"][0]["facts"]


@pytest.mark.slow
def test_the_first_sentence_names_the_data_as_the_pages_of_runs_do_and_the_ends_of_an_axis(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "base: [base.yaml]\naxes: {beta: [4, 1, 2, 3, 5, 6, 7, 8.5, 9]}\nseeds: 1\n"
    study = make(text, mig=[0.1 * number for number in range(9)])
    names = {"data set": "a part of Blob, rendered look-alike"}
    monkeypatch.setattr("dislab.study.page.facts_of", lambda settings, scored: names)
    page = study_page_of(study, tmp_path)
    first = "9 runs on a part of Blob, rendered look-alike; beta: 1 to 9 (9 values); 1 seed"
    assert f'<p class="summary">{first}</p>' in page
    several = iter("abcdefghi")
    monkeypatch.setattr(
        "dislab.study.page.facts_of", lambda settings, scored: {"data set": next(several)}
    )
    assert '<p class="summary">9 runs; beta: 1 to 9' in study_page_of(study, tmp_path)


@pytest.mark.slow
def test_strengths_of_each_method_are_called_its_own(make: Make, tmp_path: Path) -> None:
    own = [
        f"{name}: {{optimizer: {name}, axes: {{strength: {values}}}}}"
        for name, values in {"one": [1, 2, 3, 4, 5], "two": [10, 20, 30, 40]}.items()
    ]
    text = f"base: [base.yaml]\naxes: {{method: {{{', '.join(own)}}}}}\nseeds: 1\n"
    page = study_page_of(make(text, mig=[0.1 * number for number in range(9)]), tmp_path)
    assert "strength: 1 to 40 (9 values; each method has its own); 1 seed" in page


@pytest.mark.slow
def test_methods_are_shown_by_name_and_found_by_both(make: Make, tmp_path: Path) -> None:
    text = TEXT.replace("one: {optimizer: 1}", "betavae: {name: betavae, method: β-VAE}")
    page = study_page_of(make(text, mig=MIG), tmp_path)
    assert column(page, "method") == ["β-VAE"] * 4 + ["two"] * 4
    assert data_of(page, "study")["keys"] == {"method": {"β-VAE": "betavae"}}
    assert "is 0." in page
    assert "above β-VAE" in page


def test_runs_that_wait_fail_or_diverge_are_shown_as_such(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    study = make(mig=[0.1, 0.2, 0.3, None, None, None, None, None])
    failing, diverging = study.schedule.runs[4:6]
    digest = failing.group.stages["train"].digest
    message = "ValueError: /home/somebody/data/x.npz is torn"
    folder.write_failed(failing, "train", Failed(digest, "exception", message))
    outcome = Done(digest, "diverged", {}, 1.0, {}, "the loss became NaN at step 7")
    folder.write_done(diverging, "train", outcome)
    text = study_page_of(study, tmp_path)
    states = ["finished"] * 3 + ["waiting", "failed", "diverged", "waiting", "waiting"]
    assert column(text, "state") == states
    runs = data_of(text, "study")["runs"]
    assert ["train: failed (exception)", "ValueError: …/x.npz is torn"] in runs[4]["facts"]
    assert ["train: diverged", "the loss became NaN at step 7"] in runs[5]["facts"]
    assert "somebody" not in text


@pytest.mark.slow
def test_a_study_is_published_without_secrets_and_paths(
    folder: StudyFolder, tmp_path: Path
) -> None:
    """Neither those of its configurations, nor of its axes, nor of the comments of its author."""
    axes = {
        "trainer.profiler": [TEXTS[0]],
        "data.file": TEXTS,
        "watched": {"yes": {"optimizer.notes": TEXTS, "logger.uri": "hunter2"}},
    }
    content = yaml.safe_dump({"base": ["base.yaml"], "axes": axes})
    comment = " ".join(TEXTS)
    plan = planned(tmp_path, f"# {comment}\n{content}")
    for group in {id(run.group): run.group for run in plan.runs}.values():
        group.config.update(hostile())
    scored(folder, plan, {"mig": [0.1 * (number + 1) for number in range(len(plan.runs))]})
    study_file_of(folder.path, plan.name).write_text(f"# {comment}\n{content}")
    failed = Failed(plan.runs[0].group.stages["score"].digest, "exception", comment)
    folder.write_failed(plan.runs[0], "score", failed)
    page = study_page_of(Study(folder.path), tmp_path)
    assert "alice" not in page
    assert "hunter2" not in page
    assert "data.file" in page
    assert "logger.uri: …" in page


@pytest.mark.parametrize("scores", [{}, {"mig": [0.5] * 8}, {"mig": [0.5, *[None] * 7]}])
def test_a_study_without_tables_still_shows_its_runs(
    scores: dict[str, list[float | None]], make: Make, tmp_path: Path
) -> None:
    study = make(**scores)
    text = study_page_of(study, tmp_path)
    assert len(data_of(text, "study")["rows"]) == 8
    assert text.count("o finished run has a score that varies") == 1
    assert ("<code>dislab study run STUDY</code>" in text) == ("waiting" in column(text, "state"))
    with pytest.raises(InputError):
        study_page_of(study, tmp_path, "score.mig")


@pytest.mark.slow
def test_tables_and_pictures_of_the_summary_are_shown(make: Make, tmp_path: Path) -> None:
    scores = [0.1, 0.2, 0.3, 0.25, 0.5, 0.45, 0.7, 0.6]
    text = study_page_of(make(mig=scores, sap=scores[::-1]), tmp_path)
    for title in ("Means over seeds", "Comparisons of method", "Rank correlations", "What matters"):
        assert f"<h2>{title}</h2>" in text
    assert text.count("data:image/svg+xml") >= 3
    assert "seeds to detect 0.05" in text
    assert "regret" in text
    assert re.search(r">−\d", text)
    assert not re.search(r"<td[^>]*>[^<]*(?<![\w.])-\.?\d", text)


@pytest.mark.slow
def test_columns_of_one_value_are_a_sentence_above_their_table(make: Make, tmp_path: Path) -> None:
    text = "base: [base.yaml]\naxes: {model.a: [1, 2, 3]}\nseeds: 3\n"
    scores = [0.1, 0.2, 0.3, 0.25, 0.5, 0.45, 0.7, 0.6, 0.9]
    page = study_page_of(make(text, mig=scores, sap=scores[::-1]), tmp_path)
    sections = dict(re.findall(r'<section id="([\w]+)">(.*?)</section>', page, re.DOTALL))
    for name, sentence in {
        "means": "In every row: 3 runs.",
        "comparisons_model_a": "In every row: 3 seeds, p (uncorrected) 0.250, p (Holm) 0.750.",
        "rank_correlations": "",  # a table of one row keeps its columns
        "variance_shares": "In every row: 9 runs.",
        "model_selection": "In every row: best 0.900, 9 runs.",
    }.items():
        tables = sections[name].partition("Every number")[0]
        assert sentence in tables
        assert (">runs</th>" in tables) == (not sentence)
    assert ">p (Holm)</th>" not in sections["comparisons_model_a"].partition("Every number")[0]


def test_intervals_of_scores_end_with_their_range(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    study = make("base: [base.yaml]\nseeds: 4\n", mig=[1.0, 1.0, 1.0, 0.9])
    page = study_page_of(study, tmp_path)
    assert re.search("\\[0\\.\\d+,\u00a01\\.000]", page), "no line breaks an interval"
    assert "1.055]" not in page
    names = ("mig", "mig_train", "sampled/mig", "sampled/mig_train")
    assert study.score_ranges() == {f"score.{name}": (0.0, 1.0) for name in names}
    for path in folder.path.glob("runs/*/scores.json"):
        record = json.loads(path.read_text())
        del record["test"]["metrics"]["mig"]["bounds"]
        path.write_text(json.dumps(record))
    assert "1.055]" in study_page_of(study, tmp_path)


@pytest.mark.slow
def test_complete_tables_name_scores_in_words_and_repeat_no_other(
    make: Make, tmp_path: Path
) -> None:
    scores = [0.1, 0.2, 0.3, 0.25, 0.5, 0.45, 0.7, 0.6]
    bound = [-100 * score for score in scores]
    page = study_page_of(make(mig=scores, sap=scores[::-1], elbo_sample_test=bound), tmp_path)
    body = page.partition('<section id="all-runs">')[0]
    assert "score.mig" not in body
    assert "p_holm" not in body
    assert "ELBO (test, nats)" in body
    assert "ELBO (test)" not in body
    sections = dict(re.findall(r'<section id="(\w+)">(.*?)</section>', body, re.DOTALL))
    assert "Every number (" in sections["rank_correlations"]
    assert "Every number (" not in sections["variance_shares"]  # whose excerpt has all of them


@pytest.mark.slow
def test_values_of_a_setting_are_spelt_alike_in_every_table(make: Make, tmp_path: Path) -> None:
    text = "base: [base.yaml]\naxes: {model.parts.kl.beta: [0.25, 2]}\nseeds: 2\n"
    page = study_page_of(make(text, mig=[0.1, 0.2, 0.4, 0.6]), tmp_path)
    cells = re.findall(r"<t[dh][^>]*>([^<]*)<", page)
    assert "0.25" in cells
    assert not {"0.250", "2.000", "2.0"} & set(cells)
    assert "kl.beta: 0.25, 2;" in page
    assert column(page, "kl.beta") == [0.25, 0.25, 2, 2]


@pytest.mark.slow
def test_an_axis_of_one_value_has_no_column_at_first(make: Make, tmp_path: Path) -> None:
    text = "base: [base.yaml]\naxes: {model.b: [1, 2], model.c: [3]}\nseeds: 2\n"
    page = study_page_of(make(text, mig=[0.1, 0.2, 0.4, 0.6]), tmp_path)
    shown = {one["name"]: one["shown"] for one in data_of(page, "study")["columns"]}
    assert shown["model.b"]
    assert not shown["model.c"]
    assert "model.c: 3;" in page


def test_a_method_without_scores_and_strength_leaves_no_nan_and_no_empty_table(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    strong = "one: {optimizer: 1, axes: {strength: {1: {model.b: 1}, 4: {model.b: 4}}}}"
    text = f"base: [base.yaml]\naxes: {{method: {{{strong}, two: {{optimizer: 2}}}}}}\nseeds: 3\n"
    study = make(text, mig=[0.1, 0.2, 0.4, 0.2, 0.1, 0.5, None, None, None])
    for run in study.schedule.runs[6:]:
        digest = run.group.stages["train"].digest
        folder.write_done(run, "train", Done(digest, "diverged", {}, 1.0, {}, "NaN"))
    page = study_page_of(study, tmp_path)
    assert ">nan<" not in page
    assert "Comparisons of method: no two values of method have scores of one seed." in page
    assert ">Comparisons method<" not in page
    assert page.count("<h2>Tables left out</h2>") == 1
    shares = page.partition('id="variance_shares"')[2].partition("</table>")[0]
    assert ">strength by chance below</th>" in shares
    assert ">method by chance below</th>" not in shares


@pytest.mark.parametrize("seeds", [2, 12])
def test_correlations_without_support_have_no_picture(
    make: Make, tmp_path: Path, seeds: int
) -> None:
    text = f"base: [base.yaml]\nseeds: {seeds}\n"
    scores = [0.01 * seed for seed in range(seeds)]
    page = study_page_of(make(text, mig=scores, sap=scores), tmp_path)
    assert ('alt="rank_correlations:' in page) == (seeds == 12)


@pytest.mark.slow
def test_two_runs_have_no_correlations_but_one_line_that_says_so(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    text = "base: [base.yaml]\naxes: {beta: [1, 4]}\nseeds: 2\n"
    bound = [-50.0, -40.0, None, None]
    study = make(
        text, mig=[0.1, 0.2, None, None], sap=[0.2, 0.1, None, None], elbo_sample_test=bound
    )
    for run in study.schedule.runs[2:]:
        digest = run.group.stages["train"].digest
        folder.write_done(run, "train", Done(digest, "diverged", {}, 1.0, {}, "NaN"))
    page = study_page_of(study, tmp_path)
    assert "at least 0" not in page
    assert "no ρ" not in page
    assert 'alt="scatter_' not in page
    reason = "too few runs: a rank correlation takes 3 in which both scores vary; here are 2."
    assert f"Rank correlations; Model selection: {reason}" in page
    assert page.count(reason) == 1


@pytest.mark.slow
def test_the_page_says_once_that_there_are_too_few_seeds_and_breaks_no_unit(
    make: Make, tmp_path: Path
) -> None:
    text = "base: [base.yaml]\naxes: {beta: [1, 1.0e+10]}\nseeds: 3\n"
    page = study_page_of(make(text, mig=[0.1, 0.2, 0.15, 0.3, 0.5, 0.6]), tmp_path)
    first = "No difference in MIG is supported: 3 seeds are too few to support the difference"
    assert f'<p class="verdict">{first}' in page
    assert page.count("too few to support") == 1
    assert "no mean is marked" in page
    assert "95\u00a0% interval" in page
    assert "95 %" not in page
    assert re.search(r"\d\u00a0±\u00a0\d", page)
    assert "1e+10" in page
    assert "10000000000<" not in page


@pytest.mark.parametrize("seeds", [2, 3, 8])
def test_comparisons_of_the_target_stand_open(make: Make, tmp_path: Path, seeds: int) -> None:
    text = "base: [base.yaml]\naxes: {method: {one: {optimizer: 1}, two: {optimizer: 2}}}\n"
    noise = [0.01 * seed for seed in range(seeds)]
    scores = [*noise, *(0.5 + 1.1 * value for value in noise)]
    page = study_page_of(make(f"{text}seeds: {seeds}\n", mig=scores), tmp_path)
    assert "<summary>Comparisons of method" not in page
    least = "seeds are too few to support the difference, by p (Holm) below 0.05; 6 seeds could."
    assert (f"{seeds} {least}" in page) == (seeds < 6)
    more = (
        "Seeds to detect 0.05: as many seeds find a true difference of 0.05, not the difference of"
    )
    assert page.count(more) == (seeds > 2), "another number of seeds beside this one, told once"
    assert ("A difference is supported if p (Holm) is below 0.05" in page) == (seeds == 8)
    assert ("may exclude 0 of a difference that is not supported" in page) == (seeds > 2)
    comparisons = page.partition('id="comparisons_method"')[2].partition("</table>")[0]
    assert ">p (uncorrected)</th>" in comparisons
    assert ">p (Holm)</th>" in comparisons
    assert ">p</th>" not in page
    assert ("without intervals, which take three seeds: here are 2." in page) == (seeds == 2)
    assert (">seeds to detect 0.05</th>" in page) == (seeds > 2)
    assert page.count("corrected by Holm for the rows of MIG.") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "order"),
    [(None, [6, 2, 0]), ("score.mig", [6, 2, 0]), ("transfer.far/mlp", [1, 0, 6])],
)
def test_best_median_and_worst_model_by_a_score(
    by: str | None, order: list[int], make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    text = TEXT + "stages: {train: {}, score: {}, transfer: {scenarios: [far]}}\n"
    study = make(text, mig=MIG)
    for number, error in {0: 0.3, 1: 0.2, 6: 0.9}.items():
        run = study.schedule.runs[number]
        digest = run.group.stages["transfer"].digest
        folder.write_done(run, "transfer", Done(digest, "done", {"far/mlp": error}, 1.0, {}))
    loaded: list[str] = []

    def load(run: Path) -> ReportedRun:
        loaded.append(run.name)
        return ReportedRun(run, vae(shape=(1, 12, 12)), blobs(resize=12))

    page = study_page_of(study, tmp_path, by, load)
    assert loaded == [study.schedule.runs[number].id for number in order]
    assert page.count('class="explorer"') == len(data_of(page, "explorers")) == 3


@pytest.mark.slow
def test_a_model_that_cannot_be_read_is_explained(make: Make, tmp_path: Path) -> None:
    page = study_page_of(make(mig=MIG), tmp_path, load=lambda run: ReportedRun(run, None, None))
    assert page.count("No explorer: the checkpoint or the data could not be read") == 3
    assert data_of(page, "explorers") == [None] * 3


def test_a_score_that_the_study_lacks_is_refused(make: Make, tmp_path: Path) -> None:
    study = make(mig=MIG)
    with pytest.raises(InputError, match=r"'score.mgi' is no measure .*did you mean score\.mig"):
        write_study_page(study, tmp_path / "page.html", "score.mgi")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_a_score_has_a_short_name_and_its_good_end(make: Make, tmp_path: Path) -> None:
    study = make(mig=MIG)
    for name in ("mig", "score.mig"):
        write_study_page(study, tmp_path / f"{name}.html", name)
    text = (tmp_path / "mig.html").read_text()
    assert text == (tmp_path / "score.mig.html").read_text()
    assert '<p class="note">Higher is better: MIG' in text
    assert "MIG: mutual information gap" in text
    assert f"<dd>{blind_spot('mig')}</dd>" in text


@pytest.mark.slow
def test_pages_of_runs_are_linked_from_where_the_page_lies(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    study = make(mig=MIG)
    run = folder.run(study.schedule.runs[0].id)
    (run / "report.html").write_text("")
    for place, start in ((folder.path, "runs/"), (tmp_path / "out", "../studies/mine/runs/")):
        runs = data_of(study_page_of(study, place), "study")["runs"]
        assert runs[0]["links"] == [["page of the run", f"{start}{run.name}/report.html"]]
        assert runs[1]["links"] == []


@pytest.mark.slow
def test_the_best_run_of_the_means_links_to_its_page(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    study = make(mig=MIG)
    for run in (folder.path / "runs").iterdir():
        (run / "report.html").write_text("")
    head = study_page_of(study, folder.path).partition("</header>")[0]
    links = re.findall(r'<a href="runs/(\w+)/report.html">[^<]*seed \d \((\w+)\)</a>', head)
    assert links
    assert all(address == name for address, name in links)


@pytest.mark.slow
def test_the_best_run_without_a_page_links_to_its_row(make: Make, tmp_path: Path) -> None:
    study = make(mig=MIG)
    head = study_page_of(study, tmp_path).partition("</header>")[0]
    links = re.findall(r'<a href="#run-(\w+)">[^<]*seed \d \((\w+)\)</a>', head)
    assert links
    assert all(address == name for address, name in links)
    assert "config.yaml" not in head


@pytest.mark.slow
def test_the_same_bytes_from_the_same_study(
    make: Make, folder: StudyFolder, tmp_path: Path
) -> None:
    study = make(mig=MIG)
    first = study_page_of(study, folder.path)
    moved = folder.path.rename(tmp_path / "elsewhere")
    assert study_page_of(Study(moved), moved) == first
    assert str(tmp_path) not in first


@pytest.mark.slow
@pytest.mark.parametrize("place", ["one", "method"])
def test_names_that_end_a_script_are_escaped(make: Make, tmp_path: Path, place: str) -> None:
    hostile = "</script></h2><img src=x onerror=alert(1)>"
    text = study_page_of(make(TEXT.replace(place, json.dumps(hostile)), mig=MIG), tmp_path)
    assert hostile not in text
    assert "onerror=alert" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).replace(
        "&lt;img src=x onerror=alert", ""
    )
    assert text.count("<h2>") == text.count("</h2>") == len(within("h2", text))
    if place == "one":
        assert column(text, "method")[0] == hostile
    else:
        assert column(text, hostile)[0] == "one"
    assert len(within("script", text)) == 3
