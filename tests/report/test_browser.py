"""The page in a real browser: Chromium with its driver."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.browsing import Browser, opened, requests, settle, started
from tests.report.cases import SCORED, SETTINGS, Own, blobs, vae, write_run

from dislab.base import Decoder, Objective
from dislab.decoders import (
    ConvDecoder64,
    ConvGenerator,
    MLPDecoder,
    SpatialBroadcastDecoder,
)
from dislab.report import ReportedRun, write_page
from dislab.report.network import rounded_decoder

pytestmark = pytest.mark.slow

CLOSE = 1e-5
"""Largest difference from PyTorch with the same rounded weights, in pixels of [0, 1]."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = started()
    yield made
    made.quit()


def shown(browser: Browser) -> Any:
    """Levels of the decoded image, channels first, and its code."""
    values, height, width, code = browser.execute_script(
        "const canvas = document.querySelector('.stage canvas');"
        "const {width, height} = canvas;"
        "const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;"
        "return [Array.from(data), height, width, dislabExplorers[0].code()];"
    )
    return np.asarray(values).reshape(height, width, 4).transpose(2, 0, 1)[:3], code


def page_with(folder: Path, module: Objective, **data: Any) -> Path:
    page = folder / "page.html"
    write_page([ReportedRun(write_run(folder / "run"), module, blobs(**data))], page)
    return page


@pytest.mark.parametrize(
    ("decoder", "settings", "data"),
    [
        (partial(ConvDecoder64, preset="locatello"), {}, {}),
        (partial(MLPDecoder, hidden=(16,)), {"likelihood": "gaussian"}, {"resize": 12}),
        (partial(SpatialBroadcastDecoder, channels=(4, 4)), {}, {"resize": 10, "colour": "rgb"}),
        (partial(SpatialBroadcastDecoder, channels=(4,), kernel_size=5), {}, {"resize": 9}),
        (partial(ConvGenerator, channels=(4, 2), hidden=8), {}, {"resize": 20, "colour": "rgb"}),
    ],
)
def test_a_slider_shows_what_pytorch_decodes(
    decoder: Callable[..., Decoder],
    settings: dict[str, Any],
    data: dict[str, Any],
    browser: Browser,
    tmp_path: Path,
) -> None:
    size = data.get("resize", 64)
    module = vae(decoder, (3 if "colour" in data else 1, size, size), **settings)
    opened(browser, page_with(tmp_path, module, **data))
    before, _ = shown(browser)
    browser.find_element(By.CSS_SELECTOR, ".slider input").send_keys(Keys.END)
    settle(browser)
    after, code = shown(browser)
    assert (before != after).any()
    module.decoder = rounded_decoder(module.decoder)
    with torch.inference_mode():
        expected = module.decode(torch.tensor([code]).float())[0].numpy()
    assert np.abs(after - np.broadcast_to(expected, after.shape) * 255).max() <= 0.51
    pixels = browser.execute_script(
        "return Array.from(dislabExplorers[0].decode(arguments[0]))", code
    )
    assert np.abs(np.asarray(pixels) - expected.ravel()).max() <= CLOSE


