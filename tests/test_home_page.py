"""The home page of the docs in a real browser, from disk and from a server."""

import runpy
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from tests.browsing import Browser, opened, requests, settle, started

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
COLOUR = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = started()
    yield made
    made.quit()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home page alone, with the theme and the style of the docs."""
    from mkdocs.commands.build import build  # not there where the lowest versions are tested
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("docs")
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs" / "images", docs / "images")
    for name in ("index.md", "extra.css"):
        shutil.copy(ROOT / "docs" / name, docs / name)
    page = runpy.run_path(str(ROOT / "docs" / "hooks.py"))["explorer"]()
    (docs / "explorer.html").write_text(page, encoding="utf-8")
    config = load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=str(docs),
        site_dir=str(folder / "site"),
        nav=[{"Home": "index.md"}],
        plugins=[],
        hooks=[],
    )
    build(config)
    return folder / "site"


@pytest.fixture
def server(site: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/"
        made.shutdown()


def enter(browser: Browser) -> None:
    """Goes into the embedded page, which is loaded when it comes into view."""
    frame = browser.find_element(By.TAG_NAME, "iframe")
    browser.execute_script("arguments[0].scrollIntoView()", frame)
    settle(browser)
    browser.switch_to.frame(frame)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_explorer_fits_its_frame_and_follows_the_palette(
    width: int, browser: Browser, site: Path
) -> None:
    opened(browser, site / "index.html", width)
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": []}
    )  # it decides in frames, too
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for scheme in ("default", "slate"):
        browser.execute_script(f"document.body.dataset.mdColorScheme = '{scheme}'")
        enter(browser)
        paper = sum(map(int, browser.execute_script(COLOUR)[4:-1].split(",")))
        assert (paper < 300) is (scheme == "slate")
        hidden = browser.execute_script(
            "const page = document.documentElement;"
            "return [page.scrollHeight - page.clientHeight, page.scrollWidth - page.clientWidth]"
        )
        assert hidden == [0, 0]
        browser.switch_to.default_content()


@pytest.mark.parametrize("how", ["disk", "server"])
def test_a_latent_is_dragged_in_the_home_page(
    how: str, browser: Browser, site: Path, server: str
) -> None:
    opened(browser, site / "index.html")
    start = site.as_uri() if how == "disk" else server
    if how == "server":
        requests(browser)  # those of the disk
        browser.get(server)
    enter(browser)
    before = browser.execute_script("return dislabExplorers[0].code()")
    picture = "return document.querySelector('.stage canvas').toDataURL()"
    drawn = browser.execute_script(picture)
    slider = browser.find_element(By.CSS_SELECTOR, ".slider input")
    actions = webdriver.ActionChains(browser).click_and_hold(slider)
    actions.move_by_offset(60, 0).release().perform()
    settle(browser)
    after = browser.execute_script("return dislabExplorers[0].code()")
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1
    assert browser.execute_script(picture) != drawn
    browser.switch_to.default_content()
    asked = requests(browser)
    assert any(one.endswith("explorer.html") for one in asked)
    assert all(one.startswith(start) for one in asked), asked
