"""The page of a study in a real browser."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.browsing import Browser, opened, requests, settle, started
from tests.report.cases import blobs, vae
from tests.study.conftest import planned, scored

from dislab.decoders import MLPDecoder
from dislab.report import ReportedRun
from dislab.study import Study
from dislab.study.page import write_study_page
from dislab.study.results import Failed, StudyFolder

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\">"
SEEDS = 60
TEXT = f"""
base: [base.yaml]
axes:
  method: {{one: {{optimizer: 1}}, {json.dumps(HOSTILE)}: {{optimizer: 2}}}}
  {json.dumps(HOSTILE)}: [1, 10]
seeds: {SEEDS}
"""
RUNS = 4 * SEEDS


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = started()
    yield made
    made.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """240 runs; the last but one waits, and the last has failed."""
    folder = tmp_path_factory.mktemp("page")
    study = StudyFolder(folder / "mine")
    study.path.mkdir()
    (folder / "base.yaml").write_text("model: {class_path: VAE}\n")
    plan = planned(folder, TEXT)
    scores = [number * 37 % 238 / 238 for number in range(RUNS - 2)]
    results = {
        "mig": scores,
        "mig/chance": [0.02] * len(scores),
        "mig/untrained": [0.07] * len(scores),
        HOSTILE: scores[::-1],
    }
    scored(study, plan, {name: [*values, None, None] for name, values in results.items()})
    run = plan.runs[-1]
    digest = run.group.stages["train"].digest
    study.write_failed(run, "train", Failed(digest, "exception", f"ValueError: {HOSTILE}"))
    (study.run(plan.runs[0].id) / "report.html").write_text("<title>own</title>")
    module, data = vae(partial(MLPDecoder, hidden=(8,)), (1, 12, 12)), blobs(resize=12)
    write_study_page(
        Study(study.path),
        study.path / "page.html",
        "score.mig",
        lambda run: ReportedRun(run, module, data),
    )
    return study.path / "page.html"


def column(browser: Browser, head: str) -> list[str]:
    """The cells of a column, from the top."""
    found: list[str] = browser.execute_script(
        "const heads = [...document.querySelectorAll('.runs thead th')];"
        "const number = heads.findIndex((one) => one.textContent === arguments[0]);"
        "return [...document.querySelectorAll('.runs tbody tr:not(.unfolded)')]"
        ".map((row) => row.children[number].textContent);",
        head,
    )
    return found


def click(browser: Browser, head: str) -> None:
    heads = browser.find_elements(By.CSS_SELECTOR, ".runs thead button")
    next(one for one in heads if one.text.strip(" ▲▼") == head).send_keys(Keys.ENTER)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_opens_from_disk_and_fits(
    width: int, dark: bool, browser: Browser, page: Path
) -> None:
    opened(browser, page, width, dark)
    assert requests(browser) == [page.as_uri()]
    assert browser.title == "mine · dislab"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return dislabExplorers.filter(Boolean).length") == 3
    assert not browser.find_elements(By.CSS_SELECTOR, "img[src=x]")
    browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    found = browser.find_elements(By.CSS_SELECTOR, "input, select")
    controls = [one for one in found if one.is_displayed()]  # others have no name in the tree
    assert {one.tag_name for one in controls} == {"input", "select"}
    assert all(one.accessible_name for one in controls)


@pytest.mark.parametrize("width", [390, 1280])
def test_correlations_and_regret_of_seven_scores_are_not_cut(
    width: int, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "base.yaml").write_text("model: {class_path: VAE}\n")
    study = StudyFolder(tmp_path / "mine")
    study.path.mkdir()
    plan = planned(tmp_path, "base: [base.yaml]\nseeds: 12\n")
    names = ["mig", "sap_r2", "modularity", "beta_vae_score", "factor_vae_score"]
    names += ["gaussian_total_correlation", "dci_hgbt_disentanglement"]
    levels = [number / 12 for number in range(12)]
    scored(study, plan, {n: levels[k:] + levels[:k] for k, n in enumerate(names)})
    write_study_page(Study(study.path), tmp_path / "page.html")
    opened(browser, tmp_path / "page.html", width)
    browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    beyond = "return arguments[0].scrollWidth - arguments[0].clientWidth"
    for caption in ("Rank correlations", "Model selection: regret by selector"):
        (box, _) = browser.find_elements(By.CSS_SELECTOR, f"[aria-label='{caption}']")
        assert browser.execute_script(beyond, box) == 0


def test_no_column_of_the_means_is_hidden_on_a_phone(browser: Browser, page: Path) -> None:
    opened(browser, page, 390)
    settle(browser)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('header .wide')].map(box => "
        "[box.classList.contains('stacks'), box.scrollWidth, innerWidth])"
    )
    assert boxes
    for stacks, width, window in boxes:
        assert stacks
        assert width <= window
    first = browser.find_element(By.CSS_SELECTOR, "header .stacks td")
    head = browser.execute_script(
        "return getComputedStyle(arguments[0], '::before').content", first
    )
    assert head == '"runs"'


def test_no_number_breaks_on_a_phone(browser: Browser, page: Path) -> None:
    opened(browser, page, 390)
    settle(browser)
    cells = browser.execute_script(
        "return [...document.querySelectorAll('.study section .stacks td')]"
        ".filter(cell => cell.checkVisibility() && cell.textContent.includes('['))"
        ".map(cell => {"
        " cell.textContent = '\u22121043.5 \u00b1 38.0 [\u22121137.9,\u00a0\u2212949.0]';"
        " const text = document.createRange(); text.selectNodeContents(cell);"
        " return new Set([...text.getClientRects()].map(line => line.top)).size })"
    )
    assert cells
    assert max(cells) <= 2


def test_values_of_a_line_begin_at_one_height_on_a_phone(browser: Browser, page: Path) -> None:
    opened(browser, page, 390)
    (first, second, *_) = browser.find_elements(By.CSS_SELECTOR, "header .stacks td")
    long = "arguments[0].dataset.head = 'a name of a score that takes several lines'"
    browser.execute_script(long, first)
    height = (
        "const text = document.createRange(); text.selectNodeContents(arguments[0]);"
        "return text.getClientRects()[0].top"
    )
    assert first.rect["y"] == second.rect["y"]
    tops = [browser.execute_script(height, cell) for cell in (first, second)]
    assert tops[0] == pytest.approx(tops[1], abs=1)


def test_only_matrices_scroll_sideways_on_a_phone(browser: Browser, page: Path) -> None:
    opened(browser, page, 390)
    browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    settle(browser)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.wide')].map(box => "
        "[box.getAttribute('aria-label'), box.scrollWidth - box.clientWidth])"
    )
    assert sum(name == "Every number" for name, _ in boxes) > 1
    matrices = {"Rank correlations", "Model selection: regret by selector"}
    assert {name for name, hidden in boxes if hidden > 0} <= matrices


def test_no_column_of_the_runs_is_hidden_on_a_phone_and_a_choice_sorts_them(
    browser: Browser, page: Path
) -> None:
    opened(browser, page, 390)
    size = "const box = document.querySelector('#runs .wide'); return box.scrollWidth"
    assert browser.execute_script(size) <= 390
    Select(browser.find_element(By.ID, "runs-order")).select_by_visible_text("seed")
    seeds = browser.execute_script(
        "return [...document.querySelectorAll('.runs td[data-head=seed]')].map(c => c.textContent)"
    )
    assert len(seeds) == 25
    assert seeds == sorted(seeds, key=int)
    assert seeds[0] == "0"


def test_the_best_run_links_to_its_unfolded_row(browser: Browser, page: Path) -> None:
    opened(browser, page)
    links = browser.find_elements(By.CSS_SELECTOR, "header a[href^='#run-']")
    assert links
    browser.execute_script("arguments[0].click()", links[0])
    settle(browser)
    row = browser.find_element(By.ID, str(links[0].get_attribute("href")).partition("#")[2])
    assert row.find_element(By.CSS_SELECTOR, "button").get_attribute("aria-expanded") == "true"
    assert abs(browser.execute_script("return arguments[0].getBoundingClientRect().top", row)) < 100


def test_heads_sort_by_keyboard_and_missing_scores_stay_last(browser: Browser, page: Path) -> None:
    opened(browser, page)
    assert column(browser, "MIG")[:2] == ["0.996", "0.992"]
    assert len(column(browser, "MIG")) == 25
    click(browser, "MIG")
    assert column(browser, "MIG")[:2] == ["0.000", "0.004"]
    head = browser.find_element(By.CSS_SELECTOR, ".runs [aria-sort]")
    assert head.get_attribute("aria-sort") == "ascending"
    browser.find_elements(By.CSS_SELECTOR, ".pager button")[1].click()
    assert column(browser, "MIG")[-2:] == ["–", "–"]
    click(browser, "MIG")
    assert column(browser, "MIG")[-2:] == ["–", "–"]
    click(browser, HOSTILE)  # the axis, whose values are numbers
    assert column(browser, HOSTILE) == ["1"] * 120 + ["10"] * 120
    assert column(browser, "state").count("finished") == RUNS - 2


def test_filters_choose_rows_and_can_be_cleared(browser: Browser, page: Path) -> None:
    opened(browser, page)
    count = browser.find_element(By.CSS_SELECTOR, ".count")
    selects = [Select(one) for one in browser.find_elements(By.CSS_SELECTOR, ".filters select")]
    selects[0].select_by_visible_text("one")
    assert count.text == "120 of 240 runs"
    assert set(column(browser, "method")) == {"one"}
    browser.find_element(By.ID, "runs-search").send_keys("SEED=7")
    assert count.text == "2 of 240 runs"
    assert column(browser, "seed") == ["7", "7"]
    search = browser.find_element(By.ID, "runs-search")
    for words, found in (
        ("seed=1", {"1"}),
        ("seed=1.0", {"1"}),
        ("seed=1 method=on", set()),
        ("state=finis", set()),
    ):
        search.clear()
        search.send_keys(words)
        assert set(column(browser, "seed")) == found
    browser.find_element(By.CSS_SELECTOR, ".filters button").click()
    assert count.text == "240 runs"
    next(
        one for one in selects if "failed" in [o.text for o in one.options]
    ).select_by_visible_text("failed")
    assert column(browser, "state") == ["failed"]


def test_a_row_unfolds_its_settings_scores_and_page(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.find_element(By.ID, "runs-search").send_keys("method=one seed=0")
    click(browser, "MIG")
    fold = browser.find_element(By.CSS_SELECTOR, ".fold")
    assert fold.get_attribute("aria-expanded") == "false"
    fold.send_keys(Keys.ENTER)
    assert fold.get_attribute("aria-expanded") == "true"
    unfolded = browser.find_element(By.CSS_SELECTOR, ".unfolded")
    assert "optimizer\n1" in unfolded.text
    assert f"{HOSTILE}\n1" in unfolded.text
    titles = [one.text for one in unfolded.find_elements(By.TAG_NAME, "h4")]
    assert titles[:3] == ["Settings", "Run", "Scores"]
    assert "(chance 0.020, untrained 0.070)" in unfolded.text  # in the line of its score
    assert "/chance" not in unfolded.text
    unfolded.find_element(By.LINK_TEXT, "page of the run").click()
    settle(browser)
    assert browser.title == "own"


def test_columns_can_be_chosen_and_a_failure_is_explained(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.find_element(By.CSS_SELECTOR, ".columns summary").click()
    boxes = browser.find_elements(By.CSS_SELECTOR, ".columns input")
    next(one for one in boxes if one.accessible_name.strip() == "MIG").click()
    heads = browser.find_elements(By.CSS_SELECTOR, ".runs thead th")
    assert "MIG" not in [one.text for one in heads]
    filters = browser.find_elements(By.CSS_SELECTOR, ".filters select[id^=runs-filter]")
    Select(filters[-1]).select_by_visible_text("failed")
    browser.find_element(By.CSS_SELECTOR, ".fold").click()
    assert f"ValueError: {HOSTILE}" in browser.find_element(By.CSS_SELECTOR, ".unfolded").text