def test_images_that_were_decoded_beforehand(browser: Browser, tmp_path: Path) -> None:
    module = vae(Own, (1, 16, 16))
    opened(browser, page_with(tmp_path, module, resize=16))
    browser.find_element(By.CSS_SELECTOR, ".slider input").send_keys(Keys.END)
    settle(browser)
    after, code = shown(browser)
    with torch.inference_mode():
        expected = module.decode(torch.tensor([code]).float())[0, 0].numpy()
    assert np.corrcoef(after[0].ravel(), expected.ravel())[0, 1] > 0.95  # JPEG


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_with(tmp_path_factory.mktemp("page"), vae())


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_opens_from_disk_and_fits(
    width: int, dark: bool, browser: Browser, page: Path
) -> None:
    opened(browser, page, width, dark)
    assert requests(browser) == [page.as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(
        "return Array.from(document.images).every((one) => one.complete && "
        "(one.naturalWidth > 0 || one.closest('[hidden]')))"
    )
    colours = browser.execute_script(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    ink, paper = (sum(map(int, one[4:-1].split(","))) for one in colours)
    assert (ink > paper) is dark
    unnamed = "return Array.from(document.querySelectorAll('input, button, select, [role=slider]'))"
    tree = browser.execute_script(unnamed)
    assert tree
    assert all(one.accessible_name for one in tree)


@pytest.mark.parametrize("width", [360, 1280])
def test_no_column_of_runs_side_by_side_is_cut(
    width: int, browser: Browser, tmp_path: Path
) -> None:
    names = ["mig", "dci_hgbt_disentanglement", "factor_vae_score"]
    scored = {
        "scores": dict.fromkeys(names, 0.5),
        "metrics": {name: {"primary": name} for name in names},
        "checkpoint": {"steps": 4000},
    }
    parts = {"kl": {"class_path": "KL", "init_args": {f"setting_{k}": k for k in range(12)}}}
    model = {"class_path": "VAE", "init_args": {"regularizers": parts}}
    runs = [
        write_run(tmp_path / name, {**SETTINGS, "model": model}, {"test": scored})
        for name in ("one", "two")
    ]
    write_page([ReportedRun(run, None, None) for run in runs], tmp_path / "page.html")
    opened(browser, tmp_path / "page.html", width)
    cut = "const box = document.querySelector('header .wide');"
    assert browser.execute_script(f"{cut} return box.scrollWidth - box.clientWidth") == 0


def test_pad_keys_starts_and_reset(browser: Browser, page: Path) -> None:
    opened(browser, page)
    _, first = shown(browser)
    pad = browser.find_element(By.CSS_SELECTOR, ".pad")
    pad.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_UP)
    settle(browser)
    _, moved = shown(browser)
    assert sum(a != b for a, b in zip(first, moved, strict=True)) == 2
    webdriver.ActionChains(browser).move_to_element(pad).click().perform()
    settle(browser)
    _, middle = shown(browser)
    changed = [value for value, old in zip(middle, first, strict=True) if value != old]
    assert changed == pytest.approx([0.0, 0.0], abs=0.1)
    browser.find_element(By.CSS_SELECTOR, ".reset").click()
    settle(browser)
    assert shown(browser)[1] == first
    buttons = browser.find_elements(By.CSS_SELECTOR, ".starts button[aria-pressed]")
    buttons[0].click()
    settle(browser)
    assert shown(browser)[1] == [0, 0, 0]
    browser.execute_async_script("setTimeout(arguments[0], 400)")
    browser.find_elements(By.CSS_SELECTOR, ".tiles button")[8].click()
    settle(browser)
    assert max(shown(browser)[1]) >= 3


HOSTILE = "</script><img src=x onerror=\"document.title='taken'\">"


def test_names_of_runs_and_factors_stay_text(browser: Browser, tmp_path: Path) -> None:
    settings = {**SETTINGS, "name": HOSTILE, "note": f"]]>{HOSTILE}", "seed_everything": HOSTILE}
    scored = {
        **SCORED,
        "scores": {HOSTILE: 0.5},
        "metrics": {HOSTILE: {"primary": HOSTILE}},
        "data": {"factors": [HOSTILE, "<!--<script>"]},
        "versions": {HOSTILE: HOSTILE},
    }
    data = blobs()
    factors = data.dataset.factors.factors
    for factor in factors:
        object.__setattr__(factor, "name", HOSTILE)
    folder = write_run(tmp_path / "run", settings, {"test": scored})
    page = tmp_path / "page.html"
    write_page([ReportedRun(folder, vae(), data)] * 2, page)
    opened(browser, page)
    assert requests(browser) == [page.as_uri()]
    assert browser.title == "2 runs · dislab"
    assert HOSTILE in browser.find_element(By.TAG_NAME, "table").text
    assert not browser.find_elements(By.CSS_SELECTOR, "img[src=x]")
    assert browser.execute_script("return dislabExplorers.length") == 2
