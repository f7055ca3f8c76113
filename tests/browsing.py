"""Pages in a real browser: Chromium with its driver."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

Browser = webdriver.Chrome


def started() -> Browser:
    """Chromium without a window."""
    names = ("chromium", "chromium-browser", "google-chrome")
    binary = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if not (binary and driver):
        pytest.fail(
            "these tests open pages in Chromium, which is not installed: on Debian and Ubuntu, "
            "`apt-get install chromium chromium-driver` as root; on a Mac, `brew install "
            "chromium chromedriver`"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for one in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def opened(browser: Browser, page: Path, width: int = 1280, dark: bool = False) -> None:
    """Opens a page from disk, waits for its explorers, and looks that nothing complained."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    for log in ("browser", "performance"):
        logged(browser, log)  # of the page before
    browser.get(page.as_uri())
    settle(browser)
    assert logged(browser, "browser") == []


def logged(browser: Browser, log: str) -> list[dict[str, Any]]:
    """Messages of a log since it was last read."""
    entries: list[dict[str, Any]] = browser.get_log(log)  # type: ignore[no-untyped-call]
    return entries


def settle(browser: Browser) -> None:
    """Waits until two frames have been drawn."""
    browser.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)));"
    )


def requests(browser: Browser) -> list[str]:
    """Addresses that were asked for, without those that hold their content."""
    messages = [json.loads(one["message"])["message"] for one in logged(browser, "performance")]
    asked = [one for one in messages if one["method"] == "Network.requestWillBeSent"]
    addresses = [one["params"]["request"]["url"] for one in asked]
    return [one for one in addresses if not one.startswith("data:")]
